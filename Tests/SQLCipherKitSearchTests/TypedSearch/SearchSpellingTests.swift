import Foundation
import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

/// Typed words are found however the texts write them, and in an index with any tokenizer.
@Suite struct SearchSpellingTests {
    static let tokenizers: [(String, FTS5Tokenizer)] = [
        ("unicode61", .unicode61()), ("porter", .porter(.unicode61())), ("ascii", .ascii()), ("multilingual", .multilingual()),
        ("porter multilingual", .porter(.multilingual())), ("code", .custom("code")), ("cjk", .custom("cjk")),
        ("filtered", .custom("filtered")), ("porter filtered", .custom("porter_filtered")), ("trigram", .trigram()),
    ]
    /// An index of trigrams has no shorter words.
    static func shortest(_ name: String) -> Int { name == "trigram" ? 3 : 1 }
    /// The trigrams of which a typed word must have some in common with a word that is meant, in an index of trigrams.
    static func trigrams(_ word: String) -> Set<Substring> {
        Set(word.indices.dropLast(2).map { word[$0...].prefix(3) })
    }

    private func made(_ texts: [String], _ tokenizer: FTS5Tokenizer, detail: FTS5Table.Detail = .full) throws -> FullTextIndex {
        let db = try Connection(.memory)
        try db.register(.tokenizer(FTS5CodeTokenizer(), as: "code"))
        try db.register(.cjkTokenizer(as: "cjk"))
        for (name, base) in [("", FTS5Tokenizer.unicode61()), ("porter_", .porter(.unicode61()))] {
            try db.register(.tokenFilter(FTS5StopWords(["the"], base: base), as: "\(name)stops"))
            try db.register(.tokenFilter(FTS5Synonyms([["car", "vehicle"]], base: .custom("\(name)stops")), as: "\(name)filtered"))
        }
        try db.create(FTS5Table("t", columns: ["a"], tokenizer: tokenizer, detail: detail))
        for (row, text) in texts.enumerated() { try db.execute("INSERT INTO t(rowid, a) VALUES (\(row + 1), \(text))") }
        return try db.fullText("t")
    }

    // MARK: Joined and split

    @Test(arguments: tokenizers.map(\.0)) func joinedAndSplitWordsFindEachOther(_ name: String) throws {
        let tokenizer = try #require(Self.tokenizers.first { $0.0 == name }?.1)
        let pairs = [
            ("redbull", "a can of Red Bull"), ("wifi", "the wi-fi is slow"), ("wi fi", "the wifi here"), ("pol358", "flight POL-358 today"),
            ("nodejs", "written in Node.js"), ("node js", "a nodejs server"), ("usa", "made in the U.S.A. again"), ("u.s.a.", "the USA team"),
            ("2.10.3", "released v2.10.3 now"), ("dont", "I don't know"), ("note book", "my notebook"), ("notebook", "a note book"),
            ("14:05", "at 2026-11-23T14:05:09Z it"), ("07:30", "on 2026-11-03t07:30 it"),
        ]
        let index = try made(pairs.map(\.1) + (0..<40).map { "some other text \($0)" }, tokenizer)
        for (row, (typed, text)) in pairs.enumerated() where typed != "wi fi" || Self.shortest(name) == 1 {
            for ending in ["", " "] {
                let found = try index.search(typed + ending)
                let first = found.hits.prefix(2).map(\.rowID)
                #expect(first.contains(Int64(row + 1)), "\(typed) in \(text): \(found.hits.prefix(3).map { $0.snippet?.marked() ?? "" })")
                let hit = found.hits.first { $0.rowID == row + 1 }
                #expect(hit?.typoCount == 0 && hit?.matchedWordCount == found.words.count, "\(typed)")
            }
        }
    }

    // MARK: Operators

    static let operators: [(String, [String], Set<Int64>)] = [
        ("pear NOT (tart OR jam)", ["pear pie", "pear tart", "pear jam", "plum jam"], [1]),
        ("pear -(tart | jam)", ["pear pie", "pear tart", "pear jam", "plum jam"], [1]),
        ("pear NOT (tart jam)", ["pear pie", "pear tart", "pear tart with jam"], [1, 2]),
        ("(pear OR plum) (jam OR tart)", ["pear jam", "plum tart", "pear pie", "jam tart"], [1, 2]),
        ("pear OR (plum jam)", ["pear pie", "plum pie", "plum jam"], [1, 3]),
        ("((pear) OR ((plum)))", ["pear", "plum", "fig"], [1, 2]), ("pear (", ["pear", "plum"], [1]), ("pear) plum", ["pear plum", "fig"], [1]),
        ("TO BE OR NOT TO BE", ["to be or not to be that is", "another text"], [1]), ("DO NOT DISTURB", ["please do not disturb", "do so"], [1]),
        ("NOT NULL constraint", ["a NOT NULL constraint", "other"], [1]), ("WHERE x NOT IN", ["where x not in list", "other"], [1]),
        ("AND gate", ["an and gate", "a gate"], [1]), ("fox NOT dog", ["a fox", "a fox and a dog"], [1]),
        ("fox NOT dog", ["a fox and a dog", "a cat"], []), ("CATS OR DOGS", ["cats", "dogs", "birds"], [1, 2]),
    ]

    @Test(arguments: operators.indices) func uppercaseOperatorsAndWordsAreToldApart(_ number: Int) throws {
        let (typed, texts, expected) = Self.operators[number]
        let index = try made(texts, .unicode61())
        var search = FullTextSearch(typed + " ")
        (search.dropTokensThreshold, search.typoTolerance, search.languages, search.prefixMatching) = (0, .none, [], .none)
        #expect(try Set(index.search(search).hits.map(\.rowID)) == expected, "\(typed)")
    }

    // MARK: Marks

    @Test func snippetKeepsNullCharacters() throws {
        let text = "one\0 two fox three"
        let index = try made([text], .unicode61())
        for search in [FullTextSearch("fox"), FullTextSearch(FTS5Query.phrase("fox"))] {
            var search = search
            search.highlightedColumns = ["a"]
            let hit = try #require(try index.search(search).hits.first)
            #expect(hit.highlights["a"]?.text == text && hit.highlights["a"]?.marked() == "one\0 two [fox] three")
            #expect(hit.snippet?.marked() == "one\0 two [fox] three")
        }
    }

    @Test func highlightsRespectColumnFilters() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("t", columns: ["a", "b"]))
        try db.execute("INSERT INTO t VALUES ('fox', 'fox and a foxglove')")
        let index = try db.fullText("t")
        for (search, marked) in [
            (FullTextSearch("a:fox "), "fox and a foxglove"), (FullTextSearch(FTS5Query.column("b", "fox")), "[fox] and a foxglove"),
            (FullTextSearch(FTS5Query.prefix("fox")), "[fox] and a [foxglove]"),
            (FullTextSearch(FTS5Query.phrase("a fox", prefix: true)), "fox and [a foxglove]"),
            (FullTextSearch(FTS5Query.near(["fox", "foxglove"]).excluding("cat")), "[fox] and a [foxglove]"),
        ] {
            var search = search
            search.highlightedColumns = ["b"]
            #expect(try index.search(search).hits.first?.highlights["b"]?.marked() == marked, "\(search.text)")
        }
    }

    // MARK: Every tokenizer

    private static let english = """
        universities happiness running relational conditional rationally hopefulness electricity adjustable formalize hoping happy \
        vietnamization skies generously communication libraries function traditional national activation digitizer conformably \
        radically differently callousness feudalism decisiveness formality sensitivity sensibility triplicate formative goodness \
        revival allowance inference airliner adjustment replacement dependent homologous effective bowdlerize probate cease \
        controlling rolling motoring useful responsibilities generalizations organization possibility carefully studies
        """.split(separator: " ").map(String.init)

    /// An index of stems completes, corrects, marks and suggests as an index of words does.
    @Test(arguments: tokenizers.map(\.0), [FTS5Table.Detail.full, .column, .none])
    func typedSearchWorksWithEachTokenizer(_ name: String, _ detail: FTS5Table.Detail) throws {
        let tokenizer = try #require(Self.tokenizers.first { $0.0 == name }?.1)
        let index = try made(Self.english.map { "some \($0) here" }, tokenizer, detail: detail)
        var missed: [String] = []
        for row in LongTests.sample(8, of: Array(Self.english.indices)) {
            let word = Self.english[row]
            for length in Self.shortest(name)...word.count {
                let beginning = String(word.prefix(length))
                let found = try index.search(beginning, limit: 100)
                let hit = found.hits.first { $0.rowID == row + 1 }
                #expect(hit != nil, "\(beginning) of \(word)")
                #expect(hit?.snippet?.hasHighlights ?? false, "\(beginning) of \(word)")
                if length >= 3, try index.suggestions(for: beginning, limit: 100).isEmpty { missed.append(beginning + "…") }
            }
            for place in 1..<word.count where word.count >= 5 {
                var letters = Array(word)
                letters.remove(at: place)
                let typed = String(letters)
                if Self.english.contains(typed) || letters == Array(word.prefix(word.count - 1)) { continue }
                if name == "trigram", Self.trigrams(typed).isDisjoint(with: Self.trigrams(word)) { continue }
                if try index.corrections(of: typed, limit: 20).isEmpty { missed.append(typed) }
                if place % 4 != 1 || name.hasPrefix("porter") { continue }
                #expect(try index.search(typed + " ", limit: 20).hits.contains { $0.rowID == row + 1 }, "\(typed) for \(word)")
                // A word that has a stem in common with the typed word is found without; and only positions tell whether trigrams
                // are a word.
                if typed != "studis", detail == .full || name != "trigram" { #expect(try index.correctedText("some \(typed)") != nil, "\(typed) for \(word)") }
            }
        }
        // A stem may have too little in common with the word.
        #expect(missed.count <= (name.hasPrefix("porter") ? 30 : 0), "\(missed)")
    }

    // MARK: Tiers together

    /// Other forms of a word, with their ending.
    private static let endings = ["s", "ed", "ing", "er", "ers", "ment", "able"]
    private static func forms(_ word: String) -> [String] {
        let stem = word.hasSuffix("e") ? String(word.dropLast()) : word
        return endings.map { (ending: String) in
            ending.hasPrefix("s") || ending.hasPrefix("m") ? word + ending : stem + ending
        }
    }

    /// The word with each letter but the first left out, doubled, replaced, and swapped with the next.
    private static func mistyped(_ word: String) -> [String] {
        word.indices.dropFirst().flatMap { at -> [String] in
            let (before, after) = (word[..<at], word[word.index(after: at)...])
            let swapped = after.isEmpty ? [] : ["\(before)\(after.prefix(1))\(word[at])\(after.dropFirst())"]
            return ["\(before)\(after)", "\(before)\(word[at])\(word[at])\(after)", "\(before)q\(after)"] + swapped
        }
    }

    /// Words that the search finds by another form, a beginning or a typing error alone are found by two of them: the index has one
    /// form of each word, and what is typed is another one, mistyped or not typed to its end.
    @Test(arguments: [FTS5Tokenizer.multilingual(), .porter(.unicode61())]) func formsPrefixesAndTyposCombine(_ tokenizer: FTS5Tokenizer) throws {
        let words = ["paint", "adjust", "compare", "inspect", "measure", "refresh", "arrange", "bake"]
        let index = try made(words.map { "they \($0) it here" } + (0..<60).map { "some other text \($0)" }, tokenizer)
        var (missed, typed): ([String], Int) = ([], 0)
        func look(_ text: String, for row: Int) throws {
            typed += 1
            var search = FullTextSearch(text)
            search.snippet = nil
            let hit = try index.search(search).hits.first
            if hit?.rowID != Int64(row + 1) { missed.append("\(text) for \(words[row])") }
        }
        for (row, word) in words.enumerated() {
            for form in Self.forms(word) {
                guard Self.stem(form) == Self.stem(word) else { continue }
                try look(form + " ", for: row)
                for length in word.count..<form.count { try look(String(form.prefix(length)), for: row) }
                // If the error is before the ending, four letters must be there.
                for wrong in LongTests.sample(6, of: Self.mistyped(form)) where word != "bake" { try look(wrong + " ", for: row) }
            }
        }
        for typed in ["bakign", "bakign ", "bakinng ", "baekd "] { try look(typed, for: words.count - 1) }
        #expect(missed.isEmpty && typed > 150, "\(missed.count) of \(typed): \(missed)")
    }

    /// Words whose forms do not begin with their stems: `dai`, `kei`, `possibl`.
    @Test func wordFormsWithAlteredStemsAreFound() throws {
        let pairs = [("days", "a day here"), ("keyed", "this key fits"), ("possibility", "it is possible"), ("happiest", "so happy now")]
        let index = try made(pairs.map(\.1), .multilingual())
        for (row, (typed, text)) in pairs.enumerated() {
            #expect(try index.search(typed + " ").hits.map(\.rowID) == [Int64(row + 1)], "\(typed) in \(text)")
        }
    }

    /// The Porter stem, as an index of stems has it.
    private static func stem(_ word: String) -> String? {
        guard let db = try? Connection(.memory), (try? db.create(FTS5Table("s", columns: ["a"], tokenizer: .porter(.ascii())))) != nil,
            (try? db.execute("INSERT INTO s VALUES (\(word))")) != nil
        else { return nil }
        return try? db.fullText("s").terms().first?.term
    }

    /// An index of trigrams has no words: other forms and mistyped words are those of its texts, in any script.
    @Test func trigramIndexFindsFormsAndTypos() throws {
        let texts = ["the dog jumps over", "a jumper", "Ein Straßenbahnhof", "быстрая собака", "naïveté and more", "redemption song"]
        let index = try made(texts, .trigram(removesDiacritics: true))
        for (typed, row) in [("jumped ", 1), ("jmps ", 1), ("strassenbanhof ", 0), ("straßenbanhof ", 3), ("собакы ", 4), ("naivetee ", 5), ("redemtpion", 6)] {
            let found = try index.search(typed)
            #expect(found.hits.first?.rowID == (row == 0 ? nil : Int64(row)), "\(typed)")
            #expect(found.hits.first?.snippet?.hasHighlights ?? true, "\(typed)")
        }
        #expect(try index.suggestions(for: "a jum").map(\.term) == ["jumper", "jumps"])
        #expect(try index.corrections(of: "redemtpion").map(\.term) == ["redemption"])
        #expect(try index.search("jumped ").words.first?.matches.first?.text == "jumps")
    }

    /// Letters that are the same to a reader. The texts are found by each spelling, and marked.
    @Test func alternativeSpellingsFindEachOther() throws {
        let groups = [
            ["हिंदी", "हिन्दी"], ["कलम", "क़लम", "क\u{93C}लम"], ["طالب", "الطالب"], ["zero\u{200B}width", "zero width"],
            ["𝐛𝐨𝐥𝐝", "bold"], ["ĳs", "ijs"], ["don't", "dont", "don’t"], ["संबंध", "सम्बन्ध"],
        ]
        for group in groups {
            for text in group {
                let index = try made(["a \(text) b", "other words"], .multilingual())
                for typed in group {
                    let found = try index.search(typed + " ")
                    #expect(found.hits.first?.rowID == 1 && found.hits.first?.typoCount == 0, "\(typed) in \(text)")
                }
            }
        }
    }
}
