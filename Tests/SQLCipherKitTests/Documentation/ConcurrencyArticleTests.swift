import SQLCipherKit
import Testing
import TestSupport

/// The examples of the article "Concurrency".
@Suite struct ConcurrencyArticleTests {
    @Test func concurrencyArticleCodeWorks() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("notes.db"), archivePath = folder.path("archive.db"), title = "Bakery"
        let archiveKey = try DatabaseKey.raw([UInt8](repeating: 7, count: 32))
        let slowQuery: SQL = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"

        let pool = try DatabasePool(
            .file(path), key: .passphrase("correct horse"))
        try await pool.write { db in
            try db.execute("""
                CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)
                """)
            try db.execute("INSERT INTO note(title) VALUES (\(title))")
        }
        let titles = try await pool.read { db in
            try db.fetchAll(String.self, "SELECT title FROM note")
        }
        #expect(titles == ["Bakery"])

        try await pool.barrierWriteWithoutTransaction { db in
            try db.execute("VACUUM")
        }

        let chunks = [["Mill"], ["Oven", "Flour"]]
        @Sendable func store(_ chunk: [String], in db: Connection) throws {
            for title in chunk { try db.execute("INSERT INTO note(title) VALUES (\(title))") }
        }
        try await pool.writeWithoutTransaction { db in
            for chunk in chunks {
                try db.transaction { db in try store(chunk, in: db) }
            }
            try db.execute("PRAGMA optimize")
        }
        let newTitles = try await pool.write { db in
            try db.execute("INSERT INTO note(title) VALUES (\(title))")
        } then: { db, _ in
            try db.fetchAll(String.self, "SELECT title FROM note")
        }
        #expect(newTitles.count == 5)

        let snapshot = try await pool.snapshot()
        let count = try await snapshot.read { db in
            try db.fetchOne(Int.self, "SELECT count(*) FROM note")
        }
        try await snapshot.close()
        #expect(count == 5)

        var isLate = false
        do {
            try await pool.read(timeout: .milliseconds(50)) { db in
                try db.execute(slowQuery)
            }
        } catch let error as DatabaseError where error.reason == .timeout {
            print("not now")
            isLate = true
        }
        #expect(isLate)

        let archive = try await pool.attach(
            .file(archivePath), as: "archive", key: archiveKey)
        try await pool.changeKey(to: .passphrase("battery staple"))
        let token = pool.addUpdateHook { change in
            print(change.table, change.rowID)
        }
        token.remove()
        #expect(try await pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM archive.sqlite_schema") } == 0)
        #expect(try await archive.checkpoint().isComplete)
        #expect(try await pool.main.checkpoint(.truncate).logFrames == 0)
        try await archive.detach()
        try await pool.close()
        #expect(try Connection(.file(path), key: .passphrase("battery staple")).fetchOne(Int.self, "SELECT count(*) FROM note") == 5)
    }
}
