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
