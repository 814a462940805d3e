import CSQLCipherStems
import SQLCipherKitCore

/// The stems of a language's words: two words with the same stem are forms of one.
///
/// English has Porter's rules, which FTS5 has as well, and each other language those of Snowball (<https://snowballstem.org>). The
/// words are those of an index, and so in lower case, and mostly without accents: the rules find nearly as many forms without.
final class WordStems {
    let language: FullTextSearch.Language
    private let rules: OpaquePointer?

    init(_ language: FullTextSearch.Language) throws {
        self.language = language
        rules = language.rules.flatMap { sqlcipherkit_stems_open(Int32($0)) }
        if rules == nil, language.rules != nil { throw DatabaseError(code: .outOfMemory, message: "out of memory") }
    }

    deinit { sqlcipherkit_stems_close(rules) }

    /// Returns the stem of a word; nil for a word that cannot be one of the language.
    func stem(_ word: [UInt8]) throws -> [UInt8]? {
        guard let rules else { return SearchIndex.stem(word) }
        var stem: UnsafePointer<UInt8>?
        let count = word.withUnsafeBufferPointer { word in
            sqlcipherkit_stems_find(rules, word.baseAddress, Int32(clamping: word.count), &stem)
        }
        if count < 0 { throw DatabaseError(code: .outOfMemory, message: "out of memory") }
        return count > 0 ? Array(UnsafeBufferPointer(start: stem, count: Int(count))) : nil
    }

    /// Returns how words with a stem begin.
    func beginnings(of stem: [UInt8]) -> [[UInt8]] {
        switch language {
        case .english:
            // `hope` and `hoping`, `happi` and `happy`, `possibl` and `possibility`.
            let isCut = stem.count > 3 && (stem.last == UInt8(ascii: "e") || stem.suffix(2).elementsEqual("bl".utf8))
            let beginning: [UInt8] = isCut ? stem.dropLast() : stem
            return stem.last == UInt8(ascii: "i") ? [beginning, stem.dropLast() + [UInt8(ascii: "y")]] : [beginning]
        case .dutch:
            // `manen` and `maan`.
            guard stem.count > 2, "aeou".utf8.contains(stem[stem.count - 2]) else { return [stem] }
            return [stem, stem.dropLast() + stem.suffix(2)]
        case .french, .italian, .spanish:
            // `cheval` and `chevaux`: a stem may have another last letter.
            guard stem.count > 3, let last = stem.lastIndex(where: { $0 & 0xc0 != 0x80 }) else { return [stem] }
            return [Array(stem[..<last])]
        default: return [stem]
        }
    }
}

extension FullTextSearch.Language {
    /// Snowball's rules; nil for English.
    fileprivate var rules: Int? {
        switch self {
        case .danish: sqlcipherkit_stems_danish
        case .dutch: sqlcipherkit_stems_dutch
        case .english: nil
        case .french: sqlcipherkit_stems_french
        case .german: sqlcipherkit_stems_german
        case .italian: sqlcipherkit_stems_italian
        case .norwegian: sqlcipherkit_stems_norwegian
        case .portuguese: sqlcipherkit_stems_portuguese
        case .russian: sqlcipherkit_stems_russian
        case .spanish: sqlcipherkit_stems_spanish
        case .swedish: sqlcipherkit_stems_swedish
        }
    }

    /// True for a language that writes two nouns as one word: `Grafikkarte`.
    var hasCompounds: Bool {
        switch self {
        case .danish, .dutch, .german, .norwegian, .swedish: true
        default: false
        }
    }

    /// Words that lose their vowel before another word, and stand before an apostrophe: `l'arbre`.
    var elisions: Set<[UInt8]> {
        switch self {
        case .french: Self.frenchElisions
        case .italian: Self.italianElisions
        default: []
        }
    }

    private static let frenchElisions = words("c d j l m n s t qu jusqu lorsqu puisqu quoiqu")
    private static let italianElisions = words("c d l m n s t v un all agl coll dall dagl dell degl nell negl quell sull sugl")

    /// Eight words that texts in the language have, and those in the others mostly lack.
    var frequentWords: String {
        switch self {
        case .danish: "af efter blev hvad nogle noget mellem ikke"
        case .dutch: "het niet een van voor naar deze ook"
        case .english: "the and with from this that which have"
        case .french: "les une dans pour est pas sur avec"
        case .german: "und ist nicht mit auf eine oder wird"
        case .italian: "che sono della come questo nella anche gli"
        case .norwegian: "etter ble hva noen mellom noe dersom ikke"
        case .portuguese: "uma não são também pode pela seu com"
        case .russian: "для или при как если это что только"
        case .spanish: "una los las del cuando puede está también"
        case .swedish: "och inte till att ett från denna även"
        }
    }

    private static func words(_ text: String) -> Set<[UInt8]> { Set(text.split(separator: " ").map { Array($0.utf8) }) }
}
