import SQLCipherKitCore

/// Searching for the nearest vectors.
extension VectorIndex {
    /// Returns the rows whose vectors are nearest, the nearest first. Rows at the same distance are sorted by row id.
    /// ```swift
    /// let hits = try vectors.search(question, limit: 10)
    /// ```
    /// All vectors are compared.
    /// - Parameters:
    ///   - vector: as many numbers as the table has dimensions.
    ///   - limit: the maximum number of hits, from 1 to 10,000. Default: 10.
    /// - Throws: the errors of ``search(_:)``.
    public func search(_ vector: [Float], limit: Int = 10) throws -> [VectorSearch.Hit] {
        try search(VectorSearch(vector, limit: limit))
    }

    /// Returns the rows whose vectors are nearest to the vector of a row, without the row itself: for "more like this".
    /// - Parameters:
    ///   - rowID: the row's id. It must have a vector.
    ///   - limit: the maximum number of hits, from 1 to 9,999. Default: 10.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the row has no vector, and the errors of ``search(_:)``.
    public func search(like rowID: Int64, limit: Int = 10) throws -> [VectorSearch.Hit] {
        guard (1...9_999).contains(limit) else {
            throw DatabaseError.invalidArgument("a search for more like a row has from 1 to 9,999 hits, not \(limit)")
        }
        return try connection.inSnapshot {
            guard let vector = try self.vector(for: rowID) else {
                throw DatabaseError.invalidArgument("the row \(rowID) has no vector")
            }
            return Array(try found(VectorSearch(vector, limit: limit + 1)).filter { $0.rowID != rowID }.prefix(limit))
        }
    }

    /// Searches with all options of a ``VectorSearch``.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a vector that does not fit the table (see ``VectorIndex/set(_:)``),
    ///   for numbers out of range and if the table is gone; ``ResultCode/corrupt`` for a table whose bytes are damaged; and errors
    ///   from SQLite, including errors in the filter.
    public func search(_ search: VectorSearch) throws -> [VectorSearch.Hit] {
        try connection.inSnapshot { try found(search) }
    }

    /// Searches within the transaction or the statement that the connection is in.
    func found(_ search: VectorSearch) throws -> [VectorSearch.Hit] {
        guard (1...10_000).contains(search.limit) else {
            throw DatabaseError.invalidArgument("a search has from 1 to 10,000 hits, not \(search.limit)")
        }
        let limit = search.timeLimit.map { VectorScan.TimeLimit(time: $0, end: .after($0)) }
        let format = try format()
        let content = try content()
        var after: Nearest.Entry?
        if let last = search.after {
            guard !last.distance.isNaN else { throw DatabaseError.invalidArgument("the distance of the last hit is NaN") }
            after = Nearest.Entry(distance: Float(last.distance), id: last.rowID)
        }
        var wanted = try search.filter.map { try rows(that: $0, content) }
        if let coarse = search.coarse {
            guard format.keepsBits else { throw DatabaseError.invalidArgument("\(name) was created without keepsBits") }
            guard (1...1_000).contains(coarse.oversampling) else {
                throw DatabaseError.invalidArgument("oversampling is from 1 to 1,000, not \(coarse.oversampling)")
            }
            guard after == nil else {
                throw DatabaseError.invalidArgument("a coarse search has no page after the first: raise its limit")
            }
            try format.check(search.vector)
            let scan = try VectorScan(self, format, search.vector, isCoarse: true, limit)
            let found = try scan.nearest(among: wanted, limit: search.limit * coarse.oversampling)
            let rows = Dictionary((wanted ?? []).map { ($0.slot, $0.id) }, uniquingKeysWith: { first, _ in first })
            wanted = found.map { .init(slot: Int($0.id), id: rows[Int($0.id)] ?? nil) }.sorted { $0.slot < $1.slot }
        }
        let scan = try VectorScan(self, format, search.vector, isCoarse: false, limit)
        var excluded: Set<Int64> = []
        while true {
            let nearest = try scan.nearest(among: wanted, limit: search.limit, after: after, without: excluded)
            // A program with another engine may have replaced a row without the trigger. Rows that a filter found exist.
            let gone = try search.filter == nil ? content.map { try lost(nearest.map(\.id), $0) } ?? [] : []
            guard !gone.isEmpty else { return nearest.map { .init(rowID: $0.id, distance: Double($0.distance)) } }
            excluded.formUnion(gone)
        }
    }

    /// The slots of the rows that pass a filter, in ascending order.
    private func rows(that filter: SQL, _ content: (table: String, key: String)?) throws -> [VectorScan.Wanted] {
        guard filter.arguments.named.isEmpty else {
            throw DatabaseError(
                code: .misuse, reason: .parameters, message: "the values of a filter must be interpolated or positional, not named")
        }
        let rows = content.map { "\(schema.qualified($0.table)) AS t" } ?? "(SELECT id FROM \(qualifiedName)) AS t"
        let id = content.map(\.key) ?? "id"
        // The columns of the table of vectors are renamed, so that names in a filter stand for the content's columns.
        let own = "SELECT id AS sqlcipherkit_row, slot AS sqlcipherkit_slot FROM \(qualifiedName)"
        let found: [(Int, Int64)] = try connection.fetchAll(
            """
            SELECT sqlcipherkit_slot, sqlcipherkit_row FROM \(raw: rows) JOIN (\(raw: own)) AS sqlcipherkit_vectors
            ON sqlcipherkit_row = t.\(identifier: id) WHERE (\(filter))
            """)
        return found.map { .init(slot: $0.0, id: $0.1) }.sorted { $0.slot < $1.slot }
    }

    /// The rows among some that the content does not have.
    private func lost(_ ids: [Int64], _ content: (table: String, key: String)) throws -> [Int64] {
        let list = "[" + ids.map(String.init).joined(separator: ",") + "]"
        let (rows, key) = (schema.qualified(content.table), content.key)
        return try connection.fetchAll(
            Int64.self,
            """
            SELECT hits.value FROM json_each(\(list)) AS hits
            WHERE NOT EXISTS (SELECT 1 FROM \(raw: rows) AS t WHERE t.\(identifier: key) = hits.value)
            """)
    }
}

extension Connection {
    /// Runs `body`, which only reads, in one snapshot: in the transaction that there is, or in one of its own.
    func inSnapshot<R>(_ body: () throws -> R) throws -> R {
        if isInTransaction { return try body() }
        return try transaction(.deferred) { _ -> TransactionEnd<R> in .rollback(try body()) }
    }
}
