import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

/// Searches of a growing table, as of messages, beside a model that knows every row: filters from one row to all, frequent and rare
/// words, decay, popularity, facets, totals and pages.
@Suite struct SearchMachineTests {
    /// Long tests have more rows than a search steps through if it has enough hits.
    static let rows = LongTests.areOn ? 100_000 : 10_000

    /// What a row has, by its number alone.
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
}
