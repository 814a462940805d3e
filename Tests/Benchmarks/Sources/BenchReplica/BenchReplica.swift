import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import Synchronization

/// Replication, for scripts/bench replica: runs one workload once in an empty folder, and prints its figures as JSON.
///
/// The arguments are the workload, the store (`none`, `folder`, or the URL of an S3 server that has the bucket `replicas`), the
/// folder, and a divisor of all sizes. Without arguments, it prints the names of the workloads.
@main struct BenchReplica {
    static let workloads: [(name: String, run: @Sendable (BenchReplica) async throws -> [String: Double])] = [
        ("commits", { try await $0.commits() }), ("stored", { try await $0.stored() }), ("restore", { try await $0.restore() }),
        ("follow", { try await $0.follow() }), ("price", { try await $0.price() }), ("grow", { try await $0.grow() }),
    ]

    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count == 4, let scale = Int(arguments[3]), scale > 0,
            let workload = workloads.first(where: { $0.name == arguments[0] })
        else { return print(workloads.map(\.name).joined(separator: "\n")) }
        let figures = try await workload.run(BenchReplica(storeName: arguments[1], folder: arguments[2], scale: scale))
        print(String(decoding: try JSONEncoder().encode(figures), as: UTF8.self))
    }

    let storeName: String
    let folder: String
    let scale: Int

    private func path(_ name: String) -> String { folder + "/" + name }

    private var key: DatabaseKey { get throws { try .raw([UInt8](repeating: 3, count: 32)) } }

    private func store(_ name: String = "") throws -> (any ObjectStore)? {
        switch storeName {
        case "none": return nil
        case "folder": return try FolderStore(path("store\(name)"))
        case _ where storeName.hasPrefix("/"): return try FolderStore("\(storeName)/store\(name)")
        default:
            #if S3
                return try S3Store(
                    bucket: "replicas", prefix: (folder as NSString).lastPathComponent + name + "/", region: "us-east-1",
                    endpoint: storeName,
                    credentials: S3Credentials(accessKey: "test", secretKey: "secret"))
            #else
                throw DatabaseError(reason: .storeUnavailable, message: "built without object stores")
            #endif
        }
    }

    private func database(_ name: String = "a.db") throws -> DatabasePool {
        let pool = try DatabasePool(.file(path(name)), key: key)
        try pool.write { db in try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)") }
        return pool
    }

    /// A commit of one row of 200 bytes.
    private func commit(_ pool: DatabasePool, _ number: Int) throws {
        let text = String(repeating: "0123456789", count: 20)
        try pool.write { db in try db.execute("INSERT INTO note(text) VALUES (\(text + "\(number)"))") }
    }

    /// Rows of a kilobyte, 1,000 in a commit.
    private func fill(_ pool: DatabasePool, megabytes: Int) throws {
        let text = String(repeating: "0123456789", count: 100)
        for _ in 0..<max(1, megabytes) {
            try pool.write { db in
                try db.execute(
                    """
                    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
                    INSERT INTO note(text) SELECT \(text) || i FROM n
                    """)
            }
        }
    }

    private func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }

    private func size(_ name: String) throws -> Double {
        Double(try FileManager.default.attributesOfItem(atPath: path(name))[.size] as? Int ?? 0) / 1e6
    }

    /// The commits of a writer in a second, and the bytes stored for each page in the log. Before that, as many commits let the
    /// log's file reach its size.
    private func commits() async throws -> [String: Double] {
        let pool = try database(), count = max(100, 20_000 / scale), store = try store()
        var replica: Replicator?
        if let store {
            replica = try await Replicator(of: pool, in: store)
            try await replica?.waitUntilStored()
        }
        for number in 0..<count { try commit(pool, number) }
        try await replica?.waitUntilStored()
        sync()
        let before = await replica?.currentStatus, start = ContinuousClock.now
        for number in 0..<count { try commit(pool, number) }
        var figures = ["commits_per_second": Double(count) / seconds(.now - start)]
        if let replica, let before {
            try await replica.waitUntilStored()
            let after = await replica.currentStatus
            let bytes = after.walBytes - before.walBytes + after.headBytes - before.headBytes + after.joinedBytes - before.joinedBytes
            figures["bytes_per_page_byte"] = Double(bytes) / Double(max(1, after.pages - before.pages)) / 4096
            await replica.stop()
        }
        return figures
    }

    /// The time until a commit is in the store: if it waits for that, and if it does not.
    private func stored() async throws -> [String: Double] {
        guard let store = try store() else { return [:] }
        let pool = try database(), replica = try await Replicator(of: pool, in: store)
        try await replica.waitUntilStored()
        var waiting: [Double] = [], passing: [Double] = []
        for number in 0..<max(20, 500 / scale) {
            let start = ContinuousClock.now
            try commit(pool, number)
            try await replica.waitUntilStored()
            waiting.append(seconds(.now - start))
        }
        for number in 0..<max(5, 100 / scale) {
            let before = await replica.currentStatus.stored, start = ContinuousClock.now
            try commit(pool, number)
            while await replica.currentStatus.stored == before { try await Task.sleep(for: .milliseconds(1)) }
            passing.append(seconds(.now - start))
        }
        await replica.stop()
        return [
            "waiting_p50": quantile(waiting, 0.5), "waiting_p99": quantile(waiting, 0.99), "passing_p50": quantile(passing, 0.5),
            "passing_p99": quantile(passing, 0.99),
        ]
    }

    private func quantile(_ values: [Double], _ part: Double) -> Double {
        values.sorted()[min(values.count - 1, Int(Double(values.count) * part))]
    }

    /// Restoring beside copying the file and flushing it, three times in turn. Nothing else waits to be written before each.
    private func restore() async throws -> [String: Double] {
        guard let store = try store() else { return [:] }
        let pool = try database()
        try fill(pool, megabytes: 500 / scale)
        let replica = try await Replicator(of: pool, in: store)
        try await replica.waitUntilStored()
        await replica.stop()
        var restoring: [Double] = [], copying: [Double] = []
        for _ in 0..<3 {
            sync()
            var start = ContinuousClock.now
            try await Replicator.restore(to: path("b.db"), from: store, key: key)
            restoring.append(seconds(.now - start))
            sync()
            start = .now
            try FileManager.default.copyItem(atPath: path("b.db"), toPath: path("c.db"))
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: path("c.db")))
            try file.synchronize()
            try file.close()
            copying.append(seconds(.now - start))
            if restoring.count < 3 { for name in ["b.db", "c.db"] { try FileManager.default.removeItem(atPath: path(name)) } }
        }
        let megabytes = try size("b.db")
        return [
            "restore_mb_per_second": megabytes / quantile(restoring, 0.5), "copy_mb_per_second": megabytes / quantile(copying, 0.5),
            "restore_per_copy": quantile(zip(restoring, copying).map { $1 / $0 }, 0.5),
        ]
    }

    /// A follower that is behind, up to the newest state.
    private func follow() async throws -> [String: Double] {
        guard let store = try store() else { return [:] }
        let pool = try database(), replica = try await Replicator(of: pool, in: store)
        try await replica.waitUntilStored()
        let follower = try await ReplicaFollower(at: path("b.db"), following: store, key: key, every: .seconds(100_000))
        try await follower.catchUp()
        // Not so much that a snapshot is stored: then it would be read instead.
        try fill(pool, megabytes: 200 / scale)
        try await replica.waitUntilStored()
        let start = ContinuousClock.now
        try await follower.catchUp()
        let time = seconds(.now - start), megabytes = Double(max(1, 200 / scale))
        await follower.stop()
        await replica.stop()
        return ["follow_mb_per_second": megabytes / time]
    }

    /// The cost of steady use: the requests and bytes of five databases in the same ten minutes, each with a store of its own.
    private func price() async throws -> [String: Double] {
        let uses = [
            Use(name: "trickle", pause: .milliseconds(500)), Use(name: "slow", pause: .milliseconds(500), interval: .seconds(5)),
            Use(name: "notes", pause: .seconds(60)), Use(name: "bulk", pause: .milliseconds(250), rowSize: 24_000),
            Use(name: "quiet", pause: .seconds(100_000)),
        ]
        return try await withThrowingTaskGroup(of: [String: Double].self) { group in
            for use in uses { group.addTask { try await price(use) } }
            return try await group.reduce(into: [:]) { $0.merge($1) { $1 } }
        }
    }

    private struct Use: Sendable {
        let name: String
        /// The time between two commits of a row.
        let pause: Duration
        var interval = Replicator.Options().interval
        var rowSize = 200
    }

    private func price(_ use: Use) async throws -> [String: Double] {
        guard let base = try store(use.name) else { return [:] }
        let store = CountingStore(base), pool = try database(use.name + ".db")
        var options = Replicator.Options()
        options.interval = use.interval
        let replica = try await Replicator(of: pool, in: store, options: options)
        try await replica.waitUntilStored()
        let before = store.figures, pages = await replica.currentStatus.pages
        let start = ContinuousClock.now, time = Duration.seconds(max(10, 600 / scale))
        var next = start + use.pause
        while next < start + time {
            try await Task.sleep(until: next)
            let text = String(repeating: "0123456789", count: use.rowSize / 10)
            try await pool.write { db in try db.execute("INSERT INTO note(text) VALUES (\(text))") }
            next += use.pause
        }
        try await Task.sleep(until: start + time)
        let after = store.figures, hours = seconds(.now - start) / 3600
        let log = Double(await replica.currentStatus.pages - pages) * (4096 + 24)
        await replica.stop()
        return [
            "stores_\(use.name)": Double(after.puts - before.puts) / hours,
            "reads_\(use.name)": Double(after.reads - before.reads) / hours,
            "log_\(use.name)": log / hours / 1e6,
            "uploaded_\(use.name)": Double(after.bytes - before.bytes) / max(1, log),
        ]
    }

    /// The costs that depend on the size of the database: the first snapshot, and a commit that waits until it is stored.
    private func grow() async throws -> [String: Double] {
        let pool = try database()
        var figures: [String: Double] = [:]
        for size in [10, 100, 1000, 10_000] {
            try fill(pool, megabytes: size / scale - Int(try self.size("a.db")))
            // In a store of its own, each begins with a snapshot.
            guard let store = try store("\(size)") else { break }
            let start = ContinuousClock.now
            let replica = try await Replicator(of: pool, in: store)
            try await replica.waitUntilStored()
            figures["snapshot_\(size)"] = try self.size("a.db") / seconds(.now - start)
            var waiting: [Double] = []
            for number in 0..<max(20, 100 / scale) {
                let start = ContinuousClock.now
                try commit(pool, number)
                try await replica.waitUntilStored()
                waiting.append(seconds(.now - start))
            }
            figures["grown_waiting_\(size)"] = quantile(waiting, 0.5)
            await replica.stop()
            try? FileManager.default.removeItem(atPath: path("store\(size)"))
        }
        return figures
    }
}

/// Counts the requests to a store, and the bytes that are stored.
final class CountingStore: ObjectStore {
    struct Figures {
        var puts = 0, reads = 0, bytes = 0
    }

    private let base: any ObjectStore
    private let counted = Mutex(Figures())

    init(_ base: any ObjectStore) { self.base = base }

    var figures: Figures { counted.withLock { $0 } }

    func list(prefix: String) async throws -> [StoredObject.Info] {
        counted.withLock { $0.reads += 1 }
        return try await base.list(prefix: prefix)
    }

    func get(_ name: String) async throws -> StoredObject? {
        counted.withLock { $0.reads += 1 }
        return try await base.get(name)
    }

    func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
        counted.withLock { figures in
            figures.puts += 1
            figures.bytes += bytes.count
        }
        return try await base.put(name, bytes, if: condition)
    }

    func delete(_ name: String) async throws { try await base.delete(name) }
}
