import SQLCipherKitCore

extension Schema {
    /// Copies tables to another database of the same connection, with indexes and triggers. Either all of them are copied or
    /// nothing is.
    ///
    /// ```swift
    /// let export = try db.attach(.file("export.db"), as: "export", key: key)
    /// try db.main.copyTables(["note", "tag"], to: export) { print("\($0.completed) of \($0.total) rows") }
    /// ```
    /// A table that does not exist in the target is created with the same definition. An existing table must have all columns of
    /// the source's table, by name; its own triggers run, and its additional columns get their defaults. Row ids that are not a
    /// column of the table are kept if the target's table is new or has no rows. Otherwise they could collide with other rows, so
    /// the target assigns new row ids. Generated columns are computed again. Views and virtual tables are not copied.
    ///
    /// The copy is one transaction, or a savepoint of the open transaction. Foreign keys are checked when the transaction commits.
    /// To copy a whole database to a separate file, see ``Schema/backup(toFileAt:key:options:progress:)``.
    /// - Parameters:
    ///   - tables: the tables' names. Default: nil, for all tables except SQLite's own tables and the tables of virtual tables.
    ///   - target: the database to copy to.
    ///   - options: how to treat existing rows, and whether to omit indexes and triggers.
    ///   - progress: called before each table, every 256 rows and at the end. If it throws, nothing is changed, and the call throws
    ///     the same error.
    /// - Returns: the number of copied rows, without rows that were skipped because of a conflict.
    /// - Throws: ``DatabaseError/Reason/schemaName`` if a database is no longer attached or both are the same,
    ///   ``DatabaseError/Reason/misuse`` if they belong to different connections, ``DatabaseError/Reason/invalidArgument`` for a
    ///   table that does not exist, is virtual, or has a column that the target's table lacks,
    ///   ``DatabaseError/Reason/malformedSchema`` for a definition that is not the single statement that it should be, or an error
    ///   from SQLite. In each case nothing has changed.
    @discardableResult
    public func copyTables(
        _ tables: [String]? = nil, to target: Schema, options: CopyOptions = CopyOptions(),
        progress: DatabaseProgress.Handler? = nil
    ) throws -> Int {
        try live()
        try target.live()
        guard target.connection === connection else {
            throw DatabaseError.misuse("tables cannot be copied to a database of another connection: attach it to this connection")
        }
        if isSame(as: target) {
            throw DatabaseError(code: .misuse, reason: .schemaName, message: "the database \(name) is both source and target")
        }
        return try connection.savepoint("copy tables") { db in
            try db.execute("PRAGMA defer_foreign_keys = ON")
            let tables = try tables?.map { try copyable($0) } ?? copyableTables()
            let total = try tables.reduce(0) { try $0 + count($1) }
            var run = TableCopyRun(source: self, target: target, options: options, progress: progress, total: total)
            // Create all tables before copying rows: a row may refer to a later table.
            for table in tables { try run.prepare(table) }
            for table in tables { try run.copy(table) }
            return run.changed
        }
    }

    /// The ordinary tables, in the order of their creation.
    private func copyableTables() throws -> [String] {
        let ordinary = try objects(.table).nameSet
        let names = try connection.fetchAll(
            String.self, "SELECT name FROM \(raw: qualified("sqlite_schema")) WHERE type = 'table' ORDER BY rowid")
        return names.filter { ordinary.contains(SQLName($0)) && !$0.hasNamePrefix("sqlite_") && !$0.isKeptFromSQL }
    }

    /// The name as the schema spells it.
    private func copyable(_ table: String) throws -> String {
        guard let form = try form(of: table) else {
            throw DatabaseError.invalidArgument("the database \(name) has no table \(table)")
        }
        guard !form.name.isKeptFromSQL else {
            throw DatabaseError.invalidArgument("a database's record of its key slots cannot be copied")
        }
        guard form.kind == .table else {
            throw DatabaseError.invalidArgument("\(table) is not an ordinary table, but \(form.kind.rawValue)")
        }
        return form.name
    }

    private func count(_ table: String) throws -> Int {
        try connection.fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(qualified(table))")) ?? 0
    }
}

/// A call of `copyTables`.
private struct TableCopyRun {
    let source: Schema, target: Schema
    let options: Schema.CopyOptions
    let progress: DatabaseProgress.Handler?
    let total: Int
    var done = 0
    var changed = 0
    /// The tables that did not exist in the target.
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
        try db.refusingUse { try progress(DatabaseProgress(done: done, total: total, table: table)) }
    }

    /// Creates objects of the source in the target, from their own SQL text.
    private func make(_ condition: SQL) throws {
        for entry in try source.entries(where: condition) { try db.execute(entry.statement().sql(in: target)) }
    }

    /// The columns to copy, quoted, with the row id if both sides have one that no column hides.
    private func columns(of table: String, isNew: Bool) throws -> [String] {
        let stored = try source.storedColumns(of: table)
        let there = try target.storedColumns(of: table).nameSet
        if let missing = stored.first(where: { !there.contains(SQLName($0)) }) {
            throw DatabaseError.invalidArgument(
                "the table \(table) of \(target.name) has no column \(missing) that can be written")
        }
        let list = stored.map(\.quotedSQLIdentifier)
        // Next to other rows, row ids would collide, unless they are the table's key, which is copied anyway.
        guard let rowID = try source.rowIDName(of: table), try target.rowIDName(of: table) == rowID else { return list }
        let key = try target.columns(of: table).primaryKey
        if !isNew, key.count == 1, key[0].type.isSameName(as: "integer") { return list }
        let isEmpty = try isNew || db.fetchOne(Int.self, SQL(raw: "SELECT 1 FROM \(target.qualified(table)) LIMIT 1")) == nil
        return isEmpty ? [rowID] + list : list
    }

    /// Copies the next number of an AUTOINCREMENT key, which may be higher than any existing row's.
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

extension Schema {
    /// The options for copying tables from one database of a connection to another.
    public struct CopyOptions: Hashable, Sendable {
        /// The treatment of a row with a key that already exists in the target (<https://sqlite.org/lang_conflict.html>).
        public enum Conflict: String, Hashable, Sendable, CaseIterable {
            /// The copy fails with an error, and nothing is changed.
            case fail = "ABORT"
            /// The target's row is kept.
            case keep = "IGNORE"
            /// The source's row replaces the target's row.
            case replace = "REPLACE"
        }

        /// The treatment of a row with a key that already exists in the target. Default: the copy fails.
        public var conflict = Conflict.fail
        /// True to first delete the existing rows of a table in the target. Default: false.
        public var emptiesTarget = false
        /// True if a table that is new in the target gets its indexes. Default: true.
        public var includesIndexes = true
        /// True if a table that is new in the target gets its triggers, after the rows are copied. They run in the target from then
        /// on, so leave them out if the source is untrusted. Default: true.
        public var includesTriggers = true

        /// The defaults.
        public init() {}
    }
}
