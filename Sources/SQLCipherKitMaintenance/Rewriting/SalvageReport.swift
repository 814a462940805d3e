extension DatabaseConverter {
    /// A report of what ``DatabaseConverter/salvage(fileAt:key:to:newKey:recoveryCopy:configuration:progress:)`` has copied and
    /// could not copy.
    public struct SalvageReport: Hashable, Sendable {
        /// A table of the damaged database.
        public struct Table: Hashable, Sendable {
            /// Its name.
            public let name: String
            /// The number of rows that were copied.
            public let rows: Int
            /// Its damaged or missing pages to which something leads, counted from 1. The rows on them are lost; their number is
            /// unknown.
            public let lostPages: [Int]
            /// The number of rows that were found but could not be copied, because one of the row's overflow pages is lost or the
            /// row violates a constraint of the table.
            public let lostRows: Int
            /// The number of the copied rows that were on pages to which nothing leads any more. If the database has no
            /// `auto_vacuum`, they were assigned to this table by their row ids, their order and the types of their values. A row
            /// that was deleted may be among them if pages of the list of free pages are lost as well.
            public let reattachedRows: Int
            /// The number of other rows of which a part is left: the columns that an index has, or the beginning of a row of which
            /// an overflow page is lost. They are in the table `lost_and_found_` with this table's name. A text or blob in it may
            /// be cut, and the columns that are lost are NULL. If the indexes have all columns, a row is copied like any other.
            public let partialRows: Int

            /// Whether nothing in the table was lost.
            public var isComplete: Bool { lostPages.isEmpty && lostRows == 0 }
        }

        /// A table, index, view or trigger that the new database does not have.
        public struct LostObject: Hashable, Sendable {
            /// Its name.
            public let name: String
            /// The reason: SQLite's error message for the statement that should create it, or the name of a table that it needs and
            /// that is lost.
            public let message: String
        }

        /// The tables with content, including those in which virtual tables keep theirs.
        public let tables: [Table]
        /// The objects that are in the damaged database's schema but not in the new database.
        public let lostObjects: [LostObject]
        /// The lost pages of the schema itself. Unknown tables may be missing because of them.
        public let lostSchemaPages: [Int]
        /// All damaged or missing pages of the file, including those of indexes and free pages.
        public let lostPages: [Int]
        /// The full-text tables with a damaged index that was rebuilt from their content.
        public let rebuiltIndexes: [String]
        /// The number of rows on intact pages whose table is unknown, because its definition is lost or several tables may have had
        /// them. They are in the table `lost_and_found`, with the columns of the one that SQLite's own `.recover` makes
        /// (<https://sqlite.org/recovery.html>). Rows of indexes and deleted rows may be among them.
        public let unassignedRows: Int
        /// The number of tables, indexes, views and triggers whose definition is from the recovery copy.
        public let recoveredObjects: Int

        /// Whether the new database has all tables, with all their rows.
        public var isComplete: Bool {
            tables.allSatisfy(\.isComplete) && lostObjects.isEmpty && lostSchemaPages.isEmpty && unassignedRows == 0
        }
    }
}
