import SQLCipherKitCore

/// A search of a full-text table with all options. ``FullTextIndex/search(_:weights:snippet:limit:offset:)`` is the short form for
/// everyday use.
///
/// ```swift
/// var search = FullTextSearch(query, filter: "created > \(lastWeek)", order: .sql("created DESC"), limit: 20)
/// search.highlights = ["title"]
/// let hits = try notes.search(search)
/// let count = try notes.count(search)
/// let years = try notes.facets(search, by: "strftime('%Y', created)")
/// ```
/// A search is a value that names no table. You can store it and pass it between threads.
public struct FullTextSearch: Sendable {
    /// The order of the hits.
    public enum Order: Sendable {
        /// Best first.
        case rank
        /// By ascending row id.
        case rowID
        /// By descending row id.
        case rowIDDescending
        /// By SQL terms over the columns of the content table, such as `"published DESC, title"`; ties are sorted by row id. In the
        /// terms, `search_rank` is the rank.
        case sql(SQL)
    }

    /// The passage that is shown with a hit (<https://sqlite.org/fts5.html#the_snippet_function>).
    public struct Snippet: Hashable, Sendable {
        /// The column it is taken from; nil for the best-matching one.
        public var column: String?
        /// Its length in words, from 1 to 64.
        public var words: Int
        /// The text that replaces what was left out before and after it.
        public var ellipsis: String

        /// Creates a snippet from one column.
        /// - Parameters:
        ///   - name: the column's name.
        ///   - words: the length in words, from 1 to 64. Default: 16.
        ///   - ellipsis: the text that replaces what was left out. Default: `…`.
        public static func column(_ name: String, words: Int = 16, ellipsis: String = "…") -> Snippet {
            Snippet(column: name, words: words, ellipsis: ellipsis)
        }

        /// Creates a snippet from the best-matching column.
        public static func best(words: Int = 16, ellipsis: String = "…") -> Snippet {
            Snippet(column: nil, words: words, ellipsis: ellipsis)
        }
    }

    /// The query.
    public var query: FTS5Query
    /// The weight of each column, in the columns' order; missing weights are 1. From -1e15 to 1e15, to 12 decimals. Default: all 1.
    public var weights: [Double] = []
    /// The name of the ranking function: `bm25`, or one registered with ``SQLExtension/ranking(_:_:)``. It receives the weights as
    /// its arguments. Default: `bm25`.
    public var rankFunction: String?
    /// The passage to show with each hit. Default: none.
    public var snippet: Snippet?
    /// Columns that each hit contains in full, with the query's words marked. Default: none.
    public var highlights: [String] = []
    /// Columns of the full-text table whose values each hit contains. Default: none.
    public var columns: [String] = []
    /// An SQL condition over the columns of the content table, or of the full-text table if that stores its own text. Default:
    /// none.
    public var filter: SQL?
    /// The order of the hits. Default: best first.
    public var order: Order
    /// The maximum number of hits. Default: all.
    public var limit: Int?
    /// The number of hits to skip. For pages that do not shift while rows are written, use ``FullTextIndex/ranking(_:)``. Default:
    /// 0.
    public var offset = 0

    /// Creates a search. Set other options on the value afterwards.
    public init(_ query: FTS5Query, filter: SQL? = nil, order: Order = .rank, limit: Int? = nil) {
        self.query = query
        self.filter = filter
        self.order = order
        self.limit = limit
    }
}
