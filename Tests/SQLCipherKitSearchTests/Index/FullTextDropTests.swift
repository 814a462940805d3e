import SQLCipherKitCore
import SQLCipherKitSearch
import Testing

/// Indexes whose triggers, rows or names are not as they were made: every kind of key, every way that it can have come about.
@Suite struct FullTextDropTests {
    static let keys = [
        "id INTEGER PRIMARY KEY, k TEXT, body TEXT", "id TEXT PRIMARY KEY, k TEXT, body TEXT", "id, k TEXT, body TEXT, PRIMARY KEY(id, k)",
        "id TEXT COLLATE NOCASE PRIMARY KEY, k TEXT, body TEXT",
    ]
    static let ways = ["DROP TABLE doc_fts", "DROP TABLE IF EXISTS main.\"DOC_FTS\"", "drop()", "dropTable"]

    private func made(_ key: String, _ table: String = "doc") throws -> Connection {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE \(identifier: table)(\(raw: key))")
        try db.execute("INSERT INTO \(identifier: table) VALUES ('1', 'a', 'one'), ('2', 'b', 'two')")
        try db.create(FTS5Table("doc_fts", columns: ["body"], content: .external(table: table)))
        return db
    }

    @Test(arguments: keys, ways) func droppingIndexInAnyWayLeavesTableWritable(_ key: String, _ way: String) throws {
        let db = try made(key)
        func drop() throws {
            switch way {
            case "drop()": try db.fullText("doc_fts").drop()
            case "dropTable": try db.main.dropTable("doc_FTS")
            default: try db.execute(SQL(raw: way))
            }
        }
        // Undone, everything is there again.
        try? db.transaction { _ in
            try drop()
            throw DatabaseError(message: "undone")
        }
        try db.execute("INSERT INTO doc VALUES ('3', 'c', 'three')")
        #expect(try db.fullText("doc_fts").passesIntegrityCheck() && db.fullText("doc_fts").search("three").hits.count == 1)
        try drop()
        #expect(try db.fetchAll(String.self, "SELECT name FROM sqlite_schema WHERE name LIKE 'doc\\_fts%' ESCAPE '\\'") == [])
        try db.execute("INSERT INTO doc VALUES ('4', 'd', 'four')")
        try db.execute("UPDATE doc SET body = 'five' WHERE k = 'a'")
        try db.execute("DELETE FROM doc WHERE k = 'b'")
        try db.create(FTS5Table("doc_fts", columns: ["body"], content: .external(table: "doc")))
        #expect(try db.fullText("doc_fts").search("five").total.count == 1 && db.fullText("doc_fts").passesIntegrityCheck())
    }

    /// Triggers with such names that belong to another index stay.
    @Test func droppingIndexKeepsUnrelatedTriggersAndTables() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, body TEXT)")
        try db.create(FTS5Table("doc_fts", columns: ["body"]))
        try db.execute("CREATE TRIGGER doc_fts_after_insert AFTER INSERT ON doc BEGIN SELECT 1; END")
        try db.execute("CREATE TABLE doc_fts_keys(a)")
        try db.execute("DROP TABLE doc_fts")
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'doc_fts%'") == 2)
    }

    /// Rows that came while the triggers, some or all of them, were missing.
    @Test(arguments: keys, [0, 1, 3, 6]) func rebuildAddsRowsMissingFromIndex(_ key: String, _ missing: Int) throws {
        let table = "a \"doc\" AS t"
        let db = try made(key, table)
        let index = try db.fullText("doc_fts")
        #expect(try index.passesIntegrityCheck())
        let triggers: [(String, String)] = try db.fetchAll("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY name")
        for trigger in triggers { try db.main.dropTrigger(trigger.0) }
        try db.execute("INSERT INTO \(identifier: table) VALUES ('3', 'c', 'three')")
        for trigger in triggers.dropFirst(missing) { try db.execute(SQL(raw: trigger.1)) }
        #expect(try !index.passesIntegrityCheck())
        try index.rebuild()
        #expect(try index.passesIntegrityCheck() && index.search("three").total.count == 1)
        try db.execute("DELETE FROM \(identifier: table) WHERE k = 'a'")
        #expect(try index.passesIntegrityCheck() == (missing == 0))
    }
}
