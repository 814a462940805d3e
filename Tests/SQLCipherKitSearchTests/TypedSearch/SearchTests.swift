import Foundation
import SQLCipherKitCore
import SQLCipherKitSearch
import Testing

/// The texts that users type, and the rows that they find.
@Suite struct SearchTests {
    let db: Connection
    let notes: FullTextIndex

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT, year INTEGER)")
        try db.create(FTS5Table("note_fts", columns: ["title", "body"], content: .external(table: "note")))
        notes = try db.fullText("note_fts")
        let texts = [
            ("Foxes", "The quick brown fox jumps over the lazy dog"), ("Runners", "She was running through the university library"),
            ("Cooking", "How to bake bread and other things that run"), ("Function", "A function of the libraries in Swift"),
            ("Television", "A television set for the kitchen, from 2021"),
        ]
        for (index, (title, body)) in texts.enumerated() {
            try db.execute("INSERT INTO note VALUES (\(index + 1), \(title), \(body), \(2020 + index))")
        }
    }

    private func rows(_ text: String) throws -> [Int64] { try notes.search(text).hits.map(\.rowID) }

    @Test(arguments: [
        ("quick bro", [1]), ("quikc bro", [1]), ("universi", [2]), ("runnin", [2]), ("libary ", [2, 4]), ("funtion", [4]), ("q", [1]),
        ("\"brown fox\"", [1]), ("\"brown foxes\"", []), ("\"fox brown\"", []), ("-dog fox", []), ("fox -cat", [1]), ("NOT dog fox", []),
        ("title:cook", [3]), ("body:cook", []), ("kitchen OR bread", [3, 5]), ("fox AND dog", [1]), ("", []), ("-", []),
        ("\"", []),
        ("-fox", []), ("2012", []), ("202", [5]), ("tbe-quick brown", [1]),
    ])
    func typedTextFindsExpectedRows(_ text: String, _ expected: [Int64]) throws {
        #expect(try rows(text).sorted() == expected)
    }

    @Test func exactWordsRankBeforeWordForms() throws {
        var first = FullTextSearch("run")
        first.rankingRules = [.words, .exactness, .place]
        #expect(try notes.search(first).hits.map(\.rowID) == [3, 2])
        // The title counts more if the rule of places comes first.
        first.rankingRules = [.words, .place, .exactness]
        #expect(try notes.search(first).hits.map(\.rowID) == [2, 3])
        #expect(try rows("run") == [2, 3])
        #expect(try Set(rows("run ")) == [2, 3])
        let found = try notes.search("runs ")
        #expect(found.words[0].kind == .form && found.hits.allSatisfy { $0.inexactness == 1 })
        var exact = FullTextSearch("runs ")
        exact.languages = []
        exact.typoTolerance = .none
        exact.prefixMatching = .none
        #expect(try notes.search(exact).hits.isEmpty)
    }

    @Test func highlightsMarkCorrectedWords() throws {
        #expect(try notes.search("quikc jumped").hits[0].snippet == HighlightedText(
            "The quick brown fox jumps over the lazy dog", ranges: marks(["quick", "jumps"])))
        var search = FullTextSearch("libary")
        search.snippet = .column("body", words: 2)
        search.highlightedColumns = ["body"]
        search.retrievedColumns = ["title"]
        let hit = try notes.search(search).hits[0]
        #expect(hit.snippet?.marked() == "…university [library]" || hit.snippet?.marked() == "…the [libraries]…")
        #expect(hit.highlights["body"]?.ranges.count == 1)
        let title: String = try hit["title"]
        #expect(["Runners", "Function"].contains(title))
    }

    private func marks(_ words: [String]) -> [Range<String.Index>] {
        let text = "The quick brown fox jumps over the lazy dog"
        return words.compactMap { text.range(of: $0) }
    }

    @Test func unknownWordFallsBackToFewerWords() throws {
        let found = try notes.search("quick brown xylophone ")
        #expect(found.hits.map(\.rowID) == [1] && found.hasDroppedTokens && found.hits[0].matchedWordCount == 2)
        #expect(found.words.map(\.isUnknown) == [false, false, true])
        var search = FullTextSearch("quick brown xylophone ")
        search.dropTokensThreshold = 0
        #expect(try notes.search(search).hits.isEmpty)
        #expect(try rows("fox bread ").sorted() == [1, 3])
    }

    /// Rows that have a word in whatever form, near the others or far away, have it.
    @Test(arguments: ["jumps over the tree ", "jumped over the tree ", "jumps over the trees ", "jum ove the tre", "jumps ovre the treee "])
    func rowsWithAllWordsInAnyFormAreComplete(_ text: String) throws {
        let far = "Long ago the fox jumps and runs and sleeps and goes over some hills and in the end it sees a tree"
        for rows in 1...6 {
            try db.execute("INSERT INTO note(title, body) VALUES ('Other', \(far))")
            let found = try notes.search(text)
            let isComplete = { (hit: FullTextSearch.Hit) in hit.matchedWordCount == found.words.count }
            #expect(found.hits.count(where: isComplete) == rows && found.hasDroppedTokens == (rows < 5), "\(rows)")
        }
    }

    @Test func multiwordAndOneWaySynonymsAreFound() throws {
        var search = FullTextSearch("tv ")
        search.dropTokensThreshold = 0
        #expect(try notes.search(search).hits.isEmpty)
        search.synonyms = [FullTextSearch.Synonym("tv", finds: ["television set"])]
        #expect(try notes.search(search).hits.map(\.rowID) == [5])
        search.text = "television set "
        #expect(try notes.search(search).words.allSatisfy { $0.kind == .exact })
        search.text = "couch "
        search.synonyms = FullTextSearch.Synonym.group(["couch", "lazy dog", "bread"])
        #expect(try Set(notes.search(search).hits.map(\.rowID)) == [1, 3])
    }

    @Test func stopWordsNeverEmptyAQuery() throws {
        var search = FullTextSearch("the xylophone fox ")
        search.dropTokensThreshold = 0
        search.stopWords = ["the", "xylophone"]
        #expect(try notes.search(search).hits.map(\.rowID) == [1])
        #expect(try notes.search(search).words.map(\.isLeftOut) == [true, true, false])
        search.text = "the "
        #expect(try notes.search(search).hits.count == 4)
    }

    @Test func searchAppliesFilterDecayAndPaging() throws {
        var search = FullTextSearch("the ")
        search.filter = "year > \(2020)"
        #expect(try Set(notes.search(search).hits.map(\.rowID)) == [2, 4, 5])
        search.filter = nil
        let all = try notes.search(search).hits.map(\.rowID)
        search.limit = 1
        var paged: [Int64] = []
        for offset in 0..<5 {
            search.offset = offset
            paged += try notes.search(search).hits.map(\.rowID)
        }
        #expect(paged == all && all.count == 4)
        search = FullTextSearch("the ")
        search.rankingRules = [.relevance]
        search.decay = FullTextSearch.Decay("2024 - year", halfLife: 0.01)
        #expect(try notes.search(search).hits.map(\.rowID) == [5, 4, 2, 1])
        search.filter = "no_such_column > 1"
        #expect(throws: DatabaseError.self) { try notes.search(search) }
        search = FullTextSearch("the")
        search.limit = -1
        #expect(throws: DatabaseError.self) { try notes.search(search) }
        search = FullTextSearch("the")
        search.snippet = .column("none")
        #expect(throws: DatabaseError.self) { try notes.search(search) }
    }

    @Test func uncommittedRowsAreFound() throws {
        try db.transaction { db in
            try db.execute("INSERT INTO note VALUES (9, 'Zebra', 'zebras everywhere', 2030)")
            #expect(try rows("zebr") == [9] && rows("zebar") == [9])
            try db.execute("DELETE FROM note WHERE id = 9")
            #expect(try rows("zebr") == [])
        }
    }
}
