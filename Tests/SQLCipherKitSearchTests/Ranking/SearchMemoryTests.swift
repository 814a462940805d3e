import KitSupport
import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

/// A connection's cache of an index's words never outlives the content that it is of.
@Suite struct SearchMemoryTests {
    private static let words = ["alpha", "alphabet", "alpine", "beta", "betas", "gamma", "gammon", "delta", "deltoid", "omega"]

    /// The rows with a word that begins so, by the texts themselves.
    private func expected(_ typed: String, _ rows: [Int: String]) -> [Int64] {
        rows.filter { row in row.value.split(separator: " ").contains { $0.hasPrefix(typed) } }.keys.map(Int64.init).sorted()
    }

    private func check(_ db: Connection, after step: String, _ rows: [Int: String]) throws {
        for typed in ["alp", "beta", "g", "del", "omega"] {
            var search = FullTextSearch(typed, limit: 1_000)
            search.languages = []
            search.typoTolerance = .none
            search.prefixMatching = .lastWord
            let found = try db.fullText("t").search(search).hits.map(\.rowID).sorted()
            #expect(found == expected(typed, rows), "\(typed) after \(step)")
        }
    }

    private struct GiveUp: Error {}

    @Test(arguments: [false, true])
    func searchSeesWritesAndRollbacksDespiteCache(deletesSecurely: Bool) throws {
        let folder = try TemporaryFolder()
        let db = try Connection(.file(folder.path("a.db")), key: .passphrase("x").quick)
        try db.create(FTS5Table("t", columns: ["a"]))
        let other = try Connection(.file(folder.path("a.db")), key: .passphrase("x").quick)
        for connection in [db, other] { try connection.fullText("t").configure(.secureDelete(deletesSecurely)) }
        var rows: [Int: String] = [:], random = SeededGenerator()
        func text() -> String { (0..<Int.random(in: 1...3, using: &random)).map { _ in Self.words.randomElement(using: &random) ?? "" }.joined(separator: " ") }
        func write(_ db: Connection) throws -> String {
            let id = Int.random(in: 1...30, using: &random)
            switch Int.random(in: 0...9, using: &random) {
            case 0...6:
                let text = text()
                rows[id] = text
                try db.execute("DELETE FROM t WHERE rowid = \(id)")
                try db.execute("INSERT INTO t(rowid, a) VALUES (\(id), \(text))")
                return "a row"
            case 7:
                rows[id] = nil
                try db.execute("DELETE FROM t WHERE rowid = \(id)")
                return "a deletion"
            case 8:
                try db.fullText("t").optimize()
                return "optimizing"
            default:
                try db.fullText("t").rebuild()
                return "rebuilding"
            }
        }
        for _ in 0..<24 {
            switch Int.random(in: 0...3, using: &random) {
            case 0: try check(db, after: write(db), rows)
            case 1: try check(db, after: write(other) + " by another connection", rows)
            case 2:
                let before = rows
                #expect(throws: GiveUp.self) {
                    try db.transaction { db in
                        try check(db, after: write(db) + " in a transaction", rows)
                        throw GiveUp()
                    }
                }
                rows = before
                try check(db, after: "a rollback", rows)
            default:
                try db.transaction { db in
                    _ = try write(db)
                    let before = rows
                    #expect(throws: GiveUp.self) {
                        try db.savepoint { db in
                            try check(db, after: write(db) + " in a savepoint", rows)
                            throw GiveUp()
                        }
                    }
                    rows = before
                    try check(db, after: "a savepoint that was rolled back", rows)
                }
            }
        }
    }

    @Test func recreatedTableDoesNotReuseSearchCache() throws {
        let db = try Connection(.memory)
        for word in ["alpha", "alpine"] {
            try db.create(FTS5Table("t", columns: ["a"]))
            try db.execute("INSERT INTO t VALUES (\(word))")
            #expect(try db.fullText("t").search("al").words[0].matches.map(\.text) == [word])
            try db.execute("DROP TABLE t")
        }
    }
}
