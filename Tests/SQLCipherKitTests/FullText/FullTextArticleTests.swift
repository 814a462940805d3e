import SQLCipherKit
import Testing

/// The examples of the article "Search", in its order.
@Suite struct FullTextArticleTests {
    @Test func theArticle() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT, year INTEGER)")
        try db.create(FTS5Table("note_fts", columns: ["title", "body"], content: .external(table: "note"),
                                tokenizer: .porter(.unicode61()), prefixes: [2, 3]))
        try db.execute("INSERT INTO note(title, body, year) VALUES (\("Foxes"), \("The quick brown fox jumps over the lazy dog"), \(2020))")

        let query = FTS5Query(userInput: "fox* -\"lazy cat\"")
        var lines: [String] = []
        for hit in try db.search("note_fts", query, weights: [5, 1], snippet: .column("body"), limit: 20) {
            print(hit.rowID, hit.rank, hit.snippet)      // 1, the rank, The quick brown [fox] jumps over the lazy dog
            lines.append("\(hit.rowID) \(hit.snippet)")
            #expect(hit.rank < 0)
        }
        #expect(lines == ["1 The quick brown [fox] jumps over the lazy dog"])

        let recent = try db.search("note_fts", "fox", highlights: ["title"], where: "year > \(2010)", orderedBy: .sql("year DESC"))
        let years = try db.facets("note_fts", "fox", by: "year")
        let count = try db.searchCount("note_fts", "fox")
        #expect(recent.map { $0.highlights["title"]?.description } == ["[Foxes]"])
        #expect(years.map(\.value) == [2020] && count == 1)

        let ranking = try db.rankedSearch("note_fts", query, limit: 1_000)
        let page = try db.hits(of: ranking, 0..<20, snippet: .best())
        #expect(page.map(\.rowID) == [1])

        try db.register(.tokenFilter(StopWords(StopWords.english, base: .porter(.unicode61())), as: "english"))
        try db.register(.tokenFilter(Synonyms([["car", "automobile"]], base: .custom("english")), as: "english with synonyms"))
        try db.register(.tokenizer(CJKTokenizer(), as: "cjk"))
        try db.register(.tokenizer(CodeTokenizer(), as: "code"))
        try db.create(FTS5Table("source", columns: ["line"], tokenizer: .custom("code")))

        let live = LiveSearch()
        let hits = try live.run(on: db) { db in
            try db.search("note_fts", FTS5Query(userInput: "qui", options: .init(completesLastWord: true)), limit: 20)
        }
        let words = try db.suggestions(for: "the qui", in: "note_fts")
        let meant = try db.correctedText("quikc fox", in: "note_fts")      // quick fox
        #expect(hits.count == 1 && words.map(\.term) == ["quick"] && meant == "quick fox")

        try db.optimizeFullText("note_fts")
        let isSound = try db.isFullTextIntact("note_fts")
        let size = try db.fullTextSize("note_fts").total
        try db.configureFullText("note_fts", .secureDelete(true))
        #expect(isSound && size > 0)
    }
}
