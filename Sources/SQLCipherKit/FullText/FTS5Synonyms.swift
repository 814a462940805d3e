/// Words that are found for one another.
///
/// On the side of the documents each word is indexed together with its synonyms: a larger index, and queries as fast as ever. On
/// the side of the queries each word is searched for together with its synonyms, and the list can change without a rebuild.
public struct FTS5Synonyms: FTS5TokenFilter {
    /// Where synonyms are added.
    public enum Side: Hashable, Sendable {
        case document, query
    }

    public let base: FTS5Tokenizer
    /// Words that mean the same, in groups. Each is a single word to the base.
    public let groups: [[String]]
    /// Where synonyms are added.
    public let side: Side

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

    /// The synonyms of each word, as the base's tokens.
    public struct State: Sendable {
        fileprivate let others: [ExactText: [String]]
    }
}
