/// Leaves words without meaning, such as `the` and `of`, out of the index and of queries alike.
///
/// A query of stop words alone finds nothing. While the last word of a query is only a beginning, it stays.
public struct FTS5StopWords: FTS5TokenFilter {
    public let base: FTS5Tokenizer
    /// The words, in any form that the base takes for the same.
    public let words: Set<String>

    public init(_ words: some Sequence<String>, base: FTS5Tokenizer = .unicode61()) {
        self.words = Set(words)
        self.base = base
    }

    /// The most frequent English words that carry no meaning of their own.
    public static let english: Set<String> = [
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "from", "has", "have", "he", "her", "his", "in", "is", "it",
        "its", "not", "of", "on", "or", "she", "so", "that", "the", "their", "them", "there", "they", "this", "to", "was", "were",
        "will", "with",
    ]

    public func prepare(_ tokens: (String) throws(DatabaseError) -> [String]) throws -> State {
        var set = State()
        for word in words { for token in try tokens(word) { set.insert(token) } }
        return set
    }

    public func filter(_ token: FTS5Token, for purpose: FTS5TokenizePurpose, _ state: State, into tokens: inout FTS5TokenSink) {
        if state.contains(token.bytes), !(purpose.contains(.prefix) && token.isAtEnd) { return }
        tokens.add(token.bytes, range: token.range, isColocated: token.isColocated)
    }

    /// The words as the base's tokens, looked up by their bytes: no string is made for it.
    public struct State: Sendable {
        private var buckets: [UInt64: [[UInt8]]] = [:]
        private var lengths: UInt64 = 0

        mutating func insert(_ word: String) {
            let bytes = Array(word.utf8)
            lengths |= 1 << UInt64(min(bytes.count, 63))
            let hash = bytes.withUnsafeBufferPointer { Self.hash($0) }
            if buckets[hash]?.contains(bytes) != true { buckets[hash, default: []].append(bytes) }
        }

        func contains(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
            // Most words of a text are longer than any stop word.
            guard lengths & (1 << UInt64(min(bytes.count, 63))) != 0 else { return false }
            return buckets[Self.hash(bytes)]?.contains { $0.count == bytes.count && $0.elementsEqual(bytes) } ?? false
        }

        /// FNV-1a.
        private static func hash(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt64 {
            bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        }
    }
}
