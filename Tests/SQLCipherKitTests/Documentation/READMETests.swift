import Foundation
import SQLCipherKit
import Testing
import TestSupport

@Suite struct READMETests {
    struct Note: SQLRecord {
        var id: Int64?
        var title: String
        var body: String
        static let table = SQLTable(of: Note.self) {
            $0.id.primaryKey()
            $0.title
            $0.body
        }
    }

    /// The code of the README; ExampleTests sees to it that it is this one.
    @Test func readmeCodeWorks() async throws {
        let folder = try TemporaryFolder(), path = folder.path("notes.db")
        // 1. Open with a key. A wrong key throws here, not later.
        let pool = try DatabasePool(
            .file(path), key: .passphrase("correct horse"))

        // 2. Store a record, and index its text. A closure is a transaction.
        try await pool.write { db in
            try db.create(Note.table)
            try db.create(FTS5Table("note_fts", columns: ["title", "body"],
                content: .external(table: "note")))
            try db.insert(Note(
                title: "Bakery", body: "First we bake, then we sell."))
        }

        // 3. Query in Swift, or in SQL. Values in \( ) are bound, not pasted.
        let notes = try await pool.read { db in
            try db.fetchAll(Note.filter { $0.title == "Bakery" })
        }
        let titles = try await pool.read { db in
            try db.fetchAll(
                String.self, "SELECT title FROM note WHERE id > \(0)")
        }
        #expect(notes.map(\.body) == ["First we bake, then we sell."] && titles == ["Bakery"])

        // 4. Search for what people type: other forms, typing errors.
        let hits = try await pool.read { db in
            try db.fullText("note_fts").search("baking frist").hits
        }
        print(hits.first?.snippet ?? "")   // [First] we [bake], then …
        #expect(hits.map { $0.snippet?.description } == ["[First] we [bake], then we sell."])

        // 5. Observe: the result now, and again after each change.
        for try await notes in pool.observe({ try $0.fetchAll(Note.all) }) {
            print(notes.count)
            if notes.count < 2 {
                try await pool.write { db in try db.insert(Note(title: "Mill", body: "")) }
                continue
            }
            break   // an app goes on
        }
        try await pool.close()

        // 6. Errors have a reason.
        do {
            _ = try Connection(.file(path), key: .passphrase("wrong"))
            Issue.record("a wrong key opens the file")
        } catch let error as DatabaseError {
            print(error.reason == .wrongKeyOrNotADatabase)   // true
            #expect(error.reason == .wrongKeyOrNotADatabase)
        }
    }

    /// Both commands at the top exist, and the versions that the README tells are those of the engine.
    @Test func readmeClaimsHold() throws {
        let readme = try String(contentsOf: Repository.file("README.md"), encoding: .utf8)
        let notice = try String(contentsOf: Repository.file("NOTICE.md"), encoding: .utf8)
        let cipherVersion = SQLCipherEngine.cipherVersion.prefix { $0 != " " }
        #expect(readme.contains("SQLCipher \(cipherVersion) (SQLite \(SQLCipherEngine.sqliteVersion))"))
        #expect(notice.contains("## SQLCipher \(cipherVersion) ") && notice.contains("## SQLite \(SQLCipherEngine.sqliteVersion)\n"))
        for script in ["quickstart", "test", "setup", "vendor"] {
            #expect(readme.contains("scripts/\(script)"))
            #expect(FileManager.default.isExecutableFile(atPath: Repository.file("scripts/\(script)").path))
        }
        for file in ["LICENSE", "NOTICE.md", "Vendor/README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"] {
            #expect(FileManager.default.fileExists(atPath: Repository.file(file).path))
        }
    }
}
