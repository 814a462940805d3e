import SQLCipherKit
import Testing
import TestSupport

/// The calls of a first hour, as a newcomer writes them: the shape that the API was designed to have.
@Suite struct HowItFeelsTests {
    private struct Field {
        let text = "baking bread"
    }

    @Test func firstHourCallsCompileAndWork() throws {
        let folder = try TemporaryFolder()
        let keyBytes = [UInt8](repeating: 7, count: 32)
        let (title, body) = ("Bakery", "First we bake the bread, then we sell it.")
        let json = #"{"city": "Lübeck", "tags": ["bread", "plans"]}"#
        let field = Field()

        let db = try Connection(.file(folder.path("notes.db")), key: .passphrase("correct horse"))
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT, meta BLOB)")
        try db.create(FTS5Table("note_fts", columns: ["title", "body"], content: .external(table: "note", rowID: "id"),
                                tokenizer: .porter(.unicode61()), prefixes: [2, 3]))
        try db.execute(SQL("INSERT INTO note(title, body, meta) VALUES (\(title), \(body), jsonb(\(json)))"))

        let notes = try db.fullText("note_fts")
        var shown: [String] = []
        for hit in try notes.search(field.text, limit: 20).hits {
            print(hit.rowID, hit.score, hit.snippet ?? "")
            shown.append("\(hit.rowID) \(hit.score > 0) \(hit.snippet ?? "")")
        }
        #expect(shown == ["1 true First we [bake] the [bread], then we sell it."])
        let tags = try db.fetchAll(String.self, "SELECT value FROM note, json_each(note.meta, ?)", [JSONPath("tags")])
        let cities: [(Int, String)] = try db.fetchAll("SELECT id, meta->>'$.city' FROM note")
        #expect(tags == ["bread", "plans"])
        #expect(cities.map { "\($0.0) \($0.1)" } == ["1 Lübeck"])

        let archive = try db.attach(.file(folder.path("archive.db")), as: "archive", key: .raw(keyBytes))
        try db.execute("CREATE TABLE archive.note(id INTEGER PRIMARY KEY, title TEXT, body TEXT, meta BLOB)")
        try db.transaction { try $0.execute("INSERT INTO archive.note SELECT * FROM main.note WHERE id < ?", [1000]) }
        #expect(try archive.verify().isIntact)
        try archive.detach()
        #expect(throws: DatabaseError.self) { try archive.verify() }

        try db.changeKey(to: .passphrase("battery staple"))
        db.close()

        // The files that it left behind: both open with their keys, and with no other.
        let again = try Connection(.file(folder.path("notes.db")), key: .passphrase("battery staple"))
        #expect(try again.main.verify().isIntact)
        let old = #expect(throws: DatabaseError.self) { try Connection(.file(folder.path("notes.db")), key: .passphrase("correct horse")) }
        #expect(old?.reason == .wrongKeyOrNotADatabase)
        let copy = try Connection(.file(folder.path("archive.db")), key: .raw(keyBytes))
        #expect(try copy.fetchAll(String.self, "SELECT title FROM note") == ["Bakery"])
    }
}
