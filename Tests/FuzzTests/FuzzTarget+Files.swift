import Foundation
import SQLCipherKit
import TestSupport

/// Files that come with a database.
extension FuzzTarget {
    private static let folder = try? TemporaryFolder()

    private static func path(_ name: String) throws -> String {
        guard let folder else { throw Finding("no temporary folder") }
        return folder.path(name)
    }

    /// A small database with everything in a file that can demand work: indexes, a view, a trigger, JSON, full text, a generated
    /// column.
    private static func sample(_ name: String, journal: DatabaseConfiguration.JournalMode = .delete) throws -> Connection {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = journal
        let db = try Connection(.file(try path(name)), configuration: configuration)
        try db.execute(SQLScript("""
            CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT, year AS (id + 2000) STORED, CHECK(id > 0));
            CREATE UNIQUE INDEX note_title ON note(lower(title)) WHERE id > 1;
            CREATE TABLE tag(name TEXT PRIMARY KEY, data BLOB) WITHOUT ROWID;
            CREATE VIEW both AS SELECT title, name FROM note, tag;
            CREATE TRIGGER t AFTER DELETE ON note BEGIN DELETE FROM tag WHERE name = old.title; END;
            CREATE VIRTUAL TABLE note_fts USING fts5(title, body, content=note, content_rowid=id);
            INSERT INTO note(title, body) VALUES ('one', 'the quick brown fox'), ('two', 'jumps over'), ('three', NULL);
            INSERT INTO note_fts(note_fts) VALUES ('rebuild');
            INSERT INTO tag VALUES ('red', x'0102'), ('json', jsonb('{"a":[1,2]}'));
            """))
        return db
    }

    private static func bytes(_ name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(fileURLWithPath: path(name)))) }

    private static func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
    }

    private static func remove(_ name: String) throws {
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink(try path(name) + suffix) }
    }

    /// Reads all that is in a database, with a bound on the work, and changes it where that is allowed.
    private static func use(_ path: String, _ configuration: DatabaseConfiguration) throws {
        guard let db = try? Connection(.file(path), configuration: configuration) else { return }
        defer { db.close() }
        var left = 300
        try? db.settings.setProgressHandler(every: 1000) {
            left -= 1
            return left > 0
        }
        let tables = (try? db.fetchAll(String.self, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') LIMIT 20")) ?? []
        for table in tables {
            _ = try? db.fetchAll(OwnedRow.self, "SELECT * FROM \(identifier: table) LIMIT 20")
            if let index = try? db.fullText(table) { _ = try? index.search("quikc fo", limit: 3) }
        }
        _ = try? db.fetchAll(String.self, "PRAGMA integrity_check(5)")
        guard configuration.access != .readOnly else { return }
        _ = try? db.execute("INSERT INTO note(title, body) VALUES ('new', 'a new one')")
        _ = try? db.execute("DELETE FROM note WHERE id = 1")
        _ = try? db.execute("VACUUM")
    }

    /// A database file, as an untrusted one and as one of your own.
    static let database = FuzzTarget(name: "database", maximumBytes: 1 << 16) {
        try remove("seed.db")
        let db = try sample("seed.db")
        db.close()
        return [try bytes("seed.db")]
    } body: { input in
        try remove("database.db")
        try write(input, to: "database.db")
        let path = try path("database.db")
        try use(path, .untrusted)
        try use(path, DatabaseConfiguration())
    }

    /// A write-ahead log beside an intact database.
    static let log = FuzzTarget(name: "log", maximumBytes: 1 << 16) {
        let (_, log) = try logged.get()
        return [log]
    } body: { input in
        try remove("log.db")
        try write(try logged.get().database, to: "log.db")
        try write(input, to: "log.db-wal")
        try use(try path("log.db"), DatabaseConfiguration())
    }

    private static let logged = Result<(database: [UInt8], log: [UInt8]), any Error> {
        try remove("logged.db")
        let db = try sample("logged.db", journal: .wal)
        defer { db.close() }
        try db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        let database = try bytes("logged.db")
        try db.execute("UPDATE note SET body = 'changed' WHERE id = 2")
        return (database, try bytes("logged.db-wal"))
    }

    /// A rollback journal beside a database that is in the midst of a transaction.
    static let journal = FuzzTarget(name: "journal", maximumBytes: 1 << 16) {
        [try halted.get().journal]
    } body: { input in
        try remove("journal.db")
        try write(try halted.get().database, to: "journal.db")
        try write(input, to: "journal.db-journal")
        try use(try path("journal.db"), DatabaseConfiguration())
    }

    private static let halted = Result<(database: [UInt8], journal: [UInt8]), any Error> {
        try remove("halted.db")
        let db = try sample("halted.db")
        defer { db.close() }
        return try db.transaction { db in
            // The journal's header has the number of its pages once they had to leave the cache.
            try db.execute("PRAGMA cache_size = 1")
            try db.execute("UPDATE note SET body = hex(zeroblob(5000))")
            return (try bytes("halted.db"), try bytes("halted.db-journal"))
        }
    }
}
