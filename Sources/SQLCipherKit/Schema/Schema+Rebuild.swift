/// Changes of a table that ALTER TABLE cannot make.
extension Schema {
    /// Makes a table again with another definition, and keeps its rows, row ids, indexes, triggers, and what refers to it: the
    /// procedure of <https://sqlite.org/lang_altertable.html#otheralter> in one call.
    /// ```swift
    /// migrator.add("titles are unique") { db in
    ///     let note = SQLTable("note") {
    ///         SQLColumn("id", .integer).primaryKey()
    ///         SQLColumn("title", .text).notNull().unique()
    ///         SQLColumn("slug", .text)
    ///     }
    ///     try db.main.rebuildTable(note, values: ["slug": "lower(title)"])
    /// }
    /// ```
    /// A column gets what the column of the same name has held, or the value of its expression; one that is new gets its default. A
    /// row that the new definition refuses makes the call throw. The next number of an AUTOINCREMENT key stays. Triggers do not
    /// run.
    ///
    /// The call takes the time of copying the rows twice. To a ``ChangeRecorder`` it inserts every row.
    ///
    /// Indexes are made again, unless the description has one of the same name, and so are triggers, temporary ones as well. Views,
    /// other tables and full-text tables are left as they are. Where one of them no longer compiles, as a column is gone, the call
    /// throws: drop it before, in the same transaction, and make it again after.
    ///
    /// Foreign keys are not enforced meanwhile, and checked at the end: a row that breaks one, and did not before, makes the call
    /// throw. As they cannot be switched inside of a transaction, call this in a migration, or outside of a transaction; inside of
    /// one it throws if the connection enforces foreign keys and the table has or is the target of one.
    /// - Parameters:
    ///   - table: the new description, under the same name.
    ///   - values: expressions over the former columns, by the names of the new ones.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a table that is not there or is not an ordinary one, or a value for a
    ///   column that cannot be written; ``DatabaseError/Reason/misuse`` where foreign keys would have to be switched;
    ///   ``DatabaseError/Reason/migration`` for what would be broken, and what SQLite reports. Nothing has changed then.
    public func rebuildTable(_ table: SQLTable, values: [String: SQL] = [:]) throws {
        try live()
        var table = table
        table.schema = name
        let statements = try table.creation(values: connection.profile)
        try rebuild(table.name, statements[0], indexes: Array(statements.dropFirst()), values)
    }

    /// The same with a definition in SQL.
    /// ```swift
    /// try db.main.rebuildTable("note", sql: "CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT NOT NULL CHECK (title <> ''))")
    /// ```
    /// - Parameters:
    ///   - table: the table's name.
    ///   - sql: one CREATE TABLE statement for this name, without the name of a database.
    ///   - values: expressions over the former columns, by the names of the new ones.
    /// - Throws: as with a description; ``DatabaseError/Reason/schemaText`` for SQL that is something else.
    public func rebuildTable(_ table: String, sql: String, values: [String: SQL] = [:]) throws {
        let entry = SchemaEntry(type: "table", name: table, table: table, isVirtual: false, sql: sql)
        try rebuild(table, try entry.statement().sqlAsWritten(in: self), indexes: [], values)
    }

    private func rebuild(_ table: String, _ definition: SQL, indexes: [SQL], _ values: [String: SQL]) throws {
        guard let form = try form(of: table) else {
            throw DatabaseError.invalidArgument("the database \(name) has no table \(table)")
        }
        guard form.kind == .table, !form.name.isSlotMark, !form.name.hasNamePrefix("sqlite_") else {
            throw DatabaseError.invalidArgument("\(table) is no table that could be rebuilt")
        }
        let run = TableRebuild(schema: self, table: form.name, definition: definition, indexes: indexes, values: values)
        let isEnforcing = try connection.settings.isEnabled(.foreignKeys)
        guard isEnforcing else { return try connection.transaction { _ in try run.run() } }
        if connection.isInTransaction {
            try connection.savepoint { _ in
                try run.refuseForeignKeys()
                try run.run()
                try run.refuseForeignKeys()
            }
        } else {
            try connection.withoutForeignKeys { try connection.transaction { _ in try run.runChecked() } }
        }
    }
}
