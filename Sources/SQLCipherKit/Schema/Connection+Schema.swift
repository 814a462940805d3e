/// Reading the schema.
extension Connection {
    /// The tables, views and virtual tables of a database, by their names; SQLite's own are left out.
    /// ```swift
    /// for table in try db.tables() where table.kind == .table {
    ///     print(table.name, table.columns.map(\.name), table.primaryKey)
    /// }
    /// ```
    /// - Parameter schema: `main`, or what it was attached as.
    /// - Throws: ``DatabaseError``.
    public func tables(in schema: String = "main") throws -> [TableSchema] {
        let names = try fetchAll(
            String.self,
            """
            SELECT name FROM pragma_table_list
            WHERE lower(schema) = lower(\(schema)) AND name NOT LIKE 'sqlite^_%' ESCAPE '^' ORDER BY lower(name)
            """)
        return try names.compactMap { try table($0, in: schema) }
    }

    /// A table, view or virtual table; nil if there is none of that name.
    public func table(_ name: String, in schema: String = "main") throws -> TableSchema? {
        let found: (String, TableSchema.Kind, Bool, Bool)? = try fetchOne(
            "SELECT name, type, wr, strict FROM pragma_table_list(\(name)) WHERE lower(schema) = lower(\(schema))")
        guard let (name, kind, isWithoutRowID, isStrict) = found else { return nil }
        let sql = try fetchOne(
            String.self,
            "SELECT sql FROM \(identifier: schema).sqlite_schema WHERE type IN ('table', 'view') AND name = \(name) COLLATE NOCASE")
        return TableSchema(
            schema: schema, name: name, kind: kind, isWithoutRowID: isWithoutRowID, isStrict: isStrict, sql: sql ?? "",
            columns: try columns(of: name, in: schema), primaryKey: try primaryKey(of: name, in: schema),
            foreignKeys: try foreignKeyList(of: name, in: schema), indexes: try indexes(of: name, in: schema),
            triggers: try triggers(of: name, in: schema))
    }

    /// Whether there is a table, view or virtual table of that name.
    public func hasTable(_ name: String, in schema: String = "main") throws(DatabaseError) -> Bool {
        try fetchOne(
            Bool.self, "SELECT EXISTS (SELECT 1 FROM pragma_table_list(\(name)) WHERE lower(schema) = lower(\(schema)))") ?? false
    }

    /// The indexes of a table, those of its constraints among them.
    public func indexes(of table: String, in schema: String = "main") throws -> [IndexSchema] {
        let list: [(String, Bool, IndexSchema.Origin, Bool)] = try fetchAll(
            "SELECT name, \"unique\", origin, partial FROM pragma_index_list(\(table), \(schema)) ORDER BY seq DESC")
        return try list.map { name, isUnique, origin, isPartial in
            let sql: String?? = try fetchOne(
                String?.self, "SELECT sql FROM \(identifier: schema).sqlite_schema WHERE type = 'index' AND name = \(name)")
            let terms: [IndexSchema.Term] = try fetchAll(
                "SELECT cid, name, \"desc\", coll FROM pragma_index_xinfo(\(name), \(schema)) WHERE \"key\" ORDER BY seqno")
            return IndexSchema(
                name: name, table: table, isUnique: isUnique, origin: origin, isPartial: isPartial, terms: terms, sql: sql ?? nil)
        }
    }

    /// The triggers of a table or view; nil for all.
    public func triggers(of table: String? = nil, in schema: String = "main") throws -> [TriggerSchema] {
        let filter: SQL = if let table { "AND tbl_name = \(table) COLLATE NOCASE" } else { "" }
        return try fetchAll(
            TriggerSchema.self,
            "SELECT name, tbl_name, sql FROM \(identifier: schema).sqlite_schema WHERE type = 'trigger' \(filter) ORDER BY rowid")
    }

    /// The columns of a table's primary key, in its order; empty if it has none.
    public func primaryKey(of table: String, in schema: String? = nil) throws(DatabaseError) -> [String] {
        try columns(of: table, in: schema).filter { $0.primaryKeyPosition > 0 }
            .sorted { $0.primaryKeyPosition < $1.primaryKeyPosition }.map(\.name)
    }

    /// The foreign keys of a table as a whole, in the order of their declaration.
    func foreignKeyList(of table: String, in schema: String? = nil) throws(DatabaseError) -> [SQLForeignKey] {
        var keys: [(id: Int, key: SQLForeignKey)] = []
        for column in try foreignKeys(of: table, in: schema).sorted(by: { ($0.id, $0.sequence) < ($1.id, $1.sequence) }) {
            if keys.last?.id != column.id {
                let onDelete = SQLForeignKey.Action(rawValue: column.onDelete) ?? .noAction
                let onUpdate = SQLForeignKey.Action(rawValue: column.onUpdate) ?? .noAction
                keys.append((column.id, SQLForeignKey([], references: column.parent, onDelete: onDelete, onUpdate: onUpdate)))
            }
            keys[keys.count - 1].key.columns.append(column.from)
            if let to = column.to { keys[keys.count - 1].key.parentColumns.append(to) }
        }
        // SQLite counts from the last one declared.
        return keys.reversed().map(\.key)
    }
}
