import SQLCipherKitCore

/// Determines whether a statement affected the row that it was meant for.
extension Connection {
    /// SQLite does not count the changes of a view's `INSTEAD OF` triggers (<https://sqlite.org/c3ref/changes.html>). For a view,
    /// any change counts, or else whether the row exists, as a trigger may have nothing to do.
    /// - Parameter before: ``totalChanges`` before the statement.
    /// - Returns: nil for a view if nothing has changed: then check whether the row exists.
    func hasMet(_ before: Int, _ table: () -> SQLTable) throws(DatabaseError) -> Bool? {
        if changes > 0 { return true }
        let table = table()
        guard try schema(of: table).form(of: table.name)?.kind == .view else { return false }
        return totalChanges > before ? true : nil
    }

    func isThere(_ table: SQLTable, _ condition: SQL) throws(DatabaseError) -> Bool {
        try fetchOne(Bool.self, "SELECT EXISTS (SELECT 1 FROM \(raw: table.qualifiedName) WHERE \(condition))") ?? false
    }

    func isThere<Record: SQLRecord>(_ record: Record, _ statements: RecordStatements) throws -> Bool {
        var isThere = false
        try statements.run(.refresh, record, self) { _ in isThere = true }
        return isThere
    }
}
