import Foundation
import SQLCipherKitCore

extension Schema {
    /// The query planner's statistics of an index, or of a table without an index (<https://sqlite.org/fileformat2.html#stat1tab>).
    public struct IndexStatistics: Hashable, Sendable {
        /// The table.
        public let table: String
        /// The index; nil for the size of the table alone. For the primary key of a `WITHOUT ROWID` table, this is the table's
        /// name.
        public let index: String?
        /// The number of rows in the table, or in a partial index, when `ANALYZE` ran.
        public let rows: Int
        /// The average number of rows with the same first column of the index, the same first two columns, and so on.
        public let rowsPerPrefix: [Int]
        /// Further keywords for the planner, such as `unordered` or `sz=40`.
        public let notes: [String]
    }

    /// A sample from an index (<https://sqlite.org/fileformat2.html#stat4tab>).
    package struct IndexSample: Hashable, Sendable {
        /// The table.
        package let table: String
        /// The index.
        package let index: String
        /// The number of rows with the same first column as the sample, the same first two columns, and so on.
        package let equal: [Int]
        /// The number of rows before it, by the first column, the first two columns, and so on.
        package let less: [Int]
        /// The number of distinct values before it, by the first column, the first two columns, and so on.
        package let distinctLess: [Int]
        /// The sample: a record in SQLite's format (<https://sqlite.org/fileformat2.html#record_format>). It contains data from the
        /// table.
        package let record: Data
    }
}

extension Schema {
    /// Counts and samples the content of indexes, so that the query planner can choose well
    /// (<https://sqlite.org/lang_analyze.html>).
    ///
    /// ```swift
    /// try db.main.analyze()
    /// try db.main.analyze("note", limit: 1000)
    /// ```
    /// - Parameters:
    ///   - name: a table or an index. Default: nil, for the whole database.
    ///   - limit: the approximate number of rows to read from each index. Default: nil, for all. With a limit, the call is fast on
    ///     any database, but takes no samples.
    /// - Throws: ``DatabaseError/Reason/schemaName``, ``DatabaseError/Reason/invalidArgument`` for a limit less than 1 or a name
    ///   that is neither a table's nor an index's, or an error from SQLite.
    public func analyze(_ name: String? = nil, limit: Int? = nil) throws {
        try live()
        if let limit, limit < 1 {
            throw DatabaseError.invalidArgument("the limit of ANALYZE must be at least 1 row and is \(limit)")
        }
        if let name {
            let objects: SQL = "SELECT count(*) FROM \(raw: qualified("sqlite_schema")) WHERE rootpage > 0"
            guard try connection.fetchOne(Int.self, "\(objects) AND name = \(name) COLLATE NOCASE") == 1 else {
                throw DatabaseError.invalidArgument("there is no table or index \(name) in \(self.name)")
            }
        }
        let settings = try KeptSettings(of: connection)
        defer { settings.putBack() }
        try connection.execute(SQL(raw: "PRAGMA analysis_limit = \(Int32(clamping: limit ?? 0))"))
        try connection.execute(SQL(raw: "ANALYZE \(name.map(qualified) ?? quotedName)"))
    }

    /// Updates the query planner's statistics if they are out of date. Call it at the end of each use of a database, or once a day
    /// (<https://sqlite.org/pragma.html#pragma_optimize>).
    /// - Parameter examiningAll: whether to examine all tables, not only the tables that this connection has queried. Use it for a
    ///   newly opened connection. Default: false.
    /// - Returns: the statements that were run.
    /// - Throws: ``DatabaseError/Reason/schemaName``, or an error from SQLite.
    @discardableResult
    public func optimize(examiningAll: Bool = false) throws -> [String] {
        try live()
        let mask = examiningAll ? 0x10012 : 0x12
        // With the first bit set, it only reports what it would do.
        let due = try connection.fetchAll(String.self, SQL(raw: "PRAGMA \(quotedName).optimize(\(mask | 1))"))
        try connection.execute(SQL(raw: "PRAGMA \(quotedName).optimize(\(mask))"))
        return due
    }

    /// The statistics that `ANALYZE` has collected; empty if it has not run.
    /// - Throws: ``DatabaseError/Reason/schemaName``, or an error from SQLite.
    public func statistics() throws -> [IndexStatistics] {
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

    /// The samples that `ANALYZE` has taken of the indexes; empty if it has not run.
    /// - Throws: ``DatabaseError/Reason/schemaName``, or an error from SQLite.
    package func samples() throws -> [IndexSample] {
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
