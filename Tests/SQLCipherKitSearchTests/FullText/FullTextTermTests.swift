import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

/// Any user input gives results, whatever the table's tokenizer and detail.
@Suite struct FullTextTermTests {
    let db: Connection
    init() throws { db = try Connection(.memory) }

    @Test func termsWithoutAWordDoNotCount() throws {
        try db.register(.tokenFilter(FTS5StopWords(FTS5StopWords.english), as: "english"))
        try db.create(FTS5Table("f", columns: ["title", "body"], tokenizer: .custom("english")))
        try db.execute("INSERT INTO f VALUES ('the fox', 'and the hounds'), ('wolves', 'a fox'), ('the end', '')")
        let index = try db.fullText("f")
        for (typed, count) in [
            ("the fox", 2), ("the fox OR wolf", 2), ("& fox OR hounds", 2), ("fox title:?!", 2), ("fox title:the", 2),
            ("the OR fox", 2),
            ("fox -the", 2), ("fox -title:the", 2), ("the -fox", 0), ("the", 0), ("title:the", 0), ("fox OR wolf the AND of", 2),
            ("fox the OR of", 2), ("\"the\" title:fox", 1), ("NEAR(the fox)", 2), ("NEAR(the of) fox OR end", 3),
            ("the* fox OR end", 0),
        ] {
            let query = FTS5Query(userInput: typed, options: .init(columns: ["title"], allowsNear: true))
            #expect(try index.count(query) == count, "\(typed)")
        }
    }

    @Test func capitalsAreOperators() throws {
        func parse(_ text: String) -> String { FTS5Query(userInput: text).expression }
        #expect(parse("apple NOT banana") == "\"apple\" NOT (\"banana\")")
        #expect(parse("apple AND NOT \"big banana\" pear") == "(\"apple\" \"pear\") NOT (\"big banana\")")
        #expect(parse("apple AND banana") == "\"apple\" \"banana\"")
        #expect(parse("apple and not banana") == "\"apple\" \"and\" \"not\" \"banana\"")
        #expect(parse("DO NOT DISTURB") == "\"DO\" \"NOT\" \"DISTURB\"")
        #expect(parse("東京 NOT 大阪") == "\"東京\" NOT (\"大阪\")")
        #expect(parse("NOT banana") == "\"NOT\" \"banana\"")
        #expect(parse("AND gate") == "\"AND\" \"gate\"")
        #expect(parse("apple NOT") == "\"apple\" \"NOT\"")
        #expect(parse("a OR b AND c") == "(\"c\") AND (\"a\" OR \"b\")")
        #expect(FTS5Query(userInput: "a NOT b", options: .init(allowsOperators: false)).expression == "\"a\" \"NOT\" \"b\"")
    }

    static let tokenizers: [(String, FTS5Tokenizer)] = [
        ("unicode61", .unicode61()), ("separators", .unicode61(separators: "ae", tokenCharacters: "-")), ("trigram", .trigram()),
        ("multilingual", .multilingual()), ("cjk", .custom("cjk")), ("code", .custom("code")), ("english", .custom("english")),
        ("porter", .porter(.multilingual())), ("synonyms", .custom("synonyms")),
    ]

    @Test(arguments: [FTS5Table.Detail.full, .column, .none]) func nothingThatIsTypedThrows(detail: FTS5Table.Detail) throws {
        try db.register(.tokenizer(FTS5CJKTokenizer(), as: "cjk"))
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
            for round in 0..<250 {
                var typed = FullTextQueryTests.hostile(&random)
                for _ in 0..<Int.random(in: 0...2, using: &random) { typed += " " + (words.randomElement(using: &random) ?? "") }
                let options = FTS5Query.InputOptions(
                    columns: ["title", "body"], completesLastWord: round % 2 == 0, allowsNear: round % 3 == 0)
                let query = FTS5Query(userInput: typed, options: options)
                do { _ = try index.search(query, snippet: .best(), limit: 3) } catch {
                    Issue.record("\(name), \(detail): \(typed.debugDescription) throws \(error)")
                }
            }
            // Without positions, a phrase is a search for all of its words.
            #expect(try index.count(FTS5Query(userInput: "\"parse HTTP response\"")) == 1, "\(name)")
            #expect(try index.count(FTS5Query(userInput: "東京都2020年")) == 1, "\(name)")
            // An index without columns has no row for a query in a column.
            if detail == .none { #expect(try index.count(FTS5Query(userInput: "visual title:plan", columns: ["title"])) == 0) }
        }
    }

    @Test func wordsAreCountedInPhrasesToo() {
        func words(_ text: String, _ options: FTS5Query.InputOptions = .init()) -> Int {
            FTS5Query(userInput: text, options: options).expression.unicodeScalars.split { !$0.properties.isAlphabetic }.count
        }
        for text in [
            String(repeating: "a-", count: 4_990), "\"" + String(repeating: "a ", count: 4_000) + "\"", String(repeating: "a ", count: 4_000),
            String(repeating: "b OR \"a b c\" ", count: 800),
        ] {
            #expect((60...140).contains(words(text)), "\(text.prefix(20))")
            #expect(words(text, .init(maximumTerms: 5)) <= 11)
        }
        let far = FTS5Query(userInput: String(repeating: "東京", count: 4_000), options: .init(maximumTerms: 10))
        #expect(far.expression == "\"東京東京東京東京東京\"")
        // A word that is cut off becomes a prefix.
        #expect(FTS5Query(userInput: String(repeating: "x", count: 5_000), options: .init(maximumTerms: 2)).expression
            == "\"\(String(repeating: "x", count: 32))\" *")
        #expect(words(String(repeating: "NEAR(a \"b c d\") ", count: 600), .init(allowsNear: true)) < 200)
    }
}
