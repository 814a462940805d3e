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

    // MARK: Triggers of others

    /// The triggers of GRDB's `synchronize(withTable:)`, of SQLite's manual, and of Android's Room, as they are written.
    static let foreign: [(String, [String])] = [
        ("GRDB", [
            """
            CREATE TRIGGER "__doc_fts_ai" AFTER INSERT ON "doc" BEGIN
                INSERT INTO "doc_fts"("rowid", "body") VALUES (new."id", new."body");
            END
            """,
            """
            CREATE TRIGGER "__doc_fts_ad" AFTER DELETE ON "doc" BEGIN
                INSERT INTO "doc_fts"("doc_fts", "rowid", "body") VALUES('delete', old."id", old."body");
            END
            """,
            """
            CREATE TRIGGER "__doc_fts_au" AFTER UPDATE ON "doc" BEGIN
                INSERT INTO "doc_fts"("doc_fts", "rowid", "body") VALUES('delete', old."id", old."body");
                INSERT INTO "doc_fts"("rowid", "body") VALUES (new."id", new."body");
            END
            """,
        ]),
        ("manual", [
            "CREATE TRIGGER tbl_ai AFTER INSERT ON doc BEGIN INSERT INTO DOC_FTS(rowid, body) VALUES (new.id, new.body); END",
            "CREATE TRIGGER tbl_ad AFTER DELETE ON doc BEGIN INSERT INTO doc_fts(doc_fts, rowid, body) VALUES('delete', old.id, old.body); END",
            """
            CREATE TRIGGER tbl_au AFTER UPDATE ON doc BEGIN
              INSERT INTO doc_fts(doc_fts, rowid, body) VALUES('delete', old.id, old.body);
              INSERT INTO doc_fts(rowid, body) VALUES (new.id, new.body);
            END
            """,
        ]),
        ("Room", [
            "CREATE TRIGGER IF NOT EXISTS room_fts_content_sync_doc_fts_BEFORE_UPDATE BEFORE UPDATE ON `doc` BEGIN DELETE FROM `doc_fts` WHERE `rowid`=OLD.`rowid`; END",
            "CREATE TRIGGER IF NOT EXISTS room_fts_content_sync_doc_fts_BEFORE_DELETE BEFORE DELETE ON `doc` BEGIN DELETE FROM `doc_fts` WHERE `rowid`=OLD.`rowid`; END",
            "CREATE TRIGGER IF NOT EXISTS room_fts_content_sync_doc_fts_AFTER_UPDATE AFTER UPDATE ON `doc` BEGIN INSERT INTO `doc_fts`(`rowid`, `body`) VALUES (NEW.`rowid`, NEW.`body`); END",
            "CREATE TRIGGER IF NOT EXISTS room_fts_content_sync_doc_fts_AFTER_INSERT AFTER INSERT ON `doc` BEGIN INSERT INTO `doc_fts`(`rowid`, `body`) VALUES (NEW.`rowid`, NEW.`body`); END",
        ]),
    ]

    private func madeByOthers(_ number: Int) throws -> Connection {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, body TEXT)")
        try db.execute("CREATE VIRTUAL TABLE doc_fts USING fts5(body, content='doc', content_rowid='id')")
        for trigger in Self.foreign[number].1 { try db.execute(SQL(raw: trigger)) }
        try db.execute("INSERT INTO doc VALUES (1, 'one'), (2, 'two')")
        return db
    }

    private func names(_ db: Connection) throws -> [String] {
        try db.fetchAll("SELECT name FROM sqlite_schema WHERE type = 'trigger' ORDER BY name")
    }

    /// A change of the tokenizer: the old index goes in any way, with the triggers that another library made, and a new one comes.
    @Test(arguments: foreign.indices, ways) func indexOfAnotherLibraryIsReplaced(_ number: Int, _ way: String) throws {
        let db = try madeByOthers(number)
        try db.execute("CREATE TABLE log(id)")
        try db.execute("CREATE TRIGGER reading AFTER INSERT ON doc BEGIN INSERT INTO log SELECT new.id; END")
        switch way {
        case "drop()": try db.fullText("doc_fts").drop()
        case "dropTable": try db.main.dropTable("doc_FTS")
        default: try db.execute(SQL(raw: way))
        }
        #expect(try names(db) == ["reading"])
        try db.create(
            FTS5Table("doc_fts", columns: ["body"], content: .external(table: "doc"), tokenizer: .porter(.unicode61())))
        try db.execute("INSERT INTO doc VALUES (3, 'three')")
        try db.execute("UPDATE doc SET body = 'four' WHERE id = 1")
        try db.execute("DELETE FROM doc WHERE id = 2")
        let index = try db.fullText("doc_fts")
        #expect(try index.passesIntegrityCheck() && index.search("four").hits.map(\.rowID) == [1])
    }

    @Test(arguments: ways) func droppingRefusesTriggerWithOtherWork(_ way: String) throws {
        let db = try madeByOthers(0)
        try db.execute("CREATE TABLE log(id)")
        try db.execute(
            "CREATE TRIGGER both AFTER INSERT ON doc BEGIN INSERT INTO log VALUES (1); DELETE FROM doc_fts WHERE rowid = -1; END")
        let before = try names(db)
        let error = #expect(throws: DatabaseError.self) {
            switch way {
            case "drop()": try db.fullText("doc_fts").drop()
            case "dropTable": try db.main.dropTable("doc_FTS")
            default: try db.execute(SQL(raw: way))
            }
        }
        #expect(error?.message.contains("the trigger both writes to doc_fts") == true, "\(error?.message ?? "")")
        #expect(try names(db) == before && db.fullText("doc_fts").search("one").hits.count == 1)
        try db.main.dropTrigger("both")
        try db.fullText("doc_fts").drop()
        #expect(try names(db) == [])
    }

    /// An older program dropped the table alone, or made its triggers beside ours.
    @Test(arguments: foreign.indices) func createAndRebuildRefuseForeignTriggers(_ number: Int) throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, body TEXT)")
        let table = FTS5Table("doc_fts", columns: ["body"], content: .external(table: "doc"))
        try db.execute(SQL(raw: Self.foreign[number].1[0]))
        let first = try #require(try names(db).first)
        let error = #expect(throws: DatabaseError.self) { try db.create(table) }
        #expect(error?.reason == .invalidArgument && error?.message.contains(first) == true, "\(error?.message ?? "")")
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM sqlite_schema") == 2)
        try db.main.dropTrigger(first)
        try db.create(table)
        try db.execute(SQL(raw: Self.foreign[number].1[0]))
        let refused = #expect(throws: DatabaseError.self) { try db.fullText("doc_fts").rebuild() }
        #expect(refused?.message.contains(first) == true)
        try db.fullText("doc_fts").drop()
        #expect(try names(db) == [])
    }
}
