import SQLCipherKitCore

/// See ``SQLExtension/synonyms(_:inDocuments:base:as:)``.
package struct FTS5Synonyms: FTS5TokenFilter {
    /// Where synonyms are added.
    package enum Side: Hashable, Sendable {
        case document, query
    }

    package let base: FTS5Tokenizer
    /// Groups of words with the same meaning. Each must be a single token of the base; otherwise a statement that opens the table
    /// throws ``DatabaseError/Reason/invalidArgument``.
    package let groups: [[String]]
    /// Where synonyms are added.
    package let side: Side

    /// Creates a filter.
    /// - Parameters:
    ///   - groups: groups of words with the same meaning.
    ///   - side: where synonyms are added. Default: to queries.
    ///   - base: the tokenizer to whose tokens the synonyms are added. Default: `unicode61`.
    package init(_ groups: [[String]], side: Side = .query, base: FTS5Tokenizer = .unicode61()) {
        self.groups = groups
        self.side = side
        self.base = base
    }

    package func prepare(_ tokens: (String) throws -> [String]) throws -> State {
        var others: [ExactText: [String]] = [:]
        for group in groups {
            var members: [String] = []
            for word in group {
                let found = try tokens(word)
                guard found.count == 1 else {
                    throw DatabaseError.invalidArgument("the synonym \(word) is split into \(found.count) words, and must be one")
                }
                members += found
            }
            for word in members { others[ExactText(word), default: []] += members.filter { !$0.isSameText(as: word) } }
        }
        return State(others: others)
    }

    package func filter(
        _ token: FTS5Token, for purpose: FTS5Tokenizer.Purpose, _ state: State, into tokens: inout FTS5Token.Sink
    ) {
        tokens.add(token.bytes, range: token.range, isColocated: token.isColocated)
        guard purpose.contains(side == .query ? .query : .document) || (side == .document && purpose.contains(.auxiliary)),
            !(purpose.contains(.prefix) && token.isAtEnd), let others = state.others[ExactText(token.string)]
        else { return }
        for other in others { tokens.add(other, range: token.range, isColocated: true) }
    }

    /// The synonyms of each word, as tokens of the base.
    package struct State: Sendable {
        fileprivate let others: [ExactText: [String]]
    }
}
