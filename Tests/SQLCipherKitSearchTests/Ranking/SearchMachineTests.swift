import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

/// Searches of a growing table, as of messages, beside a model that knows every row: filters from one row to all, frequent and rare
/// words, decay, popularity, facets, totals and pages.
@Suite struct SearchMachineTests {
    /// Long tests have more rows than a search steps through if it has enough hits.
    static let rows = LongTests.areOn ? 100_000 : 10_000

    /// The content of a row, by its number alone.
    struct Row: Sendable {
        let id: Int

        /// Frequent words of every row, every third and every tenth, and rare ones.
        var words: [String] {
            ["common"] + (id % 3 == 0 ? ["meeting"] : []) + (id % 10 == 0 ? ["budget"] : []) + (id % 997 == 0 ? ["seldom"] : [])
                + (id == 17 ? ["unique"] : []) + Array(repeating: "filler", count: id % 7)
        }
        var readers: Int { id * 7_919 % 1_000 }
        var room: Int { id % 300 }
    }

    private static func made() throws -> FullTextIndex {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE message(id INTEGER PRIMARY KEY, body TEXT, chat INTEGER, room INTEGER, readers INTEGER)")
        let insert = try db.prepare("INSERT INTO message VALUES (?, ?, ?, ?, ?)")
        try db.transaction { _ in
            for id in 1...rows {
                let row = Row(id: id)
                try insert.execute(binding: id, row.words.joined(separator: " "), row.room, row.room, row.readers)
            }
        }
        // The filter of `room` can lead the search, that of `chat` is asked about each row.
        try db.execute("CREATE INDEX message_room ON message(room)")
        try db.create(FTS5Table("message_fts", columns: ["body"], content: .external(table: "message")))
        return try db.fullText("message_fts")
    }

    struct Filter: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let sql: SQL?
        let passes: @Sendable (Row) -> Bool
    }

    private static let filters = [
        Filter(testDescription: "none", sql: nil) { _ in true },
        Filter(testDescription: "one row", sql: "id = \(17)") { $0.id == 17 },
        Filter(testDescription: "the oldest row that has all words", sql: "length(body) > 0 AND id <= \(30)") { $0.id <= 30 },
        Filter(testDescription: "the newest percent", sql: "id + 0 > \(rows - rows / 100)") { $0.id > rows - rows / 100 },
        Filter(testDescription: "one of 300, no index", sql: "chat = \(95)") { $0.room == 95 },
        Filter(testDescription: "one of 300, by an index", sql: "room = \(95)") { $0.room == 95 },
        Filter(testDescription: "half, by an index", sql: "room < \(150)") { $0.room < 150 },
        Filter(testDescription: "half, no index", sql: "id % 2 = 0") { $0.id % 2 == 0 },
        Filter(testDescription: "all", sql: "id > 0") { _ in true },
        Filter(testDescription: "a subquery", sql: "chat IN (SELECT max(chat) FROM message)") { $0.room == 299 },
    ]

    private static let texts = [
        "common ", "meeting ", "budget ", "seldom ", "unique ", "common meeting ", "common meeting budget ", "budget seldom ",
        "meeting seldom ", "\"common meeting\"", "meeting -budget ",
    ]

    private static func matches(_ text: String, _ row: Row) -> Bool {
        if text == "meeting -budget " { return row.id % 3 == 0 && row.id % 10 != 0 }
        return text.replacing("\"", with: "").split(separator: " ").allSatisfy { row.words.contains(String($0)) }
    }

    @Test func filteredSearchHitsAndFacetsMatchModel() throws {
        let index = try Self.made()
        let cases = Self.texts.flatMap { text in Self.filters.map { (text, $0) } }
        for (text, filter) in LongTests.sample(24, of: cases) {
            let expected = (1...Self.rows).map(Row.init).filter { Self.matches(text, $0) && filter.passes($0) }.map { Int64($0.id) }
            var search = FullTextSearch(text, limit: 50)
            search.snippet = nil
            search.filter = filter.sql
            search.dropTokensThreshold = 0
            search.prefixMatching = .none
            search.typoTolerance = .none
            let found = try index.search(search)
            #expect(found.hits.count == min(50, expected.count), "\(text) \(filter.testDescription)")
            #expect(Set(found.hits.map(\.rowID)).isSubset(of: expected), "\(text) \(filter.testDescription)")
            search.countsAll = true
            search.facets = ["room": .values("room", limit: 1_000)]
            let counted = try index.search(search)
            #expect(counted.hits == found.hits, "\(text) \(filter.testDescription)")
            #expect(counted.total.count == expected.count && counted.total.isExact, "\(text) \(filter.testDescription)")
            let rooms = Dictionary(grouping: expected) { $0 % 300 }.mapValues(\.count)
            let groups = counted.facets["room"] ?? []
            #expect(groups.count == rooms.count)
            #expect(groups.allSatisfy { group in rooms.contains { .integer($0.key) == group.value && $0.value == group.count } })
        }
    }

    @Test func decayAndPopularityRankAllRows() throws {
        let index = try Self.made()
        for text in ["common ", "meeting ", "budget ", "seldom ", "common meeting "] {
            for filter in LongTests.sample(2, of: Self.filters) {
                let expected = (1...Self.rows).map(Row.init).filter { Self.matches(text, $0) && filter.passes($0) }
                var search = FullTextSearch(text, limit: 30)
                (search.snippet, search.filter, search.dropTokensThreshold) = (nil, filter.sql, 0)
                search.rankingRules = [.relevance]
                // Such a decay leaves no doubt, however long the texts are.
                search.decay = FullTextSearch.Decay("\(Self.rows) - id", halfLife: 1)
                let recent = try index.search(search).hits.map(\.rowID)
                let newest = expected.map { Int64($0.id) }.filter { Int64(Self.rows) - $0 < 1_000 }.suffix(30).reversed()
                #expect(Array(recent.prefix(newest.count)) == Array(newest), "\(text) \(filter.testDescription)")
                search.decay = nil
                search.popularity = FullTextSearch.Popularity("CASE WHEN readers > 990 THEN 1e9 ELSE 0 END", pivot: 1, strength: 1_000)
                let popular = Set(expected.filter { $0.readers > 990 }.map { Int64($0.id) })
                let first = try index.search(search).hits.prefix(popular.count).map(\.rowID)
                #expect(first.allSatisfy(popular.contains), "\(text) \(filter.testDescription)")
            }
        }
    }

    @Test func typedSearchPagesFormTheWholeResult() throws {
        let index = try Self.made()
        let texts = ["meeting ", "budget ", "common meeting", "seldm ", "seldom budget unique meeting ", "\"common meeting\" filler "]
        for text in texts {
            for counts in [false, true] {
                var search = FullTextSearch(text, limit: 1_000)
                search.snippet = nil
                search.countsAll = counts
                var whole: [Int64] = []
                for offset in [0, 1_000, 2_000] {
                    search.offset = offset
                    whole += try index.search(search).hits.map(\.rowID)
                }
                #expect(Set(whole).count == whole.count, "\(text)")
                search.limit = 20
                var paged: [Int64] = []
                for offset in LongTests.steps(12, of: max(1, whole.count / 20)) {
                    search.offset = offset * 20
                    paged = try index.search(search).hits.map(\.rowID)
                    #expect(paged == Array(whole.dropFirst(offset * 20).prefix(20)), "\(text) from \(offset * 20)")
                }
            }
        }
    }

    // MARK: A list and its pages

    /// Words that begin with one another, have other forms, and are near one another by typing errors.
    private static let words = """
        note notes noted notebook plan plans planned planner plane planet work works worked workshop cluster clusters clutter table \
        tables tablet stable setting settings set site v2 2.10.3 802 wifi книга книгами книги cluster clusterkarte karten karte \
        l'arbre arbres d'arbre bilarna bil maan manen canciones canción libri libro livros livro husene hus
        """.split(separator: " ").map(String.init)

    private static let tokenizers: [(String, FTS5Tokenizer)] = [
        ("plain", .unicode61()), ("stems", .porter(.unicode61())), ("any", .multilingual()), ("trigrams", .trigram()),
    ]

    private static func text(_ count: ClosedRange<Int>, _ random: inout SeededGenerator) -> String {
        (0..<Int.random(in: count, using: &random)).map { _ in
            words[min(Int.random(in: words.indices, using: &random), Int.random(in: words.indices, using: &random))]
        }.joined(separator: " ")
    }

    /// A typed text: words, with errors or cut short, phrases, excluded words.
    private static func typed(_ random: inout SeededGenerator) -> String {
        let words = (0..<Int.random(in: 1...4, using: &random)).map { number in
            var word = text(1...1, &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0: word = String(word.dropLast(2)) + String(word.suffix(2).reversed())
            case 1: word = String(word.prefix(3))
            case 2: word = "\"\(text(2...2, &random))\""
            case 3 where number > 0: word = "-" + word
            case 4: word = "unheard"
            default: break
            }
            return word
        }
        return words.joined(separator: " ") + (Bool.random(using: &random) ? " " : "")
    }

    private static func search(_ random: inout SeededGenerator) -> FullTextSearch {
        var search = FullTextSearch(typed(&random), limit: 2_000)
        search.snippet = nil
        let orders: [FullTextSearch.Order] = [.best, .best, .best, .rowID, .rowIDDescending, .sql("year DESC, id")]
        let filters: [SQL?] = [nil, "year % 2 = 0", "id > 350", "kind = 3", "kind IN (2, 5)", "likes + 0 < 300"]
        let rules: [FullTextSearch.RankingRule] = [.words, .field, .place, .exactness, .relevance]
        search.order = orders.randomElement(using: &random) ?? .best
        search.filter = filters.randomElement(using: &random) ?? nil
        search.dropTokensThreshold = [0, 5, 5, 1_000].randomElement(using: &random) ?? 5
        search.prefixMatching = [.none, .lastWord, .everyWord, .everyWord].randomElement(using: &random) ?? .none
        search.countsAll = Bool.random(using: &random)
        search.languages = Set(FullTextSearch.Language.allCases.shuffled(using: &random).prefix(Int.random(in: 0...4, using: &random)))
        if Bool.random(using: &random) { search.weights = [1, 5] }
        if Bool.random(using: &random) {
            search.rankingRules = Array(rules.shuffled(using: &random).prefix(Int.random(in: 0...5, using: &random)))
        }
        if Int.random(in: 0...2, using: &random) == 0 { search.decay = FullTextSearch.Decay("700 - id", halfLife: 100) }
        if Int.random(in: 0...2, using: &random) == 0 { search.popularity = FullTextSearch.Popularity("likes", pivot: 100) }
        return search
    }

    /// Whatever is searched for in whichever way, its pages are its list, its total is the same on each of them, and a filter, an
    /// order or a count changes no row's place. Another connection deletes rows meanwhile.
    @Test(arguments: tokenizers.map(\.0)) func pagesOfAnySearchAreItsList(_ name: String) throws {
        let folder = try TemporaryFolder(), file = folder.path("pages.db")
        var configuration = DatabaseConfiguration()
        configuration.journalMode = .wal
        let writer = try Connection(.file(file), key: .raw(Array(repeating: 1, count: 32)), configuration: configuration)
        try writer.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT, year INTEGER, kind INTEGER, likes INTEGER)")
        var random = SeededGenerator()
        try writer.transaction { db in
            for id in 1...700 {
                let (title, body) = (Self.text(1...4, &random), Self.text(2...25, &random))
                try db.execute("INSERT INTO note VALUES (\(id), \(title), \(body), \(id * 7 % 31), \(id % 11), \(id * 7_919 % 1_000))")
            }
            try db.execute("CREATE INDEX note_kind ON note(kind)")
        }
        let tokenizer = try #require(Self.tokenizers.first { $0.0 == name }?.1)
        try writer.create(FTS5Table("fts", columns: ["title", "body"], content: .external(table: "note"), tokenizer: tokenizer))
        let reader = try Connection(.file(file), key: .raw(Array(repeating: 1, count: 32)), configuration: configuration)
        for round in 0..<(LongTests.areOn ? 400 : 20) {
            var search = Self.search(&random)
            let said = "\(name) \(round): \(search.text)"
            try reader.execute("BEGIN")
            let index = try reader.fullText("fts")
            let whole = try index.search(search)
            #expect(Set(whole.hits.map(\.rowID)).count == whole.hits.count, "\(said)")
            try writer.execute("DELETE FROM note WHERE id = \(Int.random(in: 1...700, using: &random))")
            search.limit = Int.random(in: 1...60, using: &random)
            var paged: [FullTextSearch.Hit] = []
            while search.offset <= whole.hits.count {
                let page = try index.search(search)
                paged += page.hits
                #expect(page.words == whole.words && page.hasDroppedTokens == whole.hasDroppedTokens, "\(said)")
                if search.countsAll { #expect(page.total == whole.total, "\(said)") }
                search.offset += search.limit
            }
            #expect(paged == whole.hits, "\(said) \(search.rankingRules)")
            // An index of trigrams reads a part of the texts to find words.
            if search.countsAll {
                #expect(whole.total.count == whole.hits.count, "\(said) \(whole.total)")
                #expect(whole.total.isExact || name == "trigrams", "\(said) \(whole.total)")
            }
            // Without the filter, the same rows in the same order, with others between them.
            (search.offset, search.limit) = (0, 2_000)
            search.countsAll.toggle()
            #expect(try index.search(search).hits == whole.hits, "\(said)")
            search.filter = nil
            let places = Dictionary(uniqueKeysWithValues: try index.search(search).hits.enumerated().map { ($1.rowID, $0) })
            let kept = whole.hits.compactMap { places[$0.rowID] }
            #expect(kept == kept.sorted(), "\(said) \(search.rankingRules)")
            try reader.execute("COMMIT")
        }
    }

    /// A trigram of each of a word's letters takes no more of a search than a word.
    @Test func filteredTrigramSearchFindsEveryRow() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT, kind INTEGER)")
        try db.transaction { db in
            for id in 1...9_000 { try db.execute("INSERT INTO note VALUES (\(id), 'incomprehensibilities of it', \(id % 3))") }
        }
        try db.create(FTS5Table("fts", columns: ["body"], content: .external(table: "note"), tokenizer: .trigram()))
        var search = FullTextSearch("incomprehensibilities ", limit: 1)
        (search.filter, search.snippet, search.countsAll) = ("kind = 1", nil, true)
        let found = try db.fullText("fts").search(search)
        #expect(found.total.count == 3_000 && found.total.isExact)
    }
}
