import SQLCipherKitCore

extension FullTextSearch {
    /// A row of a full-text table that a search found.
    public struct Hit: Hashable, Sendable, Identifiable {
        /// The row id. With synchronised external content and an `INTEGER PRIMARY KEY`, it is that key.
        public let rowID: Int64
        /// The rank; smaller is better. bm25 gives negative numbers (<https://sqlite.org/fts5.html#the_bm25_function>).
        public let rank: Double
        /// The passage with the most of the query's words, marked; empty if no snippet was requested.
        public let snippet: HighlightedText
        /// Whole columns with the query's words marked, by the names in ``FullTextSearch/highlights``.
        public let highlights: [String: HighlightedText]
        /// The values of ``FullTextSearch/columns``.
        public let columns: RowCopy

        public var id: Int64 { rowID }

        /// The value of one of ``FullTextSearch/columns``.
        /// - Throws: ``DatabaseError/Reason/noSuchColumn``, ``DatabaseError/Reason/unexpectedNull`` or
        ///   ``DatabaseError/Reason/typeMismatch``.
        public subscript<T: SQLValueConvertible>(column: String) -> T {
            get throws(DatabaseError) { try columns[column] }
        }
    }

    /// A hit and the record it belongs to.
    public struct Match<Record> {
        /// The record, read from the content table.
        public let record: Record
        /// The hit.
        public let hit: Hit
    }

    /// The result of a search as a list of row ids. It is small, you can store it and pass it between threads, and its pages do not
    /// shift while rows are written.
    public struct Ranking: Sendable {
        /// The search. Its ``FullTextSearch/snippet``, ``FullTextSearch/highlights`` and ``FullTextSearch/columns`` determine what
        /// the hits of each page contain; you can change them.
        public var search: FullTextSearch
        /// The row ids, in order.
        public let rowIDs: [Int64]
        /// The rank of each row, at the time of the search.
        public let ranks: [Double]

        /// The number of hits.
        public var count: Int { rowIDs.count }
        /// Whether the search found nothing.
        public var isEmpty: Bool { rowIDs.isEmpty }
    }

    /// A value, or a group of values, and the number of hits that have it.
    public struct Facet: Hashable, Sendable {
        /// The value. For dates, it is the interval's name as text; for ranges, the lower bound, or NULL for the first range.
        public let value: SQLValue
        /// The number of hits.
        public let count: Int
        /// The range, if the facet is ``Grouping/ranges(_:bounds:)``; the first and the last range are infinite. Otherwise nil.
        public let range: Range<Double>?
    }
}

extension FullTextSearch.Match: Sendable where Record: Sendable {}
