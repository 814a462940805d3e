import Foundation

/// What the query planner knows about an index, or about a table without one (<https://sqlite.org/fileformat2.html#stat1tab>).
public struct IndexStatistics: Hashable, Sendable {
    /// The table.
    public let table: String
    /// The index; nil for the size of the table alone. A `WITHOUT ROWID` table's own name stands for its primary key.
    public let index: String?
    /// The rows of the table, or those that a partial index has, when `ANALYZE` ran.
    public let rows: Int
    /// How many rows there are, on average, with the same first column of the index, the same first two, and so on.
    public let rowsPerPrefix: [Int]
    /// Other words for the planner, such as `unordered` or `sz=40`.
    public let notes: [String]
}

/// A sample out of an index (<https://sqlite.org/fileformat2.html#stat4tab>).
public struct IndexSample: Hashable, Sendable {
    /// The table.
    public let table: String
    /// The index.
    public let index: String
    /// How many rows have the sample's first column, its first two, and so on.
    public let equal: [Int]
    /// How many rows lie before it, by its first column, its first two, and so on.
    public let less: [Int]
    /// How many different values lie before it, likewise.
    public let distinctLess: [Int]
    /// The sample: a record in SQLite's format (<https://sqlite.org/fileformat2.html#record_format>). Data of the table is in it.
    public let record: Data
}

extension Connection {
    /// Counts and samples the content of indexes, so that the query planner knows what to choose (<https://sqlite.org/lang_analyze.html>).
    ///
    /// ```swift
    /// try db.analyze()
    /// try db.analyze("note", limit: 1000)
    /// ```
    /// - Parameters:
    ///   - name: a table or an index; nil for all of the database.
    ///   - schema: `main`, or what the database was attached as.
    ///   - limit: how many rows of each index to look at, about; nil, the default, for all. With a limit it is fast on any database,
    ///     and takes no samples.
    /// - Throws: ``DatabaseError/Reason/schemaName``, ``DatabaseError/Reason/invalidArgument`` for a limit of less than 1 or a name that
    ///   is neither a table's nor an index's, and what SQLite reports.
    public func analyze(_ name: String? = nil, of schema: String = "main", limit: Int? = nil) throws(DatabaseError) {
        try requireSchema(schema)
        if let limit, limit < 1 { throw .invalidArgument("ANALYZE of at most \(limit) rows") }
        let quoted = schema.quotedSQLIdentifier
        if let name {
            let found = try fetchOne(
                Int.self, SQL(raw: "SELECT count(*) FROM \(quoted).sqlite_schema WHERE name = ? COLLATE NOCASE AND rootpage > 0", [name]))
            guard found == 1 else { throw .invalidArgument("there is no table and no index \(name) in \(schema)") }
        }
        let old = try fetchOne(Int.self, "PRAGMA analysis_limit") ?? 0
        try execute(SQL(raw: "PRAGMA analysis_limit = \(Int32(clamping: limit ?? 0))"))
        defer { try? execute(SQL(raw: "PRAGMA analysis_limit = \(old)")) }
        try execute(SQL(raw: "ANALYZE \(quoted)" + (name.map { "." + $0.quotedSQLIdentifier } ?? "")))
    }

    /// Does what helps the query planner, and only where it is due: fit for the end of each use of a database, or once a day
    /// (<https://sqlite.org/pragma.html#pragma_optimize>).
    /// - Parameters:
    ///   - schema: the database; nil, the default, for all of the connection.
    ///   - examiningAll: whether to look at all tables, not only at those that this connection has queried: for a connection that has
    ///     just been opened. Default: no.
    /// - Returns: the statements that were due.
    @discardableResult
    public func optimize(_ schema: String? = nil, examiningAll: Bool = false) throws(DatabaseError) -> [String] {
        if let schema { try requireSchema(schema) }
        let name = schema.map { $0.quotedSQLIdentifier + "." } ?? ""
        let mask = examiningAll ? 0x10012 : 0x12
        // With the first bit it only says what it would do.
        let due = try fetchAll(String.self, SQL(raw: "PRAGMA \(name)optimize(\(mask | 1))"))
        try execute(SQL(raw: "PRAGMA \(name)optimize(\(mask))"))
        return due
    }

    /// What `ANALYZE` has found out; empty before it ran.
    public func statistics(_ schema: String = "main") throws(DatabaseError) -> [IndexStatistics] {
        guard try hasTable("sqlite_stat1", schema) else { return [] }
        let rows: [(String, String?, String?)] = try fetchAll(
            SQL(raw: "SELECT tbl, idx, stat FROM \(schema.quotedSQLIdentifier).sqlite_stat1 WHERE tbl IS NOT NULL ORDER BY tbl, idx"))
        return rows.map { table, index, text in
            let words = (text ?? "").split(separator: " ")
            let numbers = words.prefix { Int($0) != nil }.compactMap { Int($0) }
            return IndexStatistics(
                table: table, index: index, rows: numbers.first ?? 0, rowsPerPrefix: Array(numbers.dropFirst()),
                notes: words.dropFirst(numbers.count).map(String.init))
        }
    }

    /// The samples that `ANALYZE` has taken of the indexes; empty before it ran.
    public func samples(_ schema: String = "main") throws(DatabaseError) -> [IndexSample] {
        guard try hasTable("sqlite_stat4", schema) else { return [] }
        let rows: [(String, String, String, String, String, Data)] = try fetchAll(
            SQL(raw: "SELECT tbl, idx, neq, nlt, ndlt, sample FROM \(schema.quotedSQLIdentifier).sqlite_stat4 ORDER BY tbl, idx, rowid"))
        func numbers(_ text: String) -> [Int] { text.split(separator: " ").compactMap { Int($0) } }
        return rows.map {
            IndexSample(
                table: $0.0, index: $0.1, equal: numbers($0.2), less: numbers($0.3), distinctLess: numbers($0.4), record: $0.5)
        }
    }

    private func hasTable(_ name: String, _ schema: String) throws(DatabaseError) -> Bool {
        try requireSchema(schema)
        return try fetchOne(
            Int.self, SQL(raw: "SELECT count(*) FROM \(schema.quotedSQLIdentifier).sqlite_schema WHERE name = ?", [name])) == 1
    }
}
