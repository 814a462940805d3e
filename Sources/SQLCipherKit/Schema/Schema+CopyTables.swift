extension Schema {
    /// Copies tables to another database of the same connection, with row ids, indexes and triggers, all or nothing.
    ///
    /// ```swift
    /// let export = try db.attach(.file("export.db"), as: "export", key: key)
    /// try db.main.copyTables(["note", "tag"], to: export) { print("\($0.rowsDone) of \($0.rowsTotal) rows") }
    /// ```
    /// A table that the target lacks is made with the same definition. One that it has must have all columns of the source's, by
    /// their names; its own triggers run, and columns that it has beyond them get their defaults. Generated columns are computed
    /// again. Views and virtual tables are not copied.
    ///
    /// The copy is one transaction, or a savepoint of the open one. Foreign keys are looked at when the transaction commits.
    /// To copy a database as a whole into a file of its own, see ``Schema/backup(toFileAt:key:options:progress:)``.
    /// - Parameters:
    ///   - tables: the tables' names; nil, the default, for all that are no part of SQLite's own or of a virtual table.
    ///   - target: the database to copy to.
    ///   - options: what to do about rows that are there already, and what to leave out.
    ///   - progress: called before each table, every 256 rows and at the end. If it throws, nothing has changed and the call
    ///     throws the same error.
    /// - Returns: the number of rows that were copied; those that a conflict kept out do not count.
    /// - Throws: ``DatabaseError/Reason/schemaName`` for a database that is no longer attached or if both are the same,
    ///   ``DatabaseError/Reason/misuse`` if they belong to two connections,
    ///   ``DatabaseError/Reason/invalidArgument`` for a table that does not exist, is virtual, or has a column that the target's
    ///   lacks, ``DatabaseError/Reason/schemaText`` for a definition that is not the one statement that it claims to be, and what
    ///   SQLite reports. Nothing has changed then.
    @discardableResult
    public func copyTables(
        _ tables: [String]? = nil, to target: Schema, options: TableCopyOptions = TableCopyOptions(),
        progress: ((TableCopyProgress) throws -> Void)? = nil
    ) throws -> Int {
        try live()
        try target.live()
        guard target.connection === connection else {
            throw DatabaseError.misuse("tables cannot be copied to a database of another connection: attach it to this one")
        }
        if isSame(as: target) {
            throw DatabaseError(code: .misuse, reason: .schemaName, message: "the tables of \(name) cannot be copied to itself")
        }
        return try connection.savepoint("copy tables") { db in
            try db.execute("PRAGMA defer_foreign_keys = ON")
            let tables = try tables?.map { try copyable($0) } ?? copyableTables()
            let total = try tables.reduce(0) { try $0 + count($1) }
            var run = TableCopyRun(source: self, target: target, options: options, progress: progress, total: total)
            // All tables before any row: a row may refer to a table that comes later.
            for table in tables { try run.prepare(table) }
            for table in tables { try run.copy(table) }
            return run.changed
        }
    }

    /// The ordinary tables, in the order they were made in.
    private func copyableTables() throws(DatabaseError) -> [String] {
        try connection.fetchAll(
            String.self,
            """
            SELECT s.name FROM \(raw: qualified("sqlite_schema")) AS s
            JOIN pragma_table_list(s.name) AS l ON l.schema = \(name) COLLATE NOCASE AND l.name = s.name
            WHERE s.type = 'table' AND l.type = 'table' AND s.name NOT LIKE 'sqlite^_%' ESCAPE '^' ORDER BY s.rowid
            """
        ).filter { !$0.isSlotMark }
    }

    /// The name as the schema spells it.
    private func copyable(_ table: String) throws(DatabaseError) -> String {
        guard let form = try form(of: table) else { throw .invalidArgument("the database \(name) has no table \(table)") }
        guard !form.name.isSlotMark else { throw .invalidArgument("what a database remembers of its key slots is not copied") }
        guard form.kind == .table else { throw .invalidArgument("\(table) is no ordinary table, but \(form.kind.rawValue)") }
        return form.name
    }

    private func count(_ table: String) throws(DatabaseError) -> Int {
        try connection.fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(qualified(table))")) ?? 0
    }
}

/// One call of `copyTables`.
private struct TableCopyRun {
    let source: Schema, target: Schema
    let options: TableCopyOptions
    let progress: ((TableCopyProgress) throws -> Void)?
    let total: Int
    var done = 0
    var changed = 0
    /// The tables that the target lacked.
    var new: Set<SQLName> = []

    var db: Connection { source.connection }

    mutating func prepare(_ table: String) throws {
        if try !target.has(table) {
            try make("name = \(table) AND type = 'table'")
            new.insert(SQLName(table))
        } else if options.emptiesTarget {
            try db.execute(SQL(raw: "DELETE FROM \(target.qualified(table))"))
        }
    }

    mutating func copy(_ table: String) throws {
        try report(table)
        let isNew = new.contains(SQLName(table))
        let columns = try self.columns(of: table, isNew: isNew)
        let list = columns.joined(separator: ", ")
        let marks = Array(repeating: "?", count: columns.count).joined(separator: ", ")
        let read = try db.prepare(SQL(raw: "SELECT \(list) FROM \(source.qualified(table)) NOT INDEXED"))
        let insert = "INSERT OR \(options.conflict.rawValue) INTO \(target.qualified(table))(\(list))"
        let write = try db.prepare(SQL(raw: "\(insert) VALUES (\(marks))"))
        try write.insertRows(of: read) { _ in
            changed += db.changes
            done += 1
            if done % 256 == 0 { try report(table) }
        }
        if isNew {
            if options.includesIndexes { try make("tbl_name = \(table) AND type = 'index' AND sql IS NOT NULL") }
            try keepSequence(table)
            if options.includesTriggers { try make("tbl_name = \(table) AND type = 'trigger'") }
        }
        try report(table)
    }

    private func report(_ table: String) throws {
        guard let progress else { return }
        try db.refusingUse { try progress(TableCopyProgress(table: table, rowsDone: done, rowsTotal: total)) }
    }

    /// Makes objects of the source in the target, from their own text.
    private func make(_ condition: SQL) throws {
        for entry in try source.entries(where: condition) { try db.execute(entry.statement().sql(in: target)) }
    }

    /// The columns to copy, quoted, and the row id where both sides have one that no column hides.
    private func columns(of table: String, isNew: Bool) throws -> [String] {
        let stored = try source.storedColumns(of: table)
        let there = try target.storedColumns(of: table).nameSet
        if let missing = stored.first(where: { !there.contains(SQLName($0)) }) {
            throw DatabaseError.invalidArgument(
                "the table \(table) of \(target.name) has no column \(missing) that could be written")
        }
        let list = stored.map(\.quotedSQLIdentifier)
        // Row ids mean something in a new table, or with the key that they are; in another table they would collide.
        guard isNew, let rowID = try source.rowIDName(of: table) else { return list }
        return [rowID] + list
    }

    /// The next number of an AUTOINCREMENT key may be higher than any row says.
    private func keepSequence(_ table: String) throws {
        let sequences = "sqlite_sequence"
        guard try source.has(sequences), try target.has(sequences),
            let sequence = try db.fetchOne(
                Int64.self, SQL(raw: "SELECT seq FROM \(source.qualified(sequences)) WHERE name = ?", [table]))
        else { return }
        try db.execute(SQL(raw: "DELETE FROM \(target.qualified(sequences)) WHERE name = ?", [table]))
        try db.execute(SQL(raw: "INSERT INTO \(target.qualified(sequences))(name, seq) VALUES (?, ?)", [table, sequence]))
    }
}
