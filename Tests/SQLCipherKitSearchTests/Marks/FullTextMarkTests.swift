import SQLCipherKitCore
import SQLCipherKitSearch
import Testing

@Suite struct FullTextMarkTests {
    func highlight(_ text: String, _ query: String, tokenizer: FTS5Tokenizer = .unicode61()) throws -> HighlightedText {
        let db = try Connection(.memory)
        try db.create(FTS5Table("f", columns: ["a"], tokenizer: tokenizer))
        try db.execute("INSERT INTO f VALUES (\(text))")
        let hit = try db.fullText("f").hits(
            FullTextSearch(query + " ").with {
                $0.snippet = .best(words: 4)
                $0.highlightedColumns = ["A"]
            }
        ).first
        return try #require(hit?.highlights["A"])
    }

    @Test func highlightRangesMatchOriginalString() throws {
        let texts: [(String, String, [String])] = [
            ("👩‍👩‍👧 word 👨‍👩‍👦‍👦 other", "word other", ["word", "other"]),
            ("cafe\u{301} and café", "cafe", ["cafe\u{301}", "café"]),
            ("🇩🇪x🇫🇷 x", "x", ["x", "x"]),
            ("a\u{20DD} b", "a", ["a\u{20DD}"]),
            ("\u{1}<abc\u{1}word\u{1}>abc\u{1}", "word", ["word"]),
            ("日本語 テキスト", "テキスト", ["テキスト"]),
            ("one two one", "\"one two\"", ["one two"]),
        ]
        for (text, query, expected) in texts {
            let marked = try highlight(text, query)
            #expect(marked.text == text)
            #expect(Array(marked.text.utf8) == Array(text.utf8))
            #expect(marked.ranges.map { String(text[$0]) } == expected, "\(text)")
        }
    }

    @Test func highlightedTextSplitsIntoMarkedParts() throws {
        let marked = try highlight("a <b> & c", "b")
        let html = marked.marked(from: "<em>", to: "</em>") { String($0.replacing("&", with: "&amp;").replacing("<", with: "&lt;")) }
        #expect(html == "a &lt;<em>b</em>> &amp; c")
        #expect(marked.parts.map(\.text) == ["a <", "b", "> & c"])
        #expect(marked.parts.map(\.isHighlighted) == [false, true, false])
        #expect("\(marked)" == "a <[b]> & c")
        let text = "abcdef"
        let b = text.index(after: text.startIndex), d = text.index(b, offsetBy: 2), f = text.index(d, offsetBy: 2)
        #expect(HighlightedText(text, ranges: [d..<d, b..<d, text.startIndex..<b, d..<f, b..<f]).description == "[a][bcde]f")
    }

    @Test func snippetIsLimitedToItsWordCount() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("f", columns: ["a", "b"]))
        let filler = Array(repeating: "filler", count: 100).joined(separator: " ")
        try db.execute("INSERT INTO f VALUES (\(filler), \(filler + " needle " + filler))")
        let f = try db.fullText("f")
        let hit = try #require(try f.hits("needle", snippet: .best(words: 5, ellipsis: " … ")).first)
        #expect(hit.snippet?.text.split(separator: " ").count == 7)
        #expect(hit.snippet?.marked().contains("[needle]") == true && hit.snippet?.ranges.count == 1)
        #expect(try f.hits("needle", snippet: .column("a")).first?.snippet?.hasHighlights == false)
        #expect(throws: DatabaseError.self) { try f.hits("needle", snippet: .best(words: 65)) }
        #expect(throws: DatabaseError.self) { try f.hits("needle", snippet: .column("c")) }
        #expect(throws: DatabaseError.self) { try f.hits(FullTextSearch(exactly: "needle").with { $0.highlightedColumns = ["c"] }) }
    }
}
