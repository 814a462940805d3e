import Foundation
import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

/// Runs FTS5's own check: with a rank of 1, it compares the index with the content, entry by entry.
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

    func text(_ random: inout SeededGenerator) -> String {
        (0..<Int.random(in: 0...4, using: &random)).compactMap { _ in Self.words.randomElement(using: &random) }.joined(separator: " ")
    }

    /// A random write of any kind.
    func write(_ db: Connection, _ key: Key, _ random: inout SeededGenerator) throws {
        let id = key.value(.random(in: 0..<30, using: &random)), other = key.value(.random(in: 0..<30, using: &random))
        let conflict = ["", " OR REPLACE", " OR IGNORE", " OR FAIL", " OR ROLLBACK"].randomElement(using: &random) ?? ""
        let slug = "\(Bool.random(using: &random) ? "s" : "S")\(Int.random(in: 0..<40, using: &random))"
        let title = text(&random)
        let body: SQLValue = Bool.random(using: &random) ? .null : .text(text(&random))
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1:
            try db.execute("INSERT\(raw: conflict) INTO doc(id, slug, title, body) VALUES (\(id), \(slug), \(title), \(body))")
        case 2: try db.execute("UPDATE\(raw: conflict) doc SET slug = \(slug), title = \(title) WHERE id IN (\(id), \(other))")
        case 3:
            try db.execute(
                """
                INSERT INTO doc(id, slug, title, body) VALUES (\(id), \(slug), \(title), \(body))
                ON CONFLICT DO UPDATE SET title = excluded.title
                """)
        case 4: try db.execute("DELETE FROM doc WHERE id = \(id)")
        default: try db.execute("UPDATE\(raw: conflict) doc SET id = \(other) WHERE id = \(id)")
        }
    }

    @Test(arguments: Key.allCases, [false, true]) func randomWritesKeepIndexIntact(key: Key, recursive: Bool) throws {
        var random = SeededGenerator(recursive ? 1 : 0)
        let db = try Connection(.memory)
        try db.execute(key.definition)
        try db.execute("PRAGMA recursive_triggers = \(raw: recursive ? "ON" : "OFF")")
        for id in 0..<5 { try db.execute("INSERT INTO doc(id, title) VALUES (\(key.value(id)), \(text(&random)))") }
        // The application's triggers write to the same row again: one is created before the index's own, one after.
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
        // This trigger writes to another row before the first is written.
        try db.execute(
            """
            CREATE TRIGGER neighbour BEFORE UPDATE OF slug ON doc WHEN new.slug LIKE 's1%'
            BEGIN
                UPDATE OR IGNORE doc SET title = 'neighbour' WHERE slug = 's2' || substr(new.slug, 3);
                INSERT OR IGNORE INTO doc(id, slug, title) VALUES (old.id, 's30', 'never');
            END
            """)
        var succeeded = 0
        for step in 0..<3000 {
            let isBatch = Int.random(in: 0..<10, using: &random) == 0
            if isBatch { try db.begin() }
            do {
                try write(db, key, &random)
                succeeded += 1
            } catch let error as DatabaseError {
                guard .constraint ~= error.code else { throw error }
            }
            if isBatch, db.isInTransaction { if Bool.random(using: &random) { try db.rollback() } else { try db.commit() } }
            if step % 100 == 0 { try #require(try db.fullText("doc_fts").passesIntegrityCheck(), "step \(step)") }
        }
        #expect(succeeded > 1000)
        try checkIntegrity(db, "doc_fts")
        try db.execute("VACUUM")
        try checkIntegrity(db, "doc_fts")
        for word in Self.words {
            let expected = try db.fetchOne(Int.self, "SELECT count(*) FROM doc WHERE ' ' || title || ' ' LIKE \("% \(word) %")")
            #expect(try db.fullText("doc_fts").count(.column("title", .phrase(word))) == expected)
        }
        try db.execute("DELETE FROM doc")
        try checkIntegrity(db, "doc_fts")
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM doc_fts_docsize") == 0)
        try db.fullText("doc_fts").drop()
        let left = try db.fetchAll(String.self, "SELECT name FROM sqlite_schema WHERE name LIKE 'doc\\_fts%' ESCAPE '\\'")
        #expect(left == [])
        try db.execute("INSERT INTO doc(id, slug) VALUES (\(key.value(1)), 'a')")
    }
}
