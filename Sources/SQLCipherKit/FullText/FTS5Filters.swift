import Foundation

/// Leaves words out that say nothing, such as `the` and `of`, from the index and from queries alike.
///
/// A query of stop words alone finds nothing. While the last word of a query is only a beginning, it stays.
public struct StopWords: FTS5TokenFilter {
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

    public func prepare(_ tokens: (String) throws(DatabaseError) -> [String]) throws -> ByteSet {
        var set = ByteSet()
        for word in words { for token in try tokens(word) { set.insert(token) } }
        return set
    }

    public func filter(_ token: FTS5Token, for purpose: FTS5TokenizePurpose, _ state: ByteSet, into tokens: inout FTS5TokenSink) {
        if state.contains(token.bytes), !(purpose.contains(.prefix) && token.isAtEnd) { return }
        tokens.add(token.bytes, range: token.range, isColocated: token.isColocated)
    }
}

/// Words that are found for one another.
///
/// On the side of the documents each word is indexed together with its synonyms: a larger index, and queries as fast as ever. On
/// the side of the queries each word is searched for together with its synonyms, and the list can change without a rebuild.
public struct Synonyms: FTS5TokenFilter {
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

    public func prepare(_ tokens: (String) throws(DatabaseError) -> [String]) throws -> [String: [String]] {
        var others: [String: [String]] = [:]
        for group in groups {
            var members: [String] = []
            for word in group {
                let found = try tokens(word)
                guard found.count == 1 else {
                    throw DatabaseError.invalidArgument("the synonym \(word) is \(found.count) words to its tokenizer, not one")
                }
                members += found
            }
            for word in members { others[word, default: []] += members.filter { $0 != word } }
        }
        return others
    }

    public func filter(
        _ token: FTS5Token, for purpose: FTS5TokenizePurpose, _ state: [String: [String]], into tokens: inout FTS5TokenSink
    ) {
        tokens.add(token.bytes, range: token.range, isColocated: token.isColocated)
        guard purpose.contains(side == .query ? .query : .document) || (side == .document && purpose.contains(.auxiliary)),
            !(purpose.contains(.prefix) && token.isAtEnd), let others = state[token.string]
        else { return }
        for other in others { tokens.add(other, range: token.range, isColocated: true) }
    }
}

/// Makes words alike that Unicode holds for compatible: full-width letters, ligatures, superscripts, `ß` and `ss`, Arabic and other
/// digits. Words of ASCII pass through untouched.
public struct CompatibilityFolding: FTS5TokenFilter {
    public let base: FTS5Tokenizer

    public init(base: FTS5Tokenizer = .unicode61()) { self.base = base }

    public func filter(_ token: FTS5Token, for purpose: FTS5TokenizePurpose, _ state: Void, into tokens: inout FTS5TokenSink) {
        if token.bytes.allSatisfy({ $0 < 0x80 }) {
            tokens.add(token.bytes, range: token.range, isColocated: token.isColocated)
        } else {
            tokens.add(Self.fold(token.string), range: token.range, isColocated: token.isColocated)
        }
    }

    /// The folded form of a word: compatibility decomposition, without marks, in lower case, digits as ASCII.
    public static func fold(_ word: String) -> String {
        var folded = ""
        for scalar in word.decomposedStringWithCompatibilityMapping.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .nonspacingMark: break
            case .decimalNumber:
                if let value = scalar.properties.numericType == .decimal ? scalar.properties.numericValue : nil {
                    folded += String(Int(value))
                }
            default: folded += scalar == "ß" || scalar == "ẞ" ? "ss" : scalar.properties.lowercaseMapping
            }
        }
        return folded
    }
}

/// A set of words that is asked with bytes: no string is made for the question.
public struct ByteSet: Sendable {
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
