import Foundation
import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

/// Any input, on any kind of table.
@Suite struct SearchInputTests {
    private static let kinds: [(String, FTS5Table)] = [
        ("own", FTS5Table("t", columns: ["a", "b"])), ("column", FTS5Table("t", columns: ["a", "b"], detail: .column)),
        ("none", FTS5Table("t", columns: ["a", "b"], detail: .none)),
        ("contentless", FTS5Table("t", columns: ["a", "b"], content: .contentless())),
        ("porter", FTS5Table("t", columns: ["a", "b"], tokenizer: .porter(.unicode61()))),
        ("trigram", FTS5Table("t", columns: ["a", "b"], tokenizer: .trigram())),
        ("prefixes", FTS5Table("t", columns: ["a", "b"], prefixes: [1, 2])),
        ("no sizes", FTS5Table("t", columns: ["a", "b"], storesColumnSizes: false)),
        ("cjk", FTS5Table("t", columns: ["a", "b"], tokenizer: .custom("cjk"))),
        ("token data", FTS5Table("t", columns: ["a", "b"], hasTokenData: true)),
    ]

    private func open(_ table: FTS5Table) throws -> FullTextIndex {
        let db = try Connection(.memory)
        try db.register(.cjkTokenizer(as: "cjk"))
        try db.create(table)
        for row in 1...30 {
            let (a, b) = ("quick brown \(row)", "the university of 東京大学 und Straße")
            try db.execute("INSERT INTO t(rowid, a, b) VALUES (\(row), \(a), \(b))")
        }
        return try db.fullText("t")
    }

    @Test(arguments: kinds.indices)
    func typedWordsAreFoundInEveryTableKind(_ kind: Int) throws {
        let index = try open(Self.kinds[kind].1)
        #expect(try index.search("quick univers").hits.count == 20)
        #expect(try index.search("brown ").hits.first?.rowID == (Self.kinds[kind].0 == "trigram" ? 9 : 30))
        #expect(try index.search("brown 17 ").hits.first?.rowID == (Self.kinds[kind].0 == "trigram" ? 9 : 17))
        if Self.kinds[kind].0 == "cjk" { #expect(try index.search("京大").hits.count == 20) }
        if Self.kinds[kind].0 == "contentless" { #expect(try index.search("quick").hits[0].snippet == nil) }
    }

    @Test(arguments: kinds.indices)
    func randomInputNeverThrowsOnAnyTableKind(_ kind: Int) throws {
        let index = try open(Self.kinds[kind].1)
        let pieces = [
            "quick", "uni", "univresity", "\"", "-", "*", ":", "a:", "b:quick", "(", ")", " OR ", " AND ", " NOT ", "NEAR(", "+", "^",
            "\0", "\u{FEFF}", "東京", "é", "e\u{301}", "😀", " ", "\t", "\n", "|", "{a b}:", "'", ";", "--", "/*", "\u{10FFFF}",
            "0", "12", "%", "_", String(repeating: "x", count: 300), String(repeating: "ab ", count: 40),
        ]
        var generator = SeededGenerator()
        for _ in 0..<120 {
            let text = (0..<Int.random(in: 0...8, using: &generator)).map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
            let found = try index.search(text)
            #expect(found.words.allSatisfy { text[$0.range] == $0.typed })
            _ = try index.correctedText(text)
            _ = try index.suggestions(for: text)
        }
        for (piece, count) in [("a-", 5_000), ("quick ", 3_000), ("\"", 20_000)] {
            _ = try index.search(String(repeating: piece, count: count))
        }
    }

    /// A table with its own content keeps what was written to it.
    @Test(arguments: [FTS5Tokenizer.unicode61(), .porter(.unicode61())])
    func nonTextValuesAreFoundAndHighlighted(_ tokenizer: FTS5Tokenizer) throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("t", columns: ["a", "b"], tokenizer: tokenizer))
        for value: SQLValue in [2021, 2.5, nil, .blob(Data("running 2021 \u{e9}".utf8 + [0xff]))] {
            try db.execute("INSERT INTO t VALUES (\(value), 'running quickly')")
        }
        let index = try db.fullText("t")
        for text in ["2021", "runnig", "2", "running 2021 ", "quick"] {
            var search = FullTextSearch(text)
            search.highlightedColumns = ["a", "b"]
            search.retrievedColumns = ["a"]
            #expect(try !index.search(search).hits.isEmpty, "\(text)")
            _ = try index.suggestions(for: text)
            _ = try index.correctedText(text)
        }
        #expect(try index.search("2021").hits.map { $0.snippet?.marked() }.contains("[2021]"))
    }

    @Test func correctedTextFixesMistypedWords() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("t", columns: ["a"]))
        try db.transaction { db in
            for row in 0..<2_000 { try db.execute("INSERT INTO t VALUES (\("the function of a library in \(row)"))") }
            try db.execute("INSERT INTO t VALUES ('teh funtion libary'), ('2020 2021')")
        }
        let index = try db.fullText("t")
        #expect(try index.correctedText("teh") == "the")
        #expect(try index.correctedText("Teh funtion, libary!") == "the function, library!")
        #expect(try index.correctedText("functoin -libary") == "function -libary")
        #expect(try index.correctedText("\"functoin\"") == nil)
        #expect(try index.correctedText("20211") == nil)
        #expect(try index.correctedText("function library") == nil)
        // No row has both words.
        #expect(try index.correctedText("2020 libary") == nil)
    }

    @Test func stemmedIndexSuggestsWholeWords() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("t", columns: ["a"], tokenizer: .porter(.unicode61())))
        for text in ["The universities of Europe", "happily running"] { try db.execute("INSERT INTO t VALUES (\(text))") }
        let index = try db.fullText("t")
        #expect(try index.correctedText("hapily") == "happily")
        #expect(try index.suggestions(for: "univ").map(\.term) == ["universities"])
        #expect(try index.suggestions(for: "runni").map(\.term) == ["running"])
    }
}
