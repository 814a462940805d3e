import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// Each message that the article "Troubleshooting" explains is provoked here, and each one that is provoked is in the article.
@Suite struct TroubleshootingArticleTests {
    let folder: TemporaryFolder
    let key: DatabaseKey
    let path: String

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw([UInt8](repeating: 7, count: 32))
        path = folder.path("notes.db")
        let db = try Connection(.file(path), key: key)
        try db.execute(SQLScript("""
            CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, stars, folder REFERENCES folder(id));
            CREATE TABLE folder(id INTEGER PRIMARY KEY);
            CREATE VIRTUAL TABLE note_fts USING fts5(title);
            INSERT INTO note(title, stars) VALUES ('Mill', 'many'), ('Bakery', NULL);
            """))
    }

    struct Note: SQLRecord {
        var id: Int64?
        var title: String
    }

    /// Both ways: a message that changes, or a row without a test, fails here.
    @Test func troubleshootingArticleListsEveryMessage() throws {
        let page = Repository.file("Sources/SQLCipherKit/Documentation.docc/Troubleshooting.md")
        let rows = try String(contentsOf: page, encoding: .utf8).matches(of: /\n\| `([^`]+)` \|/).map { String($0.1) }
        var messages = try theBuild()
        try opening(&messages)
        try sql(&messages)
        try reading(&messages)
        try usingItAtTheSameTime(&messages)
        try migrations(&messages)
        #expect(rows.count >= 20 && Set(rows).count == rows.count)
        #expect(messages.subtracting(rows).isEmpty, "not in the article")
        #expect(Set(rows).subtracting(messages).isEmpty, "provoked by no test")
    }

    /// Adds the message of what `body` throws.
    private func expect(
        _ reason: DatabaseError.Reason, _ messages: inout Set<String>, _ location: SourceLocation = #_sourceLocation,
        _ body: () throws -> Void
    ) {
        do {
            try body()
            Issue.record("nothing was thrown", sourceLocation: location)
        } catch {
            guard let error = error as? DatabaseError else {
                Issue.record(error, sourceLocation: location)
                return
            }
            #expect(error.reason == reason, sourceLocation: location)
            messages.insert(error.message.replacing(folder.url.path + "/", with: ""))
        }
    }

    private func connection(_ change: (inout DatabaseConfiguration) -> Void = { _ in }) throws -> Connection {
        var configuration = DatabaseConfiguration()
        change(&configuration)
        return try Connection(.file(path), key: key, configuration: configuration)
    }

    private func opening(_ messages: inout Set<String>) throws {
        let plain = folder.path("plain.db"), absent = folder.path("absent/notes.db")
        try Connection(.file(plain)).execute("CREATE TABLE t(x)")
        expect(.wrongKeyOrNotADatabase, &messages) { _ = try Connection(.file(path), key: .passphrase("other")) }
        expect(.wrongKeyOrNotADatabase, &messages) { _ = try Connection(.file(path)) }
        expect(.notEncrypted, &messages) { _ = try Connection(.file(plain), key: key) }
        expect(.emptyKey, &messages) { _ = try Connection(.file(path), key: .passphrase("")) }
        expect(.invalidKey, &messages) { _ = try Connection(.file(path), key: .raw([1, 2, 3])) }
        expect(.cannotOpen, &messages) { _ = try Connection(.file(absent), key: key) }
        expect(.cannotOpen, &messages) {
            var configuration = DatabaseConfiguration()
            configuration.access = .readOnly
            _ = try Connection(.file(folder.path("none.db")), key: key, configuration: configuration)
        }
        expect(.invalidArgument, &messages) { _ = try DatabasePool(.memory) }
        try Connection(.file(folder.path("old.db")), key: key.with(cipher: .sqlCipher1)).execute("CREATE TABLE t(x)")
        expect(.missingHMAC, &messages) { try DatabaseConverter.migrate(fileAt: folder.path("old.db"), key: key) }
        let live = try Connection(.file(folder.path("live.db")), key: key)
        try live.main.setJournalMode(.wal)
        try live.execute("CREATE TABLE t(x)")
        for suffix in ["-wal", "-shm"] {
            try FileManager.default.linkItem(atPath: folder.path("live.db") + suffix, toPath: folder.path("copy.db") + suffix)
        }
        expect(.cannotOpen, &messages) { _ = try Connection(.file(folder.path("live.db")), key: key) }
        let keyPath = folder.path("my.key")
        try Data(repeating: 1, count: 32).write(to: URL(fileURLWithPath: keyPath))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: keyPath)
        expect(.keyProvider, &messages) { _ = try Connection(.file(path), key: .provided(by: .file(keyPath, as: .raw))) }
    }

    private func sql(_ messages: inout Set<String>) throws {
        let db = try connection()
        expect(.engine, &messages) { try db.execute("SELECT * FROM notes") }
        expect(.engine, &messages) { try db.execute("SELECT * FROM note WHERE title = \"Mill\"") }
        expect(.engine, &messages) { try db.execute("INSERT INTO note(title) VALUES ('Mill')") }
        expect(.engine, &messages) { try db.execute("INSERT INTO note(title) VALUES (NULL)") }
        expect(.engine, &messages) { try db.execute("INSERT INTO note(title, folder) VALUES ('Oven', 7)") }
        expect(.parameters, &messages) { try db.execute("SELECT * FROM note WHERE id = ?") }
        expect(.refusedSQL, &messages) { try db.execute("PRAGMA key = 'x'") }
        expect(.refusedSQL, &messages) { try db.execute("ATTACH 'other.db' AS other") }
        expect(.engine, &messages) { try db.execute("SELECT * FROM note_fts WHERE note_fts MATCH 'it''s'") }
        expect(.engine, &messages) { try db.execute("SELECT json('{a')") }
        expect(.engine, &messages) { try connection { $0.access = .readOnly }.execute("DELETE FROM note") }
        expect(.misuse, &messages) { try db.transaction { db in try db.execute("BEGIN") } }
        expect(.misuse, &messages) { try db.transaction { db in try db.execute("COMMIT") } }
        expect(.engine, &messages) { try db.transaction { db in try db.execute("VACUUM") } }
    }

    private func reading(_ messages: inout Set<String>) throws {
        let db = try connection()
        expect(.unexpectedNull, &messages) { _ = try db.fetchAll(Int.self, "SELECT stars FROM note WHERE title = 'Bakery'") }
        expect(.typeMismatch, &messages) { _ = try db.fetchAll(Int.self, "SELECT stars FROM note WHERE title = 'Mill'") }
        expect(.noSuchColumn, &messages) { try db.forEach("SELECT id FROM note") { row in _ = try row.get("title", as: String.self) } }
        expect(.recordNotFound, &messages) { _ = try db.find(Note.self, id: 99) }
    }

    private func usingItAtTheSameTime(_ messages: inout Set<String>) throws {
        let other = try connection()
        try other.begin()
        try other.execute("DELETE FROM note")
        expect(.busy, &messages) { try connection { $0.busyTimeout = .zero }.execute("DELETE FROM note") }
        try other.rollback()

        let queue = try DatabaseQueue(.file(path), key: key)
        expect(.engine, &messages) { try queue.read { db in try db.execute("DELETE FROM note") } }
        expect(.misuse, &messages) { try queue.write { _ in try queue.read { _ in } } }
        expect(.timeout, &messages) {
            try queue.read(timeout: .milliseconds(20)) { db in
                try db.execute("WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n")
            }
        }
        try queue.suspend()
        expect(.suspended, &messages) { try queue.read { _ in } }
        queue.resume()
        try queue.close()
        expect(.closed, &messages) { try queue.read { _ in } }
    }

    private func migrations(_ messages: inout Set<String>) throws {
        let db = try connection()
        var newer = Migrator(), older = Migrator()
        newer.add("first") { _ in }
        older.add("first") { _ in }
        newer.add("second") { _ in }
        try newer.migrate(db)
        expect(.migration, &messages) { try older.migrate(db) }
    }

    /// The compiler's messages are in these files.
    private func theBuild() throws -> Set<String> {
        let files = ["Sources/CSQLCipher/include/symbols.h", "Sources/CSQLCipher/Provider/Primitives/library.h"]
        return Set(try files.map { file in
            let text = try String(contentsOf: Repository.file(file), encoding: .utf8)
            return String(try #require(text.firstMatch(of: /#error "([^"]+)"/)).1)
        })
    }
}
