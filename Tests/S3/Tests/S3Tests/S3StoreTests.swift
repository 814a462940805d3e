import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import Testing

/// The server that scripts/workshop/check-replication has started.
enum TestServer {
    private static let environment = ProcessInfo.processInfo.environment
    static let endpoint = environment["SQLCIPHERKIT_TEST_S3"]
    static let port = endpoint.flatMap { URLComponents(string: $0)?.port }.flatMap { UInt16(exactly: $0) } ?? 0
    /// True if the store has conditional writes.
    static let hasConditions = environment["SQLCIPHERKIT_TEST_S3_CONDITIONS"] != "client"

    static func store(_ prefix: String, at endpoint: String? = endpoint) throws -> S3Store {
        var store = try S3Store(
            bucket: "replicas", prefix: prefix, region: "us-east-1", endpoint: endpoint,
            credentials: S3Credentials(
                accessKey: environment["SQLCIPHERKIT_TEST_S3_KEY"] ?? "test",
                secretKey: environment["SQLCIPHERKIT_TEST_S3_SECRET"] ?? "secret"))
        store.conditions = hasConditions ? .server : .client
        return store
    }
}

@Suite(.enabled(if: TestServer.endpoint != nil)) struct S3StoreTests {
    @Test func conditionalPutsKeepVersions() async throws {
        let store = try TestServer.store("objects/")
        let missing = try await store.get("none")
        #expect(missing == nil)
        let first = try #require(try await store.put("a b/c", [1, 2, 3], if: .isAbsent))
        #expect(try await store.put("a b/c", [4], if: .isAbsent) == nil)
        #expect(try await store.put("a b/c", [4], if: .isVersion("\"0\"")) == nil)
        #expect(try await store.put("none", [4], if: .isVersion(first)) == nil)
        let second = try await store.put("a b/c", [5, 6], if: .isVersion(first))
        let object = try await store.get("a b/c")
        #expect(object?.bytes == [5, 6] && object?.version == second)
        #expect(try await store.list(prefix: "a") == [StoredObject.Info(name: "a b/c", size: 2)])
        try await store.delete("a b/c")
        try await store.delete("a b/c")
        #expect(try await store.list(prefix: "").isEmpty)
    }

    @Test func manyObjectsAreListed() async throws {
        let store = try TestServer.store("many/")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    for number in stride(from: worker, to: 1100, by: 4) { try await store.put("n\(number)", [], if: .always) }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await store.list(prefix: "n").count == 1100)
    }

    @Test func unreachableStoreThrowsStoreUnavailable() async throws {
        var store = try S3Store(
            bucket: "replicas", region: "us-east-1", endpoint: "http://127.0.0.1:9",
            credentials: S3Credentials(accessKey: "test", secretKey: "secret"))
        (store.attempts, store.timeout) = (2, .seconds(1))
        await #expect { try await store.get("a") } throws: {
            ($0 as? DatabaseError)?.reason == .storeUnavailable
        }
    }

    @Test func databaseReplicatesToS3AndRestores() async throws {
        let folder = NSTemporaryDirectory() + "s3-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try TestServer.store("notes/"), key = try DatabaseKey.raw([UInt8](repeating: 1, count: 32))
        let pool = try DatabasePool(.file(folder + "/a.db"), key: key)
        let replica = try await Replicator(of: pool, in: store)
        try await pool.write { db in try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)") }
        try await replica.waitUntilStored(timeout: .seconds(60))
        let follower = try await ReplicaFollower(at: folder + "/c.db", following: store, key: key)
        for number in 0..<20 {
            try await pool.write { db in try db.execute("INSERT INTO note(text) VALUES (\("note \(number)"))") }
            try await replica.waitUntilStored(timeout: .seconds(60))
        }
        try await follower.catchUp()
        let followed = try await follower.reader.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") }
        #expect(followed == 20)
        await follower.stop()
        let second = try await Replicator(of: pool, in: store)
        try await second.waitUntilStored(timeout: .seconds(60))
        try await pool.write { db in try db.execute("INSERT INTO note(text) VALUES ('after')") }
        await #expect { try await replica.waitUntilStored(timeout: .seconds(60)) } throws: {
            ($0 as? DatabaseError)?.reason == .replicaFenced
        }
        try await second.waitUntilStored(timeout: .seconds(60))
        await second.stop()
        try await Replicator.restore(to: folder + "/b.db", from: store, key: key)
        #expect(try count(folder + "/b.db", key) == 21)
    }

    func count(_ path: String, _ key: DatabaseKey) throws -> Int? {
        try Connection(.file(path), key: key).fetchOne(Int.self, "SELECT count(*) FROM note")
    }
}
