import KitSupport
import SQLCipherKit
import SQLCipherKitReplication
import Testing
import TestSupport

/// Every public call that cleans up does all of its work in a cancelled task. scripts/workshop/surface --contract compares the
/// calls with the public interface.
@Suite struct CancelledCleanUpTests {
    struct CleanUp: Sendable {
        let call: String
        /// Makes the object to clean up. Returns the call, and a closure that tells whether the call has done its work.
        let make: @Sendable (TemporaryFolder) async throws -> (
            run: @Sendable () async throws -> Void, isDone: @Sendable () async throws -> Bool
        )
    }

    private static func key() throws -> DatabaseKey { try .passphrase("correct horse", cipher: .quick) }

    private static func makePool(_ folder: TemporaryFolder) async throws -> DatabasePool {
        let pool = try DatabasePool(.file(folder.path("a.db")), key: key())
        try await pool.write { db in try db.execute("CREATE TABLE t AS SELECT 1 AS x") }
        return pool
    }

    static let cleanUps: [CleanUp] = [
        CleanUp(call: "DatabaseWriter.close(timeout:)") { folder in
            let pool = try await makePool(folder)
            return ({ try await pool.close() }, { !pool.isOpen })
        },
        CleanUp(call: "DatabaseWriter.close(timeout:)") { folder in
            let queue = try DatabaseQueue(.file(folder.path("a.db")), key: key())
            return ({ try await queue.close() }, { !queue.isOpen })
        },
        CleanUp(call: "DatabaseWriter.releaseMemory()") { folder in
            let pool = try await makePool(folder)
            return ({ try await pool.releaseMemory() }, { pool.isOpen })
        },
        CleanUp(call: "DatabaseSnapshot.close()") { folder in
            let pool = try await makePool(folder), snapshot = try await pool.snapshot()
            return ({ try await snapshot.close() }, { !snapshot.isOpen && pool.isOpen })
        },
        CleanUp(call: "SharedSchema.detach(timeout:)") { folder in
            let pool = try await makePool(folder)
            let other = try await pool.attach(.file(folder.path("b.db")), as: "other", key: key())
            return ({ try await other.detach() }, {
                try await pool.read { db in try db.schemas().map(\.name) }.contains("other") == false
            })
        },
        // Committed changes are stored, and the pool's log is free.
        CleanUp(call: "Replicator.stop()") { folder in
            let pool = try await makePool(folder), store = try FolderStore(folder.path("store"))
            let replicator = try await Replicator(of: pool, in: store)
            try await pool.write { db in try db.execute("UPDATE t SET x = 2") }
            return ({ await replicator.stop() }, {
                try await Replicator.restore(to: folder.path("b.db"), from: store, key: key())
                let db = try Connection(.file(folder.path("b.db")), key: key())
                return try await replicator.currentStatus.isEnded && db.fetchOne(Int.self, "SELECT x FROM t") == 2
            })
        },
        // Another follower can have the copy.
        CleanUp(call: "ReplicaFollower.stop()") { folder in
            let pool = try await makePool(folder), store = try FolderStore(folder.path("store"))
            let replicator = try await Replicator(of: pool, in: store)
            try await replicator.waitUntilStored(timeout: .seconds(60))
            await replicator.stop()
            let follower = try await ReplicaFollower(at: folder.path("b.db"), following: store, key: key())
            return ({ await follower.stop() }, {
                try await ReplicaFollower(at: folder.path("b.db"), following: store, key: key()).stop()
                return true
            })
        },
    ]

    @Test(arguments: cleanUps.indices) func cancelledTaskCleansUp(_ index: Int) async throws {
        let folder = try TemporaryFolder(), cleanUp = Self.cleanUps[index]
        let (run, isDone) = try await cleanUp.make(folder)
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await run()
        }
        task.cancel()
        try await task.value
        #expect(try await isDone(), "\(cleanUp.call)")
    }
}
