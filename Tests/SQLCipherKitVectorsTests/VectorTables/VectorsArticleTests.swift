import KitSupport
import SQLCipherKit
import SQLCipherKitVectors
import Testing
import TestSupport

struct MyModel: TextVectorizer {
    func vectors(for texts: [String]) async throws -> [[Float]] {
        // Four numbers for each text; a real model has hundreds.
        texts.map { text in
            let words = text.lowercased()
            return ["car", "road", "bread", "oven"].map {
                words.contains($0) ? 1 : 0.01
            }
        }
    }
}

/// The examples of the article "Vectors", in its order.
@Suite struct VectorsArticleTests {
    @Test func vectorsArticleCodeWorks() async throws {
        let db = try Connection(.memory)
        try db.execute("""
            CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, year INTEGER)
            """)
        try db.execute("""
            INSERT INTO note(title, year)
            VALUES ('A car on the road', 2019), ('Bread from the oven', 2024)
            """)
        try db.create(
            VectorTable(
                "note_vectors", dimensions: 4, of: .int8,
                content: .external(table: "note", columns: ["title"])))

        let vectors = try db.vectors("note_vectors")
        try await vectors.update(with: MyModel())
        let question = try await MyModel().vectors(for: ["bread"])[0]
        for hit in try vectors.search(question, limit: 1) {
            print(hit.rowID, hit.distance)   // 2 0.28…
            #expect(hit.rowID == 2 && "\(hit.distance)".hasPrefix("0.28"))
        }

        do {
            let folder = try TemporaryFolder()
            let pool = try DatabasePool(.file(folder.path("notes.db")), key: .passphrase("correct horse").quick)
            try await pool.write { db in
                try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)")
                try db.execute("INSERT INTO note(title) VALUES ('A car')")
                try db.create(VectorTable("note_vectors", dimensions: 4, content: .external(table: "note", columns: ["title"])))
            }
            try await pool.updateVectors("note_vectors", with: MyModel())
            let left = try await pool.read { db in
                try db.vectors("note_vectors").missingCount
            }
            #expect(left == 0)
        }

        try vectors.drop()
        try db.create(
            VectorTable("note_vectors", dimensions: 4, content: .external(table: "note", columns: ["title"]), keepsBits: true))
        try await vectors.update(with: MyModel())
        var search = VectorSearch(question, limit: 20)
        search.filter = "year > \(2010)"
        let exact = try vectors.search(search)
        search.coarse = .bits(oversampling: 16)
        let coarse = try vectors.search(search)
        #expect(exact.map(\.rowID) == [2, 1] && coarse == exact)

        try db.create(FTS5Table("note_fts", columns: ["title"], content: .external(table: "note")))
        let notes = try db.fullText("note_fts")
        let found = try db.search(
            HybridSearch("bread", vector: question),
            words: notes, vectors: vectors)
        for hit in found.hits {
            print(hit.rowID, hit.wordRank ?? 0, hit.vectorRank ?? 0)
            print(hit.wordHit?.snippet ?? "")
        }
        #expect(found.hits.map(\.rowID) == [2, 1] && found.hits.map(\.wordRank) == [1, nil])

        try db.register(.vectorNearest)
        let titles = try db.fetchAll(String.self, """
            SELECT note.title
            FROM vector_nearest('note_vectors', '[0, 0, 1, 1]', 5) AS hit
            JOIN note ON note.id = hit.id ORDER BY hit.distance
            """)
        #expect(titles == ["Bread from the oven", "A car on the road"])
    }
}
