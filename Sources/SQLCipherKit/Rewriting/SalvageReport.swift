/// What ``DatabaseConverter/salvage(fileAt:key:to:newKey:configuration:progress:)`` has copied, and what it could not.
public struct SalvageReport: Hashable, Sendable {
    /// A table of the damaged database.
    public struct Table: Hashable, Sendable {
        /// Its name.
        public let name: String
        /// The rows that were copied.
        public let rows: Int
        /// Its pages that are damaged or missing, counted from 1; the rows on them, and below them, are lost. How many
        /// they were is not known.
        public let lostPages: [Int]
        /// The rows that were found and could not be copied: a part of them is on a lost page, or they break a rule of the table.
        public let lostRows: Int

        /// Whether nothing of the table is lost.
        public var isComplete: Bool { lostPages.isEmpty && lostRows == 0 }
    }

    /// A table, index, view or trigger that the new database does not have.
    public struct LostObject: Hashable, Sendable {
        /// Its name.
        public let name: String
        /// Why: what SQLite says to the statement that should make it.
        public let message: String
    }

    /// The tables with content, those in which virtual tables keep theirs among them.
    public let tables: [Table]
    /// What the schema names and the new database lacks.
    public let lostObjects: [LostObject]
    /// The pages that the schema itself has lost: tables may be missing of which nothing is known.
    public let lostSchemaPages: [Int]
    /// All pages of the file that are damaged or missing, those of indexes and free ones among them.
    public let lostPages: [Int]
    /// The full-text tables whose index was damaged and was built again from their content.
    public let rebuiltIndexes: [String]

    /// Whether the new database has all tables, with all their rows.
    public var isComplete: Bool { tables.allSatisfy(\.isComplete) && lostObjects.isEmpty && lostSchemaPages.isEmpty }
}
