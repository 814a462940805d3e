import Foundation
import SQLCipherKitCore
import SQLCipherKitSearch
import TestSupport
import Testing

/// The positions of tokens and marks.
@Suite struct FullTextPlaceTests {
    let db: Connection
    init() throws { db = try Connection(.memory) }

    /// Reports each word at a given range, right or wrong.
    struct Liar: FTS5CustomTokenizer {
        let range: Range<Int>
        let isColocated: Bool
        func tokenize(_ text: UnsafeBufferPointer<UInt8>, for purpose: FTS5Tokenizer.Purpose, into tokens: inout FTS5Token.Sink) {
            if purpose.contains(.query) { return tokens.add(text, range: text.indices) }
            tokens.add("first", range: 0..<min(1, text.count))
            tokens.add("abc", range: range, isColocated: isColocated)
            tokens.add("last", range: text.count..<text.count)
        }
    }

    @Test func tokenRangesStayWithinTheText() throws {
        let bounds = [Int.min, Int(Int32.min), -1_000, -1, 0, 1, 2, 3, 4, 5, 1_000, Int(Int32.max), Int(UInt32.max), Int.max - 1, Int.max]
        var number = 0
        for lower in bounds {
            for upper in bounds where lower <= upper {
                for isColocated in [false, true] {
                    number += 1
                    let table = "f\(number)"
                    try db.register(.tokenizer(Liar(range: lower..<upper, isColocated: isColocated), as: "liar"))
                    try db.create(FTS5Table(table, columns: ["a"], tokenizer: .custom("liar")))
                    let isWithin = lower >= 0 && upper <= 4
                    do {
                        try db.execute("INSERT INTO \(identifier: table) VALUES ('text')")
                        #expect(isWithin, "\(lower)..<\(upper)")
                    } catch let error as DatabaseError {
                        #expect(!isWithin && error.message.contains("a text of 4 bytes"), "\(error)")
                        continue
                    }
                    // Any range within the text is safe for highlights and snippets.
                    let query: SQL = "SELECT highlight(\(identifier: table), 0, '', ''), snippet(\(identifier: table), 0, '', '', '', 9)"
                    let (whole, part): (String, String) = try #require(
                        try db.fetchOne("\(query) FROM \(identifier: table) WHERE \(identifier: table) MATCH 'abc OR first OR last'"))
                    #expect(whole.count <= 12 && part.count <= 12)
                    try db.execute("DROP TABLE \(identifier: table)")
                }
            }
        }
    }

    struct Separated: FTS5CustomTokenizer {
        let separator: UInt8
        func tokenize(_ text: UnsafeBufferPointer<UInt8>, for purpose: FTS5Tokenizer.Purpose, into tokens: inout FTS5Token.Sink) {
            for part in text.indices.split(whereSeparator: { text[$0] == separator }) {
                tokens.add(UnsafeBufferPointer(rebasing: text[part.startIndex..<part.endIndex]), range: part.startIndex..<part.endIndex)
            }
        }
    }

    @Test func tokenizerReceivesItsArguments() throws {
        struct Refused: Error {}
        try db.register(.tokenizer(as: "separated") { arguments in
            guard arguments.count == 1, let byte = arguments[0].utf8.first else { throw Refused() }
            return Separated(separator: byte)
        })
        try db.create(FTS5Table("f", columns: ["a"], tokenizer: .custom("separated", arguments: [";"])))
        try db.create(FTS5Table("g", columns: ["a"], tokenizer: .custom("separated", arguments: ["'"])))
        for table in ["f", "g"] { try db.execute("INSERT INTO \(identifier: table) VALUES ('one;two''three')") }
        #expect(try db.fullText("f").terms().map(\.term) == ["one", "two'three"])
        #expect(try db.fullText("g").terms().map(\.term) == ["one;two", "three"])
        let error = #expect(throws: DatabaseError.self) {
            try db.create(FTS5Table("h", columns: ["a"], tokenizer: .custom("separated")))
        }
        #expect(error?.message.contains("Refused") == true)
        try db.register(.tokenFilter(as: "without") { FTS5StopWords($0, base: .custom("separated", arguments: [" "])) })
        try db.create(FTS5Table("i", columns: ["a"], tokenizer: .custom("without", arguments: ["the", "of"])))
        try db.execute("INSERT INTO i VALUES ('the end of it')")
        #expect(try db.fullText("i").terms().map(\.term) == ["end", "it"])
    }

    @Test func highlightsStayAlignedAfterInvalidUTF8() throws {
        try db.create(FTS5Table("f", columns: ["a"]))
        for junk in [[0xff], [0xe3, 0x81], [0xf0, 0x9f, 0x98], [0xc3, 0x28, 0xff, 0xfe], [0x80, 0x80, 0x80]] as [[UInt8]] {
            try db.execute("DELETE FROM f")
            let bytes = Data(Array("one ".utf8) + junk + Array(" two ".utf8) + junk + Array(" fox".utf8) + junk)
            try db.execute("INSERT INTO f VALUES (CAST(\(bytes) AS TEXT))")
            let search = FullTextSearch(exactly: .any("one", "two")).with {
                $0.highlightedColumns = ["a"]
                $0.snippet = .best()
            }
            let hit = try #require(try db.fullText("f").hits(search).first)
            for text in [hit.snippet, hit.highlights["a"]] {
                #expect(text?.parts.filter(\.isHighlighted).map { String($0.text) } == ["one", "two"], "\(junk)")
            }
        }
    }

    /// The time for a snippet grows only linearly with the number of occurrences.
    @Test func snippetTimeGrowsLinearly() throws {
        try db.create(FTS5Table("f", columns: ["a"]))
        func seconds(_ count: Int) throws -> Duration {
            try db.execute("DELETE FROM f")
            try db.execute("INSERT INTO f VALUES (\(String(repeating: "word and some more text. ", count: count)))")
            let index = try db.fullText("f")
            return try processorTime { _ = try index.hits("word", snippet: .best()) }
        }
        let (short, long) = (try seconds(3_000), try seconds(48_000))
        // Sixteen times the text, which takes 256 times as long if the time is quadratic.
        #expect(long < max(short, .milliseconds(2)) * 80, "\(short), \(long)")
    }
}
