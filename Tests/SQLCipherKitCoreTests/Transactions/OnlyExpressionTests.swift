import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing

/// A transaction as the only expression of a closure, which then has the transaction's value or none.
@Suite struct OnlyExpressionTests {
    private func nothing(_ db: Connection, _ body: (Connection) throws -> Void) throws { try body(db) }
    private func number(_ db: Connection, _ body: (Connection) throws -> Int) throws -> Int { try body(db) }

    @Test func singleExpressionTransactionReturnsVoid() throws {
        let db = try Connection(.memory)
        try nothing(db) { db in try db.transaction { db in try db.execute("CREATE TABLE t(x)") } }
        try nothing(db) { db in try db.savepoint { db in try db.execute("INSERT INTO t VALUES (1)") } }
        try nothing(db) { db in try db.transaction(.deferred) { _ in } }
        #expect(try number(db) { db in try db.transaction { db in try db.fetchOne(Int.self, "SELECT x FROM t") ?? 0 } } == 1)
        let queue = try DatabaseQueue(.memory)
        try queue.write { db in try db.transaction { db in try db.execute("CREATE TABLE t(x)") } }
        let count = try queue.read { db in
            try db.transaction(.deferred) { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") }
        }
        #expect(count == 0)
    }

    @Test func singleExpressionTransactionRollsBack() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE t(x)")
        try nothing(db) { db in
            try db.transaction { db in
                try db.execute("INSERT INTO t VALUES (1)")
                return .rollback(())
            }
        }
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 0)
    }
}
