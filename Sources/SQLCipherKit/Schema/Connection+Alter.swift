/// Making and changing tables. Everything here can be part of a transaction.
extension Connection {
    /// Makes a table and its indexes, as described.
    /// ```swift
    /// try db.create(Note.table)
    /// ```
    /// - Parameters:
    ///   - table: its description.
    ///   - ifNotExists: whether a table, or index, of that name that is there already is left as it is. Default: an error.
    /// - Throws: ``DatabaseError``; nothing has been made then.
    public func create(_ table: SQLTable, ifNotExists: Bool = false) throws {
        let statements = try table.creation(ifNotExists: ifNotExists)
        try savepoint { db in for sql in statements { try db.execute(sql) } }
    }

    /// Makes an index on a table.
    /// - Throws: ``DatabaseError``, ``ResultCode/constraintUnique`` among others for a unique index on rows that are not.
    public func create(_ index: SQLIndex, on table: String, in schema: String? = nil, ifNotExists: Bool = false) throws(DatabaseError) {
        try execute(index.sql(table: table, schema: schema, ifNotExists: ifNotExists))
    }

    /// Drops a table with its indexes and triggers. Rows that refer to its rows are dealt with as if these were deleted
    /// (<https://sqlite.org/lang_droptable.html>).
    public func dropTable(_ name: String, in schema: String? = nil, ifExists: Bool = false) throws(DatabaseError) {
        try drop("TABLE", name, schema, ifExists)
    }

    /// Drops an index.
    public func dropIndex(_ name: String, in schema: String? = nil, ifExists: Bool = false) throws(DatabaseError) {
        try drop("INDEX", name, schema, ifExists)
    }

    /// Drops a trigger.
    public func dropTrigger(_ name: String, in schema: String? = nil, ifExists: Bool = false) throws(DatabaseError) {
        try drop("TRIGGER", name, schema, ifExists)
    }

    /// Drops a view.
    public func dropView(_ name: String, in schema: String? = nil, ifExists: Bool = false) throws(DatabaseError) {
        try drop("VIEW", name, schema, ifExists)
    }

    private func drop(_ kind: String, _ name: String, _ schema: String?, _ ifExists: Bool) throws(DatabaseError) {
        try execute("DROP \(raw: kind)\(raw: ifExists ? " IF EXISTS" : "") \(raw: place(schema))\(identifier: name)")
    }

    /// Renames a table, and with it what refers to it (<https://sqlite.org/lang_altertable.html>).
    public func renameTable(_ name: String, to newName: String, in schema: String? = nil) throws(DatabaseError) {
        try execute("ALTER TABLE \(raw: place(schema))\(identifier: name) RENAME TO \(identifier: newName)")
    }

    /// Adds a column, whose rows get its default. SQLite refuses one that is a primary key, unique, or `NOT NULL` without a default.
    /// ```swift
    /// try db.addColumn(SQLColumn("stars", .integer).notNull().default(0), to: "note")
    /// ```
    public func addColumn(_ column: SQLColumn, to table: String, in schema: String? = nil) throws(DatabaseError) {
        let isStrict = try fetchOne(
            Bool.self, "SELECT strict FROM pragma_table_list(\(table)) WHERE lower(schema) = lower(\(schema ?? "main"))") ?? false
        let definition = try column.definition(isStrict: isStrict)
        try execute("ALTER TABLE \(raw: place(schema))\(identifier: table) ADD COLUMN \(definition)")
    }

    /// Renames a column, and with it what refers to it.
    public func renameColumn(_ name: String, to newName: String, of table: String, in schema: String? = nil) throws(DatabaseError) {
        try execute("ALTER TABLE \(raw: place(schema))\(identifier: table) RENAME COLUMN \(identifier: name) TO \(identifier: newName)")
    }

    /// Drops a column. SQLite refuses one that belongs to a key, an index, a constraint, a trigger or a view.
    public func dropColumn(_ name: String, from table: String, in schema: String? = nil) throws(DatabaseError) {
        try execute("ALTER TABLE \(raw: place(schema))\(identifier: table) DROP COLUMN \(identifier: name)")
    }

    /// Builds indexes anew, as is needed after the order of a collation has changed (<https://sqlite.org/lang_reindex.html>).
    /// - Parameters:
    ///   - name: an index, a table or a collation; nil for everything.
    ///   - schema: the attached database that it is in; nil to look in all of them.
    public func reindex(_ name: String? = nil, in schema: String? = nil) throws(DatabaseError) {
        guard let name else {
            if let schema { throw .invalidArgument("the indexes of \(schema) cannot be built anew without a name") }
            try execute("REINDEX")
            return
        }
        try execute("REINDEX \(raw: place(schema))\(identifier: name)")
    }

    private func place(_ schema: String?) -> String { schema.map { $0.quotedSQLIdentifier + "." } ?? "" }
}
