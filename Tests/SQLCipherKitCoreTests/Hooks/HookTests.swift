import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct HookTests {
    struct Veto: Error, Equatable { var number: Int }
    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
    }

    @Test func commitHooksRunInRegistrationOrder() throws {
        var calls: [String] = []
        let first = try db.addCommitHook { calls.append("first") }
        try db.addCommitHook { calls.append("second") }
        try db.execute("INSERT INTO t(x) VALUES (1)")
        #expect(calls == ["first", "second"])
        first.remove()
        try db.transaction { try $0.execute("INSERT INTO t(x) VALUES (2)") }
        #expect(calls == ["first", "second", "second"])
        // A transaction that only reads has nothing to commit.
        try db.transaction(.deferred) { _ = try $0.fetchOne(Int.self, "SELECT 1") }
        #expect(calls.count == 3)
    }

    @Test func commitHookErrorVetoesAndReachesTheCaller() throws {
        var rollbacks = 0
        let token = try db.addCommitHook { throw Veto(number: 42) }
        try db.addRollbackHook { rollbacks += 1 }
        let error = #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO t(x) VALUES (1)") }
        #expect(error?.code == .constraintCommitHook)
        #expect(error?.reason == .callback)
        #expect(error?.underlyingError as? Veto == Veto(number: 42))
        #expect(error?.sql == "INSERT INTO t(x) VALUES (1)")
        #expect(rollbacks == 1)
        let again = #expect(throws: DatabaseError.self) { try db.transaction { try $0.execute("INSERT INTO t(x) VALUES (1)") } }
        #expect(again?.underlyingError as? Veto == Veto(number: 42))
        #expect(!db.isInTransaction)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 0)
        token.remove()
        try db.execute("INSERT INTO t(x) VALUES (1)")
        // An error of the package's own is thrown as it is.
        try db.addCommitHook { throw DatabaseError(code: .full, message: "quota") }
        let own = #expect(throws: DatabaseError.self) { try db.execute("DELETE FROM t") }
        #expect(own?.code == .full && own?.message == "quota")
        // An unrelated error afterwards is its own.
        let other = #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO t(id) VALUES (1)") }
        #expect(other?.code == .constraintPrimaryKey)
    }

    @Test func rollbackHookRunsForTransactionsNotSavepoints() throws {
        var count = 0
        let token = try db.addRollbackHook { count += 1 }
        try db.begin()
        try db.execute("INSERT INTO t(x) VALUES (1)")
        try db.rollback()
        #expect(count == 1)
        try db.transaction { db in
            _ = try? db.savepoint { db in
                try db.execute("INSERT INTO t(x) VALUES (1)")
                throw Veto(number: 1)
            }
        }
        #expect(count == 1)
        token.remove()
        try db.begin()
        try db.rollback()
        #expect(count == 1)
    }

    @Test func closingDoesNotCallRollbackHooks() throws {
        var count = 0
        func open() throws -> Connection {
            let db = try Connection(.memory)
            try db.addRollbackHook { count += 1 }
            try db.execute("CREATE TABLE t(x)")
            try db.begin()
            try db.execute("INSERT INTO t VALUES (1)")
            return db
        }
        try open().close()
        // Let go of, and closed by a function that runs.
        _ = try open()
        let db = try open()
        try db.register(.function("shut") {
            db.close()
            return 1
        })
        #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO t SELECT shut()") }
        #expect(count == 0 && !db.isOpen)
    }

    @Test func updateHooksSeeEveryRow() throws {
        var changes: [RowChange] = []
        let token = try db.addUpdateHook { changes.append($0) }
        var tables: Set<String> = []
        try db.addUpdateHook { tables.insert($0.table) }
        try db.execute("INSERT INTO t VALUES (7, 'a'), (8, 'b')")
        try db.execute("UPDATE t SET id = 9 WHERE id = 8")
        try db.execute("DELETE FROM t WHERE id = 7")
        #expect(changes.map(\.kind) == [.insert, .insert, .update, .delete])
        #expect(changes.map(\.rowID) == [7, 8, 9, 7])
        #expect(changes.allSatisfy { $0.schema == "main" && $0.table == "t" })
        #expect(tables == ["t"])
        token.remove()
        try db.execute("INSERT INTO t VALUES (10, 'c')")
        #expect(changes.count == 4)
    }

    /// T29: SQLite empties a table at once, without calling a hook.
    @Test func updateHookReceivesEachRowOfUnfilteredDelete() throws {
        try db.execute("INSERT INTO t(x) VALUES (1), (2), (3)")
        let delete = try db.prepare("DELETE FROM t")
        var deleted: [Int64] = []
        let token = try db.addUpdateHook { if $0.kind == .delete { deleted.append($0.rowID) } }
        try delete.execute()
        #expect(deleted == [1, 2, 3])
        #expect(db.changes == 3)
        // To drop a table is also to delete from it, for SQLite's authorizer; it must still go.
        try db.execute("CREATE TABLE gone(x)")
        try db.execute("CREATE TEMP TABLE passing(x)")
        try db.execute("CREATE VIEW v AS SELECT * FROM t")
        try db.execute("CREATE VIRTUAL TABLE f USING fts5(x)")
        try db.execute("INSERT INTO gone VALUES (1)")
        for (kind, name) in [("TABLE", "gone"), ("TABLE", "passing"), ("VIEW", "v"), ("TABLE", "f")] {
            try db.execute("DROP \(raw: kind) \(raw: name)")
        }
        #expect(try db.fetchAll(String.self, "SELECT name FROM sqlite_schema UNION ALL SELECT name FROM sqlite_temp_schema") == ["t"])
        token.remove()
        try db.execute("INSERT INTO t(x) VALUES (4)")
        try delete.execute()
        #expect(deleted.count == 3)
    }

    @Test func hookMayRemoveItselfWhileRunning() throws {
        var token: HookToken?
        var count = 0
        token = try db.addCommitHook {
            count += 1
            token?.remove()
        }
        try db.execute("INSERT INTO t(x) VALUES (1)")
        try db.execute("INSERT INTO t(x) VALUES (2)")
        #expect(count == 1)
        try db.addCommitHook { count += 10 }
        try db.execute("INSERT INTO t(x) VALUES (3)")
        #expect(count == 11)
    }

    @Test func hookThatUsesTheConnectionThrowsMisuse() throws {
        var reasons: [DatabaseError.Reason] = []
        let statement = try db.prepare("SELECT 1")
        let cursor = try db.cursor(Int.self, "SELECT 1")
        func attempt(_ body: () throws -> Void) {
            do { try body() } catch let error as DatabaseError { reasons.append(error.reason) } catch {}
        }
        try db.addUpdateHook { _ in
            attempt { try db.execute("SELECT 1") }
            attempt { _ = try statement.step() }
            attempt { _ = try cursor.next() }
            attempt { _ = try db.prepare("SELECT 2") }
            attempt { try db.register(.function("f") { 1 }) }
            attempt { try db.settings.setAuthorizer(nil) }
            attempt { try db.settings.setBusyTimeout(.zero) }
        }
        try db.execute("INSERT INTO t(x) VALUES (1)")
        #expect(reasons == Array(repeating: .misuse, count: 7))
        #expect(try statement.step())
        #expect(try cursor.next() == 1)
    }

    @Test func hookTokenMayOutliveItsConnection() throws {
        var other: Connection? = try Connection(.memory)
        let token = try other?.addCommitHook {}
        let busy = try other?.addTraceHook { _ in }
        other?.close()
        busy?.remove()
        other = nil
        token?.remove()
        db.close()
        let error = #expect(throws: DatabaseError.self) { try db.addCommitHook {} }
        #expect(error?.reason == .closed)
    }
}
