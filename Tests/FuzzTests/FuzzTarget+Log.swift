import Foundation
import SQLCipherKit
import SQLCipherKitSync

/// A message of another copy of the database.
extension FuzzTarget {
    static let message = FuzzTarget(name: "message", maximumBytes: 4096) {
        let (tablet, phone) = (try logged("tablet"), try logged("phone"))
        try tablet.add(peer: "laptop")
        try tablet.write { db in try db.execute("INSERT INTO note VALUES ('n1', NULL, 'one', x'01')") }
        try phone.receive(tablet.changes(since: phone.position))
        try phone.write { db in
            try db.execute(SQLScript("""
                INSERT INTO folder VALUES ('f1', 'Inbox', 2.5); UPDATE note SET folder = 'f1', title = 'changed';
                INSERT INTO note VALUES ('n2', 'f1', 'two', NULL); DELETE FROM note WHERE id = 'n1';
                """))
        }
        // A database that has not got a column yet.
        let old = try logged("old", columns: "title TEXT CHECK(title <> '')")
        try old.write { db in try db.execute("INSERT INTO note VALUES ('n3', NULL, 'three')") }
        return try [tablet, phone, old].flatMap { log in
            try [log.changes(), log.snapshot()].map { [UInt8]($0.data) }
        }
    } body: { input in
        guard let message = try? ChangeLog.Message(data: Data(input)) else { return }
        try require(try ChangeLog.Message(data: message.data) == message, "a message differs when it was written and read again")
        let log = try logged("laptop")
        let db = log.connection
        defer { db.close() }
        try log.write { db in
            try db.execute(SQLScript("INSERT INTO folder VALUES ('f1', 'Mine', 1); INSERT INTO note VALUES ('n1', 'f1', 'mine', NULL)"))
        }
        let before = try content(db)
        do { try log.receive(message) } catch {
            try require(try content(db) == before, "a message that was refused has changed rows")
        }
        let check = try db.fetchAll(String.self, "PRAGMA integrity_check") + db.fetchAll(String.self, "PRAGMA foreign_key_check")
        try require(check == ["ok"], "a message has damaged the database: \(check)")
        // The log goes on, whatever it was told.
        try log.write { db in try db.execute("UPDATE note SET title = 'mine again' WHERE id = 'n1'") }
        let other = try logged("other")
        defer { other.connection.close() }
        // After a message with all rows the log lacks the entries that these come from.
        let mine = try (try? log.changes(since: other.position)) ?? log.snapshot()
        if (try? other.receive(mine)) != nil {
            let (here, there) = (try content(db), try content(other.connection))
            try require(here == there, "two copies differ: \(here) and \(there)")
        }
        _ = try log.prune()
    }

    private static func logged(_ peer: String, columns: String = "title TEXT CHECK(title <> ''), data BLOB") throws -> ChangeLog {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE folder(id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE, weight REAL)")
        try db.execute("CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, folder TEXT REFERENCES folder ON DELETE SET NULL, \(raw: columns))")
        return try ChangeLog(db, tables: ["folder", "note"], localPeer: peer)
    }

    private static func content(_ db: Connection) throws -> [[SQLValue]] {
        try db.fetchAll(OwnedRow.self, "SELECT * FROM folder ORDER BY id").map(\.values)
            + db.fetchAll(OwnedRow.self, "SELECT * FROM note ORDER BY id").map(\.values)
    }
}
