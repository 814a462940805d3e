import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSync
import Testing
import TestSupport

@Suite struct DatabaseDiffTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open(_ name: String, _ key: String) throws -> Connection {
        try Connection(.file(folder.path(name)), key: .passphrase(key).quick)
    }

    /// Random changes: the script, the value and the changeset each turn one database into the other.
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func randomDiffsTurnOneDatabaseIntoTheOther(seed: UInt64) throws {
        var random = SeededGenerator(state: seed)
        let old = try open("old.db", "one")
        try OddTables.make(old)
        try OddTables.change(old, &random, count: 300)
        try old.execute("INSERT INTO plain VALUES (1, CAST(x'ff00fe' AS TEXT), 2)")
        try old.main.backup(toFileAt: folder.path("new.db"), key: .passphrase("two", cipher: .quick))
        let new = try open("new.db", "two")
        #expect(try DatabaseDiff(from: old.main, to: new.main).isEmpty())
        #expect(try DatabaseDiff(from: old.main, to: new.main).sql() == "")
        #expect(try DatabaseDiff(from: old.main, to: new.main).changeset(tables: ["keyed", "pair", "nocase"]).isEmpty)
        try OddTables.change(new, &random, count: 200)
        try new.execute("INSERT INTO plain VALUES (1, CAST(x'ff00fd' AS TEXT), 2)")
        try new.main.setUserVersion(7)
        let diff = try DatabaseDiff(from: old.main, to: new.main)
        #expect(try !diff.isEmpty())
        let wanted = try Contents.of(new)

        try old.main.backup(toFileAt: folder.path("a.db"))
        let scripted = try open("a.db", "one")
        try scripted.execute(SQLScript(diff.sql()))
        try expectSame(Contents.of(scripted), wanted)
        #expect(try scripted.fetchAll(Int.self, "SELECT rowid FROM words WHERE words MATCH 'word1*'") == new.fetchAll(Int.self, "SELECT rowid FROM words WHERE words MATCH 'word1*'"))
        #expect(try scripted.main.verify().problems == new.main.verify().problems)

        // The summary has the changes.
        for table in try diff.summary() {
            func count(_ db: Connection) throws -> Int? { try db.fetchOne("SELECT count(*) FROM \(identifier: table.name)") }
            #expect(try count(old) == table.deleted + table.updated + table.unchanged)
            #expect(try count(new) == table.inserted + table.updated + table.unchanged)
            #expect(table.definition == .same)
        }

        // Rows of `named` have NULL in their key.
        let changeset = try diff.changeset(tables: ["keyed", "pair", "nocase", "generated", "child", "strict_one"])
        try old.main.backup(toFileAt: folder.path("b.db"))
        let changed = try open("b.db", "one")
        try changed.settings.setEnabled(.foreignKeys, to: false)
        try changed.execute(SQLScript("DROP TRIGGER named_gone; DROP TRIGGER plain_new"))
        // Rows that differ only by the case of their key may come before the old row goes.
        try changeset.apply(to: changed) { $0.kind == .exists || $0.kind == .different ? .replace : .omit }
        for table in ["keyed", "pair", "nocase", "generated", "child"] {
            try expectSame(Contents.of(changed).filter { $0.hasPrefix("\(table) ") }, wanted.filter { $0.hasPrefix("\(table) ") })
        }
        // Back again.
        try changeset.inverted().apply(to: changed) { $0.kind == .exists || $0.kind == .different ? .replace : .omit }
        for table in ["keyed", "pair", "nocase", "generated", "child"] {
            try expectSame(Contents.of(changed).filter { $0.hasPrefix("\(table) ") }, Contents.of(old).filter { $0.hasPrefix("\(table) ") })
        }

        try diff.apply(to: old)
        try expectSame(Contents.of(old), wanted)
        #expect(try old.settings.isEnabled(.foreignKeys) && DatabaseDiff(from: old.main, to: new.main).isEmpty())
        #expect(try old.fetchOne(Int.self, "SELECT count(*) FROM words WHERE words MATCH 'word1*'") == new.fetchOne(Int.self, "SELECT count(*) FROM words WHERE words MATCH 'word1*'"))
    }

    private func expectSame(_ a: [String], _ b: [String]) throws {
        guard a != b else { return }
        let only = Set(a).symmetricDifference(b).sorted().prefix(6)
        Issue.record("\(a.count) and \(b.count) lines differ: \(only)")
    }

    @Test func databaseDiffCoversSchemaChanges() throws {
        let old = try open("old.db", "one"), new = try open("new.db", "two")
        try RichDatabase.fill(old, rows: 30)
        try new.execute(SQLScript("""
            CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, added INTEGER DEFAULT 5);
            INSERT INTO note VALUES (1, 'x', 2), (2, 'y', 3);
            CREATE TABLE fresh(a INTEGER PRIMARY KEY AUTOINCREMENT, b UNIQUE);
            INSERT INTO fresh VALUES (50, 'b'), (60, 'c'); DELETE FROM fresh WHERE a = 60;
            CREATE INDEX note_title ON note(title);
            CREATE VIEW titles AS SELECT title FROM note;
            CREATE TRIGGER note_added AFTER UPDATE ON note BEGIN SELECT 1; END;
            CREATE VIRTUAL TABLE own USING fts5(x, y, prefix='2');
            INSERT INTO own VALUES ('alpha', 'beta');
            CREATE VIRTUAL TABLE other USING rtree(id, a, b);
            INSERT INTO other VALUES (1, 2, 3);
            CREATE TABLE log(what TEXT);
            ANALYZE;
            """))
        let backwards = try Contents.of(old)
        let diff = try DatabaseDiff(from: old.main, to: new.main), back = try DatabaseDiff(from: new.main, to: old.main)
        let removed = try old.fetchOne(Int.self, "SELECT count(*) FROM no_key")
        let summary = Dictionary(uniqueKeysWithValues: try diff.summary().map { ($0.name, $0) })
        #expect(summary["note"]?.definition == .changed && summary["note"]?.inserted == 2)
        #expect(summary["fresh"]?.definition == .added && summary["fresh"]?.inserted == 1)
        #expect(summary["no_key"]?.definition == .removed && summary["no_key"]?.deleted == removed)
        #expect(summary["log"]?.definition == .same)
        let backScript = try back.sql()
        try diff.apply(to: old)
        try expectSame(Contents.of(old), Contents.of(new))
        #expect(try old.fetchAll(Int.self, "SELECT rowid FROM own WHERE own MATCH 'beta'") == [1])
        #expect(try old.fetchAll(Int.self, "SELECT id FROM other WHERE a < 5") == [1])
        #expect(try old.main.verify().problems.isEmpty)
        // Another connection sees the new schema.
        #expect(try open("old.db", "one").fetchAll(Int.self, "SELECT rowid FROM own WHERE own MATCH 'alpha'") == [1])
        try old.execute("INSERT INTO fresh(b) VALUES ('next')")
        #expect(old.lastInsertedRowID == 61)
        try old.execute(SQLScript("DELETE FROM fresh WHERE b = 'next'; UPDATE sqlite_sequence SET seq = 60 WHERE name = 'fresh'"))
        try old.execute(SQLScript(backScript))
        try expectSame(Contents.of(old), backwards)
        #expect(try old.main.verify().problems.isEmpty)
    }

    /// SQLite finds the rows of sequences by name: their row ids tell nothing.
    @Test func summaryFindsSequencesByName() throws {
        let old = try open("old.db", "one"), new = try open("new.db", "one")
        let tables = ["a", "b", "c"].map { "CREATE TABLE \($0)(id INTEGER PRIMARY KEY AUTOINCREMENT); " }.joined()
        for db in [old, new] { try db.execute(SQLScript(tables)) }
        for (db, order) in [(old, "abc"), (new, "bca")] {
            for name in order { try db.execute(SQL(raw: "INSERT INTO \(name) DEFAULT VALUES")) }
        }
        let diff = try DatabaseDiff(from: old.main, to: new.main)
        let differing = try diff.summary().filter { !$0.isSame }
        #expect(try differing.isEmpty && diff.isEmpty(), "\(differing)")
        try new.execute("INSERT INTO b DEFAULT VALUES")
        let sequences = try #require(diff.summary().first { $0.name == "sqlite_sequence" })
        #expect((sequences.inserted, sequences.deleted, sequences.updated, sequences.unchanged) == (0, 0, 1, 2))
    }

    /// Another SQLCipher runs the script.
    @Test func anotherSQLCipherBuildRunsDiffScript() throws {
        let old = try open("old.db", "one")
        try RichDatabase.fill(old, rows: 30)
        try old.main.backup(toFileAt: folder.path("new.db"))
        let new = try open("new.db", "one")
        try new.execute(SQLScript("UPDATE pair SET c = 9e999 WHERE b = 3; DELETE FROM note WHERE id = 4; INSERT INTO own VALUES ('common sense')"))
        let script = try DatabaseDiff(from: old.main, to: new.main).sql()
        old.close()
        try script.write(toFile: folder.path("diff.sql"), atomically: true, encoding: .utf8)
        _ = try Python.run(
            """
            import sys
            from sqlcipher3 import dbapi2 as sqlite
            db = sqlite.connect(sys.argv[1], isolation_level=None)
            db.execute("PRAGMA key = 'one'")
            db.execute('PRAGMA kdf_iter = 10')
            db.executescript(open(sys.argv[2]).read())
            """, folder.path("old.db"), folder.path("diff.sql"))
        try expectSame(Contents.of(open("old.db", "one")), Contents.of(new))
    }

    @Test func databaseDiffOfAttachedDatabases() throws {
        let db = try Connection(.memory, key: .passphrase("k").quick)
        try db.execute(SQLScript("CREATE TABLE t(id INTEGER PRIMARY KEY, x); INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')"))
        try db.attach(.memory, as: "o'ther", key: .plaintext)
        try db.execute(SQLScript("CREATE TABLE \"o'ther\".t(id INTEGER PRIMARY KEY, x); INSERT INTO \"o'ther\".t VALUES (1, 'a'), (2, 'B'), (4, 'd')"))
        let diff = try DatabaseDiff(from: db.main, to: db.schema("o'ther"))
        #expect(try diff.sql() == """
            PRAGMA foreign_keys = OFF;
            PRAGMA writable_schema = ON;
            BEGIN IMMEDIATE;
            UPDATE "t" SET "x" = 'B' WHERE "id" = 2;
            DELETE FROM "t" WHERE "id" = 3;
            INSERT INTO "t"("id", "x") VALUES (4, 'd');
            COMMIT;
            PRAGMA writable_schema = RESET;

            """)
        #expect(try diff.summary().map { [$0.inserted, $0.deleted, $0.updated, $0.unchanged] } == [[1, 1, 1, 1]])
        let error = #expect(throws: DatabaseError.self) { try DatabaseDiff(from: db.main, to: db.schema("none")) }
        #expect(error?.reason == .schemaName)
    }

    /// Each switch of the connection is as before, whether the diff was applied or did not fit.
    @Test(arguments: [false, true], [0, 1])
    func databaseDiffApplyRestoresConnectionSettings(fits: Bool, value: Int) throws {
        let old = try open("old.db", "one"), new = try open("new.db", "two"), third = try open("third.db", "three")
        for db in [old, new] { try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x UNIQUE)") }
        try new.execute("INSERT INTO t VALUES (2, 'b')")
        try third.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x UNIQUE)")
        if !fits { try third.execute("INSERT INTO t VALUES (1, 'b')") }
        let names = [
            "foreign_keys", "ignore_check_constraints", "recursive_triggers", "trusted_schema", "reverse_unordered_selects",
            "legacy_alter_table", "cell_size_check",
        ]
        for name in names { try third.execute(SQL(raw: "PRAGMA \(name) = \(value)")) }
        func switches() throws -> [Int?] { try names.map { try third.fetchOne(Int.self, SQL(raw: "PRAGMA \($0)")) } }
        let before = try switches()
        #expect(before == names.map { _ in value })
        let diff = try DatabaseDiff(from: old.main, to: new.main)
        if fits { try diff.apply(to: third) } else { #expect(throws: DatabaseError.self) { try diff.apply(to: third) } }
        #expect(try switches() == before)
    }

    /// A difference that does not fit is undone as a whole.
    @Test func databaseDiffThatDoesNotFitIsUndone() throws {
        let old = try open("old.db", "one"), new = try open("new.db", "two"), third = try open("third.db", "three")
        for db in [old, new] { try db.execute(SQLScript("CREATE TABLE t(id INTEGER PRIMARY KEY, x UNIQUE); INSERT INTO t VALUES (1, 'a')")) }
        try new.execute(SQLScript("INSERT INTO t VALUES (2, 'b'), (3, 'c')"))
        try third.execute(SQLScript("CREATE TABLE t(id INTEGER PRIMARY KEY, x UNIQUE); INSERT INTO t VALUES (1, 'c')"))
        let before = try Contents.of(third)
        let diff = try DatabaseDiff(from: old.main, to: new.main)
        #expect(throws: DatabaseError.self) { try diff.apply(to: third) }
        #expect(try Contents.of(third) == before && third.settings.isEnabled(.foreignKeys))
        let error = #expect(throws: DatabaseError.self) { try third.transaction { try diff.apply(to: $0) } }
        #expect(error?.reason == .misuse)
        let unknown = #expect(throws: DatabaseError.self) { try diff.changeset(tables: ["none"]) }
        #expect(unknown?.reason == .invalidArgument)
    }
}
