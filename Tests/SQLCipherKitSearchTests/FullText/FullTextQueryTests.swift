import Foundation
import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

@Suite struct FullTextQueryTests {
    /// Pieces of FTS5's grammar, of this package's own, and of text that breaks parsers.
    static let pieces = [
        "\"", "'", "*", "^", ":", "-", "+", "(", ")", "{", "}", "NEAR", "NEAR(", "AND", "OR", "NOT", " ", "  ", "\t", "\n", "\0", ",", "5)",
        "a", "b", "secret", "word", "b:", "b :", "{b}:", "{b} : ", "-b:", "- {a} :", "a:", "a : b :", "\\", ";", "--", "/*", "?", "?1", "$x",
        "é", "e\u{301}", "👩‍👩‍👧", "\u{200D}", "\u{FEFF}", "\u{202E}", "“", "”", "„", "𝒳", "ß", "İ", "日本", "ก็", "\u{10FFFF}", "\u{1}", "|", "||",
        "20.04", "multi-agent", "a'b", "NOTE: x", "999999999999999999999", "rank:", "fts:", "rowid:", "\"b\":", "\"b\" : secret", "[b]", "`b`",
    ]

    static func hostile(_ random: inout some RandomNumberGenerator) -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0...12, using: &random) {
            if Int.random(in: 0..<8, using: &random) == 0, let scalar = Unicode.Scalar(UInt32.random(in: 0...0x2fff, using: &random)) {
                text.unicodeScalars.append(scalar)
            } else {
                text += pieces.randomElement(using: &random) ?? ""
            }
        }
        return text
    }

    @Test func aHundredThousandHostileStringsNeitherThrowNorReachAnotherColumn() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("fts", columns: ["a", "b"], prefixes: [1]))
        let everything = "secret word a b x 5 b20 04 multi agent near and or not é ß rank rowid fts 日本 999999999999999999999"
        try db.execute("INSERT INTO fts(rowid, a, b) VALUES (1, '', \(everything)), (2, \(everything), '')")
        let statement = try db.prepare("SELECT rowid FROM fts WHERE fts MATCH ?")
        var random = SeededGenerator()
        var hits = 0
        for index in 0..<100_000 {
            let text = Self.hostile(&random)
            var options = FTS5Query.InputOptions()
            options.allowsNear = index % 2 == 0
            options.allowsOperators = index % 7 != 0
            options.completesLastWord = index % 3 == 0
            options.matching = index % 5 == 0 ? .any : .all
            options.columns = index % 4 == 0 ? ["a"] : []
            let query = FTS5Query(userInput: text, options: options)
            let scoped = FTS5Query.column("a", query)
            do {
                _ = try statement.fetchAll(Int.self, [query])
                let found = try statement.fetchAll(Int.self, [scoped])
                hits += found.count
                if found.contains(1) { Issue.record("\(text.debugDescription) reached column b by \(scoped.expression)") }
            } catch {
                Issue.record("\(text.debugDescription) made \(query.expression): \(error)")
            }
        }
        // The strings are not mere noise: many of them find something.
        #expect(hits > 10_000)
    }

    @Test func whatIsTypedIsParsed() {
        func parse(_ text: String, _ options: FTS5Query.InputOptions = .init()) -> String {
            FTS5Query(userInput: text, options: options).expression
        }
        #expect(parse("one two") == "\"one\" \"two\"")
        #expect(parse("one \"two three\" fo*") == "\"one\" \"two three\" \"fo\" *")
        #expect(parse("\"open") == "\"open\"")
        #expect(parse("“curly quotes”") == "\"curly quotes\"")
        #expect(parse("\"two thr\"*") == "\"two thr\" *")
        #expect(parse("a OR b") == "\"a\" OR \"b\"")
        #expect(parse("a or b") == "\"a\" \"or\" \"b\"")
        #expect(parse("a b | c") == "(\"a\") AND (\"b\" OR \"c\")")
        #expect(parse("a -b -\"c d\"") == "\"a\" NOT (\"b\" OR \"c d\")")
        #expect(parse("a - b") == "\"a\" \"-\" \"b\"")
        #expect(parse("-a") == FTS5Query.nothing.expression)
        #expect(parse("b:x", .init(columns: ["b"])) == "{\"b\"} : (\"x\")")
        #expect(parse("B:x", .init(columns: ["b"])) == "{\"b\"} : (\"x\")")
        #expect(parse("-b:x y", .init(columns: ["b"])) == "\"y\" NOT ({\"b\"} : (\"x\"))")
        #expect(parse("c:x", .init(columns: ["b"])) == "\"c:x\"")
        #expect(parse("NEAR(a \"b c\", 3)", .init(allowsNear: true)) == "NEAR(\"a\" \"b c\", 3)")
        #expect(parse("NEAR(a b)", .init(allowsNear: true)) == "NEAR(\"a\" \"b\", 10)")
        #expect(parse("NEAR(a b)") == "\"NEAR(a\" \"b)\"")
        #expect(parse("one tw", .init(completesLastWord: true)) == "\"one\" \"tw\" *")
        #expect(parse("one tw ", .init(completesLastWord: true)) == "\"one\" \"tw\"")
        #expect(parse("a \"b\" OR", .init(allowsOperators: false)) == "\"a\" \"\"\"b\"\"\" \"OR\"")
        #expect(parse("a b", .init(matching: .any)) == "\"a\" OR \"b\"")
        #expect(parse("say \"\" twice") == "\"say\" \"twice\"")
        #expect(parse("a\0b") == "\"a\" \"b\"")
        #expect(FTS5Query(userInput: String(repeating: "x ", count: 100_000)).expression.count < 500)
    }

    @Test func builtQueriesFindWhatTheySay() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("fts", columns: ["title", "body"]))
        let rows = [
            ("swift", "open source language by apple"), ("rust", "open source language by mozilla, a swift one"),
            ("java", "language of the open web source"), ("data", "swift database"),
        ]
        for (title, body) in rows { try db.execute("INSERT INTO fts VALUES (\(title), \(body))") }
        let fts = try db.fullText("fts")
        func found(_ query: FTS5Query) throws -> [Int64] { try fts.search(FullTextSearch(query, order: .rowID)).map(\.rowID) }
        #expect(try found(.all("swift", "open")) == [1, 2])
        #expect(try found(.any("java", "data")) == [3, 4])
        #expect(try found(.phrase("open source")) == [1, 2])
        #expect(try found(.phrase("open sou", prefix: true)) == [1, 2])
        #expect(try found(.prefix("data")) == [4])
        #expect(try found(.near(["open", "source"], within: 0)) == [1, 2])
        #expect(try found(.near(["open", "source"], within: 1)) == [1, 2, 3])
        #expect(try found(.column("title", "swift")) == [1])
        #expect(try found(.excludingColumns(["title"], "swift")) == [2, 4])
        #expect(try found(.columns([], "swift")) == [])
        #expect(try found(.initial("language")) == [3])
        #expect(try found(FTS5Query.phrase("swift").excluding("open")) == [4])
        #expect(try found(FTS5Query.phrase("java").or("rust").and("mozilla")) == [2])
        #expect(try found(.all("swift", "--", .any("open", "..."))) == [1, 2])
        #expect(try found(.all("swift", .nothing)) == [1, 2, 4])
        #expect(try found(.all([])) == [] && found(.any([])) == [] && found(.phrase("")) == [] && found(.near([])) == [])
        #expect(try found(.phrase("swift\" OR \"java")) == [])
        let error = #expect(throws: DatabaseError.self) { try found(.column("no such", "swift")) }
        #expect(error?.message.contains("no such column") == true)
    }

    @Test func aQueryIsAValueInSQL() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("fts", columns: ["a"]))
        try db.execute("INSERT INTO fts VALUES ('it''s \"quoted\"')")
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM fts WHERE fts MATCH \(FTS5Query(userInput: "\"quoted"))") == 1)
    }
}
