import Faults
import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import SQLCipherKitSync

/// Pools with several tasks: each call reports the truth, and the pool continues to work after the fault.
extension FaultScenario {
    static let shared: [FaultScenario] = [
        store, synchronised, replica, restored,
        pool("pool with tasks") { pool, outcome in
            await withTaskGroup(of: Void.self) { tasks in
                for number in 0..<3 {
                    tasks.addTask { await outcome.write(pool, "task \(number)") }
                    tasks.addTask {
                        await outcome.note { _ = try await pool.read { try $0.fetchOne(Int.self, "SELECT sum(length(x)) FROM t") } }
                    }
                }
            }
        },
        pool("timeouts") { pool, outcome in
            await withTaskGroup(of: Void.self) { tasks in
                for number in 0..<3 {
                    tasks.addTask {
                        await outcome.write(pool, "timed \(number)", timeout: .seconds(2))
                        await outcome.note { _ = try await pool.read(timeout: .seconds(2)) { try $0.fetchOne(Int.self, "SELECT 1") } }
                    }
                }
            }
        },
        pool("observation") { pool, outcome in
            let counts = pool.observe { try $0.fetchOne(Int.self, "SELECT count(*) FROM t") ?? -1 }
            await outcome.note {
                var seen: [Int] = []
                for try await count in counts {
                    seen.append(count)
                    if seen.count == 1 { await outcome.write(pool, "observed") }
                    // After an error, there may be nothing more to see.
                    if await outcome.first != nil { break }
                    if count == 31 { break }
                }
                let problem = await outcome.first
                guard problem != nil || seen.first == 30 && seen.last == 31 else { throw Untrue("seen \(seen)") }
            }
        },
    ]

    /// The calls of a key-value store that queues and pools share: each reports the truth, and the next call works.
    static let store = FaultScenario(
        name: "shared store", before: [File("b.db", "two", 30)], after: [File("b.db", "two", 30)],
        prepare: { folder in try KeyValueStore("store", in: open(folder + "/b.db", "two")).set("first", to: 1) },
        run: { folder in
            let pool = try DatabasePool(.file(folder + "/b.db"), key: key("two"), configuration: impatient)
            defer { try? pool.close() }
            let store = try SharedKeyValueStore("store", in: pool)
            let outcome = Outcome()
            try FaultDriver.waiting {
                var expected: [String: Int] = ["first": 1], unknown: Set<String> = []
                func note(_ key: String, _ value: Int?, _ body: @escaping @Sendable () async throws -> Void) async {
                    await outcome.note(body)
                    let failure = await outcome.takeFailure()
                    if failure == nil { expected[key] = value }
                    if (failure as? DatabaseError)?.reason == .unknownOutcome { unknown.insert(key) }
                }
                for number in 0..<3 { await note("a\(number)", number) { try await store.set("a\(number)", to: number) } }
                await note("soon", 7) { try await store.set("soon", to: 7, expires: Date(timeIntervalSinceNow: 1000)) }
                await note("first", nil) { _ = try await store.remove("first") }
                await outcome.note { _ = try await store.get("a1", as: Int.self) }
                await outcome.note { _ = try await store.read { store in try store.keys(prefix: "a") } }
                let values = store.observe("a2", as: Int.self)
                await outcome.note { for try await _ in values { break } }
                Fault.none()
                for key in ["a0", "a1", "a2", "soon", "first"] where !unknown.contains(key) {
                    let value = try await store.get(key, as: Int.self)
                    guard value == expected[key] else { throw Untrue("\(key) is \(value as Any), not \(expected[key] as Any)") }
                }
                try await store.set("after", to: 1)
                if let error = await outcome.first { throw error }
            }
        })

    /// A copy that has changes of its own, and receives some. After a failure it has all that it had; the next call does the rest.
    static let synchronised = FaultScenario(
        name: "synchronising", before: [File("b.db", "two", 30)], after: [File("b.db", "two", 33)],
        beside: ["store", "c.db"], isStepwise: true,
        prepare: { folder in
            let copy = try Connection(.file(folder + "/c.db"), key: key("two"))
            try copy.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT)")
            copy.close()
            let (b, c) = (try log(folder, "b"), try log(folder, "c"))
            try b.withLog { try $0.addExistingRows() }
            // So that each message has several pages.
            try c.write { db in for id in 101...103 { try db.execute("INSERT INTO t VALUES (\(id), \(sent))") } }
            try b.write { try $0.execute("UPDATE t SET x = \(sent) WHERE id <= 3") }
            try FaultDriver.waiting { try await c.synchronize(with: changes(folder)) }
            for log in [b, c] { try log.database.close() }
        },
        run: { folder in
            let (b, c) = (try log(folder, "b"), try log(folder, "c"))
            defer { for log in [b, c] { try? log.database.close() } }
            let outcome = Outcome()
            try FaultDriver.waiting {
                await outcome.note { try await b.synchronize(with: changes(folder)) }
                Fault.none()
                let state = try rows(b)
                guard [30, 33].contains(state.count), state.prefix(3).allSatisfy({ $0 == sent }) else {
                    throw Untrue("\(state.count) rows are left")
                }
                let store = try changes(folder)
                for log in [b, c] { try await log.synchronize(with: store) }
                guard try rows(b).count == 33, try rows(b) == rows(c) else { throw Untrue("the copies differ") }
                let rest = try await b.synchronize(with: store)
                guard rest.isComplete, rest.sent == 0, rest.received.received == 0 else { throw Untrue("\(rest) was left to do") }
                if let error = await outcome.first { throw error }
            }
        })

    private static let sent = String(repeating: "sent", count: 2000)

    private static func log(_ folder: String, _ peer: String) throws -> SharedChangeLog {
        let queue = try DatabaseQueue(.file(folder + "/\(peer).db"), key: key("two"), configuration: impatient)
        return try SharedChangeLog(queue, tables: ["t"], localPeer: peer)
    }

    private static func changes(_ folder: String) throws -> ChangeStore {
        ChangeStore(try FolderStore(folder + "/store"), key: try key("raw"))
    }

    private static func rows(_ log: SharedChangeLog) throws -> [String] {
        try log.database.read { try $0.fetchAll(String.self, "SELECT x FROM t ORDER BY id") }
    }

    /// Without locks, each call waits for as long as that.
    private static var impatient: DatabaseConfiguration {
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .milliseconds(500)
        return configuration
    }

    /// A replica that starts, follows commits and ends, and a restore from it. Its earlier objects stay whole.
    static let replica = FaultScenario(
        name: "replica", before: [File("b.db", "two", 30, hasLog: true)], after: [File("b.db", "two", 30, hasLog: true)],
        beside: ["b.db-wal", "b.db-shm", "store", "c.db", "c.db-wal", "c.db-shm"],
        run: { folder in
            let pool = try DatabasePool(.file(folder + "/b.db"), key: key("two"))
            defer { try? pool.close() }
            let outcome = Outcome()
            try? FileManager.default.removeItem(atPath: folder + "/c.db")
            try FaultDriver.waiting {
                await outcome.note {
                    let replica = try await Replicator(of: pool, in: FolderStore(folder + "/store"))
                    await outcome.note { try await pool.write { try $0.execute("UPDATE t SET x = x WHERE id = 3") } }
                    // A store that refuses is tried again.
                    _ = try? await replica.waitUntilStored(timeout: .milliseconds(500))
                    await replica.stop()
                }
                Fault.none()
                // The next calls work.
                try await pool.write { try $0.execute("UPDATE t SET x = x WHERE id = 4") }
                let again = try await Replicator(of: pool, in: FolderStore(folder + "/store"))
                _ = try await again.waitUntilStored(timeout: .seconds(10))
                await again.stop()
                try await Replicator.restore(to: folder + "/c.db", from: FolderStore(folder + "/store"), key: key("two"))
                let copy = try open(folder + "/c.db", "two")
                defer { copy.close() }
                guard try copy.fetchOne(Int.self, "SELECT count(*) FROM t") == 30 else { throw Untrue("other rows are restored") }
                if let error = await outcome.first { throw error }
            }
        })

    /// A restore from a replica.
    static let restored = FaultScenario(
        name: "replica, restoring", before: [], after: [File("c.db", "two", 30)],
        beside: ["b.db", "b.db-wal", "b.db-shm", "store", "c.db", "c.db-restoring", "c.db-restoring-state"],
        prepare: { folder in
            let made = try Connection(.file(folder + "/b.db"), key: key("two"))
            try made.execute(SQLScript("CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT)"))
            for number in 0..<30 { try made.execute("INSERT INTO t(x) VALUES (\(String(repeating: "x", count: 200) + "\(number)"))") }
            try made.main.setJournalMode(.wal)
            made.close()
            let pool = try DatabasePool(.file(folder + "/b.db"), key: key("two"))
            try FaultDriver.waiting {
                let replica = try await Replicator(of: pool, in: FolderStore(folder + "/store"))
                _ = try await replica.waitUntilStored(timeout: .seconds(30))
                await replica.stop()
            }
            try pool.close()
        },
        run: { folder in
            do {
                try FaultDriver.waiting {
                    try await Replicator.restore(to: folder + "/c.db", from: FolderStore(folder + "/store"), key: key("two"))
                }
            } catch {
                Fault.none()
                try? FileManager.default.removeItem(atPath: folder + "/c.db")
                try FaultDriver.waiting {
                    try await Replicator.restore(to: folder + "/c.db", from: FolderStore(folder + "/store"), key: key("two"))
                }
                throw error
            }
        })

    /// The results of the calls of several tasks.
    private actor Outcome {
        private(set) var first: (any Error)?
        private(set) var written = 0, unknown = 0

        private var failure: (any Error)?

        func note(_ body: @Sendable () async throws -> Void) async {
            do { try await body() } catch {
                first = first ?? error
                failure = error
            }
        }

        /// The error of the last call, once.
        func takeFailure() -> (any Error)? { failure.take() }

        func write(_ pool: DatabasePool, _ text: String, timeout: Duration? = nil) async {
            do {
                try await pool.write(timeout: timeout) { try $0.execute("INSERT INTO t(x) VALUES (\(text))") }
                written += 1
            } catch {
                if (error as? DatabaseError)?.reason == .unknownOutcome { unknown += 1 }
                first = first ?? error
            }
        }
    }

    private static func pool(
        _ name: String, _ body: @escaping @Sendable (DatabasePool, Outcome) async throws -> Void
    ) -> FaultScenario {
        FaultScenario(
            name: name, before: [File("b.db", "two", 30)], after: [File("b.db", "two", 30)],
            run: { folder in
                let pool = try DatabasePool(.file(folder + "/b.db"), key: key("two"))
                defer { try? pool.close() }
                let outcome = Outcome()
                try FaultDriver.waiting { try await body(pool, outcome) }
                Fault.none()
                try FaultDriver.waiting {
                    let (written, unknown) = (await outcome.written, await outcome.unknown)
                    let rows = try await pool.read { try $0.fetchOne(Int.self, "SELECT count(*) FROM t") ?? -1 } - 30
                    guard (written...written + unknown).contains(rows) else {
                        throw Untrue("\(rows) new rows, but \(written) were written")
                    }
                    try await pool.write { try $0.execute("DELETE FROM t WHERE x NOT LIKE 'xxx%'") }
                    if let error = await outcome.first { throw error }
                }
            })
    }
}
