import SQLCipherKit
import TestSupport
import Testing

/// The examples of the article "Migrating". What its tables name on our side is linked, so that building the documentation finds it.
@Suite struct MigratingArticleTests {
    struct Note: Decodable {
        var id: Int
        var title: String
    }

    @Test func theArticle() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("notes.db"), pattern = "B%"
        try Connection(.file(path), key: .passphrase("correct horse"))
            .execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)")
        let db = try Connection(.file(path), key: .passphrase("correct horse"))
        try db.execute("INSERT INTO note(title) VALUES ('Bakery'), ('Mill')")
        let notes = try db.fetchAll(decoding: Note.self, "SELECT id, title FROM note WHERE title LIKE \(pattern)")
        #expect(notes.map(\.title) == ["Bakery"])
    }
}
