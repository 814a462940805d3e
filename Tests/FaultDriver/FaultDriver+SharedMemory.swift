import Foundation
import SQLCipherKit
import SQLCipherKitReplication

/// A queue or a pool whose every connection and thread has worked with the key.
extension FaultDriver {
    /// Uses a database on its own threads and on threads of this process, which stay alive after it is closed, so that their stacks
    /// are searched as well.
    /// - Parameter masked: the passphrase, to change to another key and back; nil does not change the key.
    /// - Returns: the objects that were closed.
    static func useShared(_ database: DatabaseWriter, _ masked: [UInt8]?) throws -> [Any] {
        let store = try SharedKeyValueStore("settings", in: database)
        try work(database, store)
        if let masked {
            try database.changeKey(to: .raw([UInt8](repeating: 7, count: 32)))
            try database.changeKey(to: withClear(masked) { try .passphrase($0) })
            try work(database, store)
        }
        try database.close()
        return [database, store]
    }

    private static func work(_ database: DatabaseWriter, _ store: SharedKeyValueStore) throws {
        try database.write { db in try db.execute("INSERT INTO t VALUES (\(String(repeating: "x", count: 5000)))") }
        try store.set("x", to: 1)
        // As many at once as there are readers.
        let threads = 4, begun = DispatchSemaphore(value: 0), ended = DispatchSemaphore(value: 0)
        for _ in 0..<threads {
            Thread.detachNewThread {
                begun.signal()
                _ = try? database.read { db in
                    usleep(20_000)
                    return try db.fetchOne(Int.self, "SELECT sum(length(x)) FROM t")
                }
                try? store.set("y", to: 2)
                ended.signal()
                // Keeps the thread until the process ends.
                while true { sleep(1000) }
            }
        }
        for _ in 0..<threads { begun.wait() }
        for _ in 0..<threads {
            Task {
                _ = try? await database.read { db in try db.fetchOne(Int.self, "SELECT sum(length(x)) FROM t") }
                try? await database.write { db in try db.execute("INSERT INTO t VALUES (zeroblob(9000))") }
                ended.signal()
            }
        }
        for _ in 0..<2 * threads { ended.wait() }
    }

    /// Uses a raw key in an object that has its own call to close or stop it, and makes that call in a cancelled task.
    /// - Parameter kind: the object. Closing it leaves open the objects that it was made of, which are closed after it.
    /// - Returns: the objects that were closed.
    static func useCancelled(_ kind: String, _ path: String, _ masked: [UInt8]) throws -> [Any] {
        let location = DatabaseLocation.file(path)
        @Sendable func key() throws -> DatabaseKey { try withClear(masked) { try .raw($0) } }
        nonisolated(unsafe) var closed: [any Sendable] = []
        try waiting {
            switch kind {
            case "queue":
                let queue = try DatabaseQueue(location, key: key())
                try await work(queue)
                try await cancelled { try await queue.close() }
                closed = [queue]
            case "pool", "snapshot", "replica":
                let pool = try DatabasePool(location, key: key())
                let store = try SharedKeyValueStore("settings", in: pool)
                try await store.set("x", to: 1)
                try await work(pool)
                closed = [pool, store]
                if kind == "snapshot" {
                    let snapshot = try await pool.snapshot()
                    _ = try await snapshot.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") }
                    try await cancelled { try await snapshot.close() }
                    closed.append(snapshot)
                }
                if kind == "replica" {
                    let replicator = try await Replicator(of: pool, in: FolderStore(path + "-store"))
                    try await replicator.waitUntilStored(timeout: .seconds(60))
                    try await cancelled { await replicator.stop() }
                    closed.append(replicator)
                }
                try await cancelled { try await pool.close() }
            case "replica-of-file":
                let replicator = try await Replicator(of: location, key: key(), in: FolderStore(path + "-store"))
                try await replicator.waitUntilStored(timeout: .seconds(60))
                try await cancelled { await replicator.stop() }
                closed = [replicator]
            case "follower":
                let store = try FolderStore(path + "-store")
                let replicator = try await Replicator(of: location, key: key(), in: store)
                try await replicator.waitUntilStored(timeout: .seconds(60))
                await replicator.stop()
                let follower = try await ReplicaFollower(at: path + "-copy", following: store, key: key())
                try await follower.catchUp()
                try await cancelled { await follower.stop() }
                try await cancelled { try await follower.database.close() }
                closed = [follower, follower.database]
            default:
                throw DatabaseError(message: "no kind \(kind)")
            }
        }
        return closed
    }

    private static func work(_ database: DatabaseWriter) async throws {
        try await database.write { db in try db.execute("INSERT INTO t VALUES (zeroblob(9000))") }
        _ = try await database.read { db in try db.fetchOne(Int.self, "SELECT sum(length(x)) FROM t") }
    }

    private static func cancelled(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await body()
        }
        task.cancel()
        try await task.value
    }
}
