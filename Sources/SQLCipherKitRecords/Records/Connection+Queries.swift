import SQLCipherKitCore

/// Changing all rows of a query.
extension Connection {
    /// Deletes the rows of a query, up to its limit if it has one.
    /// ```swift
    /// try db.deleteAll(Note.filter { $0.stars == 0 })     // DELETE FROM "note" WHERE "note"."stars" = ?
    /// ```
    /// - Returns: the number of rows that were deleted.
    /// - Throws: ``DatabaseError/Reason/misuse`` for a query with groups; the errors of `fetchAll` for a query that cannot be
    ///   written as SQL; or SQLite's error, such as ``ResultCode/constraintForeignKey``. Nothing is deleted then.
    @discardableResult
    public func deleteAll<Record: SQLRecord>(_ query: SQLQuery<Record>) throws -> Int {
        let clauses = query.selection.clauses
        try PropertyName.explaining { try changeRows(clauses.change("DELETE FROM \(clauses.sides[0].source)")) }
        return changes
    }

    /// Changes columns in all rows of a query, up to its limit if it has one.
    /// ```swift
    /// try db.updateAll(Note.filter { $0.title == "Plan" }) { note, set in
    ///     set(\.stars, to: 5)
    ///     set(\.title, to: SQLExpression("upper(\(note.title))"))
    /// }
    /// // UPDATE "note" SET "stars" = ?, "title" = upper("note"."title") WHERE "note"."title" = ?
    /// ```
    /// - Returns: the number of rows that were changed.
    /// - Throws: ``DatabaseError/Reason/misuse`` for a query with groups and for an update without assignments; the errors of
    ///   `fetchAll` for a query that cannot be written as SQL; or SQLite's error, such as ``ResultCode/constraintUnique``. Nothing
    ///   is changed then.
    @discardableResult
    public func updateAll<Record: SQLRecord>(
        _ query: SQLQuery<Record>, _ changes: (SQLColumns<Record>, inout SQLAssignments<Record>) -> Void
    ) throws -> Int {
        try PropertyName.explaining { try changeRows(query.selection.clauses.update(Record.self, changes)) }
        return self.changes
    }
}

/// The assignments of an update of several rows.
public struct SQLAssignments<Record: SQLRecord> {
    let table: SQLTable
    private(set) var list: [SQL] = []
    private(set) var failure: DatabaseError?

    /// Sets a column to a value, which is bound.
    public mutating func callAsFunction<Value: SQLValueConvertible>(_ property: KeyPath<Record, Value> & Sendable, to value: Value)
    {
        set(property) { SQLExpression<Value>.bound(value, $0) }
    }

    /// Sets a column to a compound value, which is stored as JSON, as when a record is inserted.
    @_disfavoredOverload
    public mutating func callAsFunction<Value: Encodable>(_ property: KeyPath<Record, Value> & Sendable, to value: Value) {
        let stored = SQLExpression<Value>.stored(value) ?? SQLValue.null
        set(property) { "\(ProfiledValue(stored, $0))" }
    }

    /// Sets a column to an expression. If the expression's values are stored in another form than the column's, they are converted.
    public mutating func callAsFunction<Value>(_ property: KeyPath<Record, Value> & Sendable, to expression: SQLExpression<Value>) {
        set(property) { expression.converted(to: $0).sql }
    }

    /// Sets a column that may be NULL to an expression.
    public mutating func callAsFunction<Value>(
        _ property: KeyPath<Record, Value?> & Sendable, to expression: SQLExpression<Value>
    ) {
        set(property) { expression.converted(to: $0).sql }
    }

    /// - Parameter value: gets the form in which the column is stored.
    private mutating func set<Value>(_ property: KeyPath<Record, Value> & Sendable, _ value: (ValueProfile?) -> SQL) {
        guard let name = table.columnName(property) else {
            failure = failure ?? PropertyName.refusal(property)
            return
        }
        list.append("\(identifier: name) = \(value(Record.columnProfiles[name]))")
    }
}

/// Changing many rows, and reading the changed rows by the same statement (<https://sqlite.org/lang_returning.html>). The rows come
/// in any order. If one of them cannot be read, nothing is changed.
extension Connection {
    /// Deletes the rows of a query, and returns them.
    /// ```swift
    /// let gone = try db.deleteAll(Note.filter { $0.stars == 0 }, returning: Note.self)
    /// ```
    /// - Throws: the errors of ``deleteAll(_:)``, or any error that the record's own decoding throws; then nothing is deleted.
    public func deleteAll<Record: SQLRecord>(_ query: SQLQuery<Record>, returning type: Record.Type) throws -> [Record] {
        try changed(query.deletion(query.returnedColumns)) { row in try Record(row: row) }
    }

    /// Deletes the rows of a query, and returns one value from each row.
    /// - Throws: the errors of ``deleteAll(_:)``, or an error for a value that cannot be read; then nothing is deleted.
    public func deleteAll<Record: SQLRecord, Value: SQLValueConvertible>(
        _ query: SQLQuery<Record>, returning expression: (SQLColumns<Record>) -> SQLExpression<Value>
    ) throws -> [Value] {
        let list = query.returned { SQLValueList(expression($0)) }
        return try changedValues(query.deletion(list.sql)) { row in try list.read(row) }
    }

    /// Deletes the rows of a query, and returns a value of a `Codable` type from each row.
    /// - Throws: the errors of ``deleteAll(_:)``, or an error for a value that cannot be read; then nothing is deleted.
    @_disfavoredOverload
    public func deleteAll<Record: SQLRecord, Value: Decodable>(
        _ query: SQLQuery<Record>, returning expression: (SQLColumns<Record>) -> SQLExpression<Value>
    ) throws -> [Value] {
        let list = query.returned { SQLValueList(expression($0)) }
        return try changed(query.deletion(list.sql)) { row in try list.readCoded(row) }
    }

    /// Deletes the rows of a query, and returns several values from each row, as a tuple.
    /// - Throws: the errors of ``deleteAll(_:)``, or an error for a value that cannot be read; then nothing is deleted.
    @_disfavoredOverload
    public func deleteAll<Record: SQLRecord, each Value: SQLValueConvertible>(
        _ query: SQLQuery<Record>,
        returning expressions: (SQLColumns<Record>) -> (repeat SQLExpression<each Value>)
    ) throws -> [(repeat each Value)] {
        let list = query.returned { columns in
            let expressions = expressions(columns)
            return SQLValueList(repeat each expressions)
        }
        return try changedValues(query.deletion(list.sql)) { row in try list.read(row) }
    }

    /// Changes columns in all rows of a query, and returns the changed rows.
    /// ```swift
    /// let notes = try db.updateAll(Note.filter { $0.stars > 3 }, returning: Note.self) { note, set in
    ///     set(\.stars, to: 3)
    /// }
    /// ```
    /// - Throws: the errors of ``updateAll(_:_:)``, or any error that the record's own decoding throws; then nothing is changed.
    public func updateAll<Record: SQLRecord>(
        _ query: SQLQuery<Record>, returning type: Record.Type,
        _ changes: (SQLColumns<Record>, inout SQLAssignments<Record>) -> Void
    ) throws -> [Record] {
        let sql = try query.selection.clauses.update(type, changes, returning: query.returnedColumns)
        return try changed(sql) { row in try Record(row: row) }
    }

    /// Changes columns in all rows of a query, and returns one value from each changed row.
    /// - Throws: the errors of ``updateAll(_:_:)``, or an error for a value that cannot be read; then nothing is changed.
    public func updateAll<Record: SQLRecord, Value: SQLValueConvertible>(
        _ query: SQLQuery<Record>, returning expression: (SQLColumns<Record>) -> SQLExpression<Value>,
        _ changes: (SQLColumns<Record>, inout SQLAssignments<Record>) -> Void
    ) throws -> [Value] {
        let list = query.returned { SQLValueList(expression($0)) }
        return try changedValues(query.selection.clauses.update(Record.self, changes, returning: list.sql)) { row in
            try list.read(row)
        }
    }

    /// Changes columns in all rows of a query, and returns a value of a `Codable` type from each changed row.
    /// - Throws: the errors of ``updateAll(_:_:)``, or an error for a value that cannot be read; then nothing is changed.
    @_disfavoredOverload
    public func updateAll<Record: SQLRecord, Value: Decodable>(
        _ query: SQLQuery<Record>, returning expression: (SQLColumns<Record>) -> SQLExpression<Value>,
        _ changes: (SQLColumns<Record>, inout SQLAssignments<Record>) -> Void
    ) throws -> [Value] {
        let list = query.returned { SQLValueList(expression($0)) }
        return try changed(query.selection.clauses.update(Record.self, changes, returning: list.sql)) { row in
            try list.readCoded(row)
        }
    }

    /// Changes columns in all rows of a query, and returns several values from each changed row, as a tuple.
    /// - Throws: the errors of ``updateAll(_:_:)``, or an error for a value that cannot be read; then nothing is changed.
    @_disfavoredOverload
    public func updateAll<Record: SQLRecord, each Value: SQLValueConvertible>(
        _ query: SQLQuery<Record>,
        returning expressions: (SQLColumns<Record>) -> (repeat SQLExpression<each Value>),
        _ changes: (SQLColumns<Record>, inout SQLAssignments<Record>) -> Void
    ) throws -> [(repeat each Value)] {
        let list = query.returned { columns in
            let expressions = expressions(columns)
            return SQLValueList(repeat each expressions)
        }
        return try changedValues(query.selection.clauses.update(Record.self, changes, returning: list.sql)) { row in
            try list.read(row)
        }
    }

    private func changedValues<Element>(
        _ sql: SQL, _ read: @escaping (borrowing Row) throws -> Element
    ) throws -> [Element] {
        do { return try changed(sql, read) } catch { throw DatabaseError(thrownBy: "reading a changed row", error) }
    }

    func changed<Element>(_ sql: SQL, _ read: @escaping (borrowing Row) throws -> Element) throws -> [Element] {
        var elements: [Element] = []
        try savepoint { db in
            try db.forEachRow(of: sql) { _ in { row in elements.append(try read(row)) } }
        }
        return elements
    }
}

extension SQLQuery {
    /// The columns of the record, without a table's name: in `RETURNING`, SQLite does not accept an alias.
    fileprivate var returnedColumns: SQL {
        let table = selection.clauses.sides[0].table
        let names = table.positions?.names ?? table.columns.map(\.name)
        return names.isEmpty ? "*" : "\(list: names.map { "\(identifier: $0)" })"
    }

    fileprivate func returned(_ expressions: (SQLColumns<Record>) -> SQLValueList) -> SQLValueList {
        var clauses = selection.clauses
        clauses.sides[0].alias = clauses.sides[0].table.name
        return SQLScope.within(clauses) { expressions(clauses.columns(0)) }
    }

    fileprivate func deletion(_ columns: SQL) throws -> SQL {
        try selection.clauses.change("DELETE FROM \(selection.clauses.sides[0].source)", returning: columns)
    }
}

/// Inserting the result of a query without reading it into memory (<https://sqlite.org/lang_insert.html>).
extension Connection {
    /// Inserts the records of a query into their table, such as the table of an attached database, by one statement. All columns of
    /// the record are copied, except generated columns.
    /// ```swift
    /// try db.insertAll(from: Note.filter { $0.stars == 0 }, onConflict: .replace, in: archive)
    /// ```
    /// - Parameters:
    ///   - query: the records to insert.
    ///   - conflict: the behavior if a constraint is violated. Default: nil, to follow the table's definition.
    ///   - schema: the database. Default: nil, for the first database that has the table.
    /// - Returns: the number of rows that were inserted.
    /// - Throws: the errors of `fetchAll` for a query that cannot be written as SQL; or SQLite's error, such as
    ///   ``ResultCode/constraintUnique`` for a violated constraint. Nothing is inserted then. But ``ConflictResolution/fail`` keeps
    ///   the rows before the violation, and ``ConflictResolution/rollback`` rolls back the open transaction.
    @discardableResult
    public func insertAll<Record: SQLRecord>(
        from query: SQLQuery<Record>, onConflict conflict: ConflictResolution? = nil, in schema: Schema? = nil
    ) throws -> Int {
        let sql = try insertion(query, conflict, schema, returning: nil)
        if conflict == .fail { try execute(sql) } else { try changeRows(sql) }
        return changes
    }

    /// Inserts the records of a query, and returns the inserted rows in any order.
    /// - Throws: the same errors as without `returning`, or any error that the record's own decoding throws; then nothing is
    ///   inserted.
    public func insertAll<Record: SQLRecord>(
        from query: SQLQuery<Record>, onConflict conflict: ConflictResolution? = nil, in schema: Schema? = nil,
        returning type: Record.Type
    ) throws -> [Record] {
        let sql = try insertion(query, conflict, schema, returning: query.returnedColumns)
        return try changed(sql) { row in try Record(row: row) }
    }

    private func insertion<Record: SQLRecord>(
        _ query: SQLQuery<Record>, _ conflict: ConflictResolution?, _ schema: Schema?, returning: SQL?
    ) throws -> SQL {
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
