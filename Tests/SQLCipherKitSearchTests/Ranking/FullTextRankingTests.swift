import Foundation
import SQLCipherKitCore
import SQLCipherKitSearch
import Testing

@Suite struct FullTextRankingTests {
    let db: Connection
    let fts: FullTextIndex

    struct Note: SQLRowConvertible, Equatable {
        var id: Int64
        var title: String
        init(row: borrowing Row) throws {
            id = try row["id"]
            title = try row["title"]
        }
    }

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT, year INTEGER, rank TEXT)")
        try db.create(FTS5Table("fts", columns: ["title", "body"], content: .external(table: "note")))
        fts = try db.fullText("fts")
        for index in 1...100 {
            let filler = Array(repeating: "filler", count: index).joined(separator: " ")
            let title = index % 2 == 0 ? "needle" : "title", body = index % 2 == 1 ? "needle \(filler)" : filler
            try db.execute("INSERT INTO note VALUES (\(index), \(title), \(body), \(2000 + index % 4), 'r')")
        }
    }

    @Test func columnWeightsChangeTheOrder() throws {
        let titles = try fts.hits("needle", weights: [10, 1], limit: 1)
        let bodies = try fts.hits("needle", weights: [0, 1], limit: 1)
        #expect(titles[0].rowID == 2 && bodies[0].rowID == 1)
        #expect(try fts.hits("needle", weights: [1]).count == 100)
        #expect(throws: DatabaseError.self) { try fts.hits("needle", weights: [.nan]) }
        #expect(throws: DatabaseError.self) { try fts.hits("needle", weights: [.infinity]) }
        #expect(try fts.hits("needle", weights: [1e15, -2.5e-7]).count == 100)
    }

    @Test func customRankingFunctionOrdersHits() throws {
        try db.register(.ranking("by_id") { row in
            guard try row.rowCount() == 100, row.columnCount == 2, row.phraseCount == 1, row.phraseSize(0) == 1 else { return 0 }
            let instances = try row.instances()
            guard instances.count == 1, try row.totalSize() > 5000, try row.columnSize() > 1 else { return 0 }
            guard try row.text(instances[0].column)?.hasPrefix("needle") == true, instances[0].position == 0 else { return 0 }
            return -Double(row.rowID) * row.arguments.reduce(1, *)
        })
        let search = FullTextSearch(exactly: "needle", limit: 3).with {
            $0.weights = [2, 3]
            $0.rankFunction = "by_id"
            $0.snippet = .best()
        }
        let hits = try fts.hits(search)
        #expect(hits.map(\.rowID) == [100, 99, 98])
        #expect(hits[0].score == 600)
        try db.register(.ranking("broken") { _ in throw DatabaseError(message: "no rank today") })
        let error = #expect(throws: DatabaseError.self) { try fts.hits(search.with { $0.rankFunction = "broken" }) }
        #expect(error?.message == "no rank today")
        #expect(throws: DatabaseError.self) { try db.register(.ranking("a b") { _ in 0 }) }
        let hostile = #expect(throws: DatabaseError.self) { try fts.hits(search.with { $0.rankFunction = "bm25(); --" }) }
        #expect(hostile?.reason == .invalidArgument)
        #expect(try fts.hits("needle").count == 100)
    }

    @Test func fullTextHitPagesFormTheWholeResult() throws {
        var search = FullTextSearch(exactly: "needle", filter: "year <> \(2003)", limit: 10)
        let all = try fts.hits(search.with { $0.limit = 1_000 })
        var pages: [FullTextSearch.Hit] = []
        for offset in stride(from: 0, to: 100, by: 10) {
            search.offset = offset
            pages += try fts.hits(search)
        }
        #expect(pages == all && all.count == 75)
        #expect(try fts.hits("needle", limit: 7, offset: 3).count == 7)
        #expect(throws: DatabaseError.self) { try fts.hits("needle", limit: -1) }
        #expect(throws: DatabaseError.self) { try fts.hits("needle", offset: -1) }
    }

    @Test func fullTextSearchReturnsRecords() throws {
        let search = FullTextSearch(exactly: "needle", filter: "year = 2001", order: .sql("year, title DESC, id DESC"), limit: 2)
        let matches = try fts.records(Note.self, search.with { $0.snippet = .column("body", words: 2) })
        #expect(matches.map(\.record.id) == [97, 93])
        #expect(matches[0].hit.snippet?.ranges.count == 1)
        struct Plain: Decodable, Equatable {
            var id: Int
            var year: Int
        }
        let hits = try fts.hits(FullTextSearch(exactly: "needle", filter: "id = 7"))
        #expect(try fts.records(Plain.self, of: hits).map(\.record) == [Plain(id: 7, year: 2003)])
        try db.execute("CREATE TABLE keyed(id TEXT PRIMARY KEY, title TEXT)")
        try db.create(FTS5Table("kfts", columns: ["title"], content: .external(table: "keyed")))
        try db.execute("INSERT INTO keyed VALUES ('x', 'hay'), ('y', 'needle')")
        let keyed = try db.fullText("kfts").records(OwnedRow.self, FullTextSearch(exactly: "needle", filter: "id > 'a'"))
        #expect(keyed.map(\.record.values) == [[.text("y"), .text("needle")]])
        try db.create(FTS5Table("own", columns: ["title", "body"]))
        try db.execute("INSERT INTO own VALUES ('needle', 'x')")
        let ownSearch = FullTextSearch(exactly: "needle", filter: "body = 'x'", order: .sql("body"))
        let own = try db.fullText("own").records(OwnedRow.self, ownSearch)
        #expect(own.map(\.record.values) == [[.text("needle"), .text("x")]])
    }

    @Test func fullTextCountsAndFacetsApplyFilters() throws {
        #expect(try fts.count("needle") == 100)
        #expect(try fts.count(FullTextSearch(exactly: "needle", filter: "year IN \([2001, 2002])")) == 50)
        try db.execute("DELETE FROM note WHERE year = 2002 AND id > 50")
        let facets = try fts.facets(FullTextSearch(exactly: "needle"), by: .values("year", limit: 3))
        #expect(facets.map(\.value) == [2000, 2001, 2003] && facets.map(\.count) == [25, 25, 25])
        let parts = try fts.facets(FullTextSearch(exactly: "needle", filter: "year = 2002"), by: .values("title || \("!")"))
        #expect(parts.map(\.value) == ["needle!"] && parts.map(\.count) == [13])
        #expect(try fts.facets(FullTextSearch(exactly: .nothing), by: .values("year")).isEmpty)
    }

    @Test func filterValuesAreBoundNotInterpolated() throws {
        let hostile = "x') OR 1=1 --"
        #expect(try fts.count(FullTextSearch(exactly: "needle", filter: "title = \(hostile)")) == 0)
        let named = #expect(throws: DatabaseError.self) {
            try fts.count(FullTextSearch(exactly: "needle", filter: SQL(raw: "title = :t", ["t": "x"])))
        }
        #expect(named?.reason == .parameters)
    }
}
