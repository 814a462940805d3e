import CSQLCipher
import Foundation
import TestSupport
import Testing

/// `sqlcipherkit_end_read` leaves what `COMMIT` leaves, whatever was done in the transaction, or does nothing and says so.
@Suite struct ReadTransactionTests {
    /// The actions that are possible in a transaction of a pool's reader.
    private static let actions = [
        "SELECT count(*) FROM t", "SELECT x FROM other.u", "SELECT x FROM temp.kept", "SELECT nothing FROM nowhere",
        "INSERT INTO temp.kept VALUES (7)", "CREATE TEMP TABLE IF NOT EXISTS more(x)", "DELETE FROM temp.kept WHERE x = 7",
        "SAVEPOINT a", "ROLLBACK TO a", "RELEASE a", "PRAGMA defer_foreign_keys = ON", "SELECT name FROM sqlite_schema",
        "SELECT rowid FROM search WHERE search MATCH 'word'", "INSERT INTO t VALUES (8)",
    ]
    private static let cursors = ["SELECT x FROM t", "SELECT x FROM other.u", "SELECT x FROM temp.kept"]

    // Given as raw keys: a passphrase would take longer than the test.
    private static let key = "x'" + String(repeating: "2a", count: 32) + "'"

    private func open(_ folder: TemporaryFolder) throws -> RawConnection {
        let db = try RawConnection(folder.path("main.db"), key: Self.key)
        try db.query("PRAGMA foreign_keys = ON")
        try db.query("ATTACH '\(folder.path("other.db"))' AS other KEY '\(Self.key.replacing("'", with: "''"))'")
        for name in ["main", "other"] { try db.query("PRAGMA \(name).journal_mode = WAL") }
        try db.query("CREATE TABLE IF NOT EXISTS t(x)")
        try db.query("CREATE TABLE IF NOT EXISTS other.u(x)")
        try db.query("CREATE VIRTUAL TABLE IF NOT EXISTS search USING fts5(text)")
        try db.query("CREATE TEMP TABLE kept(x)")
        for table in ["t", "u", "kept"] { try db.query("INSERT INTO \(table) VALUES (1), (2), (3)") }
        try db.query("INSERT INTO search VALUES ('a word')")
        return db
    }

    /// The state of the transaction as later statements, and other connections, see it.
    private func state(_ db: RawConnection, _ other: RawConnection) throws -> [String] {
        var state = ["autocommit \(sqlite3_get_autocommit(db.handle))"]
        for name in ["main", "other", "temp"] { state.append("\(name) \(sqlite3_txn_state(db.handle, name))") }
        state += try db.query("PRAGMA defer_foreign_keys")
        state += try ["kept"] + db.query("SELECT x FROM temp.kept") + db.query("SELECT name FROM temp.sqlite_schema")
        state += try ["t"] + db.query("SELECT x FROM t")
        // A read that has not ended keeps the log from being reset.
        return try state + other.query("PRAGMA wal_checkpoint(TRUNCATE)") + db.query("SELECT count(*) FROM sqlite_schema")
    }

    private func run(_ program: [String], _ cursor: String?, _ end: (RawConnection) throws -> Void) throws -> [String] {
        let folder = try TemporaryFolder()
        let db = try open(folder), other = try RawConnection(folder.path("main.db"), key: Self.key)
        try other.query("PRAGMA busy_timeout = 0")
        #expect(sqlcipherkit_begin_read(db.handle) == SQLITE_OK)
        var log: [String] = []
        for sql in program { log.append((try? db.query(sql))?.joined(separator: " ") ?? "failed") }
        var statement: OpaquePointer?
        if let cursor {
            sqlite3_prepare_v2(db.handle, cursor, -1, &statement, nil)
            sqlite3_step(statement)
        }
        try end(db)
        log += try state(db, other)
        sqlite3_finalize(statement)
        return try log + state(db, other)
    }

    @Test func endReadLeavesSameStateAsCommit() throws {
        let rounds = LongTests.areOn ? 3000 : 120
        var fast = 0, random = SeededGenerator()
        for _ in 0..<rounds {
            let program = (0..<Int.random(in: 0...4, using: &random)).compactMap { _ in Self.actions.randomElement(using: &random) }
            let cursor = Int.random(in: 0..<4, using: &random) == 0 ? Self.cursors.randomElement(using: &random) : nil
            let committed = try run(program, cursor) { try $0.query("COMMIT") }
            let ended = try run(program, cursor) { db in
                if sqlcipherkit_end_read(db.handle) != 0 { fast += 1 } else { try db.query("COMMIT") }
            }
            #expect(ended == committed, "\(program), cursor \(cursor ?? "none")")
        }
        // Reads alone take the short way.
        #expect(fast > 20)
    }

    @Test func endReadWithoutTransactionDoesNothing() throws {
        let folder = try TemporaryFolder()
        let db = try open(folder)
        #expect(sqlcipherkit_end_read(db.handle) == 0)
        #expect(sqlite3_get_autocommit(db.handle) == 1)
    }
}
