import CSQLCipher

/// Why FTS5 wants text cut into words (<https://sqlite.org/fts5.html#custom_tokenizers>).
public struct FTS5TokenizePurpose: OptionSet, Hashable, Sendable {
    public let rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// Text of a query.
    public static let query = FTS5TokenizePurpose(rawValue: 0x0001)
    /// Together with ``query``: the last word is the beginning of one.
    public static let prefix = FTS5TokenizePurpose(rawValue: 0x0002)
    /// Text that is written to the index, or removed from it.
    public static let document = FTS5TokenizePurpose(rawValue: 0x0004)
    /// Text that is marked for a highlight or a snippet.
    public static let auxiliary = FTS5TokenizePurpose(rawValue: 0x0008)
}

/// Takes a tokenizer's tokens. It is lent to a call and cannot be kept.
public struct FTS5TokenSink: ~Copyable {
    typealias Callback = @convention(c) (UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, Int32, Int32, Int32) -> Int32

    let callback: Callback
    let context: UnsafeMutableRawPointer?
    /// The bytes of the text.
    let count: Int
    /// SQLite's result code of the last token; after an error nothing is passed on.
    private(set) var result: Int32 = 0
    /// What was wrong with a token.
    private(set) var error: DatabaseError?

    init(_ callback: @escaping Callback, _ context: UnsafeMutableRawPointer?, count: Int) {
        self.callback = callback
        self.context = context
        self.count = count
    }

    /// Passes a token on.
    ///
    /// A range beyond the text ends the statement with ``DatabaseError/Reason/invalidArgument``, as FTS5 would read there.
    /// - Parameters:
    ///   - token: its UTF-8, as it is kept in the index.
    ///   - range: the bytes of the text that it stands for.
    ///   - isColocated: whether it stands at the same place as the token before, as a synonym does. Default: no.
    public mutating func add(_ token: UnsafeBufferPointer<UInt8>, range: Range<Int>, isColocated: Bool = false) {
        guard result == 0 else { return }
        guard range.lowerBound >= 0, range.upperBound <= count else {
            result = SQLITE_ERROR
            error = .invalidArgument("a tokenizer says that a token stands at \(range) of a text of \(count) bytes")
            return
        }
        token.withMemoryRebound(to: CChar.self) { bytes in
            result = callback(
                context, isColocated ? 1 : 0, bytes.baseAddress, Int32(clamping: bytes.count), Int32(clamping: range.lowerBound),
                Int32(clamping: range.upperBound))
        }
    }

    /// Passes the engine's own tokens on, whose places are right.
    mutating func add(_ tokenize: (UnsafeMutableRawPointer?, Callback) -> Int32) {
        guard result == 0 else { return }
        result = tokenize(context, callback)
    }

    /// Passes a token on.
    public mutating func add(_ token: String, range: Range<Int>, isColocated: Bool = false) {
        var token = token
        token.withUTF8 { add($0, range: range, isColocated: isColocated) }
    }
}

/// A tokenizer in Swift: cuts text into the words that a full-text table knows.
/// ```swift
/// struct Commas: FTS5TextTokenizer {
///     func tokenize(_ text: UnsafeBufferPointer<UInt8>, for purpose: FTS5TokenizePurpose, into tokens: inout FTS5TokenSink) {
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
/// The same text must give the same tokens each time, whether it is indexed, removed or searched for; a change to a tokenizer
/// needs ``FullTextIndex/rebuild()`` of its tables. Every connection that touches the table needs the
/// registration: put it into ``DatabaseConfiguration/prepare``.
public protocol FTS5TextTokenizer: Sendable {
    /// Finds the tokens of a text in UTF-8, in order. What it throws ends the statement with that error.
    func tokenize(
        _ text: UnsafeBufferPointer<UInt8>, for purpose: FTS5TokenizePurpose, into tokens: inout FTS5TokenSink) throws
}

/// A token that a filter is given.
public struct FTS5Token {
    /// Its UTF-8, valid during the call only.
    public let bytes: UnsafeBufferPointer<UInt8>
    /// The bytes of the text that it stands for.
    public let range: Range<Int>
    /// Whether it stands at the same place as the token before.
    public let isColocated: Bool
    /// Whether it is the last thing in the text: with ``FTS5TokenizePurpose/prefix``, perhaps not a whole word.
    public let isAtEnd: Bool

    /// The token as a string.
    public var string: String { String(decoding: bytes, as: UTF8.self) }
}

/// Changes, drops or adds to the tokens of another tokenizer.
public protocol FTS5TokenFilter: Sendable {
    /// What a filter learns from its base when a table is opened, such as its own words in the form of the base's tokens.
    associatedtype State = Void

    /// The tokenizer whose tokens are filtered: built in, or registered before on the same connection.
    var base: FTS5Tokenizer { get }

    /// Called once for each connection and table. `tokens` gives the base's tokens of a text.
    func prepare(_ tokens: (String) throws(DatabaseError) -> [String]) throws -> State

    /// Passes tokens on for one of the base's.
    func filter(_ token: FTS5Token, for purpose: FTS5TokenizePurpose, _ state: State, into tokens: inout FTS5TokenSink) throws
}

extension FTS5TokenFilter where State == Void {
    public func prepare(_ tokens: (String) throws(DatabaseError) -> [String]) throws {}
}
