import Foundation
import SQLCipherKit
import Testing
import TestSupport

@Suite struct READMETests {
    private let readme = (try? String(contentsOf: Repository.file("README.md"), encoding: .utf8)) ?? ""

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
    @Test func readmeCodeWorks() throws {
        do {
            let path = "notes.db"
            #expect(readme.contains("\"\(path)\""))
        }
        let folder = try TemporaryFolder(), path = folder.path("notes.db")
        let pool = try DatabasePool(
            .file(path), key: .passphrase("correct horse"))
        try pool.write { db in            // one transaction
            try db.create(Note.table, ifNotExists: true)
            try db.create(FTS5Table("note_fts", columns: ["title", "body"],
                content: .external(table: "note"),
                tokenizer: .multilingual()), ifNotExists: true)
            try db.insert(Note(
                title: "Bakery", body: "First we bake, then we sell."))
        }
        let hits = try pool.read { db in
            try db.fullText("note_fts").search("baking frist").hits
        }
        print(hits.first?.snippet ?? "")   // [First] we [bake], then …
        #expect(hits.map { $0.snippet?.description } == ["[First] we [bake], then we sell."])
        try pool.close()
        #expect(throws: DatabaseError.self) { _ = try Connection(.file(path), key: .passphrase("wrong")) }
    }

    /// The code of the documentation's first page.
    @Test func firstPageCodeWorks() async throws {
        let folder = try TemporaryFolder(), path = folder.path("notes.db")
        let pool = try DatabasePool(
            .file(path), key: .passphrase("correct horse"))
        try await pool.write { db in
            try db.create(Note.table)
            try db.create(FTS5Table("note_fts", columns: ["title", "body"],
                content: .external(table: "note"), tokenizer: .multilingual()))
            try db.insert(Note(
                title: "Bakery", body: "First we bake, then we sell."))
        }
        let hits = try await pool.read { db in
            try db.fullText("note_fts").search("baking frist").hits
        }
        #expect(hits.count == 1)
        for try await notes in pool.observe({ try $0.fetchAll(Note.all) }) {
            print(notes.count)
            #expect(notes.count == 1)
            break
        }
    }

    /// A word in the middle of a sentence, in scripts without spaces between words and in Korean with an ending, with the README's
    /// index.
    @Test func readmeIndexFindsWordsInEveryScript() throws {
        let others = [
            "お寺の近くに住んでいます": "寺", "我们昨天在大学图书馆学习": "图书馆", "ฉันอ่านหนังสือที่ห้องสมุด": "หนังสือ", "데이터베이스를 만들었다": "데이터베이스",
        ]
        let folder = try TemporaryFolder()
        let pool = try DatabasePool(.file(folder.path("notes.db")), key: .passphrase("correct horse"))
        try pool.write { db in
            try db.create(Note.table, ifNotExists: true)
            try db.create(
                FTS5Table("note_fts", columns: ["title", "body"], content: .external(table: "note"), tokenizer: .multilingual()))
            for (text, _) in others { try db.insert(Note(title: "", body: text)) }
        }
        for (text, word) in others {
            let found = try pool.read { db in try db.fullText("note_fts").records(Note.self, FullTextSearch(word)) }
            #expect(found.map(\.record.body) == [text], "\(word)")
        }
    }

    /// As the file main.swift of a program.
    @Test func readmeProgramCompilesWithoutWarning() throws {
        let blocks = readme.components(separatedBy: "\n```swift\n").dropFirst().map { $0.components(separatedBy: "\n```")[0] }
        #expect(blocks.count == 1)
        let errors = try Typecheck.errors(of: try #require(blocks.first), within: 3000)
        #expect(errors.isEmpty, "\(errors)")
    }

    /// Both commands at the top exist, and the versions that the README tells are those of the engine.
    @Test func readmeClaimsHold() throws {
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
