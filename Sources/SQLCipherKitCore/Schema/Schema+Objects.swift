import CSQLCipher

/// The objects in a database.
extension Schema {
    /// The tables, views and virtual tables, sorted by name, without SQLite's own.
    /// ```swift
    /// for table in try db.main.tables() where table.kind == .table {
    ///     print(table.name, table.columns.map(\.name), table.primaryKey)
    /// }
    /// ```
    /// - Throws: ``DatabaseError``.
    public func tables() throws(DatabaseError) -> [Table] {
        var tables: [Table] = []
        for name in try objects("m.name NOT LIKE 'sqlite^_%' ESCAPE '^'", order: "lower(m.name)") {
            if let table = try table(name) { tables.append(table) }
        }
        return tables
    }

    /// The table, view or virtual table of a name; nil if there is none.
    /// - Throws: ``DatabaseError``.
    public func table(_ name: String) throws(DatabaseError) -> Table? {
        guard let form = try form(of: name) else { return nil }
        let name = form.name
        let sql = try connection.fetchOne(
            String.self,
            """
            SELECT sql FROM \(raw: qualified("sqlite_schema"))
            WHERE type IN ('table', 'view') AND name = \(name) COLLATE NOCASE
            """)
        var columns: [Column] = []
        do throws(DatabaseError) { columns = try self.columns(of: name) } catch {
            // A view may refer to a table that is missing, and a virtual table's module may be.
            if error.code != .error || ![.view, .virtual].contains(form.kind) { throw error }
        }
        return Table(
            schema: self.name, name: name, kind: form.kind, isWithoutRowID: form.isWithoutRowID, isStrict: form.isStrict,
            sql: sql ?? "", columns: columns, primaryKey: columns.primaryKey.map(\.name),
            foreignKeys: try foreignKeys(of: name), indexes: try indexes(of: name), triggers: try triggers(of: name))
    }

    /// Whether there is a table, view or virtual table of that name.
    /// - Throws: ``DatabaseError``.
    public func hasTable(_ name: String) throws(DatabaseError) -> Bool { try form(of: name) != nil }

    /// The columns of a table or view, including hidden and generated ones (<https://sqlite.org/pragma.html#pragma_table_xinfo>).
    /// Empty for a table that does not exist.
    /// - Throws: ``DatabaseError``.
    public func columns(of table: String) throws(DatabaseError) -> [Column] {
        let rows: [(Int, String, String, Bool, String?, Int, Column.Kind)] = try rows("table_xinfo", table)
        return rows.map {
            Column(
                index: $0.0, name: $0.1, type: $0.2, isNotNull: $0.3, defaultValue: $0.4, primaryKeyPosition: $0.5, kind: $0.6)
        }
    }

    /// The columns of a table's primary key, in the key's order; empty if it has none.
    /// - Throws: ``DatabaseError``.
    public func primaryKey(of table: String) throws(DatabaseError) -> [String] { try columns(of: table).primaryKey.map(\.name) }

    /// The foreign keys of a table, in the order of their declaration (<https://sqlite.org/pragma.html#pragma_foreign_key_list>).
    /// Empty for a table that does not exist.
    /// - Throws: ``DatabaseError``.
    package func foreignKeys(of table: String) throws(DatabaseError) -> [SQLForeignKey] {
        var keys: [(id: Int, key: SQLForeignKey)] = []
        let handle = try connection.live()
        for column in try foreignKeyColumns(of: table).sorted(by: { ($0.id, $0.sequence) < ($1.id, $1.sequence) }) {
            if keys.last?.id != column.id {
                let onDelete = SQLForeignKey.Action(rawValue: column.onDelete) ?? .noAction
                let onUpdate = SQLForeignKey.Action(rawValue: column.onUpdate) ?? .noAction
                let isDeferred = sqlcipherkit_is_deferred(handle, name, table, Int32(column.id)) != 0
                let key = SQLForeignKey(
                    [], references: column.parent, onDelete: onDelete, onUpdate: onUpdate, isDeferred: isDeferred)
                keys.append((column.id, key))
            }
            keys[keys.count - 1].key.columns.append(column.from)
            if let to = column.to { keys[keys.count - 1].key.parentColumns.append(to) }
        }
        // SQLite counts from the last one declared.
        return keys.reversed().map(\.key)
    }

    /// The indexes of a table, including those of its constraints.
    /// - Throws: ``DatabaseError``.
    package func indexes(of table: String) throws(DatabaseError) -> [Index] {
        try live()
        let list: [(String, Bool, Index.Origin, Bool)] = try connection.fetchAll(
            """
            SELECT name, "unique", origin, partial FROM pragma_index_list(\(table.cName("the name of a table")), \(name))
            ORDER BY seq DESC
            """)
        return try list.map { index, isUnique, origin, isPartial throws(DatabaseError) in
            let sql: String?? = try connection.fetchOne(
                String?.self, "SELECT sql FROM \(raw: qualified("sqlite_schema")) WHERE type = 'index' AND name = \(index)")
            let terms: [(Int, String?, Bool, String)] = try connection.fetchAll(
                "SELECT cid, name, \"desc\", coll FROM pragma_index_xinfo(\(index), \(name)) WHERE \"key\" ORDER BY seqno")
            return Index(
                name: index, table: table, isUnique: isUnique, origin: origin, isPartial: isPartial,
                terms: terms.map { Index.Term(column: $0.1, isExpression: $0.0 == -2, isDescending: $0.2, collation: $0.3) },
                sql: sql ?? nil)
        }
    }

    /// The triggers of a table or view, or with nil, the default, all triggers.
    /// - Throws: ``DatabaseError``.
    package func triggers(of table: String? = nil) throws(DatabaseError) -> [Trigger] {
        try live()
        let filter: SQL = if let table { "AND tbl_name = \(table) COLLATE NOCASE" } else { "" }
        let rows: [(String, String, String)] = try connection.fetchAll(
            "SELECT name, tbl_name, sql FROM \(raw: qualified("sqlite_schema")) WHERE type = 'trigger' \(filter) ORDER BY rowid")
        return rows.map { Trigger(name: $0.0, table: $0.1, sql: $0.2) }
    }
}
