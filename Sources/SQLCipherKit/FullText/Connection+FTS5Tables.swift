/// Making and removing full-text tables.
extension Connection {
    /// How far the indexing of existing rows has come.
    public struct IndexingProgress: Hashable, Sendable {
        /// Rows indexed so far.
        public var indexed: Int
        /// All rows.
        public var total: Int
    }

    /// Creates a full-text table, with what keeps it in step with external content, in one transaction.
    /// - Parameters:
    ///   - table: its description.
    ///   - ifNotExists: whether nothing happens if there is a full-text table of that name, whatever it is like. Default: no.
    ///   - populate: whether the rows that the content table already has are indexed. Default: yes.
    ///   - progress: called after each thousand rows and at the end. What it throws ends the work and undoes it.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a description that cannot be, what SQLite reports (a name that is
    ///   taken, an unknown tokenizer), and what `progress` throws; nothing has changed then.
    public func create(
        _ table: FTS5Table, ifNotExists: Bool = false, populate: Bool = true, progress: ((IndexingProgress) throws -> Void)? = nil
    ) throws {
        try table.validate()
        try transaction { db in
            if ifNotExists, try db.isFullTextTable(table.name, schema: table.schema) { return }
            switch table.content {
            case .own, .contentless:
                try db.execute(SQL(raw: table.creationSQL(source: nil)))
            case .external(let name, let rowID, isSynchronized: false):
                try db.execute(SQL(raw: table.creationSQL(source: (name, rowID ?? "rowid"))))
                if populate { try db.populate(table, from: (name, rowID ?? "rowid"), progress) }
            case .external(let name, let rowID, isSynchronized: true):
                let sync = ContentSync(table: table, content: try db.contentTable(name, schema: table.schema))
                try sync.check(rowID: rowID)
                for statement in sync.companions() { try db.execute(SQL(raw: statement)) }
                try db.execute(SQL(raw: table.creationSQL(source: sync.source)))
                if populate { try db.populate(table, from: sync.source, progress) }
                for statement in sync.triggers() { try db.execute(SQL(raw: statement)) }
            }
        }
    }

    /// Removes a full-text table with its triggers and companions. External content stays.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if there is no full-text table of that name.
    public func dropFullTextTable(_ name: String, schema: String = "main") throws {
        let prefix = schema.quotedSQLIdentifier
        guard try isFullTextTable(name, schema: schema) else {
            throw DatabaseError.invalidArgument("there is no full-text table \(schema).\(name)")
        }
        try transaction { db in
            for suffix in ContentSync.Suffix.triggers {
                try db.execute(SQL(raw: "DROP TRIGGER IF EXISTS \(prefix).\((name + suffix).quotedSQLIdentifier)"))
            }
            try db.execute(SQL(raw: "DROP TABLE \(prefix).\(name.quotedSQLIdentifier)"))
            try db.execute(SQL(raw: "DROP VIEW IF EXISTS \(prefix).\((name + ContentSync.Suffix.source).quotedSQLIdentifier)"))
            for suffix in [ContentSync.Suffix.replaced, ContentSync.Suffix.keys] {
                try db.execute(SQL(raw: "DROP TABLE IF EXISTS \(prefix).\((name + suffix).quotedSQLIdentifier)"))
            }
        }
    }

    /// The names of the full-text tables (FTS5) of a database, in alphabetical order.
    public func fullTextTables(schema: String = "main") throws(DatabaseError) -> [String] {
        try fetchAll(
            String.self,
            """
            SELECT name FROM \(identifier: schema).sqlite_schema AS t
            WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%USING%fts5%' AND sql NOT LIKE '%fts5vocab%'
            AND EXISTS (SELECT 1 FROM \(identifier: schema).sqlite_schema AS d WHERE d.name = t.name || '_data') ORDER BY name
            """)
    }

    func isFullTextTable(_ name: String, schema: String) throws(DatabaseError) -> Bool {
        try fullTextTables(schema: schema).contains { $0.lowercased() == name.lowercased() }
    }

    /// Indexes the rows of the content in portions, so that progress can be told.
    private func populate(
        _ table: FTS5Table, from source: (table: String, rowID: String), _ progress: ((IndexingProgress) throws -> Void)?
    ) throws {
        guard let progress else {
            try execute("INSERT INTO \(raw: table.qualifiedName)(\(identifier: table.name)) VALUES ('rebuild')")
            return
        }
        let rows = "\(table.schema.quotedSQLIdentifier).\(source.table.quotedSQLIdentifier)"
        let rowID = source.rowID.quotedSQLIdentifier
        let columns = table.columns.map(\.name.quotedSQLIdentifier).joined(separator: ", ")
        let total = try fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(rows)")) ?? 0
        var indexed = 0
        var last = Int64.min
        var isFirst = true
        while true {
            // The first row may have the lowest id there is, which nothing is below of.
            let condition = isFirst ? "\(rowID) >= ?" : "\(rowID) > ?"
            guard let end = try fetchOne(
                Int64?.self,
                SQL(raw: "SELECT max(id) FROM (SELECT \(rowID) AS id FROM \(rows) WHERE \(condition) ORDER BY 1 LIMIT 1000)", [last]))
                .flatMap({ $0 })
            else { break }
            try execute(
                SQL(
                    raw: """
                        INSERT INTO \(table.qualifiedName)(rowid, \(columns))
                        SELECT \(rowID), \(columns) FROM \(rows) WHERE \(condition) AND \(rowID) <= ? ORDER BY 1
                        """, [last, end]))
            indexed += changes
            try progress(IndexingProgress(indexed: indexed, total: total))
            last = end
            isFirst = false
        }
        if indexed == 0 { try progress(IndexingProgress(indexed: 0, total: total)) }
    }
}

extension ContentSync {
    /// Holds what the description says of the key, and of the columns, against the schema.
    func check(rowID named: String?) throws(DatabaseError) {
        if let named {
            switch content.rowID {
            case .integer(let column) where column.lowercased() == named.lowercased(): break
            case .integer(let column):
                throw .invalidArgument("the row id of \(content.name) is its column \(column), not \(named)")
            case .mapped:
                throw .invalidArgument("\(content.name) has no INTEGER PRIMARY KEY: leave rowID out, and row ids are made for its keys")
            }
        }
        let known = Set(content.columns.map { $0.lowercased() })
        for column in table.columns where column.expression == nil && !known.contains(column.name.lowercased()) {
            throw .invalidArgument("\(content.name) has no column \(column.name); give the column an expression, or another name")
        }
    }
}
