import SQLCipherKitCore

/// Inserting the result of a query without reading it into memory (<https://sqlite.org/lang_insert.html>).
extension Connection {
    /// Inserts the records of a query into their table, such as that of an attached database, by one statement. All columns of the
    /// record are copied, except generated ones.
    /// ```swift
    /// try db.insertAll(from: Note.filter { $0.stars == 0 }, onConflict: .replace, in: archive)
    /// ```
    /// - Parameters:
    ///   - query: the records to insert.
    ///   - conflict: what to do if a constraint is violated. Default: nil, to follow the table's definition.
    ///   - schema: the database. Default: nil, for the first one that has the table.
    /// - Returns: the number of rows that were inserted.
    /// - Throws: ``DatabaseError``; then nothing is inserted. But ``ConflictResolution/fail`` keeps the rows before the violation,
    ///   and ``ConflictResolution/rollback`` rolls back the open transaction.
    @discardableResult
    public func insertAll<Record: SQLRecord>(
        from query: SQLQuery<Record>, onConflict conflict: ConflictResolution? = nil, in schema: Schema? = nil
    ) throws(DatabaseError) -> Int {
        let sql = try insertion(query, conflict, schema, returning: nil)
        if conflict == .fail { try execute(sql) } else { try changeRows(sql) }
        return changes
    }

    /// Inserts the records of a query, and returns the inserted rows in any order.
    /// - Throws: ``DatabaseError``, or any error that the record's own decoding throws; then nothing is inserted.
    public func insertAll<Record: SQLRecord>(
        from query: SQLQuery<Record>, onConflict conflict: ConflictResolution? = nil, in schema: Schema? = nil,
        returning type: Record.Type
    ) throws -> [Record] {
        let sql = try insertion(query, conflict, schema, returning: query.returnedColumns)
        return try changed(sql) { row in try Record(row: row) }
    }

    private func insertion<Record: SQLRecord>(
        _ query: SQLQuery<Record>, _ conflict: ConflictResolution?, _ schema: Schema?, returning: SQL?
    ) throws(DatabaseError) -> SQL {
        let statements = try statements(schema)
        let table = statements.table(Record.self)
        let layout = try statements.layout(Record.self, table, self)
        var all = layout.columns ?? []
        if layout.columns == nil { all = try self.schema(of: table).columns(of: table.name).map(\.name) }
        let names = all.filter { !layout.generated.contains(SQLName($0)) }
        let alias = query.selection.clauses.sides[0].alias
        let columns = names.map { name -> SQL in "\(identifier: alias).\(identifier: name)" }
        let sql: SQL = """
            INSERT\(raw: conflict.map { " OR \($0.rawValue)" } ?? "") INTO \(raw: table.qualifiedName)(\(names: names)) \
            \(try query.selection.clauses.select("\(list: columns)", self))
            """
        return returning.map { "\(sql) RETURNING \($0)" } ?? sql
    }
}
