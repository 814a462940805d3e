/// A search of a full-text table with everything that can be asked for.
/// ``FullTextIndex/search(_:weights:snippet:limit:offset:)`` is the short form for every day.
///
/// ```swift
/// var search = FullTextSearch(query, filter: "created > \(lastWeek)", order: .sql("created DESC"), limit: 20)
/// search.highlights = ["title"]
/// let hits = try notes.search(search)
/// let count = try notes.count(search)
/// let years = try notes.facets(search, by: "strftime('%Y', created)")
/// ```
/// A search is a value: it names no table, and can be kept and passed between threads.
public struct FullTextSearch: Sendable {
    /// In which order hits come.
    public enum Order: Sendable {
        /// The best first.
        case rank
        /// By row id.
        case rowID
        /// By row id, the highest first.
        case rowIDDescending
        /// By SQL terms over the columns of the content table, such as `"published DESC, title"`; equal ones by row id. In the
        /// terms, `search_rank` is the rank.
        case sql(SQL)
    }

    /// The part of a text that is shown with a hit (<https://sqlite.org/fts5.html#the_snippet_function>).
    public struct Snippet: Hashable, Sendable {
        /// The column it is taken from; nil for the one that fits best.
        public var column: String?
        /// Its length in words, from 1 to 64.
        public var words: Int
        /// What stands where text was left out before and after it.
        public var ellipsis: String

        /// From one column.
        /// - Parameters:
        ///   - name: the column.
        ///   - words: the length in words, from 1 to 64. Default: 16.
        ///   - ellipsis: what stands where text was left out. Default: `…`.
        public static func column(_ name: String, words: Int = 16, ellipsis: String = "…") -> Snippet {
            Snippet(column: name, words: words, ellipsis: ellipsis)
        }

        /// From the column that fits best.
        public static func best(words: Int = 16, ellipsis: String = "…") -> Snippet {
            Snippet(column: nil, words: words, ellipsis: ellipsis)
        }
    }

    /// What is searched for.
    public var query: FTS5Query
    /// How much a word counts in each column, in the columns' order; those left out count 1. From -1e15 to 1e15, to 12 decimals.
    /// Default: all alike.
    public var weights: [Double] = []
    /// The name of the function that ranks, `bm25` or one registered with ``SQLExtension/ranking(_:_:)``; it gets the
    /// weights as its arguments. Default: `bm25`.
    public var rankFunction: String?
    /// The part of the text to show with each hit. Default: none.
    public var snippet: Snippet?
    /// Columns that each hit brings along whole, with the query's words marked. Default: none.
    public var highlights: [String] = []
    /// Columns of the full-text table whose values each hit brings along. Default: none.
    public var columns: [String] = []
    /// A condition in SQL over the columns of the content table, or of the full-text table itself if that has its own content.
    /// Default: all rows.
    public var filter: SQL?
    /// The order of the hits. Default: the best first.
    public var order: Order
    /// The number of hits wanted. Default: all.
    public var limit: Int?
    /// The number of hits passed over. For pages that do not shift while others write, see ``FullTextIndex/ranking(_:)``.
    /// Default: 0.
    public var offset = 0

    /// A search; what is not said here is set afterwards.
    public init(_ query: FTS5Query, filter: SQL? = nil, order: Order = .rank, limit: Int? = nil) {
        self.query = query
        self.filter = filter
        self.order = order
        self.limit = limit
    }
}
