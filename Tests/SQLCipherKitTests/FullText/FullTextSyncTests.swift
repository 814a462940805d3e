import Foundation
import SQLCipherKit
import Testing

/// FTS5's own judgement: with a rank of 1 it compares the index with the content, entry by entry.
func checkIntegrity(_ db: Connection, _ table: String) throws {
    try db.execute("INSERT INTO \(identifier: table)(\(identifier: table), rank) VALUES ('integrity-check', 1)")
}

@Suite struct FullTextSyncTests {
    static let words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]

    enum Key: String, CaseIterable, CustomTestStringConvertible {
        case integer, text, composite, withoutRowID
        var testDescription: String { rawValue }

        var definition: SQL {
            let columns: SQL = "slug TEXT UNIQUE COLLATE NOCASE, title TEXT, body TEXT, seen INTEGER DEFAULT 0"
            return switch self {
            case .integer: "CREATE TABLE doc(id INTEGER PRIMARY KEY, \(columns))"
            case .text: "CREATE TABLE doc(id TEXT COLLATE NOCASE PRIMARY KEY, \(columns))"
            case .composite: "CREATE TABLE doc(part INTEGER DEFAULT 1, id TEXT, \(columns), PRIMARY KEY(part, id))"
            case .withoutRowID: "CREATE TABLE doc(id TEXT PRIMARY KEY, \(columns)) WITHOUT ROWID"
            }
        }

        func value(_ number: Int) -> SQLValue { self == .integer ? .integer(Int64(number)) : .text("k\(number)") }
    }

    func text() -> String { (0..<Int.random(in: 0...4)).compactMap { _ in Self.words.randomElement() }.joined(separator: " ") }

    func write(_ db: Connection, _ key: Key) throws {
        let id = key.value(.random(in: 0..<30)), other = key.value(.random(in: 0..<30))
        let conflict = ["", " OR REPLACE", " OR IGNORE", " OR FAIL", " OR ROLLBACK"].randomElement() ?? ""
        let slug = "\(Bool.random() ? "s" : "S")\(Int.random(in: 0..<40))"
        let body: SQLValue = Bool.random() ? .null : .text(text())
        switch Int.random(in: 0..<6) {
        case 0, 1:
            try db.execute("INSERT\(raw: conflict) INTO doc(id, slug, title, body) VALUES (\(id), \(slug), \(text()), \(body))")
        case 2: try db.execute("UPDATE\(raw: conflict) doc SET slug = \(slug), title = \(text()) WHERE id IN (\(id), \(other))")
        case 3:
            try db.execute(
                """
                INSERT INTO doc(id, slug, title, body) VALUES (\(id), \(slug), \(text()), \(body))
                ON CONFLICT DO UPDATE SET title = excluded.title
                """)
        case 4: try db.execute("DELETE FROM doc WHERE id = \(id)")
        default: try db.execute("UPDATE\(raw: conflict) doc SET id = \(other) WHERE id = \(id)")
        }
    }

    @Test(arguments: Key.allCases, [false, true]) func thousandsOfRandomWrites(key: Key, recursive: Bool) throws {
        let db = try Connection(.memory)
        try db.execute(key.definition)
        try db.execute("PRAGMA recursive_triggers = \(raw: recursive ? "ON" : "OFF")")
        for id in 0..<5 { try db.execute("INSERT INTO doc(id, title) VALUES (\(key.value(id)), \(text()))") }
        // Triggers of the application's that write to the same row again: one made before the index's own, one after.
        try db.execute(
            """
            CREATE TRIGGER fill AFTER INSERT ON doc WHEN new.body IS NULL
            BEGIN UPDATE doc SET body = 'filled' WHERE id = new.id; END
            """)
        try db.create(FTS5Table("doc_fts", columns: ["title", "body"], content: .external(table: "doc")))
        try db.execute(
            """
            CREATE TRIGGER touch AFTER UPDATE OF title ON doc WHEN new.seen < 3
            BEGIN UPDATE doc SET seen = seen + 1, body = coalesce(body, '') || ' touched' WHERE id = new.id; END
            """)
        var succeeded = 0
        for step in 0..<3000 {
            let isBatch = Int.random(in: 0..<10) == 0
            if isBatch { try db.begin() }
            do {
                try write(db, key)
                succeeded += 1
            } catch let error as DatabaseError {
                guard .constraint ~= error.code else { throw error }
            }
            if isBatch, db.isInTransaction { if Bool.random() { try db.rollback() } else { try db.commit() } }
            if step % 100 == 0 { try checkIntegrity(db, "doc_fts") }
        }
        #expect(succeeded > 1000)
        try checkIntegrity(db, "doc_fts")
        try db.execute("VACUUM")
        try checkIntegrity(db, "doc_fts")
        for word in Self.words {
            let expected = try db.fetchOne(Int.self, "SELECT count(*) FROM doc WHERE ' ' || title || ' ' LIKE \("% \(word) %")")
            #expect(try db.searchCount("doc_fts", .column("title", .phrase(word))) == expected)
        }
        try db.execute("DELETE FROM doc")
        try checkIntegrity(db, "doc_fts")
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM doc_fts_docsize") == 0)
        try db.dropFullTextTable("doc_fts")
        let left = try db.fetchAll(String.self, "SELECT name FROM sqlite_schema WHERE name LIKE 'doc\\_fts%' ESCAPE '\\'")
        #expect(left == [])
        try db.execute("INSERT INTO doc(id, slug) VALUES (\(key.value(1)), 'a')")
    }
}
