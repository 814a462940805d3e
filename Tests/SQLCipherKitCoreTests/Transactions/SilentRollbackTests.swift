import CSQLCipher
import SQLCipherKitCore
import Testing
import TestSupport

/// A statement that SQLite runs for itself fails and rolls back the transaction, and the statement that it was run for does not say
/// so, as `PRAGMA table_list` when a disk error hits a virtual table. Here C does it behind the connection's back.
@Suite struct SilentRollbackTests {
    private func make() throws -> Connection {
        let db = try Connection(.memory)
        try db.execute(SQLScript("CREATE TABLE t(x UNIQUE); INSERT INTO t VALUES (1)"))
        return db
    }

    private func rollBack(_ db: Connection) throws {
        #expect(sqlite3_exec(try db.engineHandle, "INSERT OR ROLLBACK INTO t VALUES (1)", nil, nil, nil) != SQLITE_OK)
        #expect(!db.isInTransaction)
    }

    @Test(arguments: [false, true]) func transactionAbortsAfterSilentRollback(hasHook: Bool) throws {
        let db = try make()
        var rollbacks = 0
        let token = hasHook ? try db.addRollbackHook { rollbacks += 1 } : nil
        for _ in 0..<2 {
            let error = #expect(throws: DatabaseError.self) {
                try db.transaction { db -> Void in
                    try db.execute("INSERT INTO t VALUES (2)")
                    try rollBack(db)
                    try db.savepoint { db in try db.execute("INSERT INTO t VALUES (3)") }
                }
            }
            #expect(error?.reason == .transactionAborted, "\(String(describing: error))")
            // Also if the closure does nothing more, or does not care.
            let other = #expect(throws: DatabaseError.self) {
                try db.savepoint { db in
                    try rollBack(db)
                    try? db.execute("INSERT INTO t VALUES (4)")
                }
            }
            #expect(other?.reason == .transactionAborted)
            #expect(try db.fetchAll(Int.self, "SELECT x FROM t") == [1])
            token?.remove()
        }
        if hasHook { #expect(rollbacks == 2) }
        // Outside of a closure, SQL rolls back as it likes.
        try db.execute("BEGIN")
        try rollBack(db)
        try db.execute("INSERT INTO t VALUES (5)")
        #expect(try db.fetchAll(Int.self, "SELECT x FROM t") == [1, 5])
    }

    @Test func abortedTransactionNamesTheStatementError() throws {
        let db = try make()
        let error = #expect(throws: DatabaseError.self) {
            try db.transaction { db -> Void in
                try? db.execute("INSERT OR ROLLBACK INTO t VALUES (1)")
                try db.execute("INSERT INTO t VALUES (3)")
            }
        }
        #expect(error?.reason == .transactionAborted && error?.message.contains("UNIQUE") == true, "\(String(describing: error))")
    }

    /// As SQLite does for lack of memory when a statement that begins to run is prepared again: the rest is no transaction's.
    @Test(arguments: ["CREATE TABLE made(x)", "INSERT INTO t VALUES (2)", "UPDATE t SET x = 2", "DROP TABLE t", "PRAGMA user_version = 7"])
    func recompiledStatementAfterRollbackIsNotCommitted(sql: String) throws {
        let db = try make(), handle = try db.engineHandle
        let before = try db.fetchAll(Int.self, "SELECT x FROM t UNION ALL SELECT count(*) FROM sqlite_schema")
        var isDone = false
        let error = #expect(throws: DatabaseError.self) {
            try db.transaction { db -> Void in
                try db.execute("INSERT INTO t VALUES (3)")
                let statement = try db.prepare(SQL(stringLiteral: sql))
                // Prepared statements are outdated by the call.
                try db.settings.setAuthorizer { _ in
                    if !isDone {
                        isDone = true
                        sqlite3_exec(handle, "INSERT OR ROLLBACK INTO t VALUES (1)", nil, nil, nil)
                    }
                    return .allow
                }
                #expect(!isDone)
                try statement.step()
            }
        }
        try db.settings.setAuthorizer(nil)
        #expect(isDone && error?.reason == .transactionAborted, "\(String(describing: error))")
        #expect(try db.fetchAll(Int.self, "SELECT x FROM t UNION ALL SELECT count(*) FROM sqlite_schema") == before)
        #expect(try db.fetchOne(Int.self, "PRAGMA user_version") == 0)
    }
}
