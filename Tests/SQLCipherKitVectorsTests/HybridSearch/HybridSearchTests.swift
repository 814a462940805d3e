import SQLCipherKit
import SQLCipherKitVectors
import Testing
import TestSupport

@Suite struct HybridSearchTests {
    let db: Connection
    let words: FullTextIndex
    let vectors: VectorIndex

    /// Notes whose vectors point to their topic, whatever their words.
    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT, year INTEGER)")
        try db.create(FTS5Table("f", columns: ["body"], content: .external(table: "note")))
        try db.create(VectorTable("v", dimensions: 3, content: .external(table: "note", columns: ["body"])))
        words = try db.fullText("f")
        vectors = try db.vectors("v")
        for (id, body, vector) in [
            (1, "a car on the road", [1, 0.1, 0]), (2, "an automobile", [1, 0, 0]), (3, "a car park", [0.6, 0.8, 0]), (4, "a tree", [0, 1, 0]),
            (5, "the car of a train", [0, 0.2, 1]),
        ] as [(Int64, String, [Float])] {
            try db.execute("INSERT INTO note VALUES (\(id), \(body), \(2000 + id))")
            try vectors.set(vector, for: id)
        }
    }

    private func found(_ search: HybridSearch) throws -> HybridSearch.Results { try db.search(search, words: words, vectors: vectors) }

    @Test func scoresAreThoseOfReciprocalRankFusion() throws {
        var search = HybridSearch("car", vector: [1, 0, 0])
        search.wordWeight = 2
        search.vectorWeight = 0.5
        let results = try found(search)
        let (byWords, byVectors) = (try words.search("car", limit: 100).hits.map(\.rowID), try vectors.search([1, 0, 0], limit: 100).map(\.rowID))
        #expect(Set(byWords) == [1, 3, 5] && byVectors.prefix(2) == [2, 1])
        #expect(results.total == 5 && results.hits.count == 5)
        for hit in results.hits {
            #expect(hit.wordRank == byWords.firstIndex(of: hit.rowID).map { $0 + 1 })
            #expect(hit.vectorRank == byVectors.firstIndex(of: hit.rowID).map { $0 + 1 })
            let score = (hit.wordRank.map { 2 / Double(60 + $0) } ?? 0) + (hit.vectorRank.map { 0.5 / Double(60 + $0) } ?? 0)
            #expect(abs(hit.score - score) < 1e-15)
            #expect((hit.wordHit?.snippet == nil) == (hit.wordRank == nil) && (hit.distance == nil) == (hit.vectorRank == nil))
        }
        #expect(results.hits.map(\.score) == results.hits.map(\.score).sorted(by: >))
        #expect(results.words.total.count == 3)
    }

    @Test func eitherSideMayBeEmpty() throws {
        let byVectors = try found(HybridSearch("", vector: [1, 0, 0]))
        #expect(byVectors.hits.map(\.rowID) == (try vectors.search([1, 0, 0]).map(\.rowID)))
        let byWords = try found(HybridSearch("car", vector: nil))
        #expect(byWords.hits.map(\.rowID) == (try words.search("car").hits.map(\.rowID)))
        #expect(try found(HybridSearch("", vector: nil)).hits.isEmpty)
    }

    @Test func filterHoldsOnBothSidesAndPagesFitTogether() throws {
        var search = HybridSearch("car", vector: [1, 0, 0], limit: 2)
        search.words.filter = "year < \(2005)"
        var ids: [Int64] = []
        while true {
            let page = try found(search).hits
            if page.isEmpty { break }
            ids += page.map(\.rowID)
            search.offset += 2
        }
        #expect(Set(ids) == [1, 2, 3, 4] && ids.count == 4)
    }

    @Test func hitsAreThoseOfTheSearchByWords() throws {
        var typed = FullTextSearch("car", limit: 100)
        typed.filter = "year <> \(2003)"
        typed.facets = ["year": .values("year")]
        typed.highlightedColumns = ["body"]
        let alone = try words.search(typed)
        typed.limit = 1
        typed.offset = 1
        let results = try found(HybridSearch(typed, vector: [1, 0, 0]))
        #expect(results.words.facets == alone.facets && results.words.facets["year"]?.count == 2)
        #expect(results.hits.count == 4 && !results.hits.contains { $0.rowID == 3 })
        let worded = results.hits.filter { $0.wordRank != nil }.sorted { ($0.wordRank ?? 0) < ($1.wordRank ?? 0) }
        #expect(worded.compactMap(\.wordHit) == alone.hits && worded.allSatisfy { $0.wordHit?.highlights["body"]?.marked().contains("[car]") == true })
        // A rank beyond the depth is none.
        var shallow = HybridSearch("car", vector: [1, 0, 0])
        shallow.depth = 1
        #expect(try found(shallow).total == 2)
    }

    @Test func tablesOfOtherContentAreRefused() throws {
        try db.execute(SQLScript("CREATE TABLE other(id INTEGER PRIMARY KEY, body TEXT); CREATE TABLE named(name TEXT PRIMARY KEY, body TEXT)"))
        try db.create(FTS5Table("g", columns: ["body"], content: .external(table: "other")))
        try db.create(FTS5Table("h", columns: ["body"], content: .external(table: "named")))
        try db.create(FTS5Table("own", columns: ["body"]))
        try db.create(VectorTable("w", dimensions: 3))
        let search = HybridSearch("car", vector: [1, 0, 0])
        for name in ["g", "h", "own"] {
            #expect(throws: DatabaseError.self) { try db.search(search, words: db.fullText(name), vectors: vectors) }
        }
        #expect(throws: DatabaseError.self) { try db.search(search, words: words, vectors: db.vectors("w")) }
        #expect(throws: DatabaseError.self) { try Connection(.memory).search(search, words: words, vectors: vectors) }
        for change in [{ $0.limit = 0 }, { $0.offset = -1 }, { $0.depth = 0 }, { $0.wordWeight = .nan }, { $0.vectorWeight = -1 }, { $0.words.order = .rowID }] as [(inout HybridSearch) -> Void] {
            var search = search
            change(&search)
            #expect(throws: DatabaseError.self) { try found(search) }
        }
    }
}
