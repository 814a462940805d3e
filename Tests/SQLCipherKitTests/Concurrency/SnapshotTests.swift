import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

@Suite struct SnapshotTests {
    let folder: TemporaryFolder
    let pool: DatabasePool
    var path: String { folder.path("a.db") }

    init() throws {
        folder = try TemporaryFolder()
        var configuration = DatabaseConfiguration.pool {
            $0.checkpointSize = 20_000
            $0.maximumWALSize = 60_000
        }
        configuration.busyTimeout = .milliseconds(50)
        pool = try DatabasePool(.file(folder.path("a.db")), key: .passphrase("one").quick, configuration: configuration)
        try pool.write { db in
            try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
            for id in 0..<20 { try db.execute("INSERT INTO t VALUES (\(id), randomblob(3000))") }
        }
    }

    private func content(_ db: Connection, schema: String = "main") throws -> [Data] {
        try db.fetchAll(Data.self, "SELECT x FROM \(identifier: schema).t ORDER BY id")
    }

    /// Each of these alone would overwrite pages that a snapshot needs, if nothing kept them.
    private func changeEverything() throws {
        try pool.write { db in try db.execute("UPDATE t SET x = randomblob(3000)") }
        for _ in 0..<30 { try pool.write { db in try db.execute("UPDATE t SET x = randomblob(3000) WHERE id % 3 = 0") } }
        try pool.main.checkpoint(.passive)
        try pool.write { db in try db.execute("DELETE FROM t WHERE id % 2 = 0") }
        try pool.writeWithoutTransaction { db in try db.execute("VACUUM") }
        try pool.write { db in
            try db.execute("DROP TABLE t")
            try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x, y)")
        }
        try pool.main.checkpoint(.passive)
    }

    @Test func snapshotKeepsContentDespiteWrites() throws {
        let before = try pool.read { db in try content(db) }
        let snapshot = try pool.snapshot()
        try changeEverything()
        #expect(try snapshot.read { db in try content(db) } == before)
        #expect(try pool.read { db in try content(db) } == [])
        // Other connections of the pool and of other queues do the same to it.
        let other = try Connection(.file(path), key: .passphrase("one").quick)
        try other.execute("INSERT INTO t VALUES (1, 1, 1)")
        try other.main.checkpoint(.passive)
        #expect(try snapshot.read { db in try content(db) } == before)
    }

    @Test func snapshotServesConcurrentReads() async throws {
        let before = try await pool.read { db in try content(db) }
        let snapshots = [try await pool.snapshot(), try await pool.snapshot()]
        let pool = pool
        let writer = Task {
            for _ in 0..<50 { try await pool.write { db in try db.execute("UPDATE t SET x = randomblob(2000)") } }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    for _ in 0..<20 {
                        let now = try await snapshots[number % 2].read { db in try content(db) }
                        #expect(now == before)
                    }
                }
            }
            try await group.waitForAll()
        }
        try await writer.value
        try await snapshots[0].close()
        let closed = await #expect(throws: DatabaseError.self) { try await snapshots[0].read { _ in } }
        #expect(closed?.reason == .closed && !snapshots[0].isOpen)
        let later = try await snapshots[1].read { db in try content(db) }
        #expect(later == before)
    }

    /// Three at once, on more connections than the log has marks for readers.
    @Test func severalSnapshotsCoexist() throws {
        var all: [(DatabaseSnapshot, Int)] = []
        for number in 0..<9 {
            try pool.write { db in try db.execute("CREATE TABLE \(identifier: "u\(number)")(x)") }
            all.append((try pool.snapshot(), number + 2))
        }
        var random = SeededGenerator()
        for (snapshot, tables) in all.shuffled(using: &random) {
            #expect(try snapshot.read { db in try db.main.tables().count } == tables)
        }
    }

    @Test func snapshotRefusesWrites() throws {
        let snapshot = try pool.snapshot()
        #expect(throws: DatabaseError.self) { try snapshot.read { db in try db.execute("DELETE FROM t") } }
        #expect(try snapshot.read { db in try content(db).count } == 20)
    }

    @Test func snapshotOfEmptyLogKeepsContent() throws {
        try pool.main.checkpoint(.truncate)
        let version = try pool.read { db in try db.main.userVersion }
        let snapshot = try pool.snapshot()
        try pool.write { db in try db.execute("DELETE FROM t") }
        #expect(try snapshot.read { db in try content(db).count } == 20)
        #expect(try pool.read { db in try db.main.userVersion } == version)
        try snapshot.close()
        // Of a database that was opened a moment ago, and not written to since.
        try pool.close()
        let again = try DatabasePool(.file(path), key: .passphrase("one").quick)
        #expect(try again.snapshot().read { db in try content(db).count } == 0)
    }

    @Test func snapshotCoversAttachedDatabases() throws {
        try pool.attach(.file(folder.path("b.db")), as: "other", key: .passphrase("two").quick)
        try pool.write { db in try db.execute("CREATE TABLE other.t AS SELECT * FROM main.t") }
        let snapshot = try pool.snapshot()
        let before = try pool.read { db in try content(db) }
        for _ in 0..<3 {
            try pool.write { db in
                try db.execute("UPDATE other.t SET x = 1")
                try db.execute("UPDATE main.t SET x = 1")
            }
            try pool.schema("other").checkpoint(.passive)
        }
        #expect(try snapshot.read { db in try content(db) + content(db, schema: "other") } == before + before)
    }

    @Test func snapshotWithoutWALIsRefused() throws {
        let plain = try Connection(.file(folder.path("c.db")), key: nil)
        try plain.execute("CREATE TABLE t(x)")
        var configuration = DatabaseConfiguration()
        configuration.access = .readOnly
        let pool = try DatabasePool(.file(folder.path("c.db")), key: nil, configuration: configuration)
        let error = #expect(throws: DatabaseError.self) { try pool.snapshot() }
        #expect(error?.reason == .snapshotLost)
    }

    @Test(arguments: ["barrier", "attach", "changeKey", "convert", "erase", "close"])
    func snapshotEndsWithExclusiveCalls(_ call: String) throws {
        let snapshot = try pool.snapshot()
        _ = try snapshot.read { db in try content(db) }
        switch call {
        case "barrier": try pool.barrierWriteWithoutTransaction { db in try db.execute("VACUUM") }
        case "attach": try pool.attach(.file(folder.path("b.db")), as: "b", key: nil)
        case "changeKey": try pool.changeKey(to: .passphrase("two").quick)
        case "convert": try pool.convert(to: .plaintext)
        case "erase": try pool.main.eraseDeletedContent()
        default: try pool.close()
        }
        let error = #expect(throws: DatabaseError.self) { try snapshot.read { _ in } }
        #expect(error?.reason == .snapshotLost && !snapshot.isOpen)
        try snapshot.close()
        guard call != "close" else { return }
        #expect(try pool.snapshot().read { db in try content(db).count } == 20)
    }

    /// A barrier waits for a read of a snapshot as for any other, and gives up as it does elsewhere.
    @Test func barrierWaitsForSnapshotRead() throws {
        let snapshot = try pool.snapshot(), started = Latch(), goOn = Latch()
        let reading = onThread {
            try snapshot.read { db in
                started.open()
                goOn.wait()
                let rows = try content(db).count
                #expect(rows == 20)
            }
        }
        started.wait()
        let error = #expect(throws: DatabaseError.self) { try pool.barrierWriteWithoutTransaction(timeout: .milliseconds(30)) { _ in } }
        #expect(error?.reason == .timeout)
        #expect(throws: DatabaseError.self) { try snapshot.read { _ in } }
        let barrier = onThread { [pool] in try pool.barrierWriteWithoutTransaction { _ in } }
        goOn.open()
        try reading.wait()
        try barrier.wait()
    }

    @Test func checkpointBlockedBySnapshotThrowsBusy() throws {
        let snapshot = try pool.snapshot()
        for mode in [CheckpointMode.full, .restart, .truncate] {
            let error = #expect(throws: DatabaseError.self) { try pool.main.checkpoint(mode) }
            #expect(error?.reason == .busy)
        }
        try snapshot.close()
        #expect(try pool.main.checkpoint(.truncate).isComplete)
    }

    @Test func poolCallInsideSnapshotReadIsRefused() throws {
        let snapshot = try pool.snapshot()
        try snapshot.read { _ in
            let calls = [{ try pool.read { _ in } }, { try pool.barrierWriteWithoutTransaction { _ in } }, { try pool.close() }, { try snapshot.read { _ in } }]
            for call in calls {
                let error = #expect(throws: DatabaseError.self) { try call() }
                #expect(error?.reason == .misuse)
            }
        }
        // The other way about nothing can wait for itself.
        #expect(try pool.write { _ in try snapshot.read { db in try content(db).count } } == 20)
    }

    @Test func snapshotRetainsItsPool() throws {
        var other: DatabasePool? = try DatabasePool(.file(folder.path("d.db")), key: .passphrase("one").quick)
        try other?.write { db in try db.execute("CREATE TABLE t(id, x)") }
        var snapshot = try other?.snapshot()
        other = nil
        #expect(try snapshot?.read { db in try content(db) } == [])
        snapshot = nil
        #expect(try folder.names().filter { $0.hasPrefix("d.db") } == ["d.db"])
    }

    /// Whatever ends first: after `close()` no connection of the pool's has the file, and so nothing keeps the log.
    @Test func snapshotsEndSafelyWhilePoolCloses() async throws {
        for round in 0..<150 {
            let pool = try DatabasePool(.file(folder.path("e.db")), key: .passphrase("one").quick)
            try await pool.write { db in try db.execute("CREATE TABLE IF NOT EXISTS t AS SELECT 1 AS x") }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<4 {
                    let snapshot = try await pool.snapshot()
                    let count = try await snapshot.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") }
                    #expect(count == 1)
                    group.addTask {
                        for _ in 0..<(round * 7 % 50) { await Task.yield() }
                        if task % 2 == 0 { try await snapshot.close() } else { withExtendedLifetime(snapshot) {} }
                    }
                }
                group.addTask { try await pool.close() }
                try await group.waitForAll()
            }
            let names = try folder.names().filter { $0.hasPrefix("e.db") }
            #expect(names == ["e.db"])
        }
    }

    @Test func endedSnapshotDoesNotBlockCheckpoint() throws {
        let snapshot = try pool.snapshot()
        try pool.barrierWriteWithoutTransaction { _ in }
        #expect(!snapshot.isOpen)
        #expect(try pool.main.checkpoint(.truncate).isComplete)
        try snapshot.close()
    }
}
