import SQLCipherKit
import SQLCipherKitReplication
import Testing
import TestSupport

/// A store that cannot keep two writers apart.
@Suite struct UnsupportedStoreTests {
    private struct Store: ReplicaStore {
        let store = MemoryStore()

        func list(prefix: String) async throws -> [ReplicaObjectInfo] { try await store.list(prefix: prefix) }
        func get(_ name: String) async throws -> ReplicaObject? { try await store.get(name) }
        func delete(_ name: String) async throws { try await store.delete(name) }

        func put(_ name: String, _ bytes: [UInt8], if condition: ReplicaCondition) async throws -> String {
            guard condition == .always else { throw ReplicaStoreError.unsupported("no conditions") }
            return try await store.put(name, bytes, if: condition)
        }
    }

    @Test func replicaEndsAndStoresNothing() async throws {
        let folder = try TemporaryFolder(), store = Store()
        let pool = try DatabasePool(.file(folder.path("a.db")), key: CommitOracle.key)
        let replica = try await Replica(following: pool, in: store, options: .forTests)
        let expected = ReplicaStoreError.unsupported("no conditions")
        for _ in 0..<2 {
            await #expect(throws: expected) { try await replica.waitUntilStored(timeout: .seconds(60)) }
        }
        let status = await replica.currentStatus
        #expect(status.isEnded && status.error as? ReplicaStoreError == expected && status.stored == nil)
        #expect(store.store.objects.isEmpty)
        await replica.stop()
        // The database's log is free again.
        try await pool.write { db in try db.execute("CREATE TABLE t(x)") }
    }
}
