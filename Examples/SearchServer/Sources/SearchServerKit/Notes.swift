import SQLCipherKit

/// The notes of a database that is only read here: a server's own, or the copy of a follower.
struct Notes: Sendable {
    let database: DatabaseReader

    /// In SQL, because a migration that was released never changes, and the record does.
    static var migrator: Migrator {
        var migrator = Migrator()
        migrator.add("notes with an index of their text") { db in
            try db.execute("""
                CREATE TABLE note(
                    id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL, created TEXT NOT NULL) STRICT
                """)
            try db.create(
                FTS5Table("note_fts", columns: ["title", "body"], content: .external(table: "note"), tokenizer: .multilingual()))
        }
        return migrator
    }

    func note(_ id: Int64) async throws -> Note? {
        try await database.read { db in try db.fetchOne(Note.self, id: id) }
    }

    /// Finds notes by what was typed: words, other forms of them, their beginnings, with typing errors too. No text is an error.
    func search(_ text: String, limit: Int) async throws -> SearchResult {
        var search = FullTextSearch(text, limit: limit)
        search.weights = [3, 1]
        search.highlightedColumns = ["title"]
        return try await database.read { [search] db in SearchResult(try db.fullText("note_fts").search(search)) }
    }
}
