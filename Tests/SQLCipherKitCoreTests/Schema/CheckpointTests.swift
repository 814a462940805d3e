import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct ConcurrencyCheckpointTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func makePool(_ change: (inout DatabaseConfiguration.Pool) -> Void = { _ in }) throws -> DatabasePool {
        var configuration = DatabaseConfiguration.pool(change)
        configuration.busyTimeout = Self.busyTimeout
        let pool = try DatabasePool(.file(folder.path("a.db")), key: .passphrase("one").quick, configuration: configuration)
        try pool.write { db in try db.execute("CREATE TABLE t(x)") }
        return pool
    }

    private func logSize() throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.path("a.db-wal"))
        return (attributes[.size] as? Int) ?? 0
    }

    @Test func checkpointModesCopyResetAndTruncateTheWAL() async throws {
        let pool = try makePool { $0.maximumReaders = 2 }
        let passive = try await pool.main.checkpoint()
        #expect(passive.logFrames > 0 && passive.isComplete)
        try await pool.write { db in try db.execute("INSERT INTO t VALUES (zeroblob(20000))") }
        #expect(try await pool.main.checkpoint(.full).isComplete)
        #expect(try await pool.main.checkpoint(.restart).isComplete)
        #expect(try logSize() > 0)
        #expect(try await pool.main.checkpoint(.truncate).logFrames == 0)
        #expect(try logSize() == 0)
        var error = await #expect(throws: DatabaseError.self) { try await pool.schema("nowhere") }
        #expect(error?.reason == .schemaName)
        error = await #expect(throws: DatabaseError.self) { try await pool.write { db in try db.main.checkpoint() } }
        #expect(error?.reason == .misuse)
    }

    @Test func aCheckpointWaitsForReadersOfThePool() throws {
        let pool = try makePool()
        let entered = Latch(), leave = Latch()
        let reading = onThread {
            try pool.read { _ in
                entered.open()
                leave.wait()
            }
        }
        entered.wait()
        try pool.write { db in try db.execute("INSERT INTO t VALUES (1)") }
        // The reader's snapshot is older than what was written.
        #expect(try !pool.main.checkpoint(.passive).isComplete)
        let truncating = onThread { _ = try pool.main.checkpoint(.truncate) }
        Thread.sleep(forTimeInterval: 0.02)
        #expect(!truncating.isEnded)
        leave.open()
        try truncating.wait()
        try reading.wait()
        #expect(try logSize() == 0)
    }

    @Test func walStaysBoundedUnderContinuousReaders() throws {
        let largest = 512 << 10
        let pool = try makePool {
            $0.checkpointSize = 64 << 10
            $0.maximumWALSize = largest
        }
        let stop = Latch()
        let readers = (0..<2).map { number in
            onThread {
                while !stop.isOpened {
                    try pool.read { db in
                        _ = try db.fetchOne(Int.self, "SELECT count(*) FROM t")
                        // There is always one of the two inside.
                        Thread.sleep(forTimeInterval: 0.004 + 0.003 * Double(number))
                    }
                }
            }
        }
        var size = 0
        for _ in 0..<400 {
            try pool.write { db in try db.execute("INSERT INTO t VALUES (randomblob(20000))") }
            size = max(size, try logSize())
        }
        stop.open()
        for reader in readers { try reader.wait() }
        // Some 8 MB were written.
        #expect(size < 4 * largest, "the log grew to \(size) bytes")
        #expect(try pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 400)
    }

    @Test func longReadDoesNotBlockWrites() throws {
        let pool = try makePool {
            $0.checkpointSize = 10_000
            $0.maximumWALSize = 50_000
        }
        let entered = Latch(), leave = Latch()
        let reading = onThread {
            try pool.read { _ in
                entered.open()
                leave.wait()
            }
        }
        entered.wait()
        let writing = onThread {
            for _ in 0..<5 { try pool.write { db in try db.execute("INSERT INTO t VALUES (randomblob(20000))") } }
        }
        // The log is too large meanwhile, but cannot begin again.
        #expect(throws: Never.self) { try writing.wait(atMost: 60) }
        leave.open()
        try writing.wait()
        try reading.wait()
        try pool.write { db in try db.execute("INSERT INTO t VALUES (randomblob(100000))") }
        #expect(try logSize() == 0)
    }

    /// Reads wait for a log that has become too large, but only briefly: another process may read for hours.
    @Test func readerInAnotherConnectionBlocksNoCalls() throws {
        let pool = try makePool {
            $0.checkpointSize = 10_000
            $0.maximumWALSize = 50_000
        }
        let other = try Connection(.file(folder.path("a.db")), key: .passphrase("one").quick)
        try other.begin(.deferred)
        _ = try other.fetchOne(Int.self, "SELECT count(*) FROM t")
        try expectQuick {
            for _ in 0..<10 { try pool.write { db in try db.execute("INSERT INTO t VALUES (randomblob(20000))") } }
            #expect(try pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 10)
        }
        // The writes of the next closure wait for locks as long as before.
        #expect(try pool.writeWithoutTransaction { db in try db.settings.busyTimeout } == Self.busyTimeout)
        other.close()
        try pool.write { db in try db.execute("INSERT INTO t VALUES (randomblob(100000))") }
        #expect(try logSize() == 0)
    }

    /// The log does not start again while there is a snapshot, even one that was taken while the write waited for running reads.
    @Test func snapshotsTakenRepeatedlyDoNotBlockWrites() throws {
        let pool = try makePool {
            $0.checkpointSize = 10_000
            $0.maximumWALSize = 50_000
        }
        let stop = Latch()
        let taker = onThread {
            while !stop.isOpened {
                let snapshot = try pool.snapshot()
                let counts = try (0..<2).map { _ in
                    try snapshot.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") }
                }
                #expect(counts[0] == counts[1])
                try snapshot.close()
            }
        }
        try expectQuick {
            for _ in 0..<100 { try pool.write { db in try db.execute("INSERT INTO t VALUES (randomblob(20000))") } }
        }
        stop.open()
        try taker.wait()
    }

    private static let busyTimeout = Duration.seconds(90)

    /// Nothing here may wait for a lock until the busy timeout has passed.
    private func expectQuick(_ body: () throws -> Void) rethrows {
        let begun = ContinuousClock.now
        try body()
        #expect(ContinuousClock.now - begun < Self.busyTimeout)
    }
}
