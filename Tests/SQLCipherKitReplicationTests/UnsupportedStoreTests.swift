import SQLCipherKit
import SQLCipherKitReplication
import SQLCipherKitSync
import Synchronization
import StoreSupport
import Testing
import TestSupport

/// A store that cannot keep two writers apart.
@Suite struct UnsupportedStoreTests {
    private struct Store: ObjectStore {
        let store = MemoryStore()

        func list(prefix: String) async throws -> [StoredObject.Info] { try await store.list(prefix: prefix) }
        func get(_ name: String) async throws -> StoredObject? { try await store.get(name) }
        func delete(_ name: String) async throws { try await store.delete(name) }

        func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
            guard condition == .always else { throw DatabaseError(reason: .storeUnsupported, message: "no conditions") }
            return try await store.put(name, bytes, if: condition)
        }
    }

    @Test func unsupportedStoreEndsReplicaAndStoresNothing() async throws {
        let folder = try TemporaryFolder(), store = Store()
        let pool = try DatabasePool(.file(folder.path("a.db")), key: CommitOracle.key)
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        let expected = DatabaseError(reason: .storeUnsupported, message: "no conditions")
        for _ in 0..<2 {
            await #expect(throws: expected) { try await replica.waitUntilStored(timeout: .forTests) }
        }
        let status = await replica.currentStatus
        #expect(status.isEnded && status.error == expected && status.stored == nil)
        #expect(store.store.objects.isEmpty)
        await replica.stop()
        // The database's log is free again.
        try await pool.write { db in try db.execute("CREATE TABLE t(x)") }
    }

    /// Fails with an error of its own.
    private final class FailingStore: ObjectStore {
        let store = MemoryStore(), error: any Error, fails = Atomic(true)

        init(_ error: any Error) { self.error = error }

        private func check() throws { if fails.load(ordering: .relaxed) { throw error } }

        func list(prefix: String) async throws -> [StoredObject.Info] {
            try check()
            return try await store.list(prefix: prefix)
        }

        func get(_ name: String) async throws -> StoredObject? {
            try check()
            return try await store.get(name)
        }

        func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
            try check()
            return try await store.put(name, bytes, if: condition)
        }

        func delete(_ name: String) async throws {
            try check()
            try await store.delete(name)
        }
    }

    /// Whatever a store throws, the program meets a database error with it, and the replica goes on.
    @Test(arguments: [DatabaseError.Reason.replicaFenced, .replicaForked, .replicaDamaged, .replicaRolledBack, nil])
    func storeErrorsAreWrappedAndNotInterpreted(reason: DatabaseError.Reason?) async throws {
        let thrown: any Error = reason.map { DatabaseError(reason: $0, message: "of the store") } ?? StoreFault("of the store")
        let folder = try TemporaryFolder(), store = FailingStore(thrown), key = try CommitOracle.key, path = folder.path("b.db")
        let pool = try DatabasePool(.file(folder.path("a.db")), key: key)
        try await pool.write { db in try db.execute("CREATE TABLE t(x TEXT PRIMARY KEY)") }
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        let log = try await SharedChangeLog(pool, tables: ["t"], localPeer: "a")
        let calls: [(String, () async throws -> Void)] = [
            ("restore", { try await Replicator.restore(to: path, from: store, key: key) }),
            ("restoreIfMissing", { try await Replicator.restoreIfMissing(path, from: store, key: key) }),
            ("generations", { _ = try await Replicator.generations(in: store, key: key) }),
            ("removeFormerKeys", { try await Replicator.removeContentOfFormerKeys(in: store, key: key) }),
            ("follow", { _ = try await ReplicaFollower(at: path, following: store, key: key) }),
            ("synchronize", { try await log.synchronize(with: ChangeStore(store, key: key)) }),
            ("replica", { try await replica.waitUntilStored(timeout: .milliseconds(200)) }),
        ]
        for (name, call) in calls {
            do {
                try await call()
                Issue.record("\(name) has not failed")
            } catch {
                var found = error as? DatabaseError
                if found?.reason == .timeout { found = found?.underlyingError as? DatabaseError }
                #expect(found?.reason == .storeUnavailable && found?.message.contains("of the store") == true, "\(name): \(error)")
                let own = found?.underlyingError
                #expect(own is StoreFault ? reason == nil : (own as? DatabaseError)?.reason == reason, "\(name): \(error)")
            }
        }
        store.fails.store(false, ordering: .relaxed)
        try await replica.waitUntilStored(timeout: .forTests)
        await replica.stop()
    }
}
