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

    private struct Key: Equatable, CustomStringConvertible {
        var words = 0, typos = 0, proximity = 0, column = 0, exactness = 0, isPhrase = false
        var description: String { "w\(words) t\(typos) p\(proximity) c\(column) e\(exactness) \(isPhrase)" }
    }

    private static let vocabulary = ["alpha", "alpho", "blpha", "gamma", "gamme", "delta", "detla", "omega", "sigma"]

    private func key(_ typed: [String], _ row: [[String]]) -> Key {
        var key = Key()
        var before: [(Int, Int)]?
        for word in typed {
            var matches: [(typos: Int, exactness: Int, place: (Int, Int))] = []
            for (c, words) in row.enumerated() {
                for (p, other) in words.enumerated() {
                    let distance = FullTextVocabularyTests.distance(Array(word), Array(other))
                    guard distance <= 1 else { continue }
                    let typos = distance == 0 ? 0 : word.first == other.first ? 1 : 2
                    matches.append((typos, distance == 0 ? 0 : 3, (c, p)))
                }
            }
            guard let fewest = matches.map(\.typos).min() else { continue }
            // Matches with more errors do not count.
            matches = matches.filter { $0.typos == fewest }
            let places = matches.map(\.place)
            key.words += 1
            key.typos += fewest
            key.exactness += matches.map(\.exactness).min() ?? 0
            key.column += places.map(\.0).min() ?? 0
            if let before {
                var nearest = 2
                for a in before {
                    for b in places where a.0 == b.0 { nearest = min(nearest, b.1 > a.1 ? b.1 - a.1 - 1 : a.1 - b.1) }
                }
                key.proximity += nearest
            }
            before = places
        }
        if typed.count > 1, let column = columnSideBySide(typed, row) {
            key.isPhrase = true
            key.column = column * typed.count
        }
        return key
    }

    /// The first column that has the words in a row, each with its fewest errors.
    private func columnSideBySide(_ typed: [String], _ row: [[String]]) -> Int? {
        func errors(_ word: String, _ other: String) -> Int {
            let distance = FullTextVocabularyTests.distance(Array(word), Array(other))
            return distance > 1 ? .max : distance == 0 ? 0 : word.first == other.first ? 1 : 2
        }
        let fewest = typed.map { word in row.joined().map { errors(word, $0) }.min() ?? .max }
        return row.firstIndex { words in
            words.indices.contains { start in
                start + typed.count <= words.count && typed.indices.allSatisfy {
                    fewest[$0] < .max && errors(typed[$0], words[start + $0]) == fewest[$0]
                }
            }
        }
    }

    @Test func searchRankingMatchesModel() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("t", columns: ["a", "b"]))
        let index = try db.fullText("t")
        var rows: [Int64: [[String]]] = [:], random = SeededGenerator()
        for id in 1...200 {
            let row = [Int.random(in: 0...4, using: &random), Int.random(in: 0...14, using: &random)].map { count in
                (0..<count).map { _ in Self.vocabulary.randomElement(using: &random) ?? "" }
            }
            rows[Int64(id)] = row
            let (a, b) = (row[0].joined(separator: " "), row[1].joined(separator: " "))
            try db.execute("INSERT INTO t(rowid, a, b) VALUES (\(id), \(a), \(b))")
        }
        for _ in 0..<25 {
            let typed = Array(Self.vocabulary.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random)))
            var search = FullTextSearch(typed.joined(separator: " "), limit: 1_000)
            search.prefixMatching = .none
            search.usesStemming = false
            search.dropTokensThreshold = 1_000
            let found = try index.search(search)
            let expected = rows.mapValues { key(typed, $0) }.filter { $0.value.words > 0 }
            #expect(found.hits.count == expected.count && found.total.count == expected.count && found.total.isExact)
            var last: [Double] = []
            for hit in found.hits {
                let own = Key(
                    words: hit.matchedWordCount, typos: hit.typoCount, proximity: hit.proximityDistance, column: hit.columnPositionSum, exactness: hit.inexactness,
                    isPhrase: hit.isPhrase)
                #expect(own == expected[hit.rowID], "\(typed) \(rows[hit.rowID] ?? [])")
                // The rarities decide which of the missing words costs more.
                let isWhole = own.words == typed.count
                let before = [own.typos, own.isPhrase ? 0 : 1, own.column, own.exactness, own.proximity].map(Double.init)
                let place = before + [-hit.score, -Double(hit.rowID)]
                if isWhole && own.typos == 0 { #expect(last.lexicographicallyPrecedes(place), "\(typed)") }
                last = place
            }
            // The first page alone has the same first hits.
            search.limit = 7
            search.dropTokensThreshold = 5
            let page = try index.search(search)
            if page.hits.count == 7 { #expect(page.hits.map(\.rowID) == found.hits.prefix(7).map(\.rowID), "\(typed)") }
        }
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
            (search.prefixMatching, search.typoTolerance, search.usesStemming, search.snippet) = (.none, .none, false, nil)
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
