import Foundation
import SQLCipherKit
import Testing
import TestSupport

@Suite struct READMETests {
    /// The tour of the README; ExampleTests sees to it that it is this one.
    private func tour(_ path: String, _ archivePath: String, _ keyBytes: [UInt8]) throws {
        let db = try Connection(
            .file(path), key: .passphrase("correct horse"))
        try db.execute("""
            CREATE TABLE note(
                id INTEGER PRIMARY KEY, title TEXT, body TEXT, meta BLOB)
            """)
        try db.create(
            FTS5Table(
                "note_fts", columns: ["title", "body"],
                content: .external(table: "note"),
                tokenizer: .porter(.unicode61())))

        let (title, body) = ("Bakery", "First we bake, then we sell.")
        let meta: JSONValue = ["tags": ["bread", "plans"]]
        try db.execute("""
            INSERT INTO note(title, body, meta)
            VALUES (\(title), \(body), \(meta))
            """)

        let index = try db.fullText("note_fts")
        for hit in try index.search("bakign brea", limit: 20).hits {
            print(hit.rowID, hit.snippet ?? "")
        }
        print(try db.fetchAll(
            String.self, "SELECT value FROM note, json_each(note.meta, ?)",
            [JSONPath("tags")]))

        let archive = try db.attach(
            .file(archivePath), as: "archive", key: .raw(keyBytes))
        try db.transaction { db in
            try db.execute("""
                CREATE TABLE \(identifier: archive.name).note AS
                SELECT * FROM main.note
                """)
        }
        try db.changeKey(to: .passphrase("battery staple"))
    }

    @Test func theTourRuns() throws {
        let folder = try TemporaryFolder()
        let keyBytes = [UInt8](repeating: 9, count: 32)
        try tour(folder.path("notes.db"), folder.path("archive.db"), keyBytes)
        let db = try Connection(.file(folder.path("notes.db")), key: .passphrase("battery staple"))
        let hits = try db.fullText("note_fts").search("bakign").hits
        #expect(hits.map { $0.snippet?.description } == ["First we [bake], then we sell."])
        let tags = try db.fetchAll(String.self, "SELECT value FROM note, json_each(note.meta, ?)", [JSONPath("tags")])
        #expect(tags == ["bread", "plans"])
        let archive = try Connection(.file(folder.path("archive.db")), key: .raw(keyBytes))
        #expect(try archive.fetchAll(String.self, "SELECT title FROM note") == ["Bakery"])
    }

    /// Both commands at the top exist, and the versions that the README tells are those of the engine.
    @Test func whatTheREADMEClaims() throws {
        let readme = try String(contentsOf: Repository.file("README.md"), encoding: .utf8)
        let notice = try String(contentsOf: Repository.file("NOTICE.md"), encoding: .utf8)
        let cipherVersion = SQLCipherEngine.cipherVersion.prefix { $0 != " " }
        #expect(readme.contains("SQLCipher \(cipherVersion) (SQLite \(SQLCipherEngine.sqliteVersion))"))
        #expect(notice.contains("## SQLCipher \(cipherVersion) ") && notice.contains("## SQLite \(SQLCipherEngine.sqliteVersion)\n"))
        for script in ["quickstart", "test", "setup", "vendor"] {
            #expect(readme.contains("scripts/\(script)"))
            #expect(FileManager.default.isExecutableFile(atPath: Repository.file("scripts/\(script)").path))
        }
        for file in ["LICENSE", "NOTICE.md", "Vendor/README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
            #expect(FileManager.default.fileExists(atPath: Repository.file(file).path))
        }
    }
}
