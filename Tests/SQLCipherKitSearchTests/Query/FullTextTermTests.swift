import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

/// Any user input gives results, whatever the table's tokenizer and detail.
@Suite struct FullTextTermTests {
    let db: Connection
    init() throws { db = try Connection(.memory) }

    @Test func queryTermsWithoutTokensAreIgnored() throws {
        try db.register(.tokenFilter(FTS5StopWords(FullTextSearch.englishStopWords), as: "english"))
        try db.create(FTS5Table("f", columns: ["title", "body"], tokenizer: .custom("english")))
        try db.execute("INSERT INTO f VALUES ('the fox', 'and the hounds'), ('wolves', 'a fox'), ('the end', '')")
        let index = try db.fullText("f")
        for (query, count) in [
            (.all("the", "fox"), 2), (.all("the", .any("fox", "wolf")), 2), (.all("&", .any("fox", "hounds")), 2),
            (.all("fox", .column("title", "?!")), 2), (.all("fox", .column("title", "the")), 2), (.any("the", "fox"), 2),
            (FTS5Query.phrase("fox").excluding("the"), 2), (FTS5Query.phrase("the").excluding("fox"), 0), ("the", 0),
            (.column("title", "the"), 0), (.all(.any("fox", "wolf"), "the", "of"), 2), (.all("the", .column("title", "fox")), 1),
            (.near(["the", "fox"]), 2), (.all(.near(["the", "of"]), .any("fox", "end")), 3),
        ] as [(FTS5Query, Int)] {
            #expect(try index.count(query) == count, "\(query.expression)")
        }
    }

    static let tokenizers: [(String, FTS5Tokenizer)] = [
        ("unicode61", .unicode61()), ("separators", .unicode61(separators: "ae", tokenCharacters: "-")), ("trigram", .trigram()),
        ("multilingual", .multilingual()), ("cjk", .custom("cjk")), ("code", .custom("code")), ("english", .custom("english")),
        ("porter", .porter(.multilingual())), ("synonyms", .custom("synonyms")),
    ]

    @Test(arguments: [FTS5Table.Detail.full, .column, .none]) func userInputNeverThrowsWithAnyTokenizer(detail: FTS5Table.Detail) throws {
        try db.register(.cjkTokenizer(as: "cjk"))
        try db.register(.tokenizer(FTS5CodeTokenizer(), as: "code"))
        try db.register(.tokenFilter(FTS5StopWords(["a", "word"]), as: "english"))
        try db.register(.tokenFilter(FTS5Synonyms([["a", "word", "secret"]]), as: "synonyms"))
        var random = SeededGenerator()
        let words = [
            "parseHTTPResponse", "東京都2020年", "한국어", "\"visual basic\"", "title:plan", "-body:\"a b\"", "NOT", "AND", "hello-world",
            "เกี่ยว",
        ]
        for (name, tokenizer) in Self.tokenizers {
            try db.create(FTS5Table("f_\(name)", columns: ["title", "body"], tokenizer: tokenizer, detail: detail))
            try db.execute("INSERT INTO \(identifier: "f_\(name)") VALUES ('visual plan', 'basic 東京都2020年 parse HTTP response hello-world')")
            let index = try db.fullText("f_\(name)")
            for round in 0..<(LongTests.areOn ? 2_500 : 80) {
                var typed = FullTextQueryTests.hostile(&random)
                for _ in 0..<Int.random(in: 0...2, using: &random) { typed += " " + (words.randomElement(using: &random) ?? "") }
                let query: FTS5Query = round % 3 == 0 ? .all(.near([typed, "basic"]), .prefix(typed)) : .any(.initial(typed), .phrase(typed))
                do {
                    _ = try index.hits(query, snippet: .best(), limit: 3)
                    _ = try index.search(typed, limit: 3)
                } catch {
                    Issue.record("\(name), \(detail): \(typed.debugDescription) throws \(error)")
                }
            }
            // Without positions, a phrase is a search for all of its words.
            #expect(try index.count("parse HTTP response") == 1, "\(name)")
            #expect(try index.count("東京都2020年") == 1, "\(name)")
            // An index without columns has no row for a query in a column.
            if detail == .none { #expect(try index.count(.all("visual", .column("title", "plan"))) == 0) }
        }
    }
}
