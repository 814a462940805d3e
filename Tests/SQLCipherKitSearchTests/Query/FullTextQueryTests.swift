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

    @Test func hostileQueryTextNeverThrowsOrLeavesItsColumn() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("fts", columns: ["a", "b"], prefixes: [1]))
        let everything = "secret word a b x 5 b20 04 multi agent near and or not é ß rank rowid fts 日本 999999999999999999999"
        try db.execute("INSERT INTO fts(rowid, a, b) VALUES (1, '', \(everything)), (2, \(everything), '')")
        let statement = try db.prepare("SELECT rowid FROM fts WHERE fts MATCH ?")
        var random = SeededGenerator()
        var hits = 0
        for _ in 0..<LongTests.steps(30_000, of: 100_000).count {
            let (one, other) = (Self.hostile(&random), Self.hostile(&random))
            let isPrefix = Bool.random(using: &random)
            let query: FTS5Query = switch Int.random(in: 0...5, using: &random) {
            case 0: .all(.phrase(one, prefix: isPrefix), .phrase(other))
            case 1: .any(.phrase(one), .initial(other, prefix: isPrefix))
            case 2: .near([one, other], within: one.count)
            case 3: FTS5Query.prefix(one).excluding(.phrase(other))
            case 4: .columns(["a", "b"], .phrase(one))
            default: .phrase(one, prefix: isPrefix)
            }
            let scoped = FTS5Query.column("a", query)
            do {
                _ = try statement.fetchAll(Int.self, [query])
                let found = try statement.fetchAll(Int.self, [scoped])
                hits += found.count
                if found.contains(1) { Issue.record("\(scoped.expression) reached column b") }
            } catch {
                Issue.record("\(query.expression): \(error)")
            }
        }
        // The strings are not mere noise: many of them find something.
        #expect(hits > 1_000)
    }

    @Test func builtQueriesMatchTheirRows() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("fts", columns: ["title", "body"]))
        let rows = [
            ("swift", "open source language by apple"), ("rust", "open source language by mozilla, a swift one"),
            ("java", "language of the open web source"), ("data", "swift database"),
        ]
        for (title, body) in rows { try db.execute("INSERT INTO fts VALUES (\(title), \(body))") }
        let fts = try db.fullText("fts")
        func found(_ query: FTS5Query) throws -> [Int64] { try fts.hits(FullTextSearch(exactly: query, order: .rowID)).map(\.rowID) }
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

    @Test func fts5QueryBindsAsMatchArgument() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("fts", columns: ["a"]))
        try db.execute("INSERT INTO fts VALUES ('it''s \"quoted\"')")
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM fts WHERE fts MATCH \(FTS5Query.phrase("\"quoted"))") == 1)
    }
}
