import SQLCipherKitCore

/// Changes to a table that ALTER TABLE cannot make.
extension Schema {
    /// Rebuilds a table with a new definition, and keeps its rows, row ids, indexes, triggers and all references to it. This
    /// carries out the procedure of <https://sqlite.org/lang_altertable.html#otheralter> in one call.
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
    /// A column gets the values of the column with the same name, or of its expression in `values`; a new column gets its default.
    /// If the new definition refuses a row, the call throws. The next number of an AUTOINCREMENT key is kept. Triggers do not run.
    ///
    /// The call takes as long as copying the rows twice. A ``ChangeRecorder`` sees it as inserting every row.
    ///
    /// Indexes are created again, unless the description has one of the same name, and so are triggers, including temporary ones.
    /// Views, other tables and full-text tables are left unchanged. If one of them no longer compiles because a column is missing,
    /// the call throws: drop it first, in the same transaction, and create it again afterwards.
    ///
    /// Foreign keys are not enforced meanwhile, but checked at the end: if a row violates one and did not before, the call throws.
    /// Since enforcement cannot be switched inside a transaction, call this in a migration or outside a transaction. Inside one, it
    /// throws if the connection enforces foreign keys and the table has one or is the target of one.
    /// - Parameters:
    ///   - table: the new description, under the same name.
    ///   - values: expressions over the old columns, by the names of the new ones.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a table that does not exist or is not an ordinary one, or a value for
    ///   a column that cannot be written; ``DatabaseError/Reason/misuse`` if foreign key enforcement would have to be switched;
    ///   ``DatabaseError/Reason/migration`` if something would be broken; or an error from SQLite. In each case nothing has
    ///   changed.
    public func rebuildTable(_ table: SQLTable, values: [String: SQL] = [:]) throws(DatabaseError) {
        try live()
        var table = table
        table.schema = name
        let described = table
        try DatabaseError.only("the rebuild of a table") {
            let statements = try described.creation(on: connection)
            try rebuild(described.name, statements[0], indexes: Array(statements.dropFirst()), values)
        }
    }

    /// Rebuilds a table with a definition in SQL, like ``rebuildTable(_:values:)``.
    /// ```swift
    /// try db.main.rebuildTable("note", sql: "CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT NOT NULL CHECK (title <> ''))")
    /// ```
    /// - Parameters:
    ///   - table: the table's name.
    ///   - sql: a single CREATE TABLE statement for this name, without a database name and without bound values.
    ///   - values: expressions over the old columns, by the names of the new ones.
    /// - Throws: the same errors as with a description; ``DatabaseError/Reason/schemaText`` for any other SQL.
    public func rebuildTable(_ table: String, sql: SQL, values: [String: SQL] = [:]) throws(DatabaseError) {
        // A definition has no parameters, so that what is interpolated cannot be meant as a value.
        guard sql.arguments.isEmpty else {
            throw DatabaseError.invalidArgument("the definition of a table cannot have bound values: write them as literals")
        }
        let entry = SchemaEntry(type: "table", name: table, table: table, isVirtual: false, sql: sql.text)
        try DatabaseError.only("the rebuild of a table") {
            try rebuild(table, try entry.statement().sqlAsWritten(in: self), indexes: [], values)
        }
    }

    private func rebuild(_ table: String, _ definition: SQL, indexes: [SQL], _ values: [String: SQL]) throws {
        guard let form = try form(of: table) else {
            throw DatabaseError.invalidArgument("the database \(name) has no table \(table)")
        }
        guard form.kind == .table, !form.name.isKeptFromSQL, !form.name.hasNamePrefix("sqlite_") else {
            throw DatabaseError.invalidArgument("\(table) is not a table that can be rebuilt")
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
