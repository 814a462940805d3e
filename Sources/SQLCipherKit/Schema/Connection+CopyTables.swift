import CSQLCipher

extension Connection {
    /// Copies tables from one database of the connection to another, with row ids, indexes and triggers, all or nothing.
    ///
    /// ```swift
    /// try db.withAttached(.file("export.db"), as: "export", key: .key(key)) { db in
    ///     try db.copyTables(["note", "tag"], to: "export") { print("\($0.rowsDone) of \($0.rowsTotal) rows") }
    /// }
    /// ```
    /// A table that the target lacks is made with the same definition. One that it has must have all columns of the source's, by
    /// their names; its own triggers run, and columns that it has beyond them get their defaults. Generated columns are computed
    /// anew. Views and virtual tables are not copied.
    ///
    /// The copy is one transaction, or a savepoint of the open one. Foreign keys are looked at when the transaction commits.
    /// To copy a database as a whole into a file of its own, see ``Schema/backup(toFileAt:key:options:progress:)``.
    /// - Parameters:
    ///   - tables: the tables' names; nil, the default, for all that are no part of SQLite's own or of a virtual table.
    ///   - source: the database to copy from. Default: `main`.
    ///   - target: the database to copy to, as it was attached.
    ///   - options: what to do about rows that are there already, and what to leave out.
    ///   - progress: called before each table, every 256 rows and at the end. If it throws, nothing has changed and the call
    ///     throws the same error.
    /// - Returns: the number of rows that were copied; those that a conflict kept out do not count.
    /// - Throws: ``DatabaseError/Reason/schemaName`` for a database that is not attached or if both are the same,
    ///   ``DatabaseError/Reason/invalidArgument`` for a table that does not exist, is virtual, or has a column that the target's
    ///   lacks, and what SQLite reports. Nothing has changed then.
    @discardableResult
    public func copyTables(
        _ tables: [String]? = nil, from source: String = "main", to target: String, options: TableCopyOptions = TableCopyOptions(),
        progress: ((TableCopyProgress) throws -> Void)? = nil
    ) throws -> Int {
        let known = try attachedDatabases().map { $0.name.lowercased() } + ["temp"]
        for schema in [source, target] where !known.contains(schema.lowercased()) { throw DatabaseError.noSchema(schema) }
        if source.lowercased() == target.lowercased() {
            throw DatabaseError(code: .misuse, reason: .schemaName, message: "the tables of \(source) cannot be copied to itself")
        }
        return try savepoint("copy tables") { db in
            try db.execute("PRAGMA defer_foreign_keys = ON")
            let tables = try tables?.map { try db.copyable($0, in: source) } ?? db.copyableTables(of: source)
            var run = TableCopyRun(db, source, target, options, progress)
            run.total = try tables.reduce(0) { sum, table in
                let count = SQL(raw: "SELECT count(*) FROM \(source.quotedSQLIdentifier).\(table.quotedSQLIdentifier)")
                return try sum + (db.fetchOne(Int.self, count) ?? 0)
            }
            // All tables before any row: a row may refer to a table that comes later.
            for table in tables { try run.prepare(table) }
            for table in tables { try run.copy(table) }
            return run.changed
        }
    }

    /// The ordinary tables of a database, in the order they were made in.
    private func copyableTables(of schema: String) throws(DatabaseError) -> [String] {
        try fetchAll(
            String.self,
            SQL(raw: """
                SELECT s.name FROM \(schema.quotedSQLIdentifier).sqlite_schema AS s
                JOIN pragma_table_list(s.name) AS l ON lower(l.schema) = lower(?) AND l.name = s.name
                WHERE s.type = 'table' AND l.type = 'table' AND s.name NOT LIKE 'sqlite^_%' ESCAPE '^' ORDER BY s.rowid
                """, [schema]))
    }

    /// The name as the schema spells it.
    private func copyable(_ table: String, in schema: String) throws(DatabaseError) -> String {
        let found: (String, String)? = try fetchOne(
            "SELECT name, type FROM pragma_table_list(\(table)) WHERE lower(schema) = lower(\(schema))")
        guard let (name, type) = found else { throw .invalidArgument("the database \(schema) has no table \(table)") }
        guard type == "table" else { throw .invalidArgument("\(table) is no ordinary table, but \(type)") }
        return name
    }
}

/// One call of `copyTables`.
private struct TableCopyRun {
    private let db: Connection
    private let source: String, target: String
    private let options: TableCopyOptions
    private let progress: ((TableCopyProgress) throws -> Void)?
    var total = 0
    private var done = 0
    private(set) var changed = 0
    /// The tables that the target lacked.
    private var new: Set<String> = []

    init(
        _ db: Connection, _ source: String, _ target: String, _ options: TableCopyOptions,
        _ progress: ((TableCopyProgress) throws -> Void)?
    ) {
        self.db = db
        self.source = source
        self.target = target
        self.options = options
        self.progress = progress
    }

    mutating func prepare(_ table: String) throws {
        let count = try db.fetchOne(
            Int.self, SQL(raw: "SELECT count(*) FROM \(target.quotedSQLIdentifier).sqlite_schema WHERE lower(name) = lower(?)", [table]))
        if count == 0 {
            try make("name = ? AND type = 'table'", table)
            new.insert(table)
        } else if options.emptiesTarget {
            try db.execute(SQL(raw: "DELETE FROM \(target.quotedSQLIdentifier).\(table.quotedSQLIdentifier)"))
        }
    }

    mutating func copy(_ table: String) throws {
        try report(table)
        let from = "\(source.quotedSQLIdentifier).\(table.quotedSQLIdentifier)"
        let to = "\(target.quotedSQLIdentifier).\(table.quotedSQLIdentifier)"
        let isNew = new.contains(table)
        let columns = try self.columns(of: table, isNew: isNew)
        let list = columns.joined(separator: ", ")
        let marks = Array(repeating: "?", count: columns.count).joined(separator: ", ")
        let read = try db.prepare(SQL(raw: "SELECT \(list) FROM \(from) NOT INDEXED"))
        let write = try db.prepare(SQL(raw: "INSERT OR \(options.conflict.rawValue) INTO \(to)(\(list)) VALUES (\(marks))"))
        try write.insertRows(of: read) { _ in
            changed += db.changes
            done += 1
            if done % 256 == 0 { try report(table) }
        }
        if isNew {
            if options.includesIndexes { try make("tbl_name = ? AND type = 'index' AND sql IS NOT NULL", table) }
            try keepSequence(table)
            if options.includesTriggers { try make("tbl_name = ? AND type = 'trigger'", table) }
        }
        try report(table)
    }

    private func report(_ table: String) throws {
        try progress?(TableCopyProgress(table: table, rowsDone: done, rowsTotal: total))
    }

    /// Makes objects of the source in the target, from their own text.
    private func make(_ condition: String, _ table: String) throws {
        let objects: [(String, String)] = try db.fetchAll(
            SQL(raw: "SELECT name, sql FROM \(source.quotedSQLIdentifier).sqlite_schema WHERE \(condition) ORDER BY rowid", [table]))
        for (name, sql) in objects {
            guard let text = SchemaText(sql) else { throw DatabaseError.invalidArgument("the definition of \(name) cannot be read") }
            try db.execute(text.sql(name, in: target))
        }
    }

    /// The columns to copy, quoted, and the row id where both sides have one that no column hides.
    private func columns(of table: String, isNew: Bool) throws -> [String] {
        func columns(_ schema: String) throws -> [(name: String, hidden: Int)] {
            let rows: [(String, Int)] = try db.fetchAll("SELECT name, hidden FROM pragma_table_xinfo(\(table), \(schema)) ORDER BY cid")
            return rows.map { (name: $0.0, hidden: $0.1) }
        }
        func hasRowID(_ schema: String) throws -> Bool {
            try db.fetchOne(Int.self, "SELECT wr FROM pragma_table_list(\(table)) WHERE lower(schema) = lower(\(schema))") == 0
        }
        let ours = try columns(source), theirs = try columns(target)
        let stored = ours.filter { $0.hidden == 0 }.map(\.name)
        let there = Set(theirs.filter { $0.hidden == 0 }.map { $0.name.lowercased() })
        if let missing = stored.first(where: { !there.contains($0.lowercased()) }) {
            throw DatabaseError.invalidArgument("the table \(table) of \(target) has no column \(missing) that could be written")
        }
        var list = stored.map(\.quotedSQLIdentifier)
        // Row ids mean something in a new table, or with the key that they are; in another table they would collide.
        guard isNew, try hasRowID(source), try hasRowID(target) else { return list }
        let taken = Set(ours.map { $0.name.lowercased() })
        if let rowID = ["rowid", "_rowid_", "oid"].first(where: { !taken.contains($0) }) { list.insert(rowID, at: 0) }
        return list
    }

    /// The next number of an AUTOINCREMENT key may be higher than any row says.
    private func keepSequence(_ table: String) throws {
        func hasSequence(_ schema: String) throws -> Bool {
            try db.fetchOne(
                Int.self, SQL(raw: "SELECT count(*) FROM \(schema.quotedSQLIdentifier).sqlite_schema WHERE name = 'sqlite_sequence'")) == 1
        }
        guard try hasSequence(source), try hasSequence(target),
            let sequence = try db.fetchOne(
                Int64.self, SQL(raw: "SELECT seq FROM \(source.quotedSQLIdentifier).sqlite_sequence WHERE name = ?", [table]))
        else { return }
        let to = "\(target.quotedSQLIdentifier).sqlite_sequence"
        try db.execute(SQL(raw: "DELETE FROM \(to) WHERE name = ?", [table]))
        try db.execute(SQL(raw: "INSERT INTO \(to)(name, seq) VALUES (?, ?)", [table, sequence]))
    }
}
