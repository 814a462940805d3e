import SQLCipherKitCore

/// Writing vectors and reading them.
extension VectorIndex {
    /// Sets the vector of a row, and replaces its former vector.
    /// - Parameters:
    ///   - vector: as many numbers as the table has dimensions.
    ///   - id: the row's id. With external content there must be such a row.
    /// - Throws: the errors of ``set(_:)``.
    public func set(_ vector: [Float], for id: Int64) throws { try set(CollectionOfOne((id: id, vector: vector))) }

    /// Sets the vectors of many rows in one transaction, and writes each chunk of vectors only once.
    /// ```swift
    /// try vectors.set(zip(ids, embeddings).map { (id: $0, vector: $1) })
    /// ```
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a vector that has another number of dimensions, contains NaN or an
    ///   infinite number, is longer than 1e18, or is zero while the metric is cosine; and for a row that the content does not have.
    ///   Nothing has changed then.
    public func set(_ vectors: some Sequence<(id: Int64, vector: [Float])>) throws {
        try connection.transaction { _ in
            var writer = try VectorWriter(self, format())
            for (id, vector) in vectors { try writer.put(vector, for: id) }
            try writer.flush()
        }
    }

    // In an array literal, a generic parameter does not give the numbers a type.
    /// Sets vectors that are given as an array literal.
    /// - Throws: the errors of the form for a sequence.
    @_documentation(visibility: private)
    public func set(_ vectors: [(id: Int64, vector: [Float])]) throws { try set(AnySequence(vectors)) }

    /// Returns the vector of a row as it is stored: rounded numbers for ``VectorTable/Element/int8``, and 1 and -1 for
    /// ``VectorTable/Element/bits``.
    /// - Returns: nil if the row has no vector.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone; ``ResultCode/corrupt`` if its bytes are damaged.
    public func vector(for id: Int64) throws -> [Float]? {
        try connection.inSnapshot {
            let format = try format()
            guard let slot = try connection.fetchOne(Int.self, "SELECT slot FROM \(raw: qualifiedName) WHERE id = \(id)") else {
                return nil
            }
            guard VectorWriter.slots.contains(slot) else { throw damage("a slot is \(slot)") }
            let (number, place) = slot.quotientAndRemainder(dividingBy: format.capacity)
            return try VectorParts(self, format, hasRows: true, of: number).withVector(place) { stored in
                guard stored.id(0) == id else { throw damage("the slot \(slot) is not that of its row") }
                return format.decode(stored.vectors, scale: stored.scale(0))
            }
        }
    }

    /// Removes the vectors of rows in one transaction, and overwrites their bytes. With external content, the rows are then missing
    /// a vector. A row without a vector is ignored.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone, and errors from SQLite. Nothing has changed then.
    public func remove(_ ids: some Sequence<Int64>) throws {
        try connection.transaction { db in
            let tables = VectorSchema(schema: schema, name: name, format: try format())
            let hasContent = try content() != nil
            for id in ids {
                let hasVector = try db.fetchOne(Int.self, "SELECT 1 FROM \(raw: qualifiedName) WHERE id = \(id)") != nil
                guard hasVector else { continue }
                for statement in tables.forget("?1", isQualified: true) { try db.execute(SQL(raw: statement), [id]) }
                if hasContent { try db.execute(SQL(raw: tables.miss("?1", isQualified: true)), [id]) }
            }
        }
    }

    /// Removes all vectors in one transaction, for example to change to another model. With external content, all rows of the
    /// content are then missing a vector.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone, and errors from SQLite. Nothing has changed then.
    public func removeAll() throws {
        try connection.transaction { db in
            let keepsBits = try format().keepsBits
            let content = try content(), missing = companion(VectorNames.missing)
            for suffix in ["", VectorNames.chunks, VectorNames.free, VectorNames.missing]
                + (keepsBits ? [VectorNames.bits] : []) {
                try db.execute("DELETE FROM \(raw: companion(suffix))")
            }
            if let content {
                let rows = schema.qualified(content.table), key = content.key
                try db.execute("INSERT INTO \(raw: missing)(id) SELECT \(identifier: key) FROM \(raw: rows)")
            }
        }
    }

    /// Returns true if the tables agree: each row of the table has its slot in a chunk, each slot belongs to a row or is free, and
    /// with external content, each row of the content either has a vector or counts as missing a vector. The check reads all
    /// chunks.
    /// - Throws: errors from SQLite, and ``DatabaseError/Reason/invalidArgument`` if the table is gone. Damage is not an error: the
    ///   result is false.
    public func passesIntegrityCheck() throws -> Bool {
        do {
            return try connection.inSnapshot { try tablesAgree() }
        } catch let error as DatabaseError where error.code.primary == .corrupt { return false }
    }

    private func tablesAgree() throws -> Bool {
        let format = try format()
        let free = Set(try connection.fetchAll(Int.self, "SELECT slot FROM \(raw: companion(VectorNames.free))"))
        let rows: [(Int64, Int)] = try connection.fetchAll("SELECT id, slot FROM \(raw: qualifiedName)")
        let ids = Dictionary(rows.map { ($0.1, $0.0) }, uniquingKeysWith: { first, _ in first })
        var (slots, agrees, coarse) = (0, free.isDisjoint(with: ids.keys), 0)
        try connection.forEach("SELECT \(raw: chunkColumns) ORDER BY chunk") { row in
            let number: Int = try row[0]
            try withChunk(row, format) { chunk in
                // Only the last chunk may have less than its room.
                if slots.quotientAndRemainder(dividingBy: format.capacity) != (number, 0) { agrees = false }
                for place in 0..<chunk.count where !free.contains(slots + place) && ids[slots + place] != chunk.id(place) {
                    agrees = false
                }
                slots += chunk.count
            }
        }
        if format.keepsBits {
            let table = companion(VectorNames.bits)
            try connection.forEach("SELECT chunk, vectors FROM \(raw: table) ORDER BY chunk") { row in
                let number: Int = try row[0], size = try row.withUnsafeBytes(at: 1) { $0.count }
                if coarse.quotientAndRemainder(dividingBy: format.bitCapacity) != (number, 0) { agrees = false }
                if !size.isMultiple(of: format.bitSize) { agrees = false }
                coarse += size / format.bitSize
            }
        }
        agrees = agrees && slots == free.count + rows.count && coarse == (format.keepsBits ? slots : 0)
        guard agrees, let content = try content() else { return agrees }
        let (all, id) = (schema.qualified(content.table), content.key.quotedSQLIdentifier)
        let (has, lacks) = (qualifiedName, companion(VectorNames.missing))
        return try connection.fetchOne(
            Bool.self,
            """
            SELECT NOT EXISTS (SELECT 1 FROM \(raw: all) AS t
            WHERE (SELECT count(*) FROM \(raw: has) AS v WHERE v.id = t.\(raw: id))
            + (SELECT count(*) FROM \(raw: lacks) AS m WHERE m.id = t.\(raw: id)) <> 1)
            """) ?? false
    }
}
