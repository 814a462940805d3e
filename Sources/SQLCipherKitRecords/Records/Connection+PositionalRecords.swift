import SQLCipherKitCore

/// What the calls for all records do, compiled into the caller where a record is read by position.
extension Connection {
    /// All rows of a query.
    @inlinable
    @_documentation(visibility: private)
    public func fetchAll<Record: SQLPositionalRecord>(_ query: SQLQuery<Record>) throws -> [Record] {
        let (statement, arguments) = try prepared(query, isFirst: false)
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        try statement.bindAll(arguments, handle)
        return try statement.collect(handle) { try Record(row: $0) }
    }

    /// The first row of a query, or nil if there is none.
    @inlinable
    @_documentation(visibility: private)
    public func fetchOne<Record: SQLPositionalRecord>(_ query: SQLQuery<Record>) throws -> Record? {
        let (statement, arguments) = try prepared(query, isFirst: true)
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        try statement.bindAll(arguments, handle)
        guard try statement.advance(handle) else { return nil }
        return try Record(row: Row(handle, statement.names(handle)))
    }

    @usableFromInline
    func prepared<Record: SQLRecord>(
        _ query: SQLQuery<Record>, isFirst: Bool
    ) throws(DatabaseError) -> (Statement, StatementArguments) {
        let sql = try statement(of: query, isFirst: isFirst)
        return (try cached(sql), sql.arguments)
    }

    private func statement<Record: SQLRecord>(of query: SQLQuery<Record>, isFirst: Bool) throws(DatabaseError) -> SQL {
        if let sql = query.plainSelect(self, isFirst: isFirst) { return sql }
        var selection = query.selection
        selection.clauses.isFirst = isFirst
        return try selection.sql(.rows, self)
    }
}
