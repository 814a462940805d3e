import CSQLCipher
import SQLCipherKitCore

extension Schema {
    /// Creates a full-text table and, for synchronized content, the triggers that keep it in step, in one transaction.
    /// - Parameters:
    ///   - table: the table's description.
    ///   - ifNotExists: true to do nothing if a full-text table of that name exists, whatever its description is. Default: false.
    ///   - populate: whether to index the rows that the content table already has. Default: yes.
    ///   - progress: called after each thousand rows and at the end. It must not use the connection. If it throws, everything is
    ///     undone. Default: none.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for an invalid description, and, for synchronized content, if another
    ///   library's triggers write to a table of that name; an error from SQLite, for example for a name in use or an unknown
    ///   tokenizer; and any error that `progress` throws. Nothing has changed then.
    public func create(
        _ table: FTS5Table, ifNotExists: Bool = false, populate: Bool = true,
        progress: DatabaseProgress.Handler? = nil
    ) throws {
        try table.validate()
        try connection.transaction { db in
            if ifNotExists, try hasFullText(table.name) { return }
            switch table.content {
            case .own, .contentless:
                try db.execute(SQL(raw: table.creationSQL(in: self)))
            case .external(let name, let rowID, isSynchronized: false):
                let source = (name, rowID ?? "rowid")
                try db.execute(SQL(raw: table.creationSQL(in: self, source: source)))
                if populate { try self.populate(table, from: source, progress) }
            case .external(let name, let rowID, isSynchronized: true):
                let sync = ContentSync(schema: self, table: table, content: try contentTable(name))
                try refuseForeignTriggers(of: table.name)
                try sync.check(rowID: rowID)
                for statement in sync.companions() { try db.execute(SQL(raw: statement)) }
                try db.execute(SQL(raw: table.creationSQL(in: self, source: sync.source)))
                if populate { try self.populate(table, from: sync.source, progress) }
                for statement in sync.triggers() { try db.execute(SQL(raw: statement)) }
            }
        }
    }

    /// Throws if a trigger of another library or a program writes to a full-text table. Beside ours, each row would be indexed
    /// twice.
    func refuseForeignTriggers(of table: String) throws {
        // Which reads the schema.
        guard try connection.fetchOne(Int.self, "SELECT 1 FROM \(raw: qualified("sqlite_schema")) WHERE type = 'trigger'") != nil,
            let trigger = sqlcipherkit_trigger_writing(try connection.liveForUse(), name, table)
        else { return }
        throw DatabaseError.invalidArgument(
            "the trigger \(String(cString: trigger)) writes to \(table), as the triggers of synchronized content do: drop it first")
    }

    /// Indexes the rows of the content, in portions if progress is to be reported.
    private func populate(
        _ table: FTS5Table, from source: (table: String, rowID: String), _ progress: DatabaseProgress.Handler?
    ) throws {
        try index(table, from: source, progress)
        // One segment is searched in half of the time that ten take.
        try connection.execute("INSERT INTO \(raw: qualified(table.name))(\(identifier: table.name)) VALUES ('optimize')")
    }

    private func index(
        _ table: FTS5Table, from source: (table: String, rowID: String), _ progress: DatabaseProgress.Handler?
    ) throws {
        let index = qualified(table.name)
        guard let progress else {
            try connection.execute("INSERT INTO \(raw: index)(\(identifier: table.name)) VALUES ('rebuild')")
            return
        }
        let rows = qualified(source.table)
        let rowID = source.rowID.quotedSQLIdentifier
        let columns = table.columns.map(\.name.quotedSQLIdentifier).joined(separator: ", ")
        let total = try connection.fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(rows)")) ?? 0
        var (indexed, first) = (0, Int64.min)
        let ids = "SELECT \(rowID) AS id FROM \(rows) WHERE \(rowID) >= ? ORDER BY 1 LIMIT 1000"
        while let end = try connection.fetchOne(Int64?.self, SQL(raw: "SELECT max(id) FROM (\(ids))", [first])).flatMap({ $0 }) {
            try connection.execute(
                SQL(
                    raw: """
                        INSERT INTO \(index)(rowid, \(columns))
                        SELECT \(rowID), \(columns) FROM \(rows) WHERE \(rowID) >= ? AND \(rowID) <= ? ORDER BY 1
                        """, [first, end]))
            indexed += connection.changes
            try connection.refusingUse { try progress(DatabaseProgress(done: indexed, total: total)) }
            if end == .max { break }
            first = end + 1
        }
        if indexed == 0 { try connection.refusingUse { try progress(DatabaseProgress(done: 0, total: total)) } }
    }
}

extension Connection {
    /// Creates a full-text table in the main database; see ``Schema/create(_:ifNotExists:populate:progress:)``.
    /// - Throws: the errors of that function.
    public func create(
        _ table: FTS5Table, ifNotExists: Bool = false, populate: Bool = true,
        progress: DatabaseProgress.Handler? = nil
    ) throws {
        try main.create(table, ifNotExists: ifNotExists, populate: populate, progress: progress)
    }
}

extension FullTextIndex {
    /// Drops the full-text table, the triggers that write to it (also triggers of other libraries), and the tables and views that
    /// belong to it. ``Schema/dropTable(_:ifExists:)`` and the statement `DROP TABLE` do the same. External content stays.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone, and an error that names the trigger if a trigger
    ///   also does other work. Nothing has changed then.
    public func drop() throws {
        guard try schema.hasFullText(name) else { throw schema.noFullText(name) }
        try schema.dropTable(name)
    }
}

extension ContentSync {
    /// Checks the description's key and columns against the schema.
    func check(rowID named: String?) throws {
        if let named {
            switch content.rowID {
            case .integer(let column) where column.isSameName(as: named): break
            case .integer(let column):
                throw DatabaseError.invalidArgument("the row id of \(content.name) is its column \(column), not \(named)")
            case .mapped:
                throw DatabaseError.invalidArgument(
                    "\(content.name) has no INTEGER PRIMARY KEY: leave rowID out, and row ids are made for its keys")
            }
        }
        let known = content.columns.nameSet
        for column in table.columns where column.expression == nil && !known.contains(SQLName(column.name)) {
            throw DatabaseError.invalidArgument(
                "\(content.name) has no column \(column.name); give the column an expression, or another name"
            )
        }
    }
}
