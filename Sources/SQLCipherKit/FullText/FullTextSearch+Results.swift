extension FullTextSearch {
    /// What a search has found: a row of a full-text table.
    public struct Hit: Hashable, Sendable, Identifiable {
        /// The row id. With synchronised external content and an `INTEGER PRIMARY KEY`, that key.
        public let rowID: Int64
        /// How well it fits, the smaller the better: bm25 gives negative numbers
        /// (<https://sqlite.org/fts5.html#the_bm25_function>).
        public let rank: Double
        /// The part of the text with the most of the query's words, marked; empty if none was asked for.
        public let snippet: HighlightedText
        /// Whole columns with the query's words marked, by the name that was asked for.
        public let highlights: [String: HighlightedText]
        /// The columns that were asked for.
        public let columns: RowCopy

        public var id: Int64 { rowID }

        /// One of the columns that were asked for.
        /// - Throws: ``DatabaseError/Reason/noSuchColumn``, ``DatabaseError/Reason/unexpectedNull`` or
        ///   ``DatabaseError/Reason/typeMismatch``.
        public subscript<T: SQLValueConvertible>(column: String) -> T {
            get throws(DatabaseError) { try columns[column] }
        }
    }

    /// A hit with the record it belongs to.
    public struct Match<Record> {
        /// The record, read from the content table.
        public let record: Record
        /// The hit.
        public let hit: Hit
    }

    /// The result of a search as a list of row ids: small, can be kept and passed between threads, and the base for pages that do
    /// not shift while others write.
    public struct Ranking: Sendable {
        /// The search. Its ``FullTextSearch/snippet``, ``FullTextSearch/highlights`` and ``FullTextSearch/columns`` are what each
        /// page brings along, and may be changed.
        public var search: FullTextSearch
        /// The row ids, in order.
        public let rowIDs: [Int64]
        /// The rank of each, as it was when the search ran.
        public let ranks: [Double]

        /// The number of hits.
        public var count: Int { rowIDs.count }
        /// Whether nothing was found.
        public var isEmpty: Bool { rowIDs.isEmpty }
    }

    /// A value, or a group of values, and how many hits have it.
    public struct Facet: Hashable, Sendable {
        /// The value. Of dates, the name of the interval as text; of ranges, the lower bound, and NULL for the first range.
        public let value: SQLValue
        /// The number of hits.
        public let count: Int
        /// The range of ``Grouping/ranges(_:bounds:)``, infinite at the ends; otherwise nil.
        public let range: Range<Double>?
    }
}

extension FullTextSearch.Match: Sendable where Record: Sendable {}
