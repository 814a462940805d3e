import Foundation
import SQLCipherKit
import TestSupport
import Testing

@Suite struct READMETests {
    /// The tour of the README, compiled as it stands there.
    private func tour(_ path: String, _ archivePath: String, _ keyBytes: [UInt8]) throws {
        // README {
        let db = try Connection(.file(path), key: .passphrase("correct horse"))
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT, meta BLOB)")
        try db.create(FTS5Table("note_fts", columns: ["title", "body"], content: .external(table: "note"), tokenizer: .porter(.unicode61())))
        let (title, body, meta) = ("Bakery", "First we bake, then we sell.", ["tags": ["bread", "plans"]] as JSONValue)
        try db.execute("INSERT INTO note(title, body, meta) VALUES (\(title), \(body), \(meta))")
        for hit in try db.search("note_fts", FTS5Query(userInput: "baking"), snippet: .column("body")) { print(hit.rowID, hit.snippet) }
        print(try db.fetchAll(String.self, "SELECT value FROM note, json_each(note.meta, ?)", [JSONPath("tags")]))
        try db.attach(.file(archivePath), as: "archive", key: .key(.raw(keyBytes)))
        try db.transaction { try $0.execute("CREATE TABLE archive.note AS SELECT * FROM main.note") }
        try db.changeKey(to: .passphrase("battery staple"))
        // README }
    }

    @Test func theTourRuns() throws {
        let folder = try TemporaryFolder()
        let keyBytes = [UInt8](repeating: 9, count: 32)
        try tour(folder.path("notes.db"), folder.path("archive.db"), keyBytes)
        let db = try Connection(.file(folder.path("notes.db")), key: .passphrase("battery staple"))
        let hits = try db.search("note_fts", FTS5Query(userInput: "baking"), snippet: .column("body"))
        #expect(hits.map(\.snippet.description) == ["First we [bake], then we sell."])
        let tags = try db.fetchAll(String.self, "SELECT value FROM note, json_each(note.meta, ?)", [JSONPath("tags")])
        #expect(tags == ["bread", "plans"])
        let archive = try Connection(.file(folder.path("archive.db")), key: .raw(keyBytes))
        #expect(try archive.fetchAll(String.self, "SELECT title FROM note") == ["Bakery"])
    }

    /// The first block of Swift in the README is the code above, line for line.
    @Test func theTourIsTheOneThatWasCompiled() throws {
        let readme = try String(contentsOf: Repository.file("README.md"), encoding: .utf8)
        let shown = try #require(readme.firstRange(of: "```swift\n").map { readme[$0.upperBound...].prefix { $0 != "`" } })
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        let start = try #require(source.firstRange(of: "// README {\n")).upperBound
        let end = try #require(source.firstRange(of: "        // README }\n")).lowerBound
        let compiled = source[start..<end].split(separator: "\n").map { $0.dropFirst(8) }
        #expect(shown.split(separator: "\n") == compiled)
        #expect(compiled.count == 10)
    }

    /// Both commands at the top exist, and the versions that the README tells are those of the engine.
    @Test func whatTheREADMEClaims() throws {
        let readme = try String(contentsOf: Repository.file("README.md"), encoding: .utf8)
        #expect(readme.contains("SQLCipher \(Engine.cipherVersion.prefix { $0 != " " }) (SQLite \(Engine.sqliteVersion))"))
        for script in ["quickstart", "test", "setup", "vendor"] {
            #expect(readme.contains("scripts/\(script)"))
            #expect(FileManager.default.isExecutableFile(atPath: Repository.file("scripts/\(script)").path))
        }
        for file in ["LICENSE", "NOTICE.md", "Vendor/README.md"] {
            #expect(FileManager.default.fileExists(atPath: Repository.file(file).path))
        }
    }
}
