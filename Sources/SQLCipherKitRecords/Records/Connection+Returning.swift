import SQLCipherKitCore

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
    ) throws(DatabaseError) -> [Value] {
        let list = query.returned { SQLValueList(expression($0)) }
        return try changedValues(query.deletion(list.sql)) { row in try list.read(row) }
    }

    /// Deletes the rows of a query, and returns a value of a type that codes itself from each row.
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
    ) throws(DatabaseError) -> [(repeat each Value)] {
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
    ) throws(DatabaseError) -> [Value] {
        let list = query.returned { SQLValueList(expression($0)) }
        return try changedValues(query.selection.clauses.update(Record.self, changes, returning: list.sql)) { row in
            try list.read(row)
        }
    }

    /// Changes columns in all rows of a query, and returns a value of a type that codes itself from each changed row.
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
    ) throws(DatabaseError) -> [(repeat each Value)] {
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
    ) throws(DatabaseError) -> [Element] {
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
    var returnedColumns: SQL {
        let table = selection.clauses.sides[0].table
        let names = table.positions?.names ?? table.columns.map(\.name)
        return names.isEmpty ? "*" : "\(list: names.map { "\(identifier: $0)" })"
    }

    fileprivate func returned(_ expressions: (SQLColumns<Record>) -> SQLValueList) -> SQLValueList {
        var clauses = selection.clauses
        clauses.sides[0].alias = clauses.sides[0].table.name
        return SQLScope.within(clauses) { expressions(clauses.columns(0)) }
    }

    fileprivate func deletion(_ columns: SQL) throws(DatabaseError) -> SQL {
        try selection.clauses.change("DELETE FROM \(selection.clauses.sides[0].source)", returning: columns)
    }
}
