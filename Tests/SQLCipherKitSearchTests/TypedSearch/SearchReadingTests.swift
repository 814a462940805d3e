import SQLCipherKitCore
import SQLCipherKitSearch
import TestSupport
import Testing

/// The reading of a typed word.
@Suite struct SearchReadingTests {
    private func made(_ texts: [String], _ tokenizer: FTS5Tokenizer = .unicode61()) throws -> FullTextIndex {
        let db = try Connection(.memory)
        try db.create(FTS5Table("t", columns: ["a"], tokenizer: tokenizer))
        for text in texts { try db.execute("INSERT INTO t(a) VALUES (\(text))") }
        return try db.fullText("t")
    }

    private static let letters = (97...122).map { String(UnicodeScalar(UInt8($0))) }

    /// The letters of a mistyped word are words of any large index.
    @Test(arguments: ["quikc", "fxo", "brwon", "lzay", "jupms"]) func mistypedWordIsNotItsLetters(_ typed: String) throws {
        let texts = ["the quick brown fox jumps over the lazy dog"] + Self.letters.map { "section \($0)" }
            + [Self.letters.joined(separator: " of "), Self.letters.reversed().joined(separator: " or ")]
        let index = try made(texts)
        let found = try index.search(typed + " ")
        #expect(found.words.first?.kind != .form && found.words.first?.matches.allSatisfy { !$0.text.contains(" ") } == true)
        if typed.count > 3 { #expect(found.hits.first?.rowID == 1 && found.words.first?.kind == .typo) }
        #expect(try index.correctedText(typed) != nil, "\(typed)")
    }

    /// Nor is it two words of the index that are nowhere side by side, where one too many would be held against no row.
    @Test func mistypedWordIsNotTwoWordsThatStandApart() throws {
        let index = try made(["Cloud shell", "Google cloud shell", "el goog"])
        let found = try index.search("googel cloud shell ")
        #expect(found.hits.first?.rowID == 2 && found.words.first?.kind == .typo, "\(found.words)")
        #expect(try index.correctedText("googel cloud shell") == "google cloud shell")
    }

    /// A row with all words, one of them mistyped, lacks less than a row with the mistyped word itself, however rare that is.
    @Test func rareMistypedWordIsNotWorthAFrequentWord() throws {
        let index = try made(["entr", "a file entry"] + (0..<30).map { "file \($0)" })
        #expect(try index.search("file entr ").hits.prefix(2).map(\.rowID) == [2, 1])
    }

    @Test func initialsThatStandTogetherAreAWord() throws {
        let index = try made(["made in the U.S.A. again", "u of s and a"])
        #expect(try index.search("usa ").hits.map(\.rowID) == [1])
    }

    /// Wholes, each with texts: the first has it, and the others something like it.
    static let wholes: [(String, [String])] = [
        ("802.3", ["the standard 802.3 of long ago and more", "802.3z", "802.11 and 3", "3.802"]),
        ("size 4", ["shoes of size 4 here", "size 42", "size 400"]), ("2.10.3", ["it is version 2.10.3 or so", "2.10.31", "2.3.10", "2 and 10 and 3"]),
        ("2026-11-2", ["on 2026-11-2 it was", "2026-11-23", "2026 2 11"]), ("10.0.0.1", ["host 10.0.0.1 is up", "10.0.0.12", "1.0.0.10"]),
        ("ann@example.org", ["write to ann@example.org today", "example.org and ann", "ann of an example org"]),
        ("https://a.example/x", ["see https://a.example/x for it", "an example of https and x", "amet https example a x"]),
    ]

    @Test(arguments: wholes.indices, ["", " "]) func numbersAndAddressesAreWholes(_ number: Int, _ ending: String) throws {
        let (typed, texts) = Self.wholes[number]
        for tokenizer in [FTS5Tokenizer.unicode61(), .multilingual(), .porter(.unicode61())] {
            let index = try made(texts + (0..<30).map { "other \($0 * 100)" }, tokenizer)
            var search = FullTextSearch(typed + ending)
            search.highlightedColumns = ["a"]
            let found = try index.search(search)
            #expect(found.hits.first?.rowID == 1, "\(typed): \(found.hits.map { $0.snippet?.marked() ?? "" })")
            let marked = found.hits.first?.highlights["a"]?.parts.filter(\.isHighlighted).map { String($0.text) } ?? []
            #expect(marked.joined(separator: " ") == typed, "\(marked)")
        }
    }

    /// A version with its dots is not the number with the same digits, wherever that stands.
    @Test func versionIsNotTheNumberWithoutItsDots() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("t", columns: ["title", "body"], tokenizer: .multilingual()))
        let rows = [("100 means all", "x"), ("changes", "new in 1.0.0 and later"), ("prices", "10000 or more"), ("8023", "x")]
        for (title, body) in rows {
            try db.execute("INSERT INTO t VALUES (\(title), \(body))")
        }
        let index = try db.fullText("t")
        #expect(try index.search("1.0.0 ").hits.map(\.rowID) == [2])
        #expect(try index.search("802.3 ").hits.map(\.rowID) == [])
        #expect(try index.search("10.000 ").hits.map(\.rowID) == [3] && index.search("10,000 ").hits.map(\.rowID) == [3])
    }

    /// A number that the index does not have may still be being typed.
    @Test func unknownNumberIsABeginning() throws {
        let index = try made(["a set from 2021", "version 2.10.31"])
        #expect(try index.search("202").hits.map(\.rowID) == [1] && index.search("2.10.3").hits.map(\.rowID) == [2])
        #expect(try index.search("20*").hits.map(\.rowID) == [1])
    }

    /// A word is found wherever it is in a row, however often it is there before.
    @Test func phraseAfterManyOccurrencesIsAPhrase() throws {
        let text = String(repeating: "quick and slow ", count: 200) + "quick fox"
        let index = try made(["fox and quick", text])
        let found = try index.search("\"quick fox\" ")
        #expect(found.hits.map(\.rowID) == [2])
        #expect(try index.search("quick fox ").hits.map(\.isPhrase) == [true, false])
    }

    @Test func withoutRelevanceEqualRowsComeNewestFirst() throws {
        let index = try made(["fox", "fox fox", "a fox of many words and more", "fox here"])
        var search = FullTextSearch("fox ")
        for rules: [FullTextSearch.RankingRule] in [[], [.words], [.words, .exactness]] {
            search.rankingRules = rules
            #expect(try index.search(search).hits.map(\.rowID) == [4, 3, 2, 1])
        }
        #expect(try index.search(search).hits.allSatisfy { $0.score > 0 })
        search.rankingRules = [.words, .field, .relevance]
        #expect(try index.search(search).hits.first?.rowID == 1)
    }

    /// Alternatives that a tokenizer drops, or splits in several words.
    @Test func alternativesWithoutWordsAreLeftOut() throws {
        let db = try Connection(.memory)
        try db.register(.stopWords(["the"], as: "stops"))
        try db.create(FTS5Table("t", columns: ["a"], tokenizer: .custom("stops")))
        for text in ["a wolf", "the fox", "wi-fi here", "fi of wi"] { try db.execute("INSERT INTO t(a) VALUES (\(text))") }
        var search = FullTextSearch("wolf OR the OR fox ")
        search.dropTokensThreshold = 0
        #expect(try Set(db.fullText("t").search(search).hits.map(\.rowID)) == [1, 2])
        search.text = "wolf OR wi-fi "
        #expect(try Set(db.fullText("t").search(search).hits.map(\.rowID)) == [1, 3])
    }

    @Test func facetsKeepTheTypesOfValues() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT, price REAL, number)")
        try db.create(FTS5Table("t", columns: ["body"], content: .external(table: "note")))
        try db.execute("INSERT INTO note VALUES (1, 'fox', 10, 10), (2, 'fox', 10.0, 10.0), (3, 'fox', 2.5, 7)")
        var search = FullTextSearch("fox ")
        search.facets = ["price": .values("price"), "number": .values("number")]
        let facets = try db.fullText("t").search(search).facets
        #expect(facets["price"]?.map(\.value) == [.real(10), .real(2.5)] && facets["price"]?.map(\.count) == [2, 1])
        #expect(facets["number"]?.map(\.count) == [2, 1] && facets["number"]?.last?.value == .integer(7))
    }

    // MARK: Every tokenizer, in every way

    /// The package's tokenizers, alone and around each other, by name.
    static let names = ["unicode61", "ascii", "multilingual", "trigram", "code", "cjk"]
    static let wrappers = ["", "porter", "folded", "stops", "synonyms", "document synonyms"]

    private static func tokenizer(_ base: String, _ wrapper: String, on db: Connection) throws -> FTS5Tokenizer {
        try db.register(.codeTokenizer(as: "code"))
        try db.register(.cjkTokenizer(as: "cjk"))
        let inner: FTS5Tokenizer = switch base {
        case "ascii": .ascii()
        case "multilingual": .multilingual()
        case "trigram": .trigram()
        case "code", "cjk": .custom(base)
        default: .unicode61()
        }
        switch wrapper {
        case "porter": return .porter(inner)
        case "folded": try db.register(.compatibilityFolding(base: inner, as: "wrapped"))
        case "stops": try db.register(.stopWords(["the"], base: inner, as: "wrapped"))
        case "synonyms": try db.register(.synonyms([["car", "auto"]], base: inner, as: "wrapped"))
        case "document synonyms": try db.register(.synonyms([["car", "auto"]], inDocuments: true, base: inner, as: "wrapped"))
        default: return inner
        }
        return .custom("wrapped")
    }

    @Test(arguments: names, wrappers) func everyTokenizerWorksInEveryWay(_ base: String, _ wrapper: String) throws {
        // A trigram is no word: no other word means the same.
        if base == "trigram", wrapper.hasSuffix("synonyms") || wrapper == "stops" || wrapper == "porter" { return }
        let db = try Connection(.memory)
        let tokenizer = try Self.tokenizer(base, wrapper, on: db)
        try db.create(FTS5Table("t", columns: ["title", "body"], tokenizer: tokenizer))
        for (title, body) in [("One", "a red car stops"), ("Two", "the green tree"), ("Three", "some cars and trees")] {
            try db.execute("INSERT INTO t VALUES (\(title), \(body))")
        }
        let index = try db.fullText("t")
        func rows(_ text: String, _ change: (inout FullTextSearch) -> Void = { _ in }) throws -> Set<Int64> {
            var search = FullTextSearch(text)
            (search.dropTokensThreshold, search.typoTolerance, search.prefixMatching, search.languages) = (0, .none, .none, [])
            change(&search)
            return Set(try index.search(search).hits.map(\.rowID))
        }
        let said = "\(base) \(wrapper)"
        // Typed with and without a space, as a phrase, in a column, in FTS5's own terms, by MATCH, filtered, counted, in several.
        for (word, row) in [("red", Int64(1)), ("green", 2)] {
            #expect(try rows(word) == [row] && rows(word + " ") == [row] && rows("\"\(word)\"") == [row], "\(said) \(word)")
            #expect(try rows("body:\(word)") == [row] && rows("\(word) -xylophone") == [row], "\(said) \(word)")
            #expect(try rows(word) { $0.filter = "rowid > 0" } == [row] && rows(word) { $0.countsAll = true } == [row], "\(said)")
            #expect(try index.search(FTS5Query.phrase(word)).hits.map(\.rowID) == [row], "\(said)")
            #expect(try db.fetchAll(Int64.self, "SELECT rowid FROM t WHERE t MATCH \(FTS5Query.phrase(word))") == [row], "\(said)")
            #expect(try db.search(word, in: [index]).hits.first?.rowID == row, "\(said)")
            #expect(try index.search(word).hits.first?.snippet?.hasHighlights == true, "\(said)")
        }
        #expect(try rows("red car") == [1] && rows("\"red car\"") == [1], "\(said)")
        #expect(try rows("xylophone") { $0.synonyms = [FullTextSearch.Synonym("xylophone", finds: ["green tree"])] } == [2], "\(said)")
        #expect(try index.passesIntegrityCheck() && !index.suggestions(for: "gre").isEmpty, "\(said)")
        #expect(try !index.corrections(of: "geren").isEmpty || base == "trigram", "\(said)")
        // Synonyms of the tokenizer, wherever a word may be.
        let isSynonym = wrapper.hasSuffix("synonyms")
        for text in ["auto", "auto ", "\"auto\"", "\"red auto\"", "red auto", "red auto ", "auto OR xylophone"] {
            let found = try rows(text)
            #expect(isSynonym ? found.contains(1) && !found.contains(2) : found.isEmpty, "\(said) \(text): \(found)")
        }
        #expect(try index.search(FTS5Query.phrase("auto")).hits.isEmpty == !isSynonym, "\(said)")
        #expect(try rows("vehicle") { $0.synonyms = [FullTextSearch.Synonym("vehicle", finds: ["car"])] }.contains(1), "\(said)")
        if isSynonym { #expect(try rows("auto") { $0.synonyms = [FullTextSearch.Synonym("auto", finds: ["green"])] }.contains(2), "\(said)") }
    }

    /// Another program's tokenizer, or one that a connection forgot to register.
    @Test func errorOfUnregisteredTokenizerNamesIt() throws {
        let folder = try TemporaryFolder(), key = try DatabaseKey.raw(Array(repeating: 1, count: 32))
        let db = try Connection(.file(folder.path("a.db")), key: key)
        try db.register(.codeTokenizer(as: "somewhere"))
        try db.create(FTS5Table("t", columns: ["a"], tokenizer: .custom("somewhere")))
        try db.execute("INSERT INTO t VALUES ('fox')")
        db.close()
        let other = try Connection(.file(folder.path("a.db")), key: key)
        let index = try other.fullText("t")
        let ways: [(String, () throws -> Void)] = [
            ("search", { _ = try index.search("fox") }), ("query", { _ = try index.search(FTS5Query.phrase("fox")) }),
            ("check", { _ = try index.passesIntegrityCheck() }), ("suggestions", { _ = try index.suggestions(for: "fo") }),
            ("corrections", { _ = try index.corrections(of: "fxo") }), ("corrected", { _ = try index.correctedText("fxo") }),
            ("tokens", { _ = try index.tokens(of: "fox") }), ("several", { _ = try other.search("fox", in: [index]) }),
            ("rebuild", { try index.rebuild() }),
        ]
        for (name, way) in ways {
            let error = #expect(throws: DatabaseError.self, "\(name)") { try way() }
            #expect(error?.message.contains("somewhere") == true, "\(name): \(error?.message ?? "")")
        }
    }
}
