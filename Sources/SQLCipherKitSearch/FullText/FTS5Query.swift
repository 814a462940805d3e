/// A full-text query in FTS5's own terms, which is well-formed whatever text it contains
/// (<https://sqlite.org/fts5.html#full_text_query_syntax>). For what people type, search for the text itself.
///
/// ```swift
/// let query = FTS5Query.all("swift", .prefix("data")).or(.phrase("open source")).excluding("java")
/// ```
/// Text in a query is always literal: it reaches FTS5 in quotes, and the table's own tokenizer splits it into words. A text of
/// several words is a phrase. A text without a word (`--`, an empty string, a stop word) is not an error: it is ignored beside
/// other terms, and finds nothing alone. ``FullTextIndex`` uses the table's tokenizer to find such texts. If you bind a query to
/// `MATCH` in your own SQL, this does not happen, and such a text beside `.any(…)` or a query in columns finds nothing.
public struct FTS5Query: Hashable, Sendable {
    indirect enum Node: Hashable, Sendable {
        case text(String, isPrefix: Bool, isInitial: Bool)
        case near([String], distance: Int)
        case all([Node])
        case any([Node])
        case not(Node, Node)
        case columns([String], excluded: Bool, Node)
    }

    let node: Node

    init(_ node: Node) { self.node = node }

    /// A query that finds nothing.
    public static let nothing = FTS5Query(.any([]))

    /// A word, or several words in this order as a phrase.
    /// - Parameters:
    ///   - text: the word or words, literally.
    ///   - prefix: whether the last word is a prefix. Default: no.
    public static func phrase(_ text: String, prefix: Bool = false) -> FTS5Query {
        FTS5Query(.text(text, isPrefix: prefix, isInitial: false))
    }

    /// Words that begin with a text. If it has several words, it is a phrase, and its last word is the prefix.
    public static func prefix(_ text: String) -> FTS5Query { phrase(text, prefix: true) }

    /// A word or phrase at the very beginning of a column.
    /// - Parameters:
    ///   - text: the word or words, literally.
    ///   - prefix: whether the last word is a prefix. Default: no.
    public static func initial(_ text: String, prefix: Bool = false) -> FTS5Query {
        FTS5Query(.text(text, isPrefix: prefix, isInitial: true))
    }

    /// All of these.
    public static func all(_ queries: FTS5Query...) -> FTS5Query { all(queries) }

    /// All of these. An empty list finds nothing.
    public static func all(_ queries: [FTS5Query]) -> FTS5Query { FTS5Query(.all(queries.map(\.node))) }

    /// At least one of these.
    public static func any(_ queries: FTS5Query...) -> FTS5Query { any(queries) }

    /// At least one of these. An empty list finds nothing.
    public static func any(_ queries: [FTS5Query]) -> FTS5Query { FTS5Query(.any(queries.map(\.node))) }

    /// Words or phrases near one another, in any order.
    /// - Parameters:
    ///   - texts: the words or phrases.
    ///   - distance: the maximum number of words between the end of the first and the beginning of the last, from 0 to 1,000,000;
    ///     other values count as the nearest of these. Default: 10.
    public static func near(_ texts: [String], within distance: Int = 10) -> FTS5Query {
        FTS5Query(.near(texts, distance: min(max(0, distance), 1_000_000)))
    }

    /// A query in one column only.
    public static func column(_ name: String, _ query: FTS5Query) -> FTS5Query { columns([name], query) }

    /// A query in some columns only. With an empty list of columns, it finds nothing.
    public static func columns(_ names: [String], _ query: FTS5Query) -> FTS5Query {
        names.isEmpty ? nothing : FTS5Query(.columns(names, excluded: false, query.node))
    }

    /// A query in all columns except these.
    public static func excludingColumns(_ names: [String], _ query: FTS5Query) -> FTS5Query {
        names.isEmpty ? query : FTS5Query(.columns(names, excluded: true, query.node))
    }

    /// Returns a query for rows that both queries find.
    public func and(_ other: FTS5Query) -> FTS5Query { .all(self, other) }

    /// Returns a query for rows that at least one of the queries finds.
    public func or(_ other: FTS5Query) -> FTS5Query { .any(self, other) }

    /// Returns a query for rows that this query finds and the other one does not.
    public func excluding(_ other: FTS5Query) -> FTS5Query { FTS5Query(.not(node, other.node)) }
}

extension FTS5Query: ExpressibleByStringLiteral {
    /// A word or phrase.
    public init(stringLiteral text: String) { self = .phrase(text) }
}
