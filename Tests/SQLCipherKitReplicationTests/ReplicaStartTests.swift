import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import StoreSupport
import Testing
import TestSupport

/// The work of a server when it starts, and when its replica ends.
@Suite struct ReplicaStartTests {
    let folder: TemporaryFolder
    let key: DatabaseKey

    init() throws {
        folder = try TemporaryFolder()
        key = try CommitOracle.key
    }

    /// A store that keeps no snapshots.
    private struct WithoutSnapshots: ObjectStore {
        let store = MemoryStore()

        func list(prefix: String) async throws -> [StoredObject.Info] { try await store.list(prefix: prefix) }
        func get(_ name: String) async throws -> StoredObject? { try await store.get(name) }
        func delete(_ name: String) async throws { try await store.delete(name) }

        func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
            if name.contains("/snapshot-") { throw StoreFault("no snapshots") }
            return try await store.put(name, bytes, if: condition)
        }
    }

    private func replicate(_ oracle: CommitOracle, in store: any ObjectStore, key: DatabaseKey? = nil) async throws {
        let pool = try DatabasePool(.file(folder.path("\(UUID().uuidString).db")), key: key ?? self.key)
        try oracle.commit(pool)
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        try await replica.waitUntilStored(timeout: .forTests)
        await replica.stop()
        try close(pool)
    }

    private func close(_ pool: DatabasePool) throws { try pool.close() }

    private func expectNothing(at path: String) throws {
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func missingDatabaseIsRestored() async throws {
        let store = MemoryStore(), oracle = CommitOracle(seed: 31), path = folder.path("b.db")
        #expect(try await Replicator.restoreIfMissing(path, from: store, key: key) == nil)
        try expectNothing(at: path)
        try await replicate(oracle, in: store)
        let position = try await Replicator.restoreIfMissing(path, from: store, key: key)
        #expect(position?.generation == 1)
        #expect(try oracle.check(fileAt: path) == 1)
    }

    @Test func restoreIfMissingKeepsPresentDatabase() async throws {
        let store = FaultyStore(MemoryStore(), seed: 1, rate: 100), path = folder.path("b.db"), content = Data("anything".utf8)
        try content.write(to: URL(fileURLWithPath: path))
        #expect(try await Replicator.restoreIfMissing(path, from: store, key: key) == nil)
        #expect(store.faults.load(ordering: .relaxed) == 0)
        #expect(FileManager.default.contents(atPath: path) == content)
    }

    /// Otherwise an empty database would take the place of the one in the store.
    @Test func restoreIfMissingFromUnreadableStoreThrows() async throws {
        let store = MemoryStore(), path = folder.path("b.db")
        try await replicate(CommitOracle(seed: 32), in: store)
        let wrong = try DatabaseKey.raw([UInt8](repeating: 9, count: 32))
        await #expect { try await Replicator.restoreIfMissing(path, from: store, key: wrong) } throws: {
            ($0 as? DatabaseError)?.reason == .replicaDamaged
        }
        let unreachable = FaultyStore(store, seed: 1, rate: 100)
        await #expect {
            try await Replicator.restoreIfMissing(path, from: unreachable, key: key)
        } throws: { ($0 as? DatabaseError)?.reason == .storeUnavailable }
        try await store.delete("head")
        await #expect { try await Replicator.restoreIfMissing(path, from: store, key: key) } throws: {
            ($0 as? DatabaseError)?.reason == .replicaDamaged
        }
        try expectNothing(at: path)
        // Objects that are not of a replica may be there.
        let other = MemoryStore()
        for name in ["readme", "photos/log-1", "0123456789abcdef/notes", "0123456789ABCDEF/log-1-1", "a/0123456789abcdef/log-1"] {
            _ = try await other.put(name, [1], if: .always)
        }
        #expect(try await Replicator.restoreIfMissing(path, from: other, key: key) == nil)
    }

    @Test func restoreIfMissingIgnoresUnfinishedFirstSnapshot() async throws {
        let store = WithoutSnapshots(), path = folder.path("b.db")
        func begin(_ key: DatabaseKey) async throws {
            let pool = try DatabasePool(.file(folder.path("\(UUID().uuidString).db")), key: key)
            try CommitOracle(seed: 33).commit(pool)
            let replica = try await Replicator(of: pool, in: store, options: .forTests)
            await #expect(throws: DatabaseError.self) { try await replica.waitUntilStored(timeout: .milliseconds(300)) }
            await replica.stop()
            try close(pool)
        }
        try await begin(key)
        #expect(store.store.objects["head"] != nil)
        #expect(try await Replicator.restoreIfMissing(path, from: store, key: key) == nil)
        // After a change of the key, there may be objects that the former key opens.
        let new = try DatabaseKey.raw([UInt8](repeating: 9, count: 32))
        try await begin(new)
        await #expect(throws: DatabaseError.self) { try await Replicator.restoreIfMissing(path, from: store, key: new) }
        try expectNothing(at: path)
    }

    // MARK: Restarts

    /// With the option, a restart needs no snapshot. Either way the database's file has everything in the end.
    @Test(arguments: [false, true]) func restartedReplicaLosesNoCommit(keepsLog: Bool) async throws {
        let store = MemoryStore(), oracle = CommitOracle(seed: 35), path = folder.path("a.db")
        var options = Replicator.Options.forTests
        options.persistsWAL = keepsLog
        for round in 1...4 {
            let pool = try DatabasePool(.file(path), key: key)
            // Commits before the replica starts and while it runs. One after its end may start the log from the beginning.
            for _ in 0..<5 { try oracle.commit(pool) }
            let replica = try await Replicator(of: pool, in: store, options: options)
            for _ in 0..<5 { try oracle.commit(pool) }
            let position = try await replica.waitUntilStored(timeout: .forTests)
            #expect(position.generation == (keepsLog ? round < 4 ? 1 : 2 : UInt64(round)))
            await replica.stop()
            if round == 3 { try oracle.commit(pool) }
            try close(pool)
            #expect(FileManager.default.fileExists(atPath: path + "-wal") == keepsLog)
        }
        let copy = folder.path("copy.db")
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        #expect(try oracle.check(fileAt: copy) == oracle.commits)
        try await Replicator.restore(to: folder.path("b.db"), from: store, key: key)
        #expect(try oracle.check(fileAt: folder.path("b.db")) == oracle.commits)
    }

    /// The same for a replica with connections of its own, beside a program that opens and closes the database.
    @Test func restartBesideAnotherProgramKeepsGeneration() async throws {
        let store = MemoryStore(), oracle = CommitOracle(seed: 36), path = folder.path("a.db")
        var options = Replicator.Options.forTests
        options.persistsWAL = true
        let first = try DatabasePool(.file(path), key: key)
        try oracle.commit(first)
        for round in 0..<3 {
            let replica = try await Replicator(of: .file(path), key: key, in: store, options: options)
            if round == 0 { try close(first) }
            let pool = try DatabasePool(.file(path), key: key)
            try oracle.commit(pool)
            try close(pool)
            #expect(try await replica.waitUntilStored(timeout: .forTests).generation == 1)
            await replica.stop()
        }
        try await Replicator.restore(to: folder.path("b.db"), from: store, key: key)
        #expect(try oracle.check(fileAt: folder.path("b.db")) == oracle.commits)
    }

    /// Calls that remake the file must not leave a log of the former file beside it.
    @Test(arguments: ["changeKey", "convert", "vacuum", "restore", "journalMode"])
    func rewriteLeavesNoOldWALBesideTheFile(kind: String) async throws {
        let store = MemoryStore(), oracle = CommitOracle(seed: 37), path = folder.path("a.db")
        let new = try DatabaseKey.raw([UInt8](repeating: 9, count: 32))
        var options = Replicator.Options.forTests
        options.persistsWAL = true
        var pool = try DatabasePool(.file(path), key: key)
        for _ in 0..<5 { try oracle.commit(pool) }
        let replica = try await Replicator(of: pool, in: store, options: options)
        try await replica.waitUntilStored(timeout: .forTests)
        await replica.stop()
        var last = key
        switch kind {
        case "changeKey":
            try await pool.changeKey(to: new)
            last = new
        case "vacuum": try await pool.barrierWriteWithoutTransaction { db in try db.main.vacuum() }
        case "journalMode":
            try close(pool)
            let db = try Connection(.file(path), key: key)
            try db.execute("PRAGMA journal_mode = DELETE")
            db.close()
            pool = try DatabasePool(.file(path), key: key)
        case "convert":
            try close(pool)
            try DatabaseConverter.convert(fileAt: path, from: key, to: new)
            last = new
            pool = try DatabasePool(.file(path), key: new)
        default:
            try close(pool)
            // Refused as long as there is a log that could be taken for the restored file's log.
            await #expect(throws: DatabaseError.self) {
                try await Replicator.restore(to: path, from: store, key: key, replacing: true)
            }
            pool = try DatabasePool(.file(path), key: key)
        }
        try oracle.commit(pool)
        let next = try await Replicator(of: pool, in: store, options: options)
        try await next.waitUntilStored(timeout: .forTests)
        await next.stop()
        try close(pool)
        let db = try Connection(.file(path), key: last)
        #expect(try oracle.check(db) == oracle.commits)
        #expect(try db.main.verify().isIntact)
        db.close()
        try await Replicator.restore(to: folder.path("b.db"), from: store, key: last)
        let restored = try Connection(.file(folder.path("b.db")), key: last)
        #expect(try oracle.check(restored) == oracle.commits)
        restored.close()
    }

    // MARK: The end

    @Test func waitUntilEndedReportsTheEnd() async throws {
        let store = MemoryStore(), oracle = CommitOracle(seed: 34)
        let pool = try DatabasePool(.file(folder.path("a.db")), key: key)
        try oracle.commit(pool)
        let first = try await Replicator(of: pool, in: store, options: .forTests)
        try await first.waitUntilStored(timeout: .forTests)

        // A wait that is given up leaves the replica as it is.
        let given = Task { try await first.waitUntilEnded() }
        given.cancel()
        await #expect(throws: CancellationError.self) { try await given.value }
        try oracle.commit(pool)
        try await first.waitUntilStored(timeout: .forTests)

        let watch = Task { try await first.waitUntilEnded() }
        let second = try await Replicator(of: pool, in: store, options: .forTests)
        try await second.waitUntilStored(timeout: .forTests)
        try oracle.commit(pool)
        for call in [watch, Task { try await first.waitUntilEnded() }] {
            await #expect { try await call.value } throws: { ($0 as? DatabaseError)?.reason == .replicaFenced }
        }

        async let end: Void = second.waitUntilEnded()
        await second.stop()
        try await end
        try await second.waitUntilEnded()
    }
}
