import SQLCipherKitCore

extension Schema {
    /// A report of what ``Schema/erase(progress:)`` has rewritten.
    public struct ErasureReport: Hashable, Sendable {
        /// The number of pages that the database has now, all of which were written.
        public internal(set) var pages = 0
        /// The number of free pages that it had before.
        public internal(set) var freePages = 0
        /// The full-text tables (FTS5, FTS4, FTS3) whose indexes were rewritten.
        public internal(set) var fullTextIndexes: [String] = []
        /// The R-Trees that had bytes of deleted entries in their nodes.
        public internal(set) var trees: [String] = []
        /// The tables and indexes for which `ANALYZE` took new samples, as the previous samples contained their values.
        public internal(set) var analyzedTables: [String] = []
        /// The number of bytes removed from the write-ahead log or the rollback journal, excluding those of the rewrite itself.
        public internal(set) var journalBytes = 0
        /// The full-text tables with external content that have an index that does not match the content. Words deleted from the
        /// content but not from the index are still in the index: call ``FullTextIndex/rebuild()`` and erase again.
        public internal(set) var unmatchedIndexes: [String] = []
        /// Virtual tables of modules other than FTS3 to FTS5 and R-Tree. The tables that hold their data were rewritten unchanged:
        /// remains of deleted rows that a module left in these are not erased.
        public internal(set) var otherVirtualTables: [String] = []

        /// Whether everything in the database could be erased.
        public var isComplete: Bool { unmatchedIndexes.isEmpty && otherVirtualTables.isEmpty }
    }
}
