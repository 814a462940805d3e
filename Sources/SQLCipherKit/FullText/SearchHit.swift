/// What a search has found: a row of a full-text table.
public struct SearchHit: Hashable, Sendable, Identifiable {
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
public struct SearchMatch<Record> {
    /// The record, read from the content table.
    public let record: Record
    /// The hit.
    public let hit: SearchHit
}

extension SearchMatch: Sendable where Record: Sendable {}

/// The part of a text that is shown with a hit (<https://sqlite.org/fts5.html#the_snippet_function>).
public struct FTS5Snippet: Hashable, Sendable {
    /// The column it is taken from; nil for the one that fits best.
    public var column: String?
    /// Its length in words, from 1 to 64.
    public var words: Int
    /// What stands where text was left out before and behind it.
    public var ellipsis: String

    /// From one column.
    /// - Parameters:
    ///   - name: the column.
    ///   - words: the length in words, from 1 to 64. Default: 16.
    ///   - ellipsis: what stands where text was left out. Default: `…`.
    public static func column(_ name: String, words: Int = 16, ellipsis: String = "…") -> FTS5Snippet {
        FTS5Snippet(column: name, words: words, ellipsis: ellipsis)
    }

    /// From the column that fits best.
    public static func best(words: Int = 16, ellipsis: String = "…") -> FTS5Snippet {
        FTS5Snippet(column: nil, words: words, ellipsis: ellipsis)
    }
}

/// In which order hits come.
public enum SearchOrder: Sendable {
    /// The best first.
    case rank
    /// By row id.
    case rowID
    /// By row id, the highest first.
    case rowIDDescending
    /// By SQL terms over the columns of the content table, such as `"published DESC, title"`; equal ones by row id. In the terms,
    /// `search_rank` is the rank.
    case sql(SQL)
}
