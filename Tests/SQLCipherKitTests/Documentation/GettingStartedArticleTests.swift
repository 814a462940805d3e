import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// The examples of the article "Getting started".
@Suite struct GettingStartedArticleTests {
    @Test func gettingStartedArticleCodeWorks() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("notes.db")
        let db = try Connection(.file(path), key: .passphrase("correct horse"))

        try db.execute("""
            CREATE TABLE note(
                id INTEGER PRIMARY KEY, title TEXT NOT NULL,
                body TEXT, created TEXT)
            """)
        let title = "Bakery", created = Date()
        try db.execute("""
            INSERT INTO note(title, body, created)
            VALUES (\(title), \("First we bake, then we sell."), \(created))
            """)
        let id = db.lastInsertedRowID
        #expect(id == 1)

        try db.transaction { db in
            for title in ["Flour", "Yeast"] {
                try db.execute("INSERT INTO note(title) VALUES (\(title))")
            }
        }

        let titles = try db.fetchAll(
            String.self, "SELECT title FROM note ORDER BY id")
        let body = try db.fetchOne(
            String?.self, "SELECT body FROM note WHERE id = \(id)")
        let rows: [(Int, String, Date?)] = try db.fetchAll(
            "SELECT id, title, created FROM note")
        #expect(titles == ["Bakery", "Flour", "Yeast"] && body == "First we bake, then we sell.")
        let seconds = try #require(rows.first?.2).timeIntervalSince(created)
        #expect(rows.map(\.0) == [1, 2, 3] && abs(seconds) < 0.001 && rows[1].2 == nil)

        struct Note: Decodable {
            var id: Int
            var title: String
            var body: String?
        }
        let notes = try db.fetchAll(
            Note.self, "SELECT id, title, body FROM note")
        #expect(notes.map(\.title) == titles && notes[1].body == nil)

        try db.forEach("SELECT title FROM note") { row in
            print(try row.get("title", as: String.self))
        }

        do {
            try db.execute("INSERT INTO note(title) VALUES (NULL)")
            Issue.record("NULL went in")
        } catch let error as DatabaseError {
            print(error.code == .constraintNotNull)                  // true
            print(error.message, error.sql ?? "")
            #expect(error.code == .constraintNotNull && error.sql == "INSERT INTO note(title) VALUES (NULL)")
        }

        try db.changeKey(to: .passphrase("battery staple"))
        db.close()
        #expect(throws: DatabaseError.self) { try db.execute("SELECT 1") }
        #expect(throws: DatabaseError.self) { _ = try Connection(.file(path), key: .passphrase("correct horse")) }
        _ = try Connection(.file(path), key: .passphrase("battery staple"))
    }

    /// The blocks of the second part, in their order, as the file main.swift of a program.
    @Test func gettingStartedArticleIsOneProgram() throws {
        let page = Repository.file("Sources/SQLCipherKit/Documentation.docc/GettingStarted.md")
        let blocks = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n```swift\n").dropFirst()
            .map { $0.components(separatedBy: "\n```")[0] }
        let errors = try Typecheck.errors(of: "let path = \"tour.db\"\n" + blocks.joined(separator: "\n"), within: 3000)
        #expect(blocks.count >= 8 && errors.isEmpty, "\(errors)")
    }
}
