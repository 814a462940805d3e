import Foundation
import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

@Suite struct FullTextVocabularyTests {
    let db: Connection
    let fts: FullTextIndex

    init() throws {
        db = try Connection(.memory)
        try db.create(FTS5Table("fts", columns: ["title", "body"], tokenizer: .unicode61()))
        fts = try db.fullText("fts")
        let rows = [
            ("database", "an encrypted database with full text search"), ("search", "searching and searches, encryption"),
            ("Café", "the database of a café"), ("data", "science"),
        ]
        for (title, body) in rows { try db.execute("INSERT INTO fts VALUES (\(title), \(body))") }
    }

    @Test func vocabularyListsTermsAndInstances() throws {
        let terms = try fts.terms(prefix: "data")
        #expect(terms.map(\.term) == ["data", "database"] && terms.map(\.documents) == [1, 2] && terms.map(\.occurrences) == [1, 3])
        let byColumn = try fts.terms(prefix: "database", byColumn: true)
        #expect(byColumn.map(\.column) == ["title", "body"] && byColumn.map(\.documents) == [1, 2])
        #expect(try fts.terms(byFrequency: true, limit: 1).first?.documents == 2)
        let instances = try fts.instances(of: "database")
        #expect(instances.map(\.rowID) == [1, 1, 3] && instances.map(\.column) == ["title", "body", "body"])
        #expect(instances.map(\.position) == [0, 2, 1])
    }

    /// At the ends of the ranges of code points, too, the last of which has none after it.
    @Test func termPrefixFindsEveryWordWithThatPrefix() throws {
        try db.create(FTS5Table("ends", columns: ["body"], tokenizer: .ascii()))
        let alphabet = ["a", "b", "\u{7f}", "\u{80}", "\u{7ff}", "\u{d7ff}", "\u{e000}", "\u{ffff}", "\u{10000}", "\u{10ffff}"]
        let short = alphabet + alphabet.flatMap { first in alphabet.map { first + $0 } }
        let words = short + short.flatMap { first in [first + "a", first + "\u{10ffff}"] }
        for word in words { try db.execute("INSERT INTO ends VALUES (\(word))") }
        let ends = try db.fullText("ends")
        let all = try ends.terms().map { Array($0.term.utf8) }
        #expect(all.count > 200)
        // Words that are not UTF-8, and begin with none of the prefixes.
        for bytes in [[0xe0, 0x80], [0xf0, 0x80], [0xff]] as [[UInt8]] {
            try db.execute("INSERT INTO ends VALUES (CAST(\(bytes) AS TEXT))")
        }
        for prefix in short {
            let bytes = Array(prefix.utf8)
            #expect(try ends.terms(prefix: prefix).map { Array($0.term.utf8) } == all.filter { $0.starts(with: bytes) })
        }
    }

    @Test func suggestionsCompleteTheLastWord() throws {
        #expect(try fts.suggestions(for: "my DATA").map(\.term) == ["database", "data"])
        #expect(try fts.suggestions(for: "sear", limit: 1).map(\.term) == ["search"])
        #expect(try fts.suggestions(for: "CAFÉ").map(\.term) == ["cafe"])
        #expect(try fts.suggestions(for: "data ") == [] && fts.suggestions(for: "") == [] && fts.suggestions(for: "%_") == [])
        #expect(throws: DatabaseError.self) { try db.fullText("nothing").suggestions(for: "a") }
    }

    @Test func correctionsFindMistypedWords() throws {
        for typo in ["databse", "dtaabase", "databasse", "datavase", "datbse"] {
            #expect(try fts.corrections(of: typo).first?.term == "database", "\(typo)")
        }
        #expect(try fts.corrections(of: "encrypiton").map(\.term) == ["encryption"])
        #expect(try fts.corrections(of: "xylophone") == [])
        #expect(try fts.corrections(of: "database") == [])
        #expect(try fts.corrections(of: "dat", distance: 1).map(\.term) == ["data"])
        for (distance, isFound) in [(.max, true), (4, true), (0, false), (-1, false), (.min, false)] as [(Int, Bool)] {
            #expect(try fts.corrections(of: "databxsx", distance: distance).contains { $0.term == "database" } == isFound)
        }
        #expect(try fts.correctedText("Encrypted  databse, plaese: serch!") == "Encrypted  database, plaese: search!")
        #expect(try fts.correctedText("encrypted database") == nil)
    }

    /// The textbook algorithm over the whole table, without shortcuts.
    static func distance(_ a: [Character], _ b: [Character]) -> Int {
        var table = Array(repeating: Array(repeating: 0, count: b.count + 1), count: a.count + 1)
        for i in 0...a.count {
            for j in 0...b.count {
                if i == 0 || j == 0 {
                    table[i][j] = i + j
                    continue
                }
                table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
                if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] { table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1) }
            }
        }
        return table[a.count][b.count]
    }

    @Test func correctionsAllowTwoTyposOnlyWithoutCloserWord() throws {
        try db.create(FTS5Table("random", columns: ["a"]))
        for word in ["ladder", "laddie", "louder"] { try db.execute("INSERT INTO random VALUES (\(word))") }
        let index = try db.fullText("random")
        for (word, expected) in [("laddes", ["ladder"]), ("laddxx", ["ladder", "laddie"]), ("ladxxx", []), ("lxuder", ["louder"])] {
            #expect(try index.corrections(of: word).map(\.term) == expected, "\(word)")
        }
        #expect(try index.corrections(of: "laddes", distance: 2).map(\.term) == ["ladder", "laddie"])
    }

    @Test func queryOnlyConnectionReadsVocabulary() throws {
        try db.execute("PRAGMA query_only = ON")
        #expect(try fts.terms(prefix: "data").count == 2)
        #expect(try db.fetchOne(Bool.self, "PRAGMA query_only") == true)
    }
}
