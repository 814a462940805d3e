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
