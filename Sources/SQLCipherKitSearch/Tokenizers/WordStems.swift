import CSQLCipherStems
import SQLCipherKitCore

/// The stems of a language's words: two words with the same stem are forms of one.
///
/// English has Porter's rules, which FTS5 has as well, and each other language Snowball's (<https://snowballstem.org>). Those leave
/// out endings of many nouns (`ações`, `locaties`, `huset`), and expect accents, which an index mostly lacks: so endings of nouns
/// are replaced first, and the rules are applied twice.
final class WordStems {
    let language: FullTextSearch.Language
    private let rules: OpaquePointer?
    private let nounEndings: [[FullTextSearch.Language.NounEnding]]

    init(_ language: FullTextSearch.Language) throws {
        (self.language, nounEndings) = (language, language.nounEndings)
        rules = language.rules.flatMap { sqlcipherkit_stems_open(Int32($0)) }
        if rules == nil, language.rules != nil { throw DatabaseError(code: .outOfMemory, message: "out of memory") }
    }

    deinit { sqlcipherkit_stems_close(rules) }

    /// Returns the stem of a word; nil for a word that cannot be one of the language.
    func stem(_ word: [UInt8]) throws -> [UInt8]? {
        try word.withUnsafeBufferPointer { try withStem(of: $0) { $0.map(Array.init) } }
    }

    /// Calls `body` with the stem of a word, without allocating: a keystroke asks for the stems of a thousand words.
    func withStem<R>(of word: UnsafeBufferPointer<UInt8>, _ body: (UnsafeBufferPointer<UInt8>?) throws -> R) throws -> R {
        if rules == nil { return try SearchIndex.withStem(of: word, body) }
        guard let (ending, base) = nounEnding(of: word) else { return try body(twice(word)) }
        let kept = word.count - ending.count
        return try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: kept + base.count) { noun in
            _ = noun.initialize(from: word[..<kept])
            _ = noun[kept...].initialize(from: base)
            return try body(twice(UnsafeBufferPointer(noun)))
        }
    }

    /// Returns true if a word has one of these stems.
    func isForm(_ word: [UInt8], of stems: Set<[UInt8]>) throws -> Bool {
        try word.withUnsafeBufferPointer { try isForm($0, of: stems) }
    }

    func isForm(_ word: UnsafeBufferPointer<UInt8>, of stems: Set<[UInt8]>) throws -> Bool {
        try withStem(of: word) { stem in
            guard let stem else { return false }
            return stems.contains { $0.count == stem.count && $0.elementsEqual(stem) }
        }
    }

    /// Returns the stem of a word without the ending of a noun, which stays until the next call.
    private func twice(_ word: UnsafeBufferPointer<UInt8>) throws -> UnsafeBufferPointer<UInt8>? {
        guard let stem = try snowballStem(word) else { return nil }
        return try snowballStem(stem) ?? stem
    }

    /// Returns the stem by Snowball's rules alone, which stays until the next call.
    func snowballStem(_ word: UnsafeBufferPointer<UInt8>) throws -> UnsafeBufferPointer<UInt8>? {
        guard let rules else { return nil }
        var stem: UnsafePointer<UInt8>?
        let count = sqlcipherkit_stems_find(rules, word.baseAddress, Int32(clamping: word.count), &stem)
        if count < 0 { throw DatabaseError(code: .outOfMemory, message: "out of memory") }
        return count > 0 ? UnsafeBufferPointer(start: stem, count: Int(count)) : nil
    }

    /// Returns the ending of a noun's plural or definite form and its replacement, such as that of `nycklar` by `nyckl`.
    private func nounEnding(of word: UnsafeBufferPointer<UInt8>) -> FullTextSearch.Language.NounEnding? {
        guard let last = word.last, last < nounEndings.count else { return nil }
        return nounEndings[Int(last)].first { ending, base in
            word.count - ending.count + base.count >= 3 && word.suffix(ending.count).elementsEqual(ending)
        }
    }

    /// Returns true if two words with the same stem are one word in singular and plural, masculine and feminine: `módulo` and
    /// `módulos`, but not `modular`. Only the Romance languages' stems are of whole families of words.
    func isInflection(_ word: [UInt8], of other: [UInt8]) -> Bool {
        guard language.isRomance else { return true }
        func withoutVowels(_ word: [UInt8]) -> ArraySlice<UInt8> {
            let noun = word.withUnsafeBufferPointer(nounEnding)
            let base = noun.map { word.dropLast($0.ending.count) + $0.base } ?? word
            return base.prefix((base.lastIndex { !"aeio".utf8.contains($0) } ?? -1) + 1)
        }
        return withoutVowels(word) == withoutVowels(other)
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
            // `grens` and `grenzen`, `maan` and `manen`.
            guard stem.count > 2, let last = stem.last else { return [stem] }
            if "aeou".utf8.contains(stem[stem.count - 2]) { return [stem, stem.dropLast() + stem.suffix(2)] }
            return "sf".utf8.contains(last) ? [stem.dropLast()] : [stem]
        case .danish, .norwegian, .swedish:
            // `nyckel` and `nycklar`.
            let mayBeLonger = ["kl", "gl", "sl"].contains { stem.suffix(2).elementsEqual($0.utf8) }
            return mayBeLonger && stem.count > 3 ? [stem.dropLast()] : [stem]
        case .french, .italian, .portuguese, .spanish:
            // `cheval` and `chevaux`, `ação` and `ações`: a stem may have another last letter.
            let shortest = language == .portuguese ? 2 : 3
            guard stem.count > shortest, let last = stem.lastIndex(where: { $0 & 0xc0 != 0x80 }) else { return [stem] }
            // `indication` and `indiquer`, whose stem is `indiqu`.
            let isChanged = language == .french && stem.suffix(3).elementsEqual("iqu".utf8)
            return [Array(stem[..<last])] + (isChanged ? [stem.dropLast(2) + "c".utf8] : [])
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
    var hasCompounds: Bool { [.danish, .dutch, .german, .norwegian, .swedish].contains(self) }

    var isRomance: Bool { [.french, .italian, .portuguese, .spanish].contains(self) }

    fileprivate typealias NounEnding = (ending: [UInt8], base: [UInt8])

    /// Endings of nouns and their replacements, in letters without accents, by the last letter; the first that fits counts.
    fileprivate var nounEndings: [[NounEnding]] { Self.nounEndings[self] ?? [] }

    private static let nounEndings: [Self: [[NounEnding]]] = [
        .danish: "mmet:m mmer:m mmen:m kel:kl gel:gl sel:sl",
        .dutch: """
            eaus:eau ssen:s nnen:n llen:l ppen:p mmen:m rren:r ffen:f ggen:g ieen:ie zen:s ven:f ies:ie ens:en ers:er els:el \
            es:e as:a os:o
            """,
        .french: "eaux:eau aux:al ives:if ive:if x: s:",
        .german: """
            glas:glas gras:gras aus:aus eus:eus nus:nu us: odi:od aum:aum aums:aum datum:dat datums:dat tum:tum tums:tum um: \
            ums: hemata:hem hemas:hem hema:hem ata:a as:a ontos:ont onto:ont isikos:isik isiko:isik os:o ys:y ps:p vs:v eln:el \
            els:el ern:er ers:er
            """,
        .italian: "chi:co ghi:go che:ca ghe:ga",
        .norwegian: "mmet:m mmer:m mmen:m kel:kl gel:gl sel:sl",
        .portuguese: "oes:ao aes:ao aos:ao ens:em ins:im ons:om uns:um ais:al eis:el ois:ol res:r zes:z s:",
        .spanish: "iones:ion ces:z des:d les:l nes:n res:r yes:y s:",
        .swedish: """
            mmet:m heten:het het:het andet:ande anden:ande kel:kl gel:gl keln:kl geln:gl eln:el ern:er ets: et: ans:a an:a
            """,
    ].mapValues { rules in
        var endings = Array(repeating: [NounEnding](), count: 128)
        for rule in rules.split(whereSeparator: \.isWhitespace) {
            let sides = rule.split(separator: ":", omittingEmptySubsequences: false).map { Array($0.utf8) }
            endings[Int(sides[0].last ?? 0)].append((sides[0], sides[1]))
        }
        return endings
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
