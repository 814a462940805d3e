import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

@Suite struct ConcurrencyPoolTests {
    let folder: TemporaryFolder
    let pool: DatabasePool

    init() throws {
        folder = try TemporaryFolder()
        pool = try DatabasePool(.file(folder.path("a.db")), key: .passphrase("one").quick)
        try pool.write { db in try db.execute("CREATE TABLE t(x)") }
    }

    private func count(_ pool: DatabasePool) throws -> Int? {
        try pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") }
    }

    @Test func poolReadIsSnapshotFromItsStart() throws {
        try pool.read { db in
            // Before its first statement of its own.
            let pool = pool
            try onThreads(1) { _ in try pool.write { db in try db.execute("INSERT INTO t VALUES (1)") } }
            #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 0)
            try onThreads(1) { _ in
                let now = try self.count(pool)
                #expect(now == 1)
            }
            #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 0)
        }
        #expect(try count(pool) == 1)
    }

    @Test func poolReadSnapshotCoversAttachedDatabases() throws {
        try pool.attach(.file(folder.path("b.db")), as: "other", key: .passphrase("two", cipher: .quick))
        try pool.barrierWriteWithoutTransaction { db in
            try db.execute("PRAGMA other.journal_mode = WAL")
            try db.execute("CREATE TABLE other.u(x)")
        }
        try pool.read { db in
            let pool = pool
            try onThreads(1) { _ in try pool.write { db in try db.execute("INSERT INTO other.u VALUES (1)") } }
            #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM other.u") == 0)
        }
        #expect(try pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM other.u") } == 1)
    }

    /// Else another connection's commit between a write's reads and its first change would make it fail.
    @Test func poolWriteHoldsWriteLockFromItsStart() throws {
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .zero
        let other = try Connection(.file(folder.path("a.db")), key: .passphrase("one").quick, configuration: configuration)
        try pool.write { db in
            let before = try db.fetchOne(Int.self, "SELECT count(*) FROM t")
            let error = #expect(throws: DatabaseError.self) { try other.execute("INSERT INTO t VALUES (1)") }
            #expect(error?.reason == .busy)
            try db.execute("INSERT INTO t VALUES (\(before ?? -1))")
        }
        #expect(try other.fetchAll(Int.self, "SELECT x FROM t") == [0])
    }

    @Test func readsGoOnDuringAWrite() async throws {
        let pool = pool
        // On the writer's own thread, which may wait.
        try await pool.write { db in
            try db.execute("INSERT INTO t VALUES (1)")
            try onThreads(3) { _ in
                let now = try self.count(pool)
                #expect(now == 0)
            }
        }
        #expect(try await pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 1)
    }

    @Test func readersAreReadOnly() throws {
        let error = #expect(throws: DatabaseError.self) {
            try pool.read { db in
                try db.execute("PRAGMA query_only = OFF")
                try db.execute("INSERT INTO t VALUES (1)")
            }
        }
        #expect(error?.code == .readOnly)
        #expect(try count(pool) == 0)
    }

    @Test func poolReadersOfURIAreReadOnly() throws {
        let pool = try DatabasePool(.uri("file:\(folder.path("a.db"))"), key: .passphrase("one").quick)
        let error = #expect(throws: DatabaseError.self) { try pool.read { db in try db.execute("INSERT INTO t VALUES (1)") } }
        #expect(error?.code == .readOnly)
        #expect(try count(pool) == 0)
    }

    @Test func reentrantCallsThrow() throws {
        let calls: [() throws -> Void] = [
            { _ = try pool.read { db in db.isOpen } }, { _ = try pool.write { db in db.isOpen } },
            { _ = try pool.barrierWriteWithoutTransaction { db in db.isOpen } }, { try pool.close() },
        ]
        func all() {
            for call in calls {
                let error = #expect(throws: DatabaseError.self) { try call() }
                #expect(error?.reason == .misuse)
            }
        }
        try pool.write { _ in all() }
        try pool.read { _ in all() }
        try pool.barrierWriteWithoutTransaction { _ in all() }
        #expect(try count(pool) == 0)
    }

    @Test func poolClosureCannotEndItsTransaction() throws {
        for call in [
            { _ = try pool.write { db in try db.commit() } }, { _ = try pool.write { db in try db.execute("ROLLBACK") } },
            { _ = try pool.read { db in try db.commit() } },
        ] as [() throws -> Void] {
            let error = #expect(throws: DatabaseError.self) { try call() }
            #expect(error?.reason == .misuse)
        }
        try pool.write { db in try db.execute("INSERT INTO t VALUES (1)") }
        #expect(try count(pool) == 1)
    }

    @Test func objectsEscapedFromPoolClosureThrow() throws {
        try pool.write { db in try db.execute("INSERT INTO t VALUES (1), (2), (3)") }
        var connection: Connection?
        var statement: Statement?
        var cursor: RowCursor<Int>?
        try pool.read { db in
            connection = db
            statement = try db.prepare("SELECT x FROM t")
            cursor = try db.cursor(Int.self, "SELECT x FROM t")
            _ = try cursor?.next()
        }
        func check() {
            var error = #expect(throws: DatabaseError.self) { _ = try connection?.fetchOne(Int.self, "SELECT 1") }
            #expect(error?.reason == .misuse)
            error = #expect(throws: DatabaseError.self) { _ = try statement?.fetchOne(Int.self) }
            #expect(error?.reason == .misuse)
            #expect(throws: DatabaseError.self) { _ = try cursor?.next() }
        }
        check()
        // While another call has the connection.
        let entered = Latch(), leave = Latch()
        let pool = pool
        let other = onThread {
            try pool.read { db in
                entered.open()
                leave.wait()
                let count = try db.fetchOne(Int.self, "SELECT count(*) FROM t")
                #expect(count == 3)
            }
        }
        entered.wait()
        check()
        connection?.close()
        #expect(connection?.isInTransaction == false)
        leave.open()
        try other.wait()
        (statement, cursor, connection) = (nil, nil, nil)
        #expect(try count(pool) == 3)
    }

    @Test func poolRefusesDatabaseWithoutFile() throws {
        for location in [DatabaseLocation.memory, .temporary, .uri("file:x?mode=memory")] {
            let error = #expect(throws: DatabaseError.self) { try DatabasePool(location) }
            #expect(error?.reason == .invalidArgument)
        }
    }

    @Test func databaseAttachedInBarrierReachesAllConnections() throws {
        try pool.barrierWriteWithoutTransaction { db in
            try db.attach(.file(folder.path("b.db")), as: "other", key: .passphrase("two", cipher: .quick))
            try db.execute("CREATE TABLE other.u(x)")
            try db.execute("INSERT INTO other.u VALUES (7)")
        }
        #expect(try pool.read { db in try db.fetchOne(Int.self, "SELECT x FROM other.u") } == 7)
        try pool.barrierWriteWithoutTransaction { db in try db.schema("other").detach() }
        #expect(throws: DatabaseError.self) { try pool.read { db in try db.fetchOne(Int.self, "SELECT x FROM other.u") } }
    }

    @Test func keyChangedInBarrierReachesAllReaders() throws {
        #expect(try count(pool) == 0)
        try pool.barrierWriteWithoutTransaction { db in try db.changeKey(to: .passphrase("two")) }
        #expect(try count(pool) == 0)
        try pool.write { db in try db.execute("INSERT INTO t VALUES (1)") }
        #expect(try count(pool) == 1)
        try pool.close()
        #expect(try count(DatabasePool(.file(folder.path("a.db")), key: .passphrase("two").quick)) == 1)
    }

    @Test func closingPoolFinishesRunningAndFailsWaitingCalls() async throws {
        let entered = Latch(), leave = Latch()
        let pool = pool
        let running = onThread {
            try pool.write { db in
                entered.open()
                leave.wait()
                try db.execute("INSERT INTO t VALUES (1)")
            }
        }
        try await entered.opened()
        let waiting = onThread { try pool.write { db in try db.execute("INSERT INTO t VALUES (2)") } }
        let task = Task { try await pool.write { db in try db.execute("INSERT INTO t VALUES (3)") } }
        // So that they are likely to wait already; if not, the result is the same.
        try await Task.sleep(for: .milliseconds(50))
        let closing = onThread { try pool.close() }
        let first = await #expect(throws: DatabaseError.self) { try await waiting.ended() }
        #expect(first?.reason == .closed)
        let second = await #expect(throws: DatabaseError.self) { try await task.value }
        #expect(second?.reason == .closed)
        leave.open()
        try await running.ended()
        try await closing.ended()
        #expect(try folder.names() == ["a.db"])
        let db = try Connection(.file(folder.path("a.db")), key: .passphrase("one").quick)
        #expect(try db.fetchAll(Int.self, "SELECT x FROM t") == [1])
    }
}
