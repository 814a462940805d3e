import Foundation
import SQLCipherKit
import Testing

@Suite struct FullTextVocabularyTests {
    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.create(FTS5Table("fts", columns: ["title", "body"], tokenizer: .unicode61()))
        let rows = [
            ("database", "an encrypted database with full text search"), ("search", "searching and searches, encryption"),
            ("Café", "the database of a café"), ("data", "science"),
        ]
        for (title, body) in rows { try db.execute("INSERT INTO fts VALUES (\(title), \(body))") }
    }

    @Test func termsAndInstances() throws {
        let terms = try db.fullTextTerms("fts", prefix: "data")
        #expect(terms.map(\.term) == ["data", "database"] && terms.map(\.documents) == [1, 2] && terms.map(\.occurrences) == [1, 3])
        let byColumn = try db.fullTextTerms("fts", prefix: "database", byColumn: true)
        #expect(byColumn.map(\.column) == ["title", "body"] && byColumn.map(\.documents) == [1, 2])
        #expect(try db.fullTextTerms("fts", orderedBy: .frequency, limit: 1).first?.documents == 2)
        let instances = try db.fullTextInstances(of: "database", in: "fts")
        #expect(instances.map(\.rowID) == [1, 1, 3] && instances.map(\.column) == ["title", "body", "body"])
        #expect(instances.map(\.position) == [0, 2, 1])
    }

    @Test func suggestions() throws {
        #expect(try db.suggestions(for: "my DATA", in: "fts").map(\.term) == ["database", "data"])
        #expect(try db.suggestions(for: "sear", in: "fts", limit: 1).map(\.term) == ["search"])
        #expect(try db.suggestions(for: "CAFÉ", in: "fts").map(\.term) == ["cafe"])
        #expect(try db.suggestions(for: "data ", in: "fts") == [] && db.suggestions(for: "", in: "fts") == [] && db.suggestions(for: "%_", in: "fts") == [])
        #expect(throws: DatabaseError.self) { try db.suggestions(for: "a", in: "nothing") }
    }

    @Test func corrections() throws {
        for typo in ["databse", "dtaabase", "databasse", "datavase", "datbse"] {
            #expect(try db.corrections(of: typo, in: "fts").first?.term == "database", "\(typo)")
        }
        #expect(try db.corrections(of: "encrypiton", in: "fts").map(\.term) == ["encryption"])
        #expect(try db.corrections(of: "xylophone", in: "fts") == [])
        #expect(try db.corrections(of: "database", in: "fts") == [])
        #expect(try db.corrections(of: "dat", in: "fts", distance: 1).map(\.term) == ["data"])
        #expect(try db.correctedText("Encrypted  databse, plaese: serch!", in: "fts") == "Encrypted  database, plaese: search!")
        #expect(try db.correctedText("encrypted database", in: "fts") == nil)
    }

    /// The textbook's algorithm over the whole table, without any short cut.
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

    @Test func correctionsAreThoseOfTheTextbook() throws {
        var words: Set<String> = []
        while words.count < 300 { words.insert(String((0..<Int.random(in: 1...7)).map { _ in "abcü".randomElement() ?? "a" })) }
        try db.create(FTS5Table("random", columns: ["a"], tokenizer: .unicode61(diacritics: .keep)))
        for word in words { try db.execute("INSERT INTO random VALUES (\(word))") }
        let vocabulary = try db.fullTextVocabulary("random")
        #expect(vocabulary.count == words.count)
        for word in words {
            for allowed in 1...3 {
                let expected = words.filter { (1...allowed).contains(Self.distance(Array(word), Array($0))) }
                #expect(Set(vocabulary.corrections(of: word, distance: allowed, limit: 1000).map(\.term)) == expected)
            }
            #expect(vocabulary.documents(of: word) == 1 && !vocabulary.contains(word + "x"))
            #expect(Set(vocabulary.completions(of: word, limit: 1000).map(\.term)) == words.filter { $0.hasPrefix(word) })
        }
    }

    @Test func aConnectionThatMayOnlyReadHasVocabulariesToo() throws {
        try db.execute("PRAGMA query_only = ON")
        #expect(try db.fullTextTerms("fts", prefix: "data").count == 2)
        #expect(try db.fetchOne(Bool.self, "PRAGMA query_only") == true)
    }
}
