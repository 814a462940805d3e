/// Checks of a database's content.
extension Schema {
    /// The rows that violate a foreign key (<https://sqlite.org/pragma.html#pragma_foreign_key_check>).
    /// - Parameter table: the table to check. Default: nil, for all tables.
    /// - Throws: ``DatabaseError/Reason/schemaName`` if the database is not attached; or SQLite's error, such as
    ///   ``ResultCode/error`` for a table that does not exist.
    public func foreignKeyViolations(in table: String? = nil) throws -> [ForeignKeyViolation] {
        let rows: [(String, Int64?, String, Int)] = try rows("foreign_key_check", table)
        return rows.map { ForeignKeyViolation(table: $0.0, rowID: $0.1, parent: $0.2, foreignKey: $0.3) }
    }

    /// The problems with the database's structure, indexes and constraints; empty if there are none
    /// (<https://sqlite.org/pragma.html#pragma_integrity_check>). Foreign keys are not checked.
    /// - Parameters:
    ///   - limit: the maximum number of messages, after which the check stops. Default: 100.
    ///   - quick: whether to skip the comparison of indexes with their tables, which takes the most time. Default: false.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a limit less than 1, or an error from SQLite caused by the damage
    ///   itself.
    public func integrityCheck(limit: Int = 100, quick: Bool = false) throws -> [String] {
        try integrityCheck(limit: limit, quick: quick, of: nil)
    }

    /// - Parameter table: the only table to check, up to 100 messages; nil for the whole database.
    package func integrityCheck(limit: Int = 100, quick: Bool, of table: String?) throws -> [String] {
        try live()
        guard limit >= 1 else { throw DatabaseError.invalidArgument("the limit of messages must be at least 1 and is \(limit)") }
        func messages(_ limit: Int) throws -> [String] {
            let what = table?.quotedSQLIdentifier ?? "\(min(limit, Int(Int32.max)))"
            let sql = "PRAGMA \(quotedName).\(quick ? "quick_check" : "integrity_check")(\(what))"
            let messages = try connection.prepare(SQL(raw: sql)).fetchAll(String.self)
            return messages == ["ok"] ? [] : messages
        }
        let all = try messages(limit)
        let contentless = try all.contains { $0.contains(Self.complaint) } ? contentlessIndexes : []
        if contentless.isEmpty { return all }
        // Their complaints are no problems, and count for the limit.
        let others = try messages(limit + contentless.count).filter { line in
            !contentless.contains { table in
                line.isSameText(as: "malformed \(Self.complaint)\(name).\(table)")
                    || line.hasPrefix("unable to validate the \(Self.complaint)\(name).\(table): ")
            }
        }
        return Array(others.prefix(limit))
    }

    private static let complaint = "inverted index for FTS4 table "

    /// The FTS4 tables without content of their own. SQLite compares the index of such a table with its texts, of which it has
    /// none, and reports every one as malformed (<https://sqlite.org/fts3.html#the_content_option_>).
    private var contentlessIndexes: [String] {
        get throws {
            try entries(where: "type = 'table' AND rootpage = 0").filter { entry in
                guard let text = try? entry.text(), text.module == SQLName("fts4") else { return false }
                let sql = text.sql.lowercased().filter { !$0.isWhitespace }
                return ["\"\"", "''", "``", "[]", ",", ")"].contains { sql.contains("content=" + $0) }
            }.map(\.name)
        }
    }
}
