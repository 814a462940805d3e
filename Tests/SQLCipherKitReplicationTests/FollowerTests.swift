import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import Synchronization
import StoreSupport
import Testing
import TestSupport

@Suite struct FollowerTests {
    let folder: TemporaryFolder
    let key: DatabaseKey

    init() throws {
        folder = try TemporaryFolder()
        key = try CommitOracle.key
    }

    func path(_ name: String) -> String { folder.path(name) }

    func check(_ oracle: CommitOracle, _ follower: ReplicaFollower) throws -> Int {
        try follower.reader.read { db in try oracle.check(db) }
    }

    @Test func followerAppliesCommitsInOrder() async throws {
        let store = MemoryStore(), pool = try DatabasePool(.file(path("a.db")), key: key)
        let oracle = CommitOracle(seed: 11)
        try oracle.commit(pool)
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        try await replica.waitUntilStored(timeout: .forTests)
        let follower = try await ReplicaFollower(at: path("b.db"), following: store, key: key, every: .milliseconds(5))
        var last = 0
        for _ in 0..<60 {
            try oracle.commit(pool)
            if oracle.commits % 8 == 0 { try await replica.waitUntilStored(timeout: .forTests) }
            let commit = try check(oracle, follower)
            #expect(commit >= last)
            last = commit
        }
        // Becomes smaller, too.
        try empty(pool)
        try await replica.waitUntilStored(timeout: .forTests)
        try await follower.catchUp()
        let counts = try pages(pool), copied = try pages(follower.database)
        #expect(counts == copied)
        let report = try verify(follower.database)
        // The pages that are there, not the number in the header.
        #expect(report.problems.isEmpty && report.pageCount == counts)
        let status = await follower.currentStatus
        #expect(status.error == nil && status.commitsBehind == 0)
        await follower.stop()
        await replica.stop()
    }

    func empty(_ pool: DatabasePool) throws {
        try pool.write { db in try db.execute("DELETE FROM item") }
        try pool.barrierWriteWithoutTransaction { db in try db.execute("VACUUM") }
    }

    func close(_ pool: DatabasePool) throws { try pool.close() }

    func pages(_ pool: DatabasePool) throws -> Int? {
        try pool.read { db in try db.fetchOne(Int.self, "PRAGMA page_count") }
    }

    func verify(_ pool: DatabasePool) throws -> Schema.IntegrityReport { try pool.read { db in try db.main.verify() } }

    @Test func followerDatabaseIsObservable() async throws {
        let store = MemoryStore(), pool = try DatabasePool(.file(path("a.db")), key: key)
        let oracle = CommitOracle(seed: 12)
        try oracle.commit(pool)
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        try await replica.waitUntilStored(timeout: .forTests)
        let follower = try await ReplicaFollower(at: path("b.db"), following: store, key: key, every: .milliseconds(5))
        var seen: [Int] = []
        for try await number in follower.database.observe({ db in try db.fetchOne(Int.self, "SELECT number FROM commits") ?? 0 }) {
            seen.append(number)
            if seen.count == 4 { break }
            try oracle.commit(pool)
            try await replica.waitUntilStored(timeout: .forTests)
        }
        #expect(seen == [1, 2, 3, 4])
        await follower.stop()
        await replica.stop()
    }

    @Test func followerContinuesAfterRestartsAndGenerations() async throws {
        let store = MemoryStore(), oracle = CommitOracle(seed: 13)
        var pool = try DatabasePool(.file(path("a.db")), key: key)
        for round in 0..<6 {
            let replica = try await Replicator(of: pool, in: store, options: .forTests)
            for _ in 0..<10 { try oracle.commit(pool) }
            try await replica.waitUntilStored(timeout: .forTests)
            let follower = try await ReplicaFollower(at: path("b.db"), following: store, key: key, every: .milliseconds(5))
            try await follower.catchUp()
            #expect(try check(oracle, follower) == oracle.commits)
            await follower.stop()
            await replica.stop()
            if round % 2 == 1 {
                // The log ends with its last connection: the next replica begins a generation.
                try close(pool)
                pool = try DatabasePool(.file(path("a.db")), key: key)
            }
        }
    }

    /// Damages the log on its way to the follower.
    final class DamagingStore: ObjectStore {
        let store = MemoryStore(), isOn = Atomic(false)

        func list(prefix: String) async throws -> [StoredObject.Info] { try await store.list(prefix: prefix) }

        func get(_ name: String) async throws -> StoredObject? {
            guard let object = try await store.get(name) else { return nil }
            guard isOn.load(ordering: .relaxed), name.contains("/log-") else { return object }
            var bytes = object.bytes
            bytes[1000] ^= 1
            return StoredObject(bytes: bytes, version: object.version)
        }

        func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
            try await store.put(name, bytes, if: condition)
        }

        func delete(_ name: String) async throws { try await store.delete(name) }
    }

    @Test func damagedPageIsNotWritten() async throws {
        let store = DamagingStore(), pool = try DatabasePool(.file(path("a.db")), key: key)
        let oracle = CommitOracle(seed: 14)
        try oracle.commit(pool)
        let replica = try await Replicator(of: pool, in: store.store, options: .forTests)
        try await replica.waitUntilStored(timeout: .forTests)
        let follower = try await ReplicaFollower(at: path("b.db"), following: store, key: key, every: .seconds(1000))
        try await follower.catchUp()
        // Before there is anything new: the follower's own first look may come late.
        store.isOn.store(true, ordering: .relaxed)
        try oracle.commit(pool)
        try await replica.waitUntilStored(timeout: .forTests)
        await replica.stop()
        await #expect { try await follower.catchUp() } throws: { ($0 as? DatabaseError)?.reason == .replicaDamaged }
        #expect(try check(oracle, follower) == 1)
        store.isOn.store(false, ordering: .relaxed)
        try await follower.catchUp()
        #expect(try check(oracle, follower) == 2)
        await follower.stop()
    }
}
