import SQLCipherKit
import Testing
import TestSupport

/// The examples of the article "Attached databases".
@Suite struct AttachArticleTests {
    @Test func attachArticleCodeWorks() throws {
        let folder = try TemporaryFolder()
        let archivePath = folder.path("archive.db"), archiveKey = try DatabaseKey.raw([UInt8](repeating: 7, count: 32))
        let db = try Connection(.file(folder.path("notes.db")), key: .raw([UInt8](repeating: 8, count: 32)))
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, year INTEGER)")
        try db.execute("INSERT INTO note(title, year) VALUES ('old', 2001), ('new', 2024)")
        let file = try Connection(.file(archivePath), key: archiveKey)
        try file.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, year INTEGER)")
        file.close()

        let archive = try db.attach(
            .file(archivePath), as: "archive", key: archiveKey)
        try db.main.moveRows(of: "note", to: archive, where: "year < \(2020)")
        let both = try db.fetchAll(String.self, """
            SELECT title FROM main.note
            UNION ALL SELECT title FROM archive.note ORDER BY 1
            """)
        try archive.detach()
        #expect(both == ["new", "old"])

        let moved = try db.withAttached(
            .file(archivePath), as: "archive", key: archiveKey
        ) { archive in
            try archive.connection.fetchOne(
                Int.self, "SELECT count(*) FROM archive.note")
        }
        #expect(moved == 1)
        #expect(try db.schemas().map(\.name) == ["main"])

        try db.execute("INSERT INTO note(title, year) VALUES ('older', 2001)")
        let reopened = try db.attach(
            .file(archivePath), as: "archive", key: archiveKey)
        try db.main.finishMoves(to: reopened)
        let count = try db.main.moveRows(
            of: "note", to: reopened, where: "year < \(2020)")
        print(try db.settings.isAtomicAcrossFiles, count)
        try reopened.detach()
        #expect(count == 1)

        try db.attach(.memory, as: "scratch", key: .plaintext)
        let scratch = try db.schema("scratch")
        let copied = try db.main.copyTables(["note"], to: scratch) { progress in
            if progress.completed == progress.total {
                print(progress.table ?? "", progress.total)
            }
        }
        #expect(copied == 1)
        #expect(try db.fetchAll(String.self, "SELECT title FROM scratch.note") == ["new"])
    }
}
