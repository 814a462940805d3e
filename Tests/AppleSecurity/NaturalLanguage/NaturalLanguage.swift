// Of the module NaturalLanguage what the article "Vectors from Apple's model" uses, with the parameters that Apple documents
// (<https://developer.apple.com/documentation/naturallanguage/nlcontextualembedding>). Its vectors follow from the letters.

public struct NLLanguage: RawRepresentable, Hashable, Sendable {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let english = NLLanguage(rawValue: "en")
}

open class NLContextualEmbedding {
    public enum AssetsResult: Int, Sendable {
        case available, notAvailable, error
    }

    /// The state of the model's files, and the answer to a request for them.
    nonisolated(unsafe) public static var standInHasAssets = false
    nonisolated(unsafe) public static var standInAnswer = AssetsResult.available

    private var isLoaded = false

    public init?(language: NLLanguage) { if language != .english { return nil } }

    open var dimension: Int { 26 }
    open var hasAvailableAssets: Bool { Self.standInHasAssets }

    open func requestAssets() async throws -> AssetsResult {
        Self.standInHasAssets = Self.standInAnswer == .available
        return Self.standInAnswer
    }

    open func load() throws {
        struct NoAssets: Error {}
        guard hasAvailableAssets else { throw NoAssets() }
        isLoaded = true
    }

    open func embeddingResult(for string: String, language: NLLanguage?) throws -> NLContextualEmbeddingResult {
        struct NotLoaded: Error {}
        guard isLoaded else { throw NotLoaded() }
        return NLContextualEmbeddingResult(string)
    }
}

open class NLContextualEmbeddingResult {
    public let string: String

    init(_ string: String) { self.string = string }

    public func enumerateTokenVectors(in range: Range<String.Index>, using block: ([Double], Range<String.Index>) -> Bool) {
        for place in string[range].indices {
            var vector = [Double](repeating: 0.01, count: 26)
            if let letter = string[place].lowercased().utf8.first, (97...122).contains(letter) { vector[Int(letter) - 97] = 1 }
            if !block(vector, place..<string.index(after: place)) { return }
        }
    }
}
