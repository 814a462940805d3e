import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

/// Compares the automaton, the ranking and the prefixes with models that take no shortcuts.
@Suite struct SearchModelTests {
    private static func word(_ letters: String, _ lengths: ClosedRange<Int>, _ random: inout SeededGenerator) -> String {
        String((0..<Int.random(in: lengths, using: &random)).map { _ in letters.randomElement(using: &random) ?? "a" })
    }

    @Test(arguments: ["abcü", "ab日本я", "abcdefgh"])
    func correctionsMatchEditDistanceModel(_ letters: String) throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("t", columns: ["a"], tokenizer: .unicode61(diacritics: .keep)))
        let index = try db.fullText("t")
        try index.configure(.other("automerge", 0))
        var words: Set<String> = [], random = SeededGenerator()
        while words.count < 250 { words.insert(Self.word(letters, 1...8, &random)) }
        // Several segments, with words that are in several of them.
        for _ in 0..<3 {
            try db.transaction { db in
                for word in words.sorted() where Bool.random(using: &random) || Bool.random(using: &random) { try db.execute("INSERT INTO t VALUES (\(word))") }
            }
        }
        let present = Set(try index.terms().map(\.term))
        for _ in 0..<60 {
            let word = Self.word(letters, 1...8, &random)
            for allowed in 1...3 {
                let expected = present.filter { term in
                    guard (1...allowed).contains(FullTextVocabularyTests.distance(Array(word), Array(term))) else { return false }
                    // A different first letter is looked for in the same script only, and counts as an error.
                    let isFirst = word.unicodeScalars.first == term.unicodeScalars.first
                    let distance = FullTextVocabularyTests.distance(Array(word), Array(term))
                    return isFirst || (distance <= max(1, allowed - 1) && Self.isAlike(word, term))
                }
                let found = try index.corrections(of: word, distance: allowed, limit: 1_000)
                #expect(Set(found.map(\.term)) == expected, "\(word) \(allowed)")
                let distances = found.map { FullTextVocabularyTests.distance(Array(word), Array($0.term)) }
                #expect(distances == distances.sorted())
            }
        }
    }

    private static func isAlike(_ a: String, _ b: String) -> Bool {
        guard let x = a.unicodeScalars.first?.value, let y = b.unicodeScalars.first?.value else { return false }
        return x == y || (x < 0x250 ? y < 0x250 : x >> 8 == y >> 8)
    }

    // MARK: Ranking

    private struct Key: Equatable {
        var words = 0, typos = 0, field = FullTextSearch.Field.other, place = FullTextSearch.Place.anywhere, exactness = 0
    }

    /// An occurrence of a typed word: the errors in it, and where it is.
    private struct Match {
        var typos: Int, column: Int, position: Int
        var exactness: Int { typos == 0 ? 0 : typos == 1 ? 3 : 4 }
    }

    private static let vocabulary = ["alpha", "alpho", "blpha", "gamma", "gamme", "delta", "detla", "omega", "sigma"]

    /// The occurrences with the fewest errors of those that a row has.
    private func matches(_ word: String, _ row: [[String]]) -> [Match] {
        let all = row.enumerated().flatMap { column, words in
            words.enumerated().compactMap { position, other -> Match? in
                let distance = FullTextVocabularyTests.distance(Array(word), Array(other))
                guard distance <= 1 else { return nil }
                return Match(typos: distance == 0 ? 0 : word.first == other.first ? 1 : 2, column: column, position: position)
            }
        }
        let fewest = all.map(\.typos).min()
        return all.filter { $0.typos == fewest }
    }

    /// The ways to go from an occurrence of one word to one of each next word that directly follows, in the typed order or in any.
    private func adjacent(_ words: [[Match]], inAnyOrder: Bool = false, after last: [Match] = []) -> [[Match]] {
        if words.isEmpty { return [last] }
        return words.indices.prefix(inAnyOrder ? words.count : 1).flatMap { next in
            var others = words
            return others.remove(at: next).filter { match in
                last.last.map { $0.column == match.column && $0.position + 1 == match.position } ?? true
            }.flatMap { adjacent(others, inAnyOrder: inAnyOrder, after: last + [$0]) }
        }
    }

    /// All words are in the index, so that one with an error may be one too many.
    private func key(_ typed: [String], _ row: [[String]], mayHaveWordTooMany: Bool) -> Key {
        let found = typed.map { matches($0, row) }
        let key = key(typed, row, found.map { $0.first?.typos == 0 ? $0 : [] }, mayHaveWordTooMany)
        return key.place == .oneWordTooMany ? key : self.key(typed, row, found, mayHaveWordTooMany)
    }

    private func key(_ typed: [String], _ row: [[String]], _ found: [[Match]], _ mayHaveWordTooMany: Bool) -> Key {
        let present = found.filter { !$0.isEmpty }
        let missing = typed.count - present.count
        var key = Key(words: present.count, typos: present.reduce(0) { $0 + $1[0].typos })
        guard !present.isEmpty else { return key }
        func exactness(_ ways: [[Match]]) -> Int? { ways.map { $0.reduce(0) { $0 + $1.exactness } }.min() }
        let ways = adjacent(present, inAnyOrder: missing > 0)
        let first = exactness(ways.filter { $0[0].column == 0 })
        let inside = present.allSatisfy { $0.contains { $0.column == 0 } }
        if missing > 0 {
            if mayHaveWordTooMany, typed.count >= 3 * missing, let first { (key.place, key.exactness) = (.oneWordTooMany, first) }
        } else if let first {
            (key.place, key.exactness) = (.sideBySideInHeaviestColumn, first)
        } else if inside {
            (key.place, key.exactness) = (.inHeaviestColumn, present.reduce(0) { $0 + $1[0].exactness })
        } else if let elsewhere = exactness(ways) {
            (key.place, key.exactness) = (.sideBySideElsewhere, elsewhere)
        }
        if key.place == .anywhere { key.exactness = present.reduce(0) { $0 + $1[0].exactness } }
        key.exactness += 5 * missing
        let starts = missing > 0 ? [] : ways.filter { $0[0].position == 0 }
        if starts.contains(where: { row[$0[0].column].count == typed.count }) {
            key.field = .whole
        } else if starts.contains(where: { $0[0].column == 0 }) {
            key.field = .beginning
        }
        return key
    }

    @Test func searchRankingMatchesModel() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("t", columns: ["a", "b"]))
        let index = try db.fullText("t")
        var rows: [Int64: [[String]]] = [:], random = SeededGenerator()
        for id in 1...200 {
            // No row has both of two words, so that a text with both may have a word too many.
            let words = Self.vocabulary.filter { $0 != (id % 2 == 0 ? "omega" : "sigma") }
            let row = [Int.random(in: 0...4, using: &random), Int.random(in: 0...14, using: &random)].map { count in
                (0..<count).map { _ in words.randomElement(using: &random) ?? "" }
            }
            rows[Int64(id)] = row
            let (a, b) = (row[0].joined(separator: " "), row[1].joined(separator: " "))
            try db.execute("INSERT INTO t(rowid, a, b) VALUES (\(id), \(a), \(b))")
        }
        var tooMany = 0
        for _ in 0..<25 {
            let typed = Array(Self.vocabulary.shuffled(using: &random).prefix(Int.random(in: 1...4, using: &random)))
            var search = FullTextSearch(typed.joined(separator: " "), limit: 1_000)
            search.prefixMatching = .none
            search.languages = []
            search.dropTokensThreshold = 1_000
            let found = try index.search(search)
            let mayHaveWordTooMany = !rows.values.contains { Set($0.joined()).isSuperset(of: typed) }
            let expected = rows.mapValues { key(typed, $0, mayHaveWordTooMany: mayHaveWordTooMany) }.filter { $0.value.words > 0 }
            #expect(found.hits.count == expected.count && found.total.count == expected.count)
            var last: [Double] = []
            for hit in found.hits {
                let own = Key(
                    words: hit.matchedWordCount, typos: hit.typoCount, field: hit.field, place: hit.place, exactness: hit.inexactness)
                #expect(own == expected[hit.rowID], "\(typed) \(rows[hit.rowID] ?? [])")
                // All words are in the index, so that rows with one like it come between the others. Where words are lacked, the
                // rarities decide.
                let isLacking = own.words < typed.count && own.place != .oneWordTooMany
                let lack = isLacking ? 2.0 : own.typos == 0 ? 0 : 1
                if own.place == .oneWordTooMany { tooMany += 1 }
                let rules = [own.field.rawValue, own.place.rawValue, own.exactness].map(Double.init)
                let place = [lack] + rules + [-hit.score, -Double(hit.rowID)]
                if !isLacking || last.first ?? 2 < 2 { #expect(last.lexicographicallyPrecedes(place), "\(typed)") }
                last = place
            }
            // The first page alone has the same first hits.
            search.limit = 7
            search.dropTokensThreshold = 5
            let page = try index.search(search)
            if page.hits.count == 7 { #expect(page.hits.map(\.rowID) == found.hits.prefix(7).map(\.rowID), "\(typed)") }
        }
        #expect(tooMany > 0)
    }

    /// A page leaves out rows that lack too much to be on it, and no others.
    @Test func pagesOfPartialMatchesMatchWholeResult() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("t", columns: ["a", "b"]))
        let index = try db.fullText("t")
        let vocabulary = ["one", "two", "three", "four", "five", "six", "seven"]
        var random = SeededGenerator()
        for id in 1...900 {
            let words = vocabulary.indices.filter { Int.random(in: 0..<(2 << $0), using: &random) == 0 }.map { vocabulary[$0] }
            let (a, b) = (words.shuffled(using: &random).joined(separator: " "), words.joined(separator: " and "))
            try db.execute("INSERT INTO t(rowid, a, b) VALUES (\(id), \(id % 4 == 0 ? a : ""), \(b))")
        }
        var left = 0
        for _ in 0..<20 {
            // No row has the last word.
            let typed = Array(vocabulary.shuffled(using: &random).prefix(Int.random(in: 2...6, using: &random))) + ["unheard"]
            var search = FullTextSearch(typed.joined(separator: " ") + " ", limit: 1_000)
            (search.prefixMatching, search.typoTolerance, search.languages, search.snippet) = (.none, .none, [], nil)
            let whole = try index.search(search)
            search.limit = 20
            for offset in [0, 20, 60] {
                search.offset = offset
                let page = try index.search(search)
                #expect(page.hits == Array(whole.hits.dropFirst(offset).prefix(20)), "\(typed) from \(offset)")
                if page.total.count < whole.total.count { left += 1 }
                #expect(page.total == whole.total || (page.total.count < whole.total.count && !page.total.isExact), "\(typed)")
            }
            search.countsAll = true
            #expect(try index.search(search).total == whole.total, "\(typed)")
        }
        #expect(left > 20, "\(left)")
    }

    // MARK: Prefixes

    private static let english = """
        universities happiness running relational conditional rationally hopefulness electricity adjustable formalize hoping happy \
        vietnamization skies generously communication libraries function traditional national activation digitizer conformably \
        radically differently callousness feudalism decisiveness formality sensitivity sensibility triplicate formative goodness \
        revival allowance inference airliner adjustment replacement dependent homologous effective bowdlerize probate cease \
        controlling rolling motoring
        """.split(separator: " ").map(String.init)

    @Test(arguments: [FTS5Tokenizer.unicode61(), .porter(.unicode61()), .ascii()])
    func everyPrefixFindsItsWord(_ tokenizer: FTS5Tokenizer) throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("t", columns: ["a"], tokenizer: tokenizer))
        for (row, word) in Self.english.enumerated() {
            try db.execute("INSERT INTO t(rowid, a) VALUES (\(row + 1), \("some \(word) here"))")
        }
        let index = try db.fullText("t")
        for (row, word) in Self.english.enumerated() {
            for length in 1...word.count {
                let found = try index.search(String(word.prefix(length)), limit: 100)
                #expect(found.hits.contains { $0.rowID == row + 1 }, "\(word.prefix(length)) of \(word)")
                // An index of stems cannot tell words with the same stem apart.
                if length == word.count, tokenizer != .porter(.unicode61()) { #expect(found.hits.first?.rowID == Int64(row + 1)) }
            }
        }
    }
}
