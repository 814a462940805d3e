/// What ``Schema/erase(progress:)`` has rewritten.
public struct ErasureReport: Hashable, Sendable {
    /// The pages of the database now, each of which was written.
    public internal(set) var pages = 0
    /// The free pages that it had, of which some may have come from the indexes that were rewritten.
    public internal(set) var freePages = 0
    /// The full-text tables (FTS5, FTS4, FTS3) whose indexes were rewritten.
    public internal(set) var fullTextIndexes: [String] = []
    /// The R-Trees that had the bytes of deleted entries in their nodes.
    public internal(set) var trees: [String] = []
    /// The tables and indexes of which `ANALYZE` has taken new samples, as those that it had taken before held their values.
    public internal(set) var analyzedTables: [String] = []
    /// The bytes of the write-ahead log, or the rollback journal, that were removed, other than those of the rewriting itself.
    public internal(set) var journalBytes = 0
    /// The full-text tables with external content whose index does not match that content. What was deleted from the content
    /// without telling the index is still in the index: ``FullTextIndex/rebuild()``, and erase again.
    public internal(set) var unmatchedIndexes: [String] = []
    /// Virtual tables of other modules than FTS3 to FTS5 and R-Tree. The tables in which they keep their data were rewritten as
    /// they are: what a module has left of deleted rows in there is not erased.
    public internal(set) var otherVirtualTables: [String] = []

    /// Whether nothing of the database was left as it is.
    public var isComplete: Bool { unmatchedIndexes.isEmpty && otherVirtualTables.isEmpty }
}
