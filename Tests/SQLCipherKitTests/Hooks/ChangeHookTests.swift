import SQLCipherKit
import SQLCipherKitSync
import Testing
import TestSupport

@Suite struct ChangeHookTests {
    let db: Connection
    let told = Told()

    /// The changes reported to the hook, commit by commit.
    final class Told {
        var changes: [DatabaseChanges] = []
        var names: [String] { changes.map { $0.tables.map(\.description).sorted().joined(separator: " ") } }
    }

    init() throws {
        db = try Connection(.memory)
        try db.execute(SQLScript("""
            CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT UNIQUE, body TEXT, n INTEGER);
            CREATE TABLE tag(name TEXT PRIMARY KEY, note INTEGER REFERENCES note(id) ON DELETE CASCADE) WITHOUT ROWID;
            CREATE TABLE log(x);
            CREATE TRIGGER titled AFTER UPDATE OF title ON note BEGIN INSERT INTO log VALUES (new.title); END;
            INSERT INTO note(id, title, n) VALUES (1, 'one', 1), (2, 'two', 2), (3, 'three', 3);
            INSERT INTO tag VALUES ('a', 1), ('b', 2);
            """))
    }

    private func listen() throws -> HookToken { try db.addChangeHook { [told] in told.changes.append($0) } }

    /// Each way to change a row is heard of, with the tables that triggers and foreign keys change.
    @Test(arguments: [
        ("INSERT INTO note(title) VALUES ('x')", "note"),
        ("UPDATE note SET n = 9 WHERE id = 1", "note"),
        ("UPDATE note SET title = 'y' WHERE id = 1", "log note"),
        ("UPDATE note SET id = 10 WHERE id = 3", "note"),
        ("DELETE FROM note WHERE id = 3", "note"),
        ("DELETE FROM note WHERE id = 1", "note tag"),
        ("DELETE FROM tag", "tag"),
        ("DELETE FROM log", ""),
        ("INSERT INTO tag VALUES ('c', 3)", "tag"),
        ("UPDATE tag SET note = 3 WHERE name = 'a'", "tag"),
        ("REPLACE INTO tag VALUES ('a', 3)", "tag"),
        ("INSERT INTO note(title) VALUES ('one') ON CONFLICT(title) DO UPDATE SET n = 7", "note"),
        ("INSERT INTO tag SELECT title, id FROM note", "tag"),
        ("UPDATE note SET n = 9 WHERE id = 77", ""),
    ]) func changeHookReportsEveryKindOfRowChange(sql: String, expected: String) throws {
        // Compiled before there is a hook: it must not delete all rows without calling it.
        let statement = try db.prepare(SQL(raw: sql))
        _ = try listen()
        try statement.execute()
        #expect(told.names == [expected])
    }

    /// Rows that REPLACE removes from another place, and the shortcut by which a table is copied as it is.
    @Test func changeHookReportsReplacedAndCopiedRows() throws {
        try db.execute("CREATE TABLE copy(name TEXT PRIMARY KEY, note INTEGER) WITHOUT ROWID")
        try db.execute("CREATE TABLE notes(id INTEGER PRIMARY KEY, title TEXT UNIQUE, body TEXT, n INTEGER)")
        _ = try listen()
        try db.execute("INSERT INTO copy SELECT * FROM tag")
        try db.execute("INSERT INTO notes SELECT * FROM note")
        try db.execute("UPDATE OR REPLACE note SET title = 'two' WHERE id = 1")
        #expect(told.names == ["copy", "notes", "log note tag"] || told.names == ["copy", "notes", "log note"])
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM note") == 2)
    }

    @Test func changeHookRunsOncePerTransaction() throws {
        _ = try listen()
        try db.transaction { db in
            try db.execute("UPDATE note SET n = 4")
            try db.execute("INSERT INTO log VALUES (1)")
            try db.execute("UPDATE note SET n = 5")
            #expect(told.changes.isEmpty)
        }
        #expect(told.names == ["log note"])
        // Nothing written, nothing told.
        try db.transaction(.deferred) { db in _ = try db.fetchAll(Int.self, "SELECT id FROM note") }
        #expect(told.changes.count == 1)
        try db.execute("INSERT INTO log VALUES (1)")
        #expect(told.names == ["log note", "log"])
    }

    @Test func changeHookIsSilentAfterRollback() throws {
        _ = try listen()
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try db.transaction { db in
                try db.execute("DELETE FROM tag")
                throw Stop()
            }
        }
        try db.begin()
        try db.execute("DELETE FROM tag")
        try db.rollback()
        // A statement on its own that fails in the middle.
        #expect(throws: DatabaseError.self) { try db.execute("UPDATE note SET title = 'same'") }
        // A veto.
        let veto = try db.addCommitHook { throw Stop() }
        #expect(throws: (any Error).self) { try db.execute("DELETE FROM tag") }
        veto.remove()
        #expect(told.changes.isEmpty)
        try db.execute("INSERT INTO log VALUES (1)")
        #expect(told.names == ["log"])
    }

    @Test func changeHookOmitsRolledBackSavepoint() throws {
        _ = try listen()
        struct Stop: Error {}
        try db.transaction { db in
            try db.execute("INSERT INTO log VALUES (1)")
            try? db.savepoint { db in
                try db.execute("DELETE FROM tag")
                throw Stop()
            }
            try db.savepoint { db -> TransactionEnd<Void> in
                try db.execute("UPDATE note SET n = 8")
                return .rollback(())
            }
        }
        #expect(told.names == ["log"])
        // Changes before and after count.
        try db.transaction { db in
            try db.execute("DELETE FROM tag WHERE name = 'a'")
            try? db.savepoint { db in
                try db.execute("DELETE FROM tag")
                throw Stop()
            }
            try db.savepoint { try $0.execute("INSERT INTO log VALUES (2)") }
        }
        #expect(told.names == ["log", "log tag"])
    }

    /// A COMMIT that finds the database busy leaves its changes to a later COMMIT.
    @Test func changeHookKeepsChangesOfBusyCommit() throws {
        let folder = try TemporaryFolder()
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .zero
        let writer = try Connection(.file(folder.path("a.db")), configuration: configuration)
        try writer.execute("CREATE TABLE t(x)")
        let reader = try Connection(.file(folder.path("a.db")), configuration: configuration)
        try reader.begin(.deferred)
        _ = try reader.fetchAll(Int.self, "SELECT x FROM t")
        try writer.addChangeHook { [told] in told.changes.append($0) }
        try writer.begin()
        try writer.execute("INSERT INTO t VALUES (1)")
        #expect(throws: DatabaseError.self) { try writer.commit() }
        #expect(told.changes.isEmpty && writer.isInTransaction)
        // On its own it is undone, and so never told of.
        try reader.rollback()
        try writer.commit()
        #expect(told.names == ["t"])
        try reader.begin(.deferred)
        _ = try reader.fetchAll(Int.self, "SELECT x FROM t")
        #expect(throws: DatabaseError.self) { try writer.execute("INSERT INTO t VALUES (2)") }
        #expect(told.names == ["t"])
        try reader.rollback()
        try writer.execute("INSERT INTO t VALUES (3)")
        #expect(told.names == ["t", "t"])
    }

    /// A statement that is let go of before its end commits as well.
    @Test func changeHookReportsUnfinishedStatements() throws {
        _ = try listen()
        #expect(try db.fetchOne(Int.self, "INSERT INTO note(title) VALUES ('r') RETURNING id") == 4)
        #expect(told.names == ["note"])
        var statement: Statement? = try db.prepare("INSERT INTO note(title) VALUES ('s'), ('t') RETURNING id")
        #expect(try statement?.step() == true)
        statement = nil
        #expect(told.names == ["note", "note"])
        let cursor = try db.cursor(Int.self, "INSERT INTO note(title) VALUES ('u'), ('v') RETURNING id")
        _ = try cursor.next()
        cursor.close()
        #expect(told.names == ["note", "note", "note"])
    }

    /// A region is touched by its own columns only.
    @Test(arguments: [
        ("SELECT title FROM note", "UPDATE note SET n = 5", false),
        ("SELECT title FROM note", "UPDATE note SET title = title", false),
        ("SELECT title FROM note", "UPDATE note SET title = title || '!' WHERE id = 2", true),
        ("SELECT title FROM note WHERE n = 2", "UPDATE note SET n = 5 WHERE id = 2", true),
        ("SELECT title FROM note", "UPDATE note SET body = 'b', n = 6", false),
        ("SELECT id FROM note", "UPDATE note SET id = 8 WHERE id = 3", true),
        ("SELECT count(*) FROM note", "UPDATE note SET title = title || '!'", false),
        ("SELECT count(*) FROM note", "DELETE FROM note WHERE id = 3", true),
        ("SELECT 1 FROM NOTE AS n", "DELETE FROM note WHERE id = 3", true),
        ("SELECT note FROM tag", "UPDATE tag SET name = 'z' WHERE name = 'a'", false),
        ("SELECT name FROM tag", "UPDATE tag SET note = 3 WHERE name = 'a'", false),
        ("SELECT name FROM tag", "DELETE FROM note WHERE id = 1", true),
        ("SELECT x FROM log", "UPDATE note SET title = 'q' WHERE id = 1", true),
        ("SELECT x FROM log", "UPDATE note SET n = 4", false),
        ("SELECT title FROM note", "CREATE TABLE more(x)", true),
        ("SELECT title FROM note", "ALTER TABLE note ADD COLUMN z", true),
        ("SELECT title FROM note", "INSERT INTO log VALUES (1)", false),
        ("PRAGMA user_version", "PRAGMA user_version = 4", true),
        ("SELECT title FROM note", "PRAGMA user_version = 4", false),
        ("SELECT 1", "DELETE FROM note", false),
    ]) func changeHookFollowsRegionColumns(query: String, change: String, isAffected: Bool) throws {
        let (_, region) = try db.recordingReads { db in try db.forEach(SQL(raw: query)) { _ in } }
        try db.addChangeHook(affecting: region) { [told] in told.changes.append($0) }
        // Another hook with other interests takes nothing away.
        try db.addChangeHook(affecting: .empty) { _ in Issue.record("nothing cannot be affected, but by the schema") }.remove()
        try db.execute(SQL(raw: change))
        #expect(told.changes.count == (isAffected ? 1 : 0))
    }

    @Test func changeHookTracksGeneratedAndWideColumns() throws {
        let columns = (0..<100).map { "c\($0)" }
        try db.execute(SQL(raw: "CREATE TABLE wide(\(columns.joined(separator: ", ")), g AS (c1 + 1))"))
        try db.execute("INSERT INTO wide(c1, c99) VALUES (1, 2)")
        var told = 0, other = 0, generated = 0
        try db.addChangeHook(affecting: try db.recordingReads { try $0.fetchAll(Int.self, "SELECT c99 FROM wide") }.1) { _ in told += 1 }
        try db.addChangeHook(affecting: try db.recordingReads { try $0.fetchAll(Int.self, "SELECT c1 FROM wide") }.1) { _ in other += 1 }
        try db.addChangeHook(affecting: try db.recordingReads { try $0.fetchAll(Int.self, "SELECT g FROM wide") }.1) { _ in generated += 1 }
        try db.execute("UPDATE wide SET c99 = 3")
        #expect(told == 1 && other == 0)
        try db.execute("UPDATE wide SET c1 = 3")
        #expect(other == 1 && generated >= 1)
    }

    @Test func changeHookFollowsFullTextRegions() throws {
        try db.create(FTS5Table("note_fts", columns: ["title"], content: .external(table: "note")), populate: true)
        try db.create(FTS5Table("own", columns: ["x"]))
        let (_, search) = try db.recordingReads { try $0.fullText("note_fts").search("two") }
        let (_, own) = try db.recordingReads { try $0.fullText("own").search("two") }
        var counts = [0, 0]
        try db.addChangeHook(affecting: search) { _ in counts[0] += 1 }
        try db.addChangeHook(affecting: own) { _ in counts[1] += 1 }
        try db.execute("INSERT INTO note(title) VALUES ('two more')")
        #expect(counts == [1, 0])
        try db.execute("INSERT INTO own VALUES ('two')")
        #expect(counts == [1, 1])
        try db.execute("UPDATE note SET n = 5")
        #expect(counts == [1, 1])
        try db.execute("DELETE FROM own")
        #expect(counts == [1, 2])
        try db.transaction { db in
            try? db.savepoint { db in
                try db.execute("INSERT INTO own VALUES ('three')")
                throw DatabaseError(message: "stop")
            }
        }
        #expect(counts == [1, 2])
    }

    @Test func changeHookTokensRemoveOnlyTheirHook() throws {
        let first = try listen()
        var count = 0
        let second = try db.addChangeHook { _ in count += 1 }
        try db.addChangeHook { [db] _ in
            let error = #expect(throws: DatabaseError.self) { try db.execute("SELECT 1") }
            #expect(error?.reason == .misuse)
        }
        try db.execute("DELETE FROM log WHERE x = 1")
        try db.execute("INSERT INTO log VALUES (1)")
        first.remove()
        try db.execute("INSERT INTO log VALUES (2)")
        second.remove()
        second.remove()
        try db.execute("INSERT INTO log VALUES (3)")
        #expect(told.changes.count == 2 && count == 3)
    }

    /// Sessions use the same hook of SQLite's, of which there is one.
    @Test func changeHookWorksBesideChangeRecorders() throws {
        let before = try ChangeRecorder(db.main)
        _ = try listen()
        let after = try ChangeRecorder(db.main)
        try db.execute("INSERT INTO log VALUES (1)")
        try db.execute("INSERT INTO tag VALUES ('z', 3)")
        #expect(told.names == ["log", "tag"])
        before.close()
        try db.execute("DELETE FROM tag")
        #expect(told.names == ["log", "tag", "tag"])
        after.close()
        try db.execute("DELETE FROM log")
        #expect(told.names == ["log", "tag", "tag", "log"])
    }

    /// A blob's bytes are committed when it is closed.
    @Test func changeHookReportsBlobWrites() throws {
        try db.execute("INSERT INTO note(id, body) VALUES (9, zeroblob(10))")
        _ = try listen()
        let blob = try db.main.openBlob(table: "note", column: "body", rowID: 9, forWriting: true)
        try blob.write([1, 2, 3] as [UInt8])
        blob.close()
        #expect(told.names == ["note"])
    }

    /// Nothing tells which rows a restored backup has changed.
    @Test func restoredBackupReportsUnknownChanges() throws {
        let folder = try TemporaryFolder()
        try db.main.backup(toFileAt: folder.path("copy.db"), key: .plaintext)
        let (_, region) = try db.recordingReads { try $0.fetchAll(Int.self, "SELECT x FROM log") }
        var count = 0
        try db.addChangeHook(affecting: region) { changes in
            count += 1
            #expect(changes.isUnknown)
        }
        try db.main.restore(fromFileAt: folder.path("copy.db"), key: .plaintext)
        #expect(count == 1)
    }

    @Test func changeHookNamesAttachedAndTemporaryTables() throws {
        try db.attach(.memory, as: "other", key: .plaintext)
        try db.execute("CREATE TABLE other.t(x)")
        try db.execute("CREATE TEMP TABLE scratch(x)")
        _ = try listen()
        try db.transaction { db in
            try db.execute("INSERT INTO other.t VALUES (1)")
            try db.execute("INSERT INTO scratch VALUES (1)")
        }
        #expect(told.names == ["other.t temp.scratch"])
    }
}
