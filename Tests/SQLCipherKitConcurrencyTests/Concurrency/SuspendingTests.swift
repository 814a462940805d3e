import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct SuspendingTests {
    let folder: TemporaryFolder
    let pool: DatabasePool
    let queue: DatabaseQueue

    init() throws {
        folder = try TemporaryFolder()
        pool = try DatabasePool(.file(folder.path("pool.db")), key: .passphrase("one").quick)
        queue = try DatabaseQueue(.file(folder.path("queue.db")), key: .passphrase("one").quick)
        for database in [pool, queue] as [DatabaseWriter] { try database.write { db in try db.execute("CREATE TABLE t(x)") } }
    }

    private func expectSuspended(_ database: DatabaseWriter, sourceLocation: SourceLocation = #_sourceLocation) {
        for body in [
            { _ = try database.read { db in try db.fetchOne(Int.self, "SELECT 1") } },
            { try database.write { db in try db.execute("INSERT INTO t VALUES (2)") } },
            { try database.barrierWriteWithoutTransaction { db in try db.execute("VACUUM") } },
        ] as [() throws -> Void] {
            let error = #expect(throws: DatabaseError.self, sourceLocation: sourceLocation) { try body() }
            #expect(error?.reason == .suspended, sourceLocation: sourceLocation)
        }
    }

    @Test func suspendedDatabaseRefusesCallsUntilResumed() throws {
        for database in [pool, queue] as [DatabaseWriter] {
            try database.write { db in try db.execute("INSERT INTO t VALUES (1)") }
            for _ in 0..<3 {
                try database.suspend()
                try database.suspend()
                #expect(database.isSuspended && !database.isOpen)
                expectSuspended(database)
                database.resume()
                database.resume()
                #expect(!database.isSuspended && database.isOpen)
                #expect(try database.read { db in try db.fetchOne(Int.self, "SELECT sum(x) FROM t") } == 1)
            }
        }
    }

    @Test func suspendRollsBackWriteAndReleasesLocks() throws {
        let endless: SQL = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
        for (database, name) in [(pool, "pool.db"), (queue, "queue.db")] as [(DatabaseWriter, String)] {
            let started = Latch()
            let running = onThread {
                try database.write { db in
                    try db.execute("INSERT INTO t VALUES (1)")
                    started.open()
                    try db.execute(endless)
                }
            }
            started.wait()
            try database.suspend()
            let error = #expect(throws: DatabaseError.self) { try running.wait() }
            #expect(error?.reason == .suspended)
            // Another connection gets the lock at once.
            var configuration = DatabaseConfiguration()
            configuration.busyTimeout = .zero
            let other = try Connection(.file(folder.path(name)), key: .passphrase("one").quick, configuration: configuration)
            try other.execute("INSERT INTO t VALUES (7)")
            other.close()
            database.resume()
            #expect(try database.read { db in try db.fetchAll(Int.self, "SELECT x FROM t") } == [7])
        }
    }

    /// The shared lock of a database with a write-ahead log stays. Only what needs the file alone sees it, and SQLite takes it for
    /// as long as the connection is open.
    @Test func suspendedDatabaseKeepsSharedLockOfItsLog() throws {
        for (database, name, isFree) in [(pool, "pool.db", false), (queue, "queue.db", true)] as [(DatabaseWriter, String, Bool)] {
            try database.write { db in try db.execute("INSERT INTO t VALUES (1)") }
            try database.suspend()
            var configuration = DatabaseConfiguration()
            configuration.busyTimeout = .zero
            let other = try Connection(.file(folder.path(name)), key: .passphrase("one").quick, configuration: configuration)
            do {
                if isFree { try other.execute("BEGIN EXCLUSIVE") } else { try other.main.setJournalMode(.delete) }
                #expect(isFree)
            } catch let error as DatabaseError { #expect(!isFree && error.reason == .busy, "\(error)") }
            other.close()
            database.resume()
        }
    }

    /// Between two statements nothing runs that an interrupt could end.
    @Test func suspendStopsClosureAtItsNextStatement() throws {
        let started = Latch(), suspended = Latch()
        let running = onThread { [pool] in
            try pool.write { db in
                try db.execute("INSERT INTO t VALUES (1)")
                started.open()
                suspended.wait()
                try db.execute("INSERT INTO t VALUES (2)")
            }
        }
        started.wait()
        let error = #expect(throws: DatabaseError.self) { try pool.suspend(timeout: .milliseconds(60)) }
        #expect(error?.reason == .timeout && pool.isSuspended)
        suspended.open()
        let refused = #expect(throws: DatabaseError.self) { try running.wait() }
        #expect(refused?.reason == .suspended)
        try pool.suspend()
        pool.resume()
        #expect(try pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 0)
    }

    @Test func suspendEndsWaitingCallsAndSnapshots() throws {
        let snapshot = try pool.snapshot()
        let started = Latch(), goOn = Latch()
        let running = onThread { [pool] in
            try pool.write { _ in
                started.open()
                goOn.wait()
            }
        }
        started.wait()
        let waiting = onThread { [pool] in _ = try pool.write { db in try db.execute("INSERT INTO t VALUES (3)") } }
        usleep(20_000)
        let suspending = onThread { [pool] in try pool.suspend() }
        let error = #expect(throws: DatabaseError.self) { try waiting.wait() }
        #expect(error?.reason == .suspended)
        goOn.open()
        _ = try? running.wait()
        try suspending.wait()
        #expect(!snapshot.isOpen)
        pool.resume()
        #expect(try pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 0)
    }

    @Test func suspendInsideCallOrAfterCloseThrows() throws {
        try queue.write { [queue] _ in
            let error = #expect(throws: DatabaseError.self) { try queue.suspend() }
            #expect(error?.reason == .misuse)
        }
        try queue.suspend()
        try queue.close()
        let error = #expect(throws: DatabaseError.self) { try queue.suspend() }
        #expect(error?.reason == .closed)
        queue.resume()
        #expect(!queue.isOpen && !queue.isSuspended)
    }

    @Test func notificationsSuspendAndResume() throws {
        let center = NotificationCenter()
        let away = Notification.Name("away"), back = Notification.Name("back")
        var observation: ObservationToken? = pool.observeSuspension(suspending: away, resuming: back, in: center)
        center.post(name: away, object: nil)
        #expect(pool.isSuspended)
        expectSuspended(pool)
        center.post(name: back, object: nil)
        #expect(!pool.isSuspended)
        #expect(try pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 0)
        withExtendedLifetime(observation) {}
        observation = nil
        center.post(name: away, object: nil)
        #expect(!pool.isSuspended)
    }

    @Test func suspendUnderLoadLosesNoCommit() throws {
        let writers = (0..<3).map { _ in
            onThread { [pool] in
                var made = 0
                while made < 40 {
                    do {
                        try pool.write { db in try db.execute("INSERT INTO t VALUES (1)") }
                        made += 1
                    } catch let error as DatabaseError where error.reason == .suspended { usleep(500) }
                }
            }
        }
        while !writers.allSatisfy(\.isEnded) {
            try pool.suspend(timeout: .seconds(20))
            pool.resume()
            usleep(1000)
        }
        for writer in writers { try writer.wait() }
        #expect(try pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 120)
    }

    /// A loop that reads while the database is suspended goes on when it is resumed.
    @Test(.timeLimit(.minutes(60))) func observationsContinueAfterResume() async throws {
        for database in [pool, queue] as [DatabaseWriter] {
            var counts = database.observe { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") ?? -1 }.makeAsyncIterator()
            #expect(try await counts.next() == 0)
            for number in 1...3 {
                try await database.write { db in try db.execute("INSERT INTO t VALUES (1)") }
                try onDetachedThread { try database.suspend() }
                let resuming = onThread {
                    usleep(30_000)
                    database.resume()
                }
                #expect(try await counts.next() == number)
                try await resuming.ended()
            }
        }
    }

    private func onDetachedThread(_ body: @escaping @Sendable () throws -> Void) throws { try onThread(body).wait() }
}
