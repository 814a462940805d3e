import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import StoreSupport
import Testing
import TestSupport

/// Followers and stores after a change of the database's key.
@Suite struct FormerKeyTests {
    let folder: TemporaryFolder
    let store = MemoryStore()

    init() throws { folder = try TemporaryFolder() }

    func path(_ name: String) -> String { folder.path(name) }

    /// Keys of each kind.
    static func key(_ kind: String, _ number: UInt8) throws -> DatabaseKey {
        var cipher = CipherConfiguration()
        cipher.kdfIterations = 1000
        let bytes = [UInt8](repeating: number, count: 32)
        switch kind {
        case "passphrase": return try .passphrase("correct horse \(number)", cipher: cipher)
        case "raw": return try .raw(bytes)
        default: return try .raw(bytes, salt: [UInt8](repeating: number, count: 16))
        }
    }

    private func change(_ pool: DatabasePool, _ key: DatabaseKey, _ mode: Schema.KeyChangeMode = .inPlace) throws {
        try pool.changeKey(to: key, mode: mode)
    }

    private func number(_ path: String, _ key: DatabaseKey) throws -> Int? {
        try Connection(.file(path), key: key).fetchOne(Int.self, "SELECT number FROM commits")
    }

    private func check(_ oracle: CommitOracle, _ follower: ReplicaFollower) throws -> Int {
        try follower.reader.read { db in try oracle.check(db) }
    }

    private func store(_ pool: DatabasePool, _ oracle: CommitOracle, commits: Int) async throws {
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        for _ in 0..<commits { try oracle.commit(pool) }
        try await replica.waitUntilStored(timeout: .forTests)
        await replica.stop()
    }

    private func isKeyChanged(_ error: any Error) -> Bool { (error as? DatabaseError)?.reason == .replicaKeyChanged }

    @Test(arguments: ["passphrase", "raw", "salted"]) func followerContinuesAfterKeyChange(kind: String) async throws {
        let old = try Self.key(kind, 1), new = try Self.key(kind, 2), oracle = CommitOracle(seed: 41)
        let pool = try DatabasePool(.file(path("a.db")), key: old)
        // The generations of the new key begin again from 1.
        for _ in 0..<3 {
            try await store(pool, oracle, commits: 4)
            try emptyLog(pool)
        }
        let follower = try await ReplicaFollower(at: path("b.db"), following: store, key: old, every: .seconds(1000))
        try await follower.catchUp()
        #expect(try check(oracle, follower) == 12)
        try change(pool, new)
        await #expect { try await follower.changeKey(to: new) } throws: { ($0 as? DatabaseError)?.reason == .replicaDamaged }
        try await store(pool, oracle, commits: 5)
        await #expect(throws: DatabaseError.self) { try await follower.catchUp() }
        await #expect { try await follower.catchUp() } throws: { isKeyChanged($0) }
        await #expect { try await follower.changeKey(to: old) } throws: { isKeyChanged($0) }
        #expect(try check(oracle, follower) == 12)
        try await follower.changeKey(to: new)
        #expect(try check(oracle, follower) == 17)
        try await store(pool, oracle, commits: 3)
        try await follower.catchUp()
        #expect(try check(oracle, follower) == 20)
        #expect(await follower.currentStatus.error == nil)
        await follower.stop()
        try close(follower.database)
        await #expect { try await ReplicaFollower(at: path("b.db"), following: store, key: old) } throws: { isKeyChanged($0) }
        try await store(pool, oracle, commits: 1)
        let next = try await ReplicaFollower(at: path("b.db"), following: store, key: new, every: .seconds(1000))
        try await next.catchUp()
        #expect(try check(oracle, next) == 21)
        #expect(try verify(next.database).problems.isEmpty)
        await next.stop()
    }

    /// A change that is not carried out leaves the note as an interruption does: the former key opens the copy and its note.
    @Test func followerWithFormerKeyContinuesAfterUnfinishedKeyChange() async throws {
        let old = try Self.key("raw", 1), new = try Self.key("raw", 2), oracle = CommitOracle(seed: 44)
        let pool = try DatabasePool(.file(path("a.db")), key: old)
        try await store(pool, oracle, commits: 4)
        let follower = try await ReplicaFollower(at: path("b.db"), following: store, key: old, every: .seconds(1000))
        try await follower.catchUp()
        try change(pool, new)
        try await store(pool, oracle, commits: 5)
        let reader = try Connection(.file(path("b.db")), key: old)
        try reader.execute("BEGIN")
        #expect(try reader.fetchOne(Int.self, "SELECT number FROM commits") == 4)
        await #expect { try await follower.changeKey(to: new) } throws: { ($0 as? DatabaseError)?.reason == .busy }
        reader.close()
        await follower.stop()
        try close(follower.database)
        await #expect { try await ReplicaFollower(at: path("b.db"), following: store, key: new) } throws: { isKeyChanged($0) }
        let next = try await ReplicaFollower(at: path("b.db"), following: store, key: old, every: .seconds(1000))
        await #expect { try await next.catchUp() } throws: { isKeyChanged($0) }
        #expect(try check(oracle, next) == 4)
        try await next.changeKey(to: new)
        #expect(try check(oracle, next) == 9)
        await next.stop()
        try close(next.database)
    }

    private func emptyLog(_ pool: DatabasePool) throws { _ = try pool.barrierWriteWithoutTransaction { db in try db.main.checkpoint(.truncate) } }

    private func close(_ pool: DatabasePool) throws { try pool.close() }

    private func verify(_ pool: DatabasePool) throws -> Schema.IntegrityReport { try pool.read { db in try db.main.verify() } }

    /// A new file has a new salt, and so another section.
    @Test(arguments: ["passphrase", "raw"]) func followerContinuesAfterConversion(kind: String) async throws {
        let key = try Self.key(kind, 1), oracle = CommitOracle(seed: 42)
        let pool = try DatabasePool(.file(path("a.db")), key: key)
        try await store(pool, oracle, commits: 6)
        let follower = try await ReplicaFollower(at: path("b.db"), following: store, key: key, every: .seconds(1000))
        try await follower.catchUp()
        try change(pool, key, .newFile)
        let before = store.objects["head"] ?? []
        try await store(pool, oracle, commits: 2)
        try await follower.catchUp()
        #expect(try check(oracle, follower) == 8)
        // The store goes back, the follower does not.
        let after = store.objects["head"] ?? []
        store.change("head") { $0 = before }
        await #expect { try await follower.catchUp() } throws: { ($0 as? DatabaseError)?.reason == .replicaRolledBack }
        #expect(try check(oracle, follower) == 8)
        store.change("head") { $0 = after }
        try await store(pool, oracle, commits: 2)
        try await follower.catchUp()
        #expect(try check(oracle, follower) == 10)
        await follower.stop()
    }

    @Test func pageSizeChangeRequiresNewCopy() async throws {
        let key = try Self.key("raw", 1), oracle = CommitOracle(seed: 43)
        let pool = try DatabasePool(.file(path("a.db")), key: key)
        try await store(pool, oracle, commits: 6)
        let follower = try await ReplicaFollower(at: path("b.db"), following: store, key: key, every: .seconds(1000))
        try await follower.catchUp()
        var cipher = CipherConfiguration()
        cipher.pageSize = 1024
        let small = key.with(cipher: cipher)
        try change(pool, small, .newFile)
        try await store(pool, oracle, commits: 2)
        await #expect { try await follower.catchUp() } throws: { ($0 as? DatabaseError)?.code.primary == .mismatch }
        await #expect { try await follower.changeKey(to: small) } throws: { ($0 as? DatabaseError)?.code.primary == .mismatch }
        #expect(try check(oracle, follower) == 6)
        await follower.stop()
    }

    @Test func removedFormerKeyOpensNothing() async throws {
        let old = try Self.key("raw", 1), new = try Self.key("raw", 2), oracle = CommitOracle(seed: 44)
        let pool = try DatabasePool(.file(path("a.db")), key: old)
        try await store(pool, oracle, commits: 6)
        let follower = try await ReplicaFollower(at: path("c.db"), following: store, key: old, every: .seconds(1000))
        try await follower.catchUp()
        let former = Set(store.objects.keys).subtracting(["head"])
        #expect(try await Replicator.removeContentOfFormerKeys(in: store, key: old) == 0)
        try change(pool, new)
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        try oracle.commit(pool)
        try await replica.waitUntilStored(timeout: .forTests)
        await #expect { try await Replicator.removeContentOfFormerKeys(in: store, key: old) } throws: { isKeyChanged($0) }
        try await Replicator.restore(to: path("b.db"), from: store, key: old)
        // Files of others stay.
        _ = try await store.put("notes.txt", [1], if: .always)
        _ = try await store.put("0123456789abcdef/notes", [1], if: .always)
        // While the replica stores the head, and interrupted once.
        let faulty = FaultyStore(store, seed: 44, rate: 0)
        for round in 0..<20 {
            try oracle.commit(pool)
            faulty.rate.store(round == 3 ? 60 : 0, ordering: .relaxed)
            _ = try? await Replicator.removeContentOfFormerKeys(in: faulty, key: new)
        }
        #expect(former.isDisjoint(with: store.objects.keys))
        #expect(store.objects["notes.txt"] != nil && store.objects["0123456789abcdef/notes"] != nil)
        #expect(HeadBytes(store.objects["head"] ?? []).sections.count == 1)
        await #expect { try await Replicator.restore(to: path("d.db"), from: store, key: old) } throws: {
            ($0 as? DatabaseError)?.reason == .replicaDamaged
        }
        await #expect { try await follower.catchUp() } throws: { isKeyChanged($0) }
        try oracle.commit(pool)
        try await replica.waitUntilStored(timeout: .forTests)
        #expect(await replica.currentStatus.error == nil)
        try await follower.changeKey(to: new)
        #expect(try check(oracle, follower) == oracle.commits)
        await follower.stop()
        await replica.stop()
        try await Replicator.restore(to: path("e.db"), from: store, key: new)
        #expect(try number(path("e.db"), new) == oracle.commits)
    }

    @Test func retentionRemovesFormerKeys() async throws {
        let old = try Self.key("raw", 1), new = try Self.key("raw", 2), oracle = CommitOracle(seed: 45)
        let pool = try DatabasePool(.file(path("a.db")), key: old)
        try await store(pool, oracle, commits: 6)
        let former = Set(store.objects.keys).subtracting(["head"])
        try change(pool, new)
        try await store(pool, oracle, commits: 1)
        #expect(former.isSubset(of: store.objects.keys))
        var options = Replicator.Options.forTests
        (options.retention, options.gracePeriod, options.sweepInterval) = (.milliseconds(1), .zero, .zero)
        let replica = try await Replicator(of: pool, in: store, options: options)
        for _ in 0..<5 {
            try oracle.commit(pool)
            try await replica.waitUntilStored(timeout: .forTests)
        }
        await replica.stop()
        #expect(former.isDisjoint(with: store.objects.keys))
        try await Replicator.restore(to: path("b.db"), from: store, key: new)
        #expect(try number(path("b.db"), new) == oracle.commits)
    }

    @Test func replicaStaysReadableAfterManyKeyChanges() async throws {
        let oracle = CommitOracle(seed: 46), pool = try DatabasePool(.file(path("a.db")), key: try Self.key("raw", 0))
        for number in 0..<UInt8(18) {
            if number > 0 { try change(pool, try Self.key("raw", number)) }
            try await store(pool, oracle, commits: 1)
        }
        #expect(HeadBytes(store.objects["head"] ?? []).sections.count == 16)
        for number in [UInt8(2), 10, 17] {
            try await Replicator.restore(to: path("r\(number).db"), from: store, key: try Self.key("raw", number))
            #expect(try self.number(path("r\(number).db"), try Self.key("raw", number)) == Int(number) + 1)
        }
    }
}
