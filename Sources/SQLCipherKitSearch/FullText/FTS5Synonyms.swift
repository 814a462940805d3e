import SQLCipherKitCore

/// Lets a search for a word also find its synonyms.
///
/// With ``Side/document`` each word is indexed together with its synonyms: the index is larger, and queries are as fast as before.
/// With ``Side/query`` each word is searched for together with its synonyms, and the list can change without a rebuild. A prefix
/// has no synonyms.
public struct FTS5Synonyms: FTS5TokenFilter {
    /// Where synonyms are added.
    public enum Side: Hashable, Sendable {
        case document, query
    }

    public let base: FTS5Tokenizer
    /// Groups of words with the same meaning. Each must be a single token of the base; otherwise a statement that opens the table
    /// throws ``DatabaseError/Reason/invalidArgument``.
    public let groups: [[String]]
    /// Where synonyms are added.
    public let side: Side

    /// Creates a filter.
    /// - Parameters:
    ///   - groups: groups of words with the same meaning.
    ///   - side: where synonyms are added. Default: to queries.
    ///   - base: the tokenizer to whose tokens they are added. Default: `unicode61`.
    public init(_ groups: [[String]], side: Side = .query, base: FTS5Tokenizer = .unicode61()) {
        self.groups = groups
        self.side = side
        self.base = base
    }

    public func prepare(_ tokens: (String) throws(DatabaseError) -> [String]) throws -> State {
        var others: [ExactText: [String]] = [:]
        for group in groups {
            var members: [String] = []
            for word in group {
                let found = try tokens(word)
                guard found.count == 1 else {
                    throw DatabaseError.invalidArgument("the synonym \(word) is \(found.count) words to its tokenizer, not one")
                }
                members += found
            }
            for word in members { others[ExactText(word), default: []] += members.filter { !$0.isSameText(as: word) } }
        }
        return State(others: others)
    }

    public func filter(
        _ token: FTS5Token, for purpose: FTS5TokenizePurpose, _ state: State, into tokens: inout FTS5TokenSink
    ) {
        tokens.add(token.bytes, range: token.range, isColocated: token.isColocated)
        guard purpose.contains(side == .query ? .query : .document) || (side == .document && purpose.contains(.auxiliary)),
            !(purpose.contains(.prefix) && token.isAtEnd), let others = state.others[ExactText(token.string)]
        else { return }
        for other in others { tokens.add(other, range: token.range, isColocated: true) }
    }

    /// The synonyms of each word, as tokens of the base.
    public struct State: Sendable {
        fileprivate let others: [ExactText: [String]]
    }
}
