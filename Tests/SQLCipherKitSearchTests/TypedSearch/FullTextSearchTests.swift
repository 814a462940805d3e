import Foundation
import SQLCipherKitCore
import SQLCipherKitSearch
import Testing

@Suite struct FullTextSearchTests {
    let db: Connection
    let notes: FullTextIndex

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT, year INTEGER)")
        try db.create(
            FTS5Table(
                "note_fts", columns: ["title", "body"], content: .external(table: "note", rowID: "id"),
                tokenizer: .porter(.unicode61()), prefixes: [2, 3]))
        notes = try db.fullText("note_fts")
        let rows = [
            ("Foxes", "The quick brown fox jumps over the lazy dog", 2020),
            ("Dogs", "A dog is a friend; a fox is not. The café is closed", 2021),
            ("Databases", "An encrypted database that a multi-agent system searches, version 20.04", 2022),
        ]
        for (title, body, year) in rows { try db.execute("INSERT INTO note(title, body, year) VALUES (\(title), \(body), \(year))") }
    }

    func found(_ text: String) throws -> [Int64] {
        var search = FullTextSearch(text + " ")
        (search.typoTolerance, search.prefixMatching, search.dropTokensThreshold, search.order) = (.none, .none, 0, .rowID)
        return try notes.search(search).hits.map(\.rowID)
    }

    @Test func hitsAreRankedAndHaveSnippets() throws {
        let hits = try notes.hits("fox", weights: [5, 1], snippet: .column("body"), limit: 20)
        #expect(hits.map(\.rowID) == [1, 2])
        #expect(hits[0].score > hits[1].score && hits[1].score > 0)
        #expect("\(hits[0].snippet ?? "")" == "The quick brown [fox] jumps over the lazy dog")
        #expect(hits[0].snippet.map { snippet in snippet.ranges.map { String(snippet.text[$0]) } } == ["fox"])
    }

    /// In an index of stems, in which FTS5's prefixes find less.
    @Test func typedQuerySyntaxFindsRows() throws {
        #expect(try found("lazy dogs") == [1])
        #expect(try found("\"brown fox\"") == [1])
        #expect(try found("\"fox brown\"") == [])
        #expect(try found("encr*") == [3])
        #expect(try found("fox -lazy") == [2])
        #expect(try found("lazy OR encrypted") == [1, 3])
        #expect(try found("dog lazy OR friend") == [1, 2])
        #expect(try found("title:fox") == [1])
        #expect(try found("multi-agent") == [3])
        #expect(try found("20.04") == [3])
        #expect(try found("cafe") == [2])
        #expect(try found("café && is") == [2])
        #expect(try found("-fox") == [])
        #expect(try found("") == [] && found("--") == [] && found("\"") == [] && found("* OR -") == [])
        #expect(try found("NOTE: fox") == [])
    }

    @Test func exactSearchFiltersAndReturnsColumns() throws {
        let search = FullTextSearch(exactly: "fox", filter: "year > \(2020) AND title <> 'x'")
        let hits = try notes.hits(search.with { $0.retrievedColumns = ["title"] })
        #expect(hits.map(\.rowID) == [2])
        let title: String = try hits[0]["title"]
        #expect(title == "Dogs")
        let newest = try notes.hits(FullTextSearch(exactly: "fox", order: .sql("year DESC")))
        #expect(newest.map(\.rowID) == [2, 1])
        #expect(try notes.count(FullTextSearch(exactly: "fox", filter: "year > 2020")) == 1)
    }

    @Test(arguments: ["100%", "a_b", "\\", "%", "'", "c:\\d", ""]) func likePatternMatchesTextLiterally(text: String) throws {
        let titles = ["100%", "100x", "a_b", "axb", "c:\\d", "it's", "xa_bx"]
        for title in titles { try db.execute("INSERT INTO note(title, body) VALUES (\(title), 'like')") }
        func found(_ pattern: LikePattern) throws -> [String] {
            try db.fetchAll("SELECT title FROM note WHERE body = 'like' AND \(pattern.condition(on: "title")) ORDER BY id")
        }
        #expect(try found(.contains(text)) == titles.filter { text.isEmpty || $0.contains(text) })
        #expect(try found(.hasPrefix(text)) == titles.filter { $0.hasPrefix(text) })
        #expect(try found(.hasSuffix(text)) == titles.filter { $0.hasSuffix(text) })
    }
}
