import SQLCipherKitCore

/// Fitting a query to an index.
extension FullTextIndex {
    /// Returns the query in a form that gives the intended result, however the tokenizer splits its terms.
    ///
    /// A term without a token (a stop word, punctuation) is left out, because beside `AND` it would make FTS5 find nothing. In an
    /// index without positions (``FTS5Table/Detail/column`` and ``FTS5Table/Detail/none``) FTS5 rejects phrases, `NEAR` and initial
    /// words, so these become a search for all of their words.
    func supported(_ query: FTS5Query) throws(DatabaseError) -> FTS5Query {
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
        } catch { throw connection.takeCallbackError(error.code.rawValue) ?? error }
    }
}

private struct FittingQuery {
    typealias Node = FTS5Query.Node

    let tokenizer: EngineTokenizer
    let detail: FTS5Table.Detail

    /// The node without terms that have no token; nil if nothing is left.
    func node(_ node: Node) throws(DatabaseError) -> Node? {
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

    private func nodes(_ nodes: [Node]) throws(DatabaseError) -> [Node] {
        var kept: [Node] = []
        for node in nodes { if let node = try self.node(node) { kept.append(node) } }
        return kept
    }

    private func all(_ nodes: [Node]) -> Node? { nodes.count > 1 ? .all(nodes) : nodes.first }

    /// The tokens of a text in the form that FTS5 receives.
    private func tokens(_ text: String, _ isPrefix: Bool) throws(DatabaseError) -> [EngineTokenizer.Found] {
        try tokenizer.tokens(of: text.withoutNullCharacters, for: isPrefix ? [.query, .prefix] : .query).filter { !$0.isColocated }
    }

    /// Splits a text into parts of one token each.
    private func words(_ text: String, _ isPrefix: Bool) throws(DatabaseError) -> [(text: String, isPrefix: Bool)] {
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
    /// Whether a term without a token would change what FTS5 finds: FTS5 ignores such a term only among plain terms.
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

    /// Whether any term is a prefix.
    var hasPrefix: Bool {
        switch self {
        case .text(_, let isPrefix, _): isPrefix
        case .near: false
        case .all(let nodes), .any(let nodes): nodes.contains(where: \.hasPrefix)
        case .not(let wanted, let excluded): wanted.hasPrefix || excluded.hasPrefix
        case .columns(_, _, let node): node.hasPrefix
        }
    }
}
