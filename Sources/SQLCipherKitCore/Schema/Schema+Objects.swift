/// The objects in a database.
extension Schema {
    /// The tables, views and virtual tables, sorted by name, without SQLite's own.
    /// ```swift
    /// for table in try db.main.tables() where table.kind == .table {
    ///     print(table.name, table.columns.map(\.name), table.primaryKey)
    /// }
    /// ```
    /// - Throws: ``DatabaseError``.
    public func tables() throws -> [TableSchema] {
        try objects("m.name NOT LIKE 'sqlite^_%' ESCAPE '^'", order: "lower(m.name)").compactMap { try table($0) }
    }

    /// The table, view or virtual table of a name; nil if there is none.
    /// - Throws: ``DatabaseError``.
    public func table(_ name: String) throws -> TableSchema? {
        guard let form = try form(of: name) else { return nil }
        let name = form.name
        let sql = try connection.fetchOne(
            String.self,
            """
            SELECT sql FROM \(raw: qualified("sqlite_schema"))
            WHERE type IN ('table', 'view') AND name = \(name) COLLATE NOCASE
            """)
        var columns: [TableColumn] = []
        do throws(DatabaseError) { columns = try self.columns(of: name) } catch {
            // A view may refer to a table that is missing, and a virtual table's module may be.
            if error.code != .error || ![.view, .virtual].contains(form.kind) { throw error }
        }
        return TableSchema(
            schema: self.name, name: name, kind: form.kind, isWithoutRowID: form.isWithoutRowID, isStrict: form.isStrict,
            sql: sql ?? "", columns: columns, primaryKey: columns.primaryKey.map(\.name),
            foreignKeys: try foreignKeyList(of: name), indexes: try indexes(of: name), triggers: try triggers(of: name))
    }

    /// Whether there is a table, view or virtual table of that name.
    /// - Throws: ``DatabaseError``.
    public func hasTable(_ name: String) throws(DatabaseError) -> Bool { try form(of: name) != nil }

    /// The columns of a table or view, including hidden and generated ones (<https://sqlite.org/pragma.html#pragma_table_xinfo>).
    /// Empty for a table that does not exist.
    /// - Throws: ``DatabaseError``.
    public func columns(of table: String) throws(DatabaseError) -> [TableColumn] { try rows("table_xinfo", table) }

    /// The columns of a table's primary key, in the key's order; empty if it has none.
    /// - Throws: ``DatabaseError``.
    public func primaryKey(of table: String) throws(DatabaseError) -> [String] { try columns(of: table).primaryKey.map(\.name) }

    /// The foreign keys that a table declares, with one element per column
    /// (<https://sqlite.org/pragma.html#pragma_foreign_key_list>). Empty for a table that does not exist.
    /// - Throws: ``DatabaseError``.
    public func foreignKeys(of table: String) throws(DatabaseError) -> [ForeignKeyColumn] { try rows("foreign_key_list", table) }

    /// The indexes of a table, including those of its constraints.
    /// - Throws: ``DatabaseError``.
    public func indexes(of table: String) throws -> [IndexSchema] {
        try live()
        let list: [(String, Bool, IndexSchema.Origin, Bool)] = try connection.fetchAll(
            """
            SELECT name, "unique", origin, partial FROM pragma_index_list(\(table.cName("the name of a table")), \(name))
            ORDER BY seq DESC
            """)
        return try list.map { index, isUnique, origin, isPartial in
            let sql: String?? = try connection.fetchOne(
                String?.self, "SELECT sql FROM \(raw: qualified("sqlite_schema")) WHERE type = 'index' AND name = \(index)")
            let terms: [IndexSchema.Term] = try connection.fetchAll(
                "SELECT cid, name, \"desc\", coll FROM pragma_index_xinfo(\(index), \(name)) WHERE \"key\" ORDER BY seqno")
            return IndexSchema(
                name: index, table: table, isUnique: isUnique, origin: origin, isPartial: isPartial, terms: terms, sql: sql ?? nil)
        }
    }

    /// The triggers of a table or view, or with nil, the default, all triggers.
    /// - Throws: ``DatabaseError``.
    public func triggers(of table: String? = nil) throws -> [TriggerSchema] {
        try live()
        let filter: SQL = if let table { "AND tbl_name = \(table) COLLATE NOCASE" } else { "" }
        return try connection.fetchAll(
            TriggerSchema.self,
            "SELECT name, tbl_name, sql FROM \(raw: qualified("sqlite_schema")) WHERE type = 'trigger' \(filter) ORDER BY rowid")
    }
}
