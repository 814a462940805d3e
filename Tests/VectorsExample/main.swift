import SQLCipherKit
import SQLCipherKitVectors

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
}
