import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// The examples of the article "Opening, limits, scripts and statements", in its order.
@Suite struct ConnectionCallsArticleTests {
    @Test func connectionCallsArticleCodeWorks() throws {
        let desk = try ExampleDesk()
        let (db, path, key) = (desk.db, desk.path, desk.key)
        let scriptURL = URL(fileURLWithPath: desk.file("setup.sql"))
        try "CREATE TABLE made(x); -- and nothing else".write(to: scriptURL, atomically: true, encoding: .utf8)
        var configuration = DatabaseConfiguration()
        configuration.access = .readOnly
        configuration.followsSymbolicLinks = false
        let reader = try Connection(
            .file(path), key: key, configuration: configuration)
        print(try reader.main.isReadOnly)                   // true
        #expect(throws: DatabaseError.self) { try reader.execute("DELETE FROM note") }
        try db.main.setApplicationID(0x4e4f_5445)
        try db.main.setUserVersion(3)
        print(try db.main.applicationID == 0x4e4f_5445)     // true
        #expect(try db.main.applicationID == 0x4e4f_5445 && db.main.userVersion == 3)
        let columns = try db.settings.setLimit(.columns, to: 50)
        try db.settings.setEnabled(.defensive, to: true)
        print(columns, try db.settings.isEnabled(.defensive))
        #expect(try columns == 50 && db.settings.isEnabled(.defensive))
        let text = "SELECT title FROM note WHERE id > ? AND id < ?"
        let few = try db.fetchAll(String.self, SQL(raw: text), [1, 9])
        let bounds = [1, 9]
        let same = try db.fetchAll(
            String.self, SQL(raw: text, StatementArguments(bounds)))
        #expect(few == ["Mill", "Well"] && same == few)
        let row = try db.fetchOne(
            OwnedRow.self, "SELECT * FROM note WHERE id = 1")
        print(row?.dictionary["title"] ?? .null)
        #expect(row?.dictionary == ["id": 1, "title": "Bakery", "stars": 3])
        let script = try SQLScript(contentsOf: scriptURL)
        try db.transaction { db in try db.execute(script) }

        try db.execute(SQLScript("SELECT 1; SELECT 2; DELETE FROM note")) {
            index, row in
            index == 1 ? .stop : .next
        }
        #expect(try db.main.hasTable("made") && db.fetchOne(Int.self, "SELECT count(*) FROM note") == 3)
        let left = try db.transaction { db in
            try db.execute("DELETE FROM note WHERE stars IS NULL")
            let count = try db.fetchOne(Int.self, "SELECT count(*) FROM note")
            return .rollback(count)
        }
        #expect(try left == 2 && db.fetchOne(Int.self, "SELECT count(*) FROM note") == 3)
        let start = ContinuousClock.now
        try db.settings.setProgressHandler(every: 100_000) {
            start.duration(to: .now) < .seconds(5)
        }
        try db.execute("DELETE FROM note WHERE title GLOB '*x*y*'")
        try db.settings.setProgressHandler(nil)
        try db.settings.setProgressHandler(every: 1) { throw CancellationError() }
        #expect(throws: DatabaseError.self) { try db.execute("DELETE FROM note") }
        try db.settings.setProgressHandler(nil)
        let statement = try db.prepare(
            "SELECT title FROM note WHERE id = :id")
        print(statement.parameterNames, statement.columnNames)
        try statement.bind(["id": 1])
        print(statement.expandedSQL)        // SELECT … WHERE id = 1
        #expect(statement.parameterNames == [":id"] && statement.expandedSQL.hasSuffix("id = 1"))
        try db.main.create(
            SQLIndex("by_title", on: ["title"]), on: "note")
        try db.main.reindex("by_title")
        try db.main.dropIndex("by_title")
        try db.main.dropView("best", ifExists: true)
        try db.main.dropTrigger("log_deletion", ifExists: true)
        try db.main.dropTable("draft", ifExists: true)
        #expect(try db.main.table("note")?.indexes == [])
        try db.execute("CREATE TABLE film(id INTEGER PRIMARY KEY, data BLOB)")
        try db.execute("""
            INSERT INTO film(data)
            VALUES (\(ZeroBlob(count: 100_000))), (\(ZeroBlob(count: 50)))
            """)
        let blob = try db.main.openBlob(
            table: "film", column: "data", rowID: 1, forWriting: true)
        try blob.write([1, 2, 3], at: 99_000)
        try blob.reopen(rowID: 2)
        print(blob.count)                                   // 50
        blob.close()
        #expect(try db.fetchOne(Data.self, "SELECT substr(data, 99001, 3) FROM film") == Data([1, 2, 3]))
    }

    /// The log belongs to the process: `LoggingTests`, which run one after another, look at what it says.
    private func log() throws {
        try SQLCipherEngine.setLogger(minimumLevel: .warning) { message in
            print(message.level, message.text)
        }
    }
}
