import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct ConcurrencyCancellationTests {
    /// Runs for hours.
    static let endless: SQL = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    let folder: TemporaryFolder
    let pool: DatabasePool

    init() throws {
        folder = try TemporaryFolder()
        pool = try DatabasePool(.file(folder.path("a.db")), key: .passphrase("one").quick, configuration: .pool { $0.maximumReaders = 2 })
        try pool.write { db in try db.execute("CREATE TABLE t(x)") }
    }

    private func count() async throws -> Int? { try await pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } }

    @Test func cancelledReadIsInterrupted() async throws {
        // A read that runs on the reader's thread, and a read that begins at once.
        for isWarm in [false, true] {
            if isWarm { _ = try await count() }
            let entered = Latch()
            let task = Task { [pool] in
                try await pool.read { db in
                    entered.open()
                    return try db.fetchOne(Int.self, Self.endless)
                }
            }
            try await entered.opened()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(try await count() == 0)
        }
    }

    @Test func cancelledWriteIsRolledBack() async throws {
        let entered = Latch()
        let task = Task { [pool] in
            try await pool.write { db in
                try db.execute("INSERT INTO t VALUES (1)")
                entered.open()
                _ = try db.fetchOne(Int.self, Self.endless)
            }
        }
        let other = Task { [pool] in
            try await entered.opened()
            try await pool.write { db in try db.execute("INSERT INTO t VALUES (2)") }
        }
        try await entered.opened()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        // The one behind it is left alone.
        try await other.value
        #expect(try await pool.read { db in try db.fetchAll(Int.self, "SELECT x FROM t") } == [2])
    }

    @Test func cancelledWriteRefusesFurtherStatements() async throws {
        let entered = Latch(), isCancelled = Latch()
        let task = Task { [pool] in
            try await pool.write { db in
                try db.execute("INSERT INTO t VALUES (1)")
                entered.open()
                // Between two statements there is nothing to interrupt.
                isCancelled.wait()
                for _ in 0..<3 {
                    let error = #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO t VALUES (2)") }
                    #expect(error?.code == .interrupted)
                }
            }
        }
        try await entered.opened()
        task.cancel()
        isCancelled.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await count() == 0)
    }

    @Test func cancelledWaitingCallIsRemovedFromQueue() async throws {
        let entered = Latch(), leave = Latch()
        let running = Task { [pool] in
            try await pool.write { db in
                entered.open()
                leave.wait()
                try db.execute("INSERT INTO t VALUES (1)")
            }
        }
        try await entered.opened()
        let waiting = (0..<20).map { number in Task { [pool] in try await pool.write { db in try db.execute("INSERT INTO t VALUES (\(100 + number))") } } }
        try await Task.sleep(for: .milliseconds(20))
        for task in waiting.prefix(10) { task.cancel() }
        for task in waiting.prefix(10) { await #expect(throws: CancellationError.self) { try await task.value } }
        leave.open()
        try await running.value
        for task in waiting.suffix(10) { try await task.value }
        #expect(try await count() == 11)
    }

    @Test func alreadyCancelledTaskWritesNothing() async throws {
        let task = Task { [pool] in
            while !Task.isCancelled { await Task.yield() }
            try await pool.write { db in try db.execute("INSERT INTO t VALUES (1)") }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await count() == 0)
    }

    @Test func cancellationDuringCommitKeepsTheCommit() async throws {
        let entered = Latch(), isCancelled = Latch()
        let token = try await pool.barrierWriteWithoutTransaction { db in
            try db.addCommitHook {
                entered.open()
                isCancelled.wait()
            }
            return true
        }
        #expect(token)
        let task = Task { [pool] in try await pool.write { db in try db.execute("INSERT INTO t VALUES (1)") } }
        try await entered.opened()
        task.cancel()
        isCancelled.open()
        try await task.value
        #expect(try await count() == 1)
    }

    /// A call's task is told of the end later: a cancellation meanwhile must not meet the next call on the same connection.
    @Test func lateCancellationDoesNotInterruptTheNextCall() async throws {
        let executor = PausableExecutor()
        defer { executor.stop() }
        let entered = Latch(), leave = Latch(), isNext = Latch(), isCancelled = Latch()
        let first = Task(executorPreference: executor) { [pool] in
            try await pool.write { db in
                entered.open()
                leave.wait()
                try db.execute("INSERT INTO t VALUES (1)")
            }
        }
        try await entered.opened()
        let next = Task { [pool] in
            try await pool.write { db in
                isNext.open()
                isCancelled.wait()
                try db.execute("INSERT INTO t VALUES (2)")
            }
        }
        executor.pause()
        leave.open()
        try await isNext.opened()
        first.cancel()
        isCancelled.open()
        try await next.value
        executor.goOn()
        try await first.value
        #expect(try await count() == 2)
    }

    @Test func cancellationAndTimeoutEndLockWaits() async throws {
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .seconds(3600)
        let pool = try DatabasePool(.file(folder.path("a.db")), key: .passphrase("one").quick, configuration: configuration)
        let other = try Connection(.file(folder.path("a.db")), key: .passphrase("one").quick, configuration: configuration)
        try other.begin(.immediate)
        let task = Task { try await pool.write { db in try db.execute("INSERT INTO t VALUES (1)") } }
        try await Task.sleep(for: .milliseconds(50))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        let error = #expect(throws: DatabaseError.self) {
            try pool.write(timeout: .milliseconds(20)) { db in try db.execute("INSERT INTO t VALUES (1)") }
        }
        #expect(error?.reason == .timeout)
        try other.rollback()
        try await pool.write { db in try db.execute("INSERT INTO t VALUES (1)") }
    }

    @Test func timeoutEndsRunningCalls() async throws {
        var error = #expect(throws: DatabaseError.self) {
            try pool.read(timeout: .milliseconds(30)) { db in try db.fetchOne(Int.self, Self.endless) }
        }
        #expect(error?.reason == .timeout)
        error = await #expect(throws: DatabaseError.self) {
            try await pool.write(timeout: .milliseconds(30)) { db in
                try db.execute("INSERT INTO t VALUES (1)")
                _ = try db.fetchOne(Int.self, Self.endless)
            }
        }
        #expect(error?.reason == .timeout)
        #expect(try await count() == 0)
    }

    @Test func timeoutEndsWaitingCalls() async throws {
        let entered = Latch(), leave = Latch()
        let running = onThread { [pool] in
            try pool.write { db in
                entered.open()
                leave.wait()
                try db.execute("INSERT INTO t VALUES (1)")
            }
        }
        try await entered.opened()
        var error = #expect(throws: DatabaseError.self) {
            try pool.write(timeout: .milliseconds(10)) { db in try db.execute("INSERT INTO t VALUES (2)") }
        }
        #expect(error?.reason == .timeout)
        error = await #expect(throws: DatabaseError.self) {
            try await pool.write(timeout: .milliseconds(10)) { db in try db.execute("INSERT INTO t VALUES (3)") }
        }
        #expect(error?.reason == .timeout)
        error = #expect(throws: DatabaseError.self) { try pool.barrierWriteWithoutTransaction(timeout: .milliseconds(10)) { db in db.isOpen } }
        #expect(error?.reason == .timeout)
        leave.open()
        try await running.ended()
        #expect(try await count() == 1)
    }

    @Test func cancelledBarrierUnblocksReaders() async throws {
        let entered = Latch(), leave = Latch()
        let reading = onThread { [pool] in
            try pool.read { _ in
                entered.open()
                leave.wait()
            }
        }
        try await entered.opened()
        let barrier = Task { [pool] in try await pool.barrierWriteWithoutTransaction { db in db.isOpen } }
        try await Task.sleep(for: .milliseconds(20))
        let behind = Task { [self] in try await count() }
        try await Task.sleep(for: .milliseconds(20))
        barrier.cancel()
        await #expect(throws: CancellationError.self) { try await barrier.value }
        #expect(try await behind.value == 0)
        leave.open()
        try await reading.ended()
        #expect(try await pool.barrierWriteWithoutTransaction { db in db.isOpen })
    }
}
