import SQLCipherKitCore

/// Creating and changing tables. All of these methods can be part of a transaction.
extension Schema {
    /// Creates a table and its indexes from a description.
    /// ```swift
    /// try archive.create(Note.table)
    /// ```
    /// - Parameters:
    ///   - table: its description.
    ///   - ifNotExists: whether to leave an existing table or index of that name unchanged. Default: false, which throws.
    /// - Throws: SQLite's error, for instance for a name in use; ``DatabaseError/Reason/invalidArgument`` for a description without
    ///   columns or with two columns of one name, or for a default that SQL cannot hold; or ``DatabaseError/Reason/schemaName``.
    ///   Nothing has been created then.
    public func create(_ table: SQLTable, ifNotExists: Bool = false) throws {
        try live()
        var table = table
        table.schema = name
        try connection.create(table, ifNotExists: ifNotExists)
    }

    /// Creates an index on a table.
    /// - Parameters:
    ///   - index: the index's description.
    ///   - table: the name of the table.
    ///   - ifNotExists: whether to leave an existing index of that name unchanged. Default: false, which throws.
    /// - Throws: SQLite's error, such as ``ResultCode/constraintUnique`` for a unique index on rows that are not unique; or
    ///   ``DatabaseError/Reason/schemaName``.
    public func create(_ index: SQLIndex, on table: String, ifNotExists: Bool = false) throws {
        try live()
        try connection.execute(index.sql(table: table, schema: name, ifNotExists: ifNotExists))
    }

    /// Renames a table and updates the references to it (<https://sqlite.org/lang_altertable.html>).
    ///
    /// SQLite refuses to rename a full-text index that belongs to a table, because its triggers name it: drop the index, and create
    /// it under the other name. The table itself can be renamed.
    /// - Throws: SQLite's error, for instance if there is no such table, the new name is in use, or a view or trigger no longer
    ///   compiles; or ``DatabaseError/Reason/schemaName``. Nothing has changed then.
    public func renameTable(_ table: String, to newName: String) throws {
        try alter(table, "RENAME TO \(identifier: newName)")
    }

    /// Adds a column, which has its default value in existing rows. SQLite refuses a column that is a primary key, unique, or
    /// `NOT NULL` without a default.
    /// ```swift
    /// try db.main.addColumn(SQLColumn("stars", .integer).notNull().default(0), to: "note")
    /// ```
    /// - Throws: SQLite's error, for instance if there is no such table, or for a column that it refuses;
    ///   ``DatabaseError/Reason/invalidArgument`` for a default that SQL cannot hold; or ``DatabaseError/Reason/schemaName``.
    ///   Nothing has changed then.
    public func addColumn(_ column: SQLColumn, to table: String) throws {
        let isStrict = try form(of: table)?.isStrict ?? false
        try column.checkDateDefault(in: connection.profile, of: table, connection)
        try alter(table, "ADD COLUMN \(try column.definition(isStrict: isStrict, connection.profile))")
    }

    /// Renames a column and updates the references to it.
    /// - Throws: the same errors as ``renameTable(_:to:)``, also if there is no such column.
    public func renameColumn(_ column: String, to newName: String, of table: String) throws {
        try alter(table, "RENAME COLUMN \(identifier: column) TO \(identifier: newName)")
    }

    /// Drops a column. SQLite refuses to drop a column that is used in a key, an index, a constraint, a trigger or a view.
    /// - Throws: SQLite's error, for instance if there is no such column, or the column is in use; or
    ///   ``DatabaseError/Reason/schemaName``. Nothing has changed then.
    public func dropColumn(_ column: String, from table: String) throws {
        try alter(table, "DROP COLUMN \(identifier: column)")
    }

    private func alter(_ table: String, _ change: SQL) throws {
        try live()
        try connection.execute("ALTER TABLE \(raw: qualified(table)) \(change)")
    }

    /// Rebuilds indexes (<https://sqlite.org/lang_reindex.html>).
    /// - Parameter name: an index, or a table for all its indexes. Default: nil, for all indexes of the database.
    /// - Throws: SQLite's error, for instance for a name that is neither a table nor an index, ``ResultCode/constraintUnique`` for
    ///   rows that are not unique, or a missing collation; or ``DatabaseError/Reason/schemaName``. Nothing has changed then.
    public func reindex(_ name: String? = nil) throws {
        try rebuildIndexes(try name.map { [$0] } ?? objects(.table, .shadow))
    }

    /// Rebuilds the indexes that sort by a collation, as needed after the order of the collation has changed.
    /// ```swift
    /// try db.main.reindex(collation: "german")
    /// ```
    /// - Throws: SQLite's error, such as ``ResultCode/constraintUnique`` for rows that are not unique in the new order; or
    ///   ``DatabaseError/Reason/schemaName``. Nothing has changed then.
    public func reindex(collation: String) throws {
        try live()
        let names = try connection.fetchAll(
            String.self,
            """
            SELECT DISTINCT i.name FROM \(raw: qualified("sqlite_schema")) AS m, pragma_index_list(m.name, \(name)) AS i,
                pragma_index_xinfo(i.name, \(name)) AS x
            WHERE m.type = 'table' AND x.coll = \(collation) COLLATE NOCASE
            """)
        try rebuildIndexes(names)
    }

    private func rebuildIndexes(_ names: [String]) throws {
        try live()
        try connection.savepoint { db in for name in names { try db.execute("REINDEX \(raw: qualified(name))") } }
    }
}

extension Connection {
    /// Like ``Schema/create(_:ifNotExists:)``, but in the main database: `try db.create(Note.table)`.
    /// - Parameters:
    ///   - table: the table's description.
    ///   - ifNotExists: whether to leave an existing table of this name as it is. Default: false.
    /// - Throws: the same errors as ``Schema/create(_:ifNotExists:)``.
    public func create(_ table: SQLTable, ifNotExists: Bool = false) throws {
        let statements = try table.createStatements(ifNotExists: ifNotExists, on: self)
        try savepoint { db in for sql in statements { try db.execute(sql) } }
    }
}
