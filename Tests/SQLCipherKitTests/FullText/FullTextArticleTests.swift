import SQLCipherKit
import Testing

/// The examples of the article "Search", in its order.
@Suite struct FullTextArticleTests {
    @Test func theArticle() throws {
        let db = try Connection(.memory)
        try db.execute("""
            CREATE TABLE note(
                id INTEGER PRIMARY KEY, title TEXT, body TEXT, year INTEGER)
            """)
        try db.create(
            FTS5Table(
                "note_fts", columns: ["title", "body"],
                content: .external(table: "note")))
        let body = "The quick brown fox jumps over the lazy dog"
        try db.execute("""
            INSERT INTO note(title, body, year)
            VALUES (\("Foxes"), \(body), \(2020))
            """)

        let notes = try db.fullText("note_fts")
        let found = try notes.search(typed: "quikc jumped fo", limit: 20)
        for hit in found.hits {
            // 1 The [quick] brown [fox] [jumps] over the lazy dog
            print(hit.rowID, hit.snippet ?? "")
            #expect("\(hit.rowID) \(hit.snippet ?? "")" == "1 The [quick] brown [fox] [jumps] over the lazy dog")
        }
        var understood: [String] = []
        for word in found.words {
            // quikc quick, jumped jumps, fo fox
            print(word.typed, word.matches.first?.text ?? "nothing")
            understood.append("\(word.typed) \(word.matches.first?.text ?? "nothing")")
        }
        #expect(found.hits.count == 1 && understood == ["quikc quick", "jumped jumps", "fo fox"])

        var typed = TypedSearch("brown fox")
        typed.filter = "year >= \(2010)"
        typed.weights = [5, 1]
        typed.rules = [.words, .typos, .relevance]
        typed.decay = TypedSearch.Decay("2025 - year", half: 3)
        typed.synonyms = [TypedSearch.Synonym("reynard", finds: ["fox"])]
        typed.stopWords = FTS5StopWords.english
        typed.highlights = ["title"]
        let ranked = try notes.search(typed)
        #expect(ranked.hits.map(\.rowID) == [1])

        let query = FTS5Query(userInput: "fox* -\"lazy cat\"")
        var lines: [String] = []
        let best = try notes.search(
            query, weights: [5, 1], snippet: .column("body"), limit: 20)
        for hit in best {
            // 1, the rank, The quick brown [fox] jumps over the lazy dog
            print(hit.rowID, hit.rank, hit.snippet)
            lines.append("\(hit.rowID) \(hit.snippet)")
            #expect(hit.rank < 0)
        }
        #expect(lines == ["1 The quick brown [fox] jumps over the lazy dog"])

        var search = FullTextSearch(
            "fox", filter: "year > \(2010)", order: .sql("year DESC"))
        search.highlights = ["title"]
        let recent = try notes.search(search)
        let years = try notes.facets(search, by: "year")
        let count = try notes.count(search)
        #expect(recent.map { $0.highlights["title"]?.description } == ["Foxes"])
        #expect(years.map(\.value) == [2020] && count == 1)

        var all = FullTextSearch(query, limit: 1_000)
        all.snippet = .best()
        let ranking = try notes.ranking(all)
        let page = try notes.hits(of: ranking, in: 0..<20)
        #expect(page.map(\.rowID) == [1])

        let stopWords = FTS5StopWords(
            FTS5StopWords.english, base: .porter(.unicode61()))
        try db.register(.tokenFilter(stopWords, as: "english"))
        let synonyms = FTS5Synonyms(
            [["car", "automobile"]], base: .custom("english"))
        try db.register(.tokenFilter(synonyms, as: "english with synonyms"))
        try db.register(.tokenizer(FTS5CJKTokenizer(), as: "cjk"))
        try db.register(.tokenizer(FTS5CodeTokenizer(), as: "code"))
        try db.create(
            FTS5Table(
                "source", columns: ["line"], tokenizer: .custom("code")))

        let live = LiveSearch()
        let hits = try live.run(on: db) { db in
            try db.fullText("note_fts").search(typed: "qui").hits
        }
        let words = try notes.suggestions(for: "the qui")
        let meant = try notes.correctedText("quikc fox")      // quick fox
        #expect(hits.count == 1 && words.map(\.term) == ["quick"] && meant == "quick fox")

        try notes.optimize()
        let isSound = try notes.isIntact()
        let size = try notes.size().total
        try notes.configure(.secureDelete(true))
        #expect(isSound && size > 0)
    }
}
