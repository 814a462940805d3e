/// A full-text query that is well-formed whatever it is made of (<https://sqlite.org/fts5.html#full_text_query_syntax>).
///
/// From what a person typed:
/// ```swift
/// let query = FTS5Query(userInput: "\"open source\" swift* -java")
/// ```
/// or from parts:
/// ```swift
/// let query = FTS5Query.all("swift", .prefix("data")).or(.phrase("open source")).excluding("java")
/// ```
/// Text in a query is only ever text: it reaches FTS5 inside quotes, and its words are found by the table's own tokenizer. A text
/// of several words is a phrase. A text without a word (`--`, an empty string, a stop word) is left out beside others, and alone
/// finds nothing; it is not an error. ``FullTextIndex`` asks the table's tokenizer for that; bound to `MATCH` in SQL of your own,
/// a query is not looked at so, and such a text beside `.any(…)` or a column's query finds nothing.
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

    /// A word, or the words of a phrase in their order.
    /// - Parameters:
    ///   - text: the word or words, as they stand.
    ///   - prefix: whether the last word is only the beginning of one. Default: no.
    public static func phrase(_ text: String, prefix: Bool = false) -> FTS5Query {
        FTS5Query(.text(text, isPrefix: prefix, isInitial: false))
    }

    /// Words that begin like this; of a text of several words, the last one is the beginning.
    public static func prefix(_ text: String) -> FTS5Query { phrase(text, prefix: true) }

    /// A word or phrase at the very beginning of a column.
    public static func initial(_ text: String, prefix: Bool = false) -> FTS5Query {
        FTS5Query(.text(text, isPrefix: prefix, isInitial: true))
    }

    /// All of these.
    public static func all(_ queries: FTS5Query...) -> FTS5Query { all(queries) }

    /// All of these; of an empty list, nothing.
    public static func all(_ queries: [FTS5Query]) -> FTS5Query { FTS5Query(.all(queries.map(\.node))) }

    /// At least one of these.
    public static func any(_ queries: FTS5Query...) -> FTS5Query { any(queries) }

    /// At least one of these; of an empty list, nothing.
    public static func any(_ queries: [FTS5Query]) -> FTS5Query { FTS5Query(.any(queries.map(\.node))) }

    /// Words or phrases near one another, in any order.
    /// - Parameters:
    ///   - texts: the words or phrases.
    ///   - distance: the number of words that may stand between the end of the first and the beginning of the last. Default: 10.
    public static func near(_ texts: [String], within distance: Int = 10) -> FTS5Query {
        FTS5Query(.near(texts, distance: min(max(0, distance), 1_000_000)))
    }

    /// A query in one column only.
    public static func column(_ name: String, _ query: FTS5Query) -> FTS5Query { columns([name], query) }

    /// A query in some columns only; in an empty list of columns, it finds nothing.
    public static func columns(_ names: [String], _ query: FTS5Query) -> FTS5Query {
        names.isEmpty ? nothing : FTS5Query(.columns(names, excluded: false, query.node))
    }

    /// A query in all columns but these.
    public static func excludingColumns(_ names: [String], _ query: FTS5Query) -> FTS5Query {
        names.isEmpty ? query : FTS5Query(.columns(names, excluded: true, query.node))
    }

    /// This and the other one.
    public func and(_ other: FTS5Query) -> FTS5Query { .all(self, other) }

    /// This or the other one.
    public func or(_ other: FTS5Query) -> FTS5Query { .any(self, other) }

    /// This without what the other one finds.
    public func excluding(_ other: FTS5Query) -> FTS5Query { FTS5Query(.not(node, other.node)) }
}

extension FTS5Query: ExpressibleByStringLiteral {
    /// A word or phrase.
    public init(stringLiteral text: String) { self = .phrase(text) }
}
