/// What the calls for all records do, compiled into the caller where a record is read by position.
extension Connection {
    /// All rows of a query.
    @inlinable
    @_documentation(visibility: private)
    public func fetchAll<Record: SQLPositionalRecord>(_ query: SQLQuery<Record>) throws -> [Record] {
        let (statement, arguments) = try prepared(query)
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        try statement.bindAll(arguments, handle)
        return try statement.collect(handle) { try Record.readSQL(from: $0) }
    }

    @usableFromInline
    func prepared<Record: SQLRecord>(_ query: SQLQuery<Record>) throws(DatabaseError) -> (Statement, StatementArguments) {
        let sql = try query.selection.sql(.rows, self)
        return (try cached(sql), sql.arguments)
    }
}
