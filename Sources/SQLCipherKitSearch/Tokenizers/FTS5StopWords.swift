import SQLCipherKitCore

/// See ``SQLExtension/stopWords(_:base:as:)``.
package struct FTS5StopWords: FTS5TokenFilter {
    package let base: FTS5Tokenizer
    /// The stop words. Words that the base turns into the same token are left out as well.
    package let words: Set<String>

    /// Creates a filter.
    /// - Parameters:
    ///   - words: the stop words.
    ///   - base: the tokenizer whose tokens are filtered. Default: `unicode61`.
    package init(_ words: some Sequence<String>, base: FTS5Tokenizer = .unicode61()) {
        self.words = Set(words)
        self.base = base
    }

    package func prepare(_ tokens: (String) throws -> [String]) throws -> State {
        var set = State()
        for word in words { for token in try tokens(word) { set.insert(token) } }
        return set
    }

    package func filter(_ token: FTS5Token, for purpose: FTS5Tokenizer.Purpose, _ state: State, into tokens: inout FTS5Token.Sink) {
        if state.contains(token.bytes), !(purpose.contains(.prefix) && token.isAtEnd) { return }
        tokens.add(token.bytes, range: token.range, isColocated: token.isColocated)
    }

    /// The words as tokens of the base, looked up by their bytes, so that no string is created.
    package struct State: Sendable {
        private var buckets: [UInt64: [[UInt8]]] = [:]
        private var lengths: UInt64 = 0

        mutating func insert(_ word: String) {
            let bytes = Array(word.utf8)
            lengths |= 1 << UInt64(min(bytes.count, 63))
            let hash = bytes.withUnsafeBufferPointer(\.hash)
            if buckets[hash]?.contains(bytes) != true { buckets[hash, default: []].append(bytes) }
        }

        func contains(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
            // Most words of a text are longer than any stop word.
            guard lengths & (1 << UInt64(min(bytes.count, 63))) != 0 else { return false }
            return buckets[bytes.hash]?.contains { $0.count == bytes.count && $0.elementsEqual(bytes) } ?? false
        }
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// FNV-1a.
    var hash: UInt64 { reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 } }
}

extension FullTextSearch {
    /// The most frequent English words that carry no meaning of their own, for ``stopWords`` and
    /// ``SQLExtension/stopWords(_:base:as:)``.
    public static let englishStopWords: Set<String> = [
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "from", "has", "have", "he", "her", "his", "in", "is", "it",
        "its", "not", "of", "on", "or", "she", "so", "that", "the", "their", "them", "there", "they", "this", "to", "was", "were",
        "will", "with",
    ]
}
