import Foundation
import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

/// Relevance that fades and grows with values of the rows.
@Suite struct SearchSignalTests {
    private func open(_ values: [(age: SQLValue, likes: SQLValue)]) throws -> FullTextIndex {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT, age, likes)")
        try db.create(FTS5Table("note_fts", columns: ["body"], content: .external(table: "note")))
        try db.transaction { db in
            for value in values {
                try db.execute("INSERT INTO note(body, age, likes) VALUES ('a fox', \(value.age), \(value.likes))")
            }
        }
        return try db.fullText("note_fts")
    }

    private func number(_ value: SQLValue) -> Double? {
        switch value {
        case .integer(let value): Double(value)
        case .real(let value): value
        default: nil
        }
    }

    /// Rows that are alike in all but these values, against the formula.
    @Test func decayAndPopularityMatchFormula() throws {
        let odd: [SQLValue] = [
            .null, "many", .blob(Data([1])), -5, 0, .integer(.max), .integer(.min), .real(.infinity), .real(-.infinity), .real(1e300), 0.5,
        ]
        var random = SeededGenerator()
        let values = (0..<200).map { _ in
            (age: Int.random(in: 0...3, using: &random) == 0 ? odd.randomElement(using: &random) ?? nil : .integer(.random(in: 0...50, using: &random)),
             likes: Int.random(in: 0...3, using: &random) == 0 ? odd.randomElement(using: &random) ?? nil : .integer(.random(in: 0...500, using: &random)))
        }
        let index = try open(values)
        var search = FullTextSearch("fox ", limit: 200)
        let plain = try #require(try index.search(search).hits.first?.score)
        for (decay, popularity) in [(true, false), (false, true), (true, true)] {
            search.decay = decay ? FullTextSearch.Decay("age", halfLife: 10) : nil
            search.popularity = popularity ? FullTextSearch.Popularity("likes", pivot: 100, strength: 2) : nil
            let hits = try index.search(search).hits
            #expect(hits.count == 200)
            for hit in hits {
                let value = values[Int(hit.rowID) - 1]
                var expected = plain
                if decay, let age = number(value.age) { expected *= pow(0.5, max(0, age) / 10) }
                if popularity, let likes = number(value.likes), likes > 0 {
                    expected *= 1 + 2 * (likes.isInfinite ? 1 : likes / (likes + 100))
                }
                #expect(abs(hit.score - expected) <= 1e-9 * plain, "\(value)")
                #expect(hit.score <= plain * 3 * 1.000_001 && hit.score >= 0)
            }
            let places = hits.map { ($0.score, $0.rowID) }
            #expect(zip(places, places.dropFirst()).allSatisfy { $0.0 > $1.0 || ($0.0 == $1.0 && $0.1 > $1.1) })
            // Pages fit together.
            search.limit = 9
            var paged: [Int64] = []
            for offset in stride(from: 0, to: 200, by: 9) {
                search.offset = offset
                paged += try index.search(search).hits.map(\.rowID)
            }
            #expect(paged == hits.map(\.rowID))
            (search.limit, search.offset) = (200, 0)
        }
    }

    /// Popularity decides only among rows that the rules before it find equal.
    @Test func popularityDoesNotOutrankBetterMatch() throws {
        let index = try open([(0, 0), (0, 1_000_000)])
        try index.connection.execute("UPDATE note SET body = 'a fix' WHERE id = 2")
        var search = FullTextSearch("foxx")
        search.popularity = FullTextSearch.Popularity("likes", pivot: 1, strength: 1_000)
        search.typoTolerance = FullTextSearch.TypoTolerance(oneTypoFrom: 3, twoTyposFrom: 4)
        #expect(try index.search(search).hits.map(\.rowID) == [1, 2])
        search.rankingRules = [.relevance]
        #expect(try index.search(search).hits.first?.rowID == 2)
    }

    @Test func decayAndPopularityOutOfRangeThrow() throws {
        let index = try open([(1, 1)])
        for half: Double in [0, -1, .nan, .infinity, -.infinity] {
            var search = FullTextSearch("fox")
            search.decay = FullTextSearch.Decay("age", halfLife: half)
            #expect(throws: DatabaseError.self) { try index.search(search) }
            search.decay = nil
            search.popularity = FullTextSearch.Popularity("likes", pivot: half)
            #expect(throws: DatabaseError.self) { try index.search(search) }
        }
        for strength: Double in [-1, .nan, .infinity, 1_001] {
            var search = FullTextSearch("fox")
            search.popularity = FullTextSearch.Popularity("likes", pivot: 1, strength: strength)
            #expect(throws: DatabaseError.self) { try index.search(search) }
        }
        for value: SQL in ["none", "likes, age", SQL(raw: ":name", ["name": 1]), "likes)) --"] {
            var search = FullTextSearch("fox")
            search.popularity = FullTextSearch.Popularity(value, pivot: 1)
            #expect(throws: DatabaseError.self, "\(value.text)") { try index.search(search) }
        }
    }
}
