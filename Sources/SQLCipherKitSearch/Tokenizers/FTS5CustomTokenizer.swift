import CSQLCipher
import Foundation
import SQLCipherKitCore

extension FTS5Tokenizer {
    /// The purpose for which FTS5 splits a text into words (<https://sqlite.org/fts5.html#custom_tokenizers>).
    public struct Purpose: OptionSet, Hashable, Sendable {
        public let rawValue: Int32
        public init(rawValue: Int32) { self.rawValue = rawValue }

        /// The text of a query.
        public static let query = Purpose(rawValue: 0x0001)
        /// The last word of a query is a prefix. Always together with ``query``.
        public static let prefix = Purpose(rawValue: 0x0002)
        /// Text to be added to the index or removed from it.
        public static let document = Purpose(rawValue: 0x0004)
        /// Text in which words are marked, for a highlight or a snippet.
        public static let auxiliary = Purpose(rawValue: 0x0008)
    }
}

extension FTS5Token {
    /// Receives a tokenizer's tokens. A sink is valid only during the call and cannot be kept.
    public struct Sink: ~Copyable {
        typealias Callback = @convention(c) (UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, Int32, Int32, Int32) -> Int32

        let callback: Callback
        let context: UnsafeMutableRawPointer?
        /// The length of the text in bytes.
        let count: Int
        /// SQLite's result code for the last token. After an error, no more tokens are passed on.
        private(set) var result: Int32 = 0
        /// The error for a token with a range outside the text.
        private(set) var error: DatabaseError?

        init(_ callback: @escaping Callback, _ context: UnsafeMutableRawPointer?, count: Int) {
            self.callback = callback
            self.context = context
            self.count = count
        }

        /// Passes a token on to FTS5.
        ///
        /// If the range is not within the text, the statement fails with ``DatabaseError/Reason/invalidArgument``, because FTS5
        /// would read outside of the text.
        /// - Parameters:
        ///   - token: the token's UTF-8, as the index stores it.
        ///   - range: the bytes in the text for which the token stands.
        ///   - isColocated: whether the token has the same position as the previous token, as a synonym does. Default: no.
        public mutating func add(_ token: UnsafeBufferPointer<UInt8>, range: Range<Int>, isColocated: Bool = false) {
            guard result == 0 else { return }
            guard range.lowerBound >= 0, range.upperBound <= count else {
                result = SQLITE_ERROR
                error = .invalidArgument("a tokenizer returned a token at \(range) of a text of \(count) bytes")
                return
            }
            token.withMemoryRebound(to: CChar.self) { bytes in
                result = callback(
                    context, isColocated ? 1 : 0, bytes.baseAddress, Int32(clamping: bytes.count),
                    Int32(clamping: range.lowerBound), Int32(clamping: range.upperBound))
            }
        }

        /// Passes a token on to FTS5, given as a string.
        /// - Parameters:
        ///   - token: the token, as the index stores it.
        ///   - range: the bytes of the text that the token stands for.
        ///   - isColocated: whether the token has the same position as the previous token, as a synonym does. Default: no.
        public mutating func add(_ token: String, range: Range<Int>, isColocated: Bool = false) {
            var token = token
            token.withUTF8 { add($0, range: range, isColocated: isColocated) }
        }
    }
}

/// A tokenizer in Swift: splits text into the words that a full-text table indexes.
/// ```swift
/// struct Commas: FTS5CustomTokenizer {
///     func tokenize(_ text: UnsafeBufferPointer<UInt8>, for purpose: FTS5Tokenizer.Purpose, into tokens: inout FTS5Token.Sink) {
///         var start = 0
///         for end in 0...text.count where end == text.count || text[end] == UInt8(ascii: ",") {
///             if start < end { tokens.add(UnsafeBufferPointer(rebasing: text[start..<end]), range: start..<end) }
///             start = end + 1
///         }
///     }
/// }
/// try db.register(.tokenizer(Commas(), as: "commas"))
/// try db.create(FTS5Table("tags", columns: ["list"], tokenizer: .custom("commas")))
/// ```
/// The same text must always give the same tokens, whether it is indexed, removed or searched for. After a change to a tokenizer,
/// call ``FullTextIndex/rebuild()`` for its tables. Every connection that reads or writes the table needs the tokenizer: register
/// it in ``DatabaseConfiguration/prepareDatabase``.
public protocol FTS5CustomTokenizer: Sendable {
    /// Finds the tokens of a text in UTF-8, which need not be well-formed, and passes them on in order.
    /// - Parameters:
    ///   - text: the text, valid only during the call.
    ///   - purpose: the reason for the call: indexing a row, or reading a query.
    ///   - tokens: receives the tokens.
    /// - Throws: any error; the statement fails with it.
    func tokenize(
        _ text: UnsafeBufferPointer<UInt8>, for purpose: FTS5Tokenizer.Purpose, into tokens: inout FTS5Token.Sink) throws
}

/// A token that a filter receives.
public struct FTS5Token {
    /// The token's UTF-8, valid only during the call.
    public let bytes: UnsafeBufferPointer<UInt8>
    /// The bytes in the text for which the token stands.
    public let range: Range<Int>
    /// True if the token has the same position as the previous token.
    public let isColocated: Bool
    /// True if only spaces follow the token in the text. With ``FTS5Tokenizer/Purpose/prefix``, it may then not be a whole word.
    public let isAtEnd: Bool

    /// The token as a string.
    public var string: String { String(decoding: bytes, as: UTF8.self) }
}

/// Changes, drops or adds to the tokens of another tokenizer.
public protocol FTS5TokenFilter: Sendable {
    /// The state that a filter computes when a table is opened, such as its own words as tokens of the base.
    associatedtype State = Void

    /// The tokenizer whose tokens are filtered: built in, or already registered on the same connection.
    var base: FTS5Tokenizer { get }

    /// Computes the filter's state, once for each connection and table. `tokens` returns the base's tokens of a text.
    /// - Throws: any error; the statement that opens the table fails with it.
    func prepare(_ tokens: (String) throws -> [String]) throws -> State

    /// Passes on any number of tokens for each token of the base.
    /// - Throws: any error; the statement fails with it.
    func filter(_ token: FTS5Token, for purpose: FTS5Tokenizer.Purpose, _ state: State, into tokens: inout FTS5Token.Sink) throws
}

extension FTS5TokenFilter where State == Void {
    /// Computes nothing, for a filter without a state.
    /// - Throws: no error.
    public func prepare(_ tokens: (String) throws -> [String]) throws {}
}

/// See ``SQLExtension/compatibilityFolding(base:as:)``.
package struct FTS5CompatibilityFolding: FTS5TokenFilter {
    package let base: FTS5Tokenizer

    /// Creates a filter.
    /// - Parameter base: the tokenizer whose tokens are folded. Default: `unicode61`.
    package init(base: FTS5Tokenizer = .unicode61()) { self.base = base }

    package func filter(_ token: FTS5Token, for purpose: FTS5Tokenizer.Purpose, _ state: Void, into tokens: inout FTS5Token.Sink) {
        if token.bytes.allSatisfy({ $0 < 0x80 }) {
            tokens.add(token.bytes, range: token.range, isColocated: token.isColocated)
        } else {
            tokens.add(Self.fold(token.string), range: token.range, isColocated: token.isColocated)
        }
    }

    /// Returns the folded form of a word: its compatibility decomposition in lower case, without nonspacing marks, and with ASCII
    /// digits.
    package static func fold(_ word: String) -> String {
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

extension Unicode.Scalar {
    /// True if the scalar is a letter or mark of a script without spaces between words. Korean has spaces, but around compounds
    /// with their particles.
    var isUnspacedScript: Bool {
        switch value {
        case 0x0e01...0x0e3a, 0x0e40...0x0e4e: true  // Thai
        case 0x0e81...0x0ecd, 0x0edc...0x0edf: true  // Lao
        case 0x1000...0x103f, 0x1050...0x108f: true  // Burmese
        case 0x1780...0x17d3: properties.generalCategory != .otherPunctuation  // Khmer
        case 0x1100...0x11ff, 0x3005...0x3007, 0x3021...0x3029: true  // Hangul letters, iteration mark, numerals
        case 0x3041...0x3096, 0x3099...0x309a, 0x309d...0x309f: true  // Hiragana
        case 0x30a1...0x30fa, 0x30fc...0x30ff, 0x31f0...0x31ff: true  // Katakana
        case 0x3100...0x312f, 0x3130...0x318f, 0x31a0...0x31bf: true  // Bopomofo, Hangul letters
        case 0x3400...0x4dbf, 0x4e00...0x9fff, 0xac00...0xd7a3, 0xf900...0xfaff: true  // Han, Hangul syllables
        case 0xff66...0xff9f: true  // half-width Katakana
        case 0x20000...0x3ffff: true  // Han, later blocks
        default: false
        }
    }
}
