/// What is wrong with a database's content.
extension Schema {
    /// The rows that break a foreign key (<https://sqlite.org/pragma.html#pragma_foreign_key_check>).
    /// - Parameter table: the table to check; nil, the default, for all.
    /// - Throws: ``DatabaseError``, also for a table that is not there.
    public func foreignKeyViolations(in table: String? = nil) throws(DatabaseError) -> [ForeignKeyViolation] {
        try rows("foreign_key_check", table)
    }

    /// What is wrong with the database's structure, its indexes and its constraints; empty if nothing is
    /// (<https://sqlite.org/pragma.html#pragma_integrity_check>). Foreign keys are not looked at.
    /// - Parameters:
    ///   - limit: the number of messages after which it stops. Default: 100.
    ///   - quick: whether to leave out the comparison of indexes with their tables, which takes the most time. Default: no.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a limit less than 1, and what the damage itself makes SQLite report.
    public func integrityCheck(limit: Int = 100, quick: Bool = false) throws(DatabaseError) -> [String] {
        try live()
        guard limit >= 1 else { throw .invalidArgument("an integrity check of \(limit) messages") }
        let sql = "PRAGMA \(quotedName).\(quick ? "quick_check" : "integrity_check")(\(min(limit, Int(Int32.max))))"
        let messages = try connection.prepare(SQL(raw: sql)).fetchAll(String.self)
        return messages == ["ok"] ? [] : messages
    }
}
