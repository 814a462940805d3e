import SQLCipherKitCore

/// What the calls for all queries do, compiled into the caller for queries of whole records.
extension Connection {
    /// All rows of a query.
    @inlinable
    @_documentation(visibility: private)
    public func fetchAll<Record: SQLRecord>(_ query: SQLQuery<Record>) throws -> [Record] {
        guard let (statement, arguments) = try prepared(query, isFirst: false) else { return try fetchAll(query.selection) }
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        try statement.bindAll(arguments, handle)
        return try statement.collect(handle) { try Record(row: $0) }
    }

    /// The first row of a query, or nil if there is none.
    @inlinable
    @_documentation(visibility: private)
    public func fetchOne<Record: SQLRecord>(_ query: SQLQuery<Record>) throws -> Record? {
        guard let (statement, arguments) = try prepared(query, isFirst: true) else { return try fetchOne(query.selection) }
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        try statement.bindAll(arguments, handle)
        guard try statement.advance(handle) else { return nil }
        return try Record(row: Row(handle, statement.names(handle)))
    }

    /// The statement of a query and its values; nil for a query that does not simply read whole records.
    @usableFromInline
    func prepared<Record: SQLRecord>(
        _ query: SQLQuery<Record>, isFirst: Bool
    ) throws(DatabaseError) -> (Statement, StatementArguments)? {
        guard var clauses = query.plainClauses else { return nil }
        if let ready = try clauses.plainStatement(self, isFirst: isFirst) { return ready }
        clauses.isFirst = isFirst
        let sql = try SQLSelection<Record>(clauses, reader: { _ in { row in try Record(row: row) } }).sql(.rows, self)
        return (try cached(sql), sql.arguments)
    }
}
