import Foundation

extension Schema {
    /// Counts and samples the content of indexes, so that the query planner knows what to choose
    /// (<https://sqlite.org/lang_analyze.html>).
    ///
    /// ```swift
    /// try db.main.analyze()
    /// try db.main.analyze("note", limit: 1000)
    /// ```
    /// - Parameters:
    ///   - name: a table or an index; nil for all of the database.
    ///   - limit: about how many rows of each index to look at; nil, the default, for all. With a limit it is fast on any
    ///     database, and takes no samples.
    /// - Throws: ``DatabaseError/Reason/schemaName``, ``DatabaseError/Reason/invalidArgument`` for a limit of less than 1 or a name
    ///   that is neither a table's nor an index's, and what SQLite reports.
    public func analyze(_ name: String? = nil, limit: Int? = nil) throws(DatabaseError) {
        try live()
        if let limit, limit < 1 { throw .invalidArgument("ANALYZE of at most \(limit) rows") }
        if let name {
            let objects: SQL = "SELECT count(*) FROM \(raw: qualified("sqlite_schema")) WHERE rootpage > 0"
            guard try connection.fetchOne(Int.self, "\(objects) AND name = \(name) COLLATE NOCASE") == 1 else {
                throw .invalidArgument("there is no table and no index \(name) in \(self.name)")
            }
        }
        let old = try connection.fetchOne(Int.self, "PRAGMA analysis_limit") ?? 0
        try connection.execute(SQL(raw: "PRAGMA analysis_limit = \(Int32(clamping: limit ?? 0))"))
        defer { connection.restoring { try connection.execute(SQL(raw: "PRAGMA analysis_limit = \(old)")) } }
        try connection.execute(SQL(raw: "ANALYZE \(name.map(qualified) ?? quotedName)"))
    }

    /// Does what helps the query planner, and only where it is due: fit for the end of each use of a database, or once a day
    /// (<https://sqlite.org/pragma.html#pragma_optimize>).
    /// - Parameter examiningAll: whether to look at all tables, not only at those that this connection has queried: for a
    ///   connection that has just been opened. Default: no.
    /// - Returns: the statements that were due.
    /// - Throws: ``DatabaseError/Reason/schemaName``, and what SQLite reports.
    @discardableResult
    public func optimize(examiningAll: Bool = false) throws(DatabaseError) -> [String] {
        try live()
        let mask = examiningAll ? 0x10012 : 0x12
        // With the first bit it only says what it would do.
        let due = try connection.fetchAll(String.self, SQL(raw: "PRAGMA \(quotedName).optimize(\(mask | 1))"))
        try connection.execute(SQL(raw: "PRAGMA \(quotedName).optimize(\(mask))"))
        return due
    }

    /// What `ANALYZE` has found out; empty before it ran.
    /// - Throws: ``DatabaseError/Reason/schemaName``, and what SQLite reports.
    public func statistics() throws(DatabaseError) -> [IndexStatistics] {
        guard try has("sqlite_stat1") else { return [] }
        let rows: [(String, String?, String?)] = try connection.fetchAll(
            SQL(raw: "SELECT tbl, idx, stat FROM \(qualified("sqlite_stat1")) WHERE tbl IS NOT NULL ORDER BY tbl, idx"))
        return rows.map { table, index, text in
            let words = (text ?? "").split(separator: " ")
            let numbers = words.prefix { Int($0) != nil }.compactMap { Int($0) }
            return IndexStatistics(
                table: table, index: index, rows: numbers.first ?? 0, rowsPerPrefix: Array(numbers.dropFirst()),
                notes: words.dropFirst(numbers.count).map(String.init))
        }
    }

    /// The samples that `ANALYZE` has taken of the indexes; empty before it ran.
    /// - Throws: ``DatabaseError/Reason/schemaName``, and what SQLite reports.
    public func samples() throws(DatabaseError) -> [IndexSample] {
        guard try has("sqlite_stat4") else { return [] }
        let rows: [(String, String, String, String, String, Data)] = try connection.fetchAll(
            SQL(raw: "SELECT tbl, idx, neq, nlt, ndlt, sample FROM \(qualified("sqlite_stat4")) ORDER BY tbl, idx, rowid"))
        func numbers(_ text: String) -> [Int] { text.split(separator: " ").compactMap { Int($0) } }
        return rows.map {
            IndexSample(
                table: $0.0, index: $0.1, equal: numbers($0.2), less: numbers($0.3), distinctLess: numbers($0.4), record: $0.5)
        }
    }
}
