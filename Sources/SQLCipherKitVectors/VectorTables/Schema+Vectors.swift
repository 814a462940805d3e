import SQLCipherKitCore

extension Schema {
    /// Creates a table of vectors and, for external content, the triggers that keep it in step, in one transaction. At first, all
    /// rows of the content are missing a vector: ``VectorIndex/update(with:batchSize:progress:isolation:)`` makes the vectors.
    /// - Parameters:
    ///   - table: the table's description.
    ///   - ifNotExists: true to do nothing if a table of vectors of that name exists, with any description. Default: false.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for an invalid description, and for content without an `INTEGER PRIMARY
    ///   KEY` or without one of the columns; an error from SQLite, for example for a name in use. Nothing has changed then.
    public func create(_ table: VectorTable, ifNotExists: Bool = false) throws {
        try table.validate()
        try connection.transaction { db in
            if ifNotExists, try hasVectors(table.name) { return }
            var content: (table: String, key: String, columns: [String])?
            if case .external(let rows, let columns) = table.content {
                content = (rows, try vectorContentKey(of: rows), columns)
                let known = try self.columns(of: rows).map(\.name).nameSet
                if let column = columns.first(where: { !known.contains(SQLName($0)) }) {
                    throw DatabaseError.invalidArgument("\(rows) has no column \(column)")
                }
            }
            let tables = VectorSchema(schema: self, name: table.name, format: VectorFormat(table))
            for statement in tables.creation(content) { try db.execute(SQL(raw: statement)) }
        }
    }

    /// The column of a table that is its row id.
    func vectorContentKey(of table: String) throws -> String {
        let columns = try columns(of: table)
        guard !columns.isEmpty else { throw DatabaseError.invalidArgument("there is no table \(name).\(table) to make vectors of") }
        // A primary key without an index of its own is the row id.
        let key = columns.filter { $0.primaryKeyPosition > 0 }
        guard key.count == 1, try !uniqueIndexes(of: table).contains(where: { $0.origin == .primaryKey }) else {
            throw DatabaseError.invalidArgument("\(table) has no INTEGER PRIMARY KEY, which its vectors need")
        }
        return key[0].name
    }
}

extension Connection {
    /// Creates a table of vectors in the main database; see ``SQLCipherKitCore/Schema/create(_:ifNotExists:)``.
    /// - Throws: the errors of that function.
    public func create(_ table: VectorTable, ifNotExists: Bool = false) throws {
        try main.create(table, ifNotExists: ifNotExists)
    }
}

extension VectorIndex {
    /// Drops the table in one transaction, with its triggers, and with the tables and the view that belong to it. The content
    /// stays.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone.
    public func drop() throws {
        guard try schema.hasVectors(name) else { throw schema.noVectors(name) }
        try connection.transaction { _ in
            for suffix in VectorNames.triggers { try schema.dropTrigger(name + suffix, ifExists: true) }
            try schema.dropView(name + VectorNames.source, ifExists: true)
            for suffix in VectorNames.tables + [""] { try schema.dropTable(name + suffix, ifExists: true) }
        }
    }

    /// The content: its name, and the column that is its row id; nil if the application chooses the row ids. SQLite adapts the
    /// triggers when the table or its columns are renamed.
    func content() throws -> (table: String, key: String)? {
        let triggers = VectorNames.triggers.map { name + $0 }
        let table = try connection.fetchOne(
            String.self,
            """
            SELECT tbl_name FROM \(raw: schema.qualified("sqlite_schema"))
            WHERE type = 'trigger' AND name COLLATE NOCASE IN \(triggers) ORDER BY name LIMIT 1
            """)
        return try table.map { ($0, try schema.vectorContentKey(of: $0)) }
    }

    /// The content; throws if there is none.
    func requireContent() throws -> (table: String, key: String) {
        guard let content = try content() else {
            throw DatabaseError.invalidArgument("\(name) has no content table: the application chooses its row ids")
        }
        return content
    }
}
