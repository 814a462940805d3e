import SQLCipherKitCore

/// A full-text query in FTS5's own terms (<https://sqlite.org/fts5.html#full_text_query_syntax>). It is well-formed with any text
/// in it. For user input, search for the text itself.
///
/// ```swift
/// let query = FTS5Query.all("swift", .prefix("data")).or(.phrase("open source")).excluding("java")
/// ```
/// Text in a query is always literal: it reaches FTS5 in quotes, and the table's own tokenizer splits it into words. A text of
/// several words is a phrase. A text without a word (`--`, an empty string, a stop word) is not an error: it is ignored beside
/// other terms, and finds nothing alone. ``FullTextIndex`` recognizes such texts with the table's tokenizer. `MATCH` in your own
/// SQL does not: there, such a text beside `.any(…)` or beside a query for certain columns finds nothing.
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

    /// A query for rows that all of these queries find.
    public static func all(_ queries: FTS5Query...) -> FTS5Query { all(queries) }

    /// A query for rows that all of these queries find. An empty list finds nothing.
    public static func all(_ queries: [FTS5Query]) -> FTS5Query { FTS5Query(.all(queries.map(\.node))) }

    /// A query for rows that at least one of these queries finds.
    public static func any(_ queries: FTS5Query...) -> FTS5Query { any(queries) }

    /// A query for rows that at least one of these queries finds. An empty list finds nothing.
    public static func any(_ queries: [FTS5Query]) -> FTS5Query { FTS5Query(.any(queries.map(\.node))) }

    /// Words or phrases near one another, in any order.
    /// - Parameters:
    ///   - texts: the words or phrases.
    ///   - distance: the maximum number of words between the end of the first text and the beginning of the last, from 0 to
    ///     1,000,000; values out of range count as the nearest limit. Default: 10.
    public static func near(_ texts: [String], within distance: Int = 10) -> FTS5Query {
        FTS5Query(.near(texts, distance: min(max(0, distance), 1_000_000)))
    }

    /// A query that searches one column only.
    public static func column(_ name: String, _ query: FTS5Query) -> FTS5Query { columns([name], query) }

    /// A query that searches some columns only. With an empty list of columns, it finds nothing. A search throws an error from
    /// SQLite for a column that the table does not have.
    public static func columns(_ names: [String], _ query: FTS5Query) -> FTS5Query {
        names.isEmpty ? nothing : FTS5Query(.columns(names, excluded: false, query.node))
    }

    /// A query that searches all columns except these.
    public static func excludingColumns(_ names: [String], _ query: FTS5Query) -> FTS5Query {
        names.isEmpty ? query : FTS5Query(.columns(names, excluded: true, query.node))
    }

    /// Returns a query for rows that both queries find.
    public func and(_ other: FTS5Query) -> FTS5Query { .all(self, other) }

    /// Returns a query for rows that at least one of the queries finds.
    public func or(_ other: FTS5Query) -> FTS5Query { .any(self, other) }

    /// Returns a query for rows that this query finds and the other query does not.
    public func excluding(_ other: FTS5Query) -> FTS5Query { FTS5Query(.not(node, other.node)) }
}

extension FTS5Query: ExpressibleByStringLiteral {
    /// A word or phrase.
    public init(stringLiteral text: String) { self = .phrase(text) }
}

/// Writing a query in FTS5's syntax.
extension FTS5Query {
    /// The query in FTS5's own syntax, to be bound to `MATCH`.
    public var expression: String { node.expression }

    /// True if the query has no text at all, and so finds nothing in any table.
    public var isEmpty: Bool { node.isEmpty }
}

/// A query is a value that can be bound: `WHERE note_fts MATCH \(query)`.
extension FTS5Query: SQLValueConvertible {
    public var sqlValue: SQLValue { .text(expression) }

    /// Always nil: a query can be bound, but not read from a row.
    public init?(sqlValue: SQLValue) { nil }
}

extension FTS5Query.Node {
    /// A phrase without a token: it finds nothing.
    private static let nothing = "\"\""

    var isEmpty: Bool {
        switch self {
        case .text(let text, _, _): text.isEmpty
        case .near(let texts, _): texts.allSatisfy(\.isEmpty)
        case .all(let nodes), .any(let nodes): nodes.allSatisfy(\.isEmpty)
        case .not(let node, _), .columns(_, _, let node): node.isEmpty
        }
    }

    var expression: String {
        switch self {
        case .text(let text, let isPrefix, let isInitial):
            return (isInitial ? "^ " : "") + text.quotedFTS5String + (isPrefix ? " *" : "")
        case .near(let texts, let distance):
            let texts = texts.filter { !$0.isEmpty }
            if texts.isEmpty { return Self.nothing }
            return "NEAR(\(texts.map(\.quotedFTS5String).joined(separator: " ")), \(distance))"
        case .all(let nodes): return all(nodes)
        case .any(let nodes):
            let nodes = nodes.filter { !$0.isEmpty }
            if nodes.isEmpty { return Self.nothing }
            if nodes.count == 1 { return nodes[0].expression }
            return nodes.map(\.operand).joined(separator: " OR ")
        case .not(let node, let excluded):
            return excluded.isEmpty ? node.expression : "\(node.operand) NOT \(excluded.operand)"
        case .columns(let names, let excluded, let node):
            let set = "{" + names.map(\.quotedFTS5String).joined(separator: " ") + "}"
            return (excluded ? "- " : "") + set + " : (" + node.expression + ")"
        }
    }

    /// Joins plain terms by spaces, because FTS5 then ignores those without a token. With `AND` it would find nothing.
    private func all(_ nodes: [Self]) -> String {
        var terms: [String] = []
        var others: [String] = []
        for node in nodes where !node.isEmpty {
            switch node {
            case .text, .near: terms.append(node.expression)
            default: others.append(node.operand)
            }
        }
        if terms.isEmpty && others.isEmpty { return Self.nothing }
        if others.isEmpty { return terms.joined(separator: " ") }
        if !terms.isEmpty { others.insert("(" + terms.joined(separator: " ") + ")", at: 0) }
        return others.joined(separator: " AND ")
    }

    private var operand: String {
        switch self {
        case .text, .near: expression
        default: "(" + expression + ")"
        }
    }
}

extension String {
    /// The text as a string of FTS5's query language. A NUL character becomes a space, because FTS5's parser stops at one.
    var quotedFTS5String: String {
        var quoted = "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"": quoted += "\"\""
            case "\0": quoted += " "
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

/// Fitting a query to an index.
extension FullTextIndex {
    /// Returns the query in a form that gives the intended result, however the tokenizer splits its terms.
    ///
    /// A term without a token (a stop word, punctuation) is left out, because beside `AND` it would make FTS5 find nothing. In an
    /// index without positions (``FTS5Table/Detail/column`` and ``FTS5Table/Detail/none``) FTS5 rejects phrases, `NEAR` and initial
    /// words, so these become a search for all of their words.
    func supported(_ query: FTS5Query) throws -> FTS5Query {
        var detail = FTS5Table.Detail.full
        if declaresDetail, let option = try options()["detail"] {
            // FTS5 accepts abbreviated names.
            detail = [.full, .column, .none].first { $0.rawValue.hasNamePrefix(option) } ?? .full
        }
        guard detail != .full || query.node.needsTokens else { return query }
        let tokenizer = try EngineTokenizer(connection.fts5Interface(), tokenizerArguments())
        do {
            let fitting = FittingQuery(tokenizer: tokenizer, detail: detail)
            return try fitting.node(query.node).map(FTS5Query.init) ?? .nothing
        } catch let error as DatabaseError { throw connection.takeCallbackError(error.code.rawValue) ?? error }
    }
}

private struct FittingQuery {
    typealias Node = FTS5Query.Node

    let tokenizer: EngineTokenizer
    let detail: FTS5Table.Detail

    /// The node without terms that have no token; nil if nothing is left.
    func node(_ node: Node) throws -> Node? {
        switch node {
        case .text(let text, let isPrefix, _):
            if detail == .full { return try tokens(text, isPrefix).isEmpty ? nil : node }
            return all(try words(text, isPrefix).map { .text($0.text, isPrefix: $0.isPrefix, isInitial: false) })
        case .near(let texts, let distance):
            if detail == .full {
                var kept: [String] = []
                for text in texts where try !tokens(text, false).isEmpty { kept.append(text) }
                return kept.isEmpty ? nil : .near(kept, distance: distance)
            }
            return all(try nodes(texts.map { .text($0, isPrefix: false, isInitial: false) }))
        case .all(let nodes): return all(try self.nodes(nodes))
        case .any(let nodes):
            let kept = try self.nodes(nodes)
            return kept.isEmpty ? nil : .any(kept)
        case .not(let wanted, let excluded):
            guard let wanted = try self.node(wanted) else { return nil }
            return try self.node(excluded).map { .not(wanted, $0) } ?? wanted
        case .columns(let names, let excluded, let inner):
            guard let inner = try self.node(inner) else { return nil }
            // The index does not record columns, so no row is known to match. This finds none.
            return detail == .none ? .not(inner, inner) : .columns(names, excluded: excluded, inner)
        }
    }

    private func nodes(_ nodes: [Node]) throws -> [Node] {
        var kept: [Node] = []
        for node in nodes { if let node = try self.node(node) { kept.append(node) } }
        return kept
    }

    private func all(_ nodes: [Node]) -> Node? { nodes.count > 1 ? .all(nodes) : nodes.first }

    /// The tokens of a text in the form that FTS5 receives.
    private func tokens(_ text: String, _ isPrefix: Bool) throws -> [EngineTokenizer.Found] {
        try tokenizer.tokens(of: text.withoutNullCharacters, for: isPrefix ? [.query, .prefix] : .query).filter { !$0.isColocated }
    }

    /// Splits a text into parts of one token each.
    private func words(_ text: String, _ isPrefix: Bool) throws -> [(text: String, isPrefix: Bool)] {
        let found = try tokens(text, isPrefix)
        guard found.count > 1 else { return found.isEmpty ? [] : [(text, isPrefix)] }
        let utf8 = Array(text.utf8)
        var words: [(text: String, isPrefix: Bool)] = []
        for (index, token) in found.enumerated() {
            let isPrefix = isPrefix && index == found.count - 1
            let range = token.range.clamped(to: 0..<utf8.count)
            if range.count < utf8.count {
                words += try self.words(String(decoding: utf8[range], as: UTF8.self), isPrefix)
            } else if try tokens(token.token, isPrefix).count == 1 {
                // The tokenizer reports the whole text as the range of one of its tokens.
                words.append((token.token, isPrefix))
            }
        }
        return words
    }
}

extension String {
    /// The text with a space for each NUL character, as in the query, because a tokenizer may stop at one. Byte offsets stay valid.
    fileprivate var withoutNullCharacters: String {
        utf8.contains(0) ? String(decoding: utf8.map { $0 == 0 ? 0x20 : $0 }, as: UTF8.self) : self
    }
}

extension FTS5Query.Node {
    /// True if a term without a token would change what FTS5 finds: FTS5 ignores such a term only among plain terms.
    fileprivate var needsTokens: Bool {
        switch self {
        case .text, .near: false
        case .all(let nodes): !nodes.allSatisfy(\.isTerm)
        case .any(let nodes): nodes.contains(where: \.needsTokens)
        case .not(let wanted, let excluded): wanted.needsTokens || excluded.needsTokens
        case .columns(_, _, let node): node.needsTokens
        }
    }

    private var isTerm: Bool {
        switch self {
        case .text, .near: true
        default: false
        }
    }
}

extension FTS5Query: _HidesValues {}
