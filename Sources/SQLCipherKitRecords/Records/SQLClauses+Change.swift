import SQLCipherKitCore

extension SQLClauses {
    /// The statement that updates or deletes the rows of the query. It begins with `sql`.
    /// - Parameter returning: what to return for each row; nil for nothing.
    func change(_ sql: SQL, returning columns: SQL? = nil) throws(DatabaseError) -> SQL {
        guard groups.isEmpty, having == nil, !isDistinct else { throw .misuse("a query with groups cannot change rows") }
        var copy = self, sql: SQL = "\(with)\(sql)"
        if let columns {
            // SQLite expects RETURNING before the order and the limit.
            if let filter { sql = "\(sql) WHERE \(filter.condition)" }
            sql = "\(sql) RETURNING \(columns)"
            copy.filter = nil
        }
        let all = try copy.tail(of: sql)
        // SQLite accepts an order only together with a limit.
        return orderings.isEmpty || limit != nil || offset > 0 ? all : "\(all) LIMIT -1"
    }

    /// The statement that updates the rows of the query.
    /// - Throws: ``DatabaseError/Reason/misuse`` without assignments.
    func update<Record: SQLRecord>(
        _ type: Record.Type, _ changes: (SQLColumns<Record>, inout SQLAssignments<Record>) -> Void, returning: SQL? = nil
    ) throws(DatabaseError) -> SQL {
        let side = sides[0]
        var assignments = SQLAssignments<Record>(table: side.table)
        SQLScope.within(self) { changes(columns(0), &assignments) }
        if let failure = assignments.failure { throw failure }
        if assignments.list.isEmpty { throw .misuse("the update of \(side.table.name) has no assignments") }
        return try change("UPDATE \(side.source) SET \(list: assignments.list)", returning: returning)
    }
}
