import Foundation
import KillPoints
import SQLCipherKit
import SQLCipherKitReplication
import SQLCipherKitSync
import Synchronization

/// Statements about a database elsewhere: the commits that its replica has acknowledged, a follower's position beside its copy, and
/// the messages between two copies.
extension SweepScenario {
    private static let steps = 3

    static func exchanged(_ action: String, _ setting: Setting) throws -> SweepScenario? {
        switch action {
        case "replicate": return try replicating(setting)
        case "follow": return try following(setting)
        case "messages": return try messages(setting)
        case "synchronize": return try synchronizing(setting)
        case "exchange": return try exchanging(setting)
        case "change-store": return try storing(setting)
        default: return nil
        }
    }

    /// A replica that looks for commits without a pause.
    static func replica(of pool: DatabasePool, in store: any ObjectStore) async throws -> Replicator {
        var options = Replicator.Options()
        options.interval = .milliseconds(1)
        return try await Replicator(of: pool, in: store, options: options)
    }

    static func waiting(_ body: @escaping @Sendable () async throws -> Void) throws {
        let end = DispatchSemaphore(value: 0)
        nonisolated(unsafe) var outcome: Result<Void, any Error> = .success(())
        Task.detached {
            do { try await body() } catch { outcome = .failure(error) }
            end.signal()
        }
        if end.wait(timeout: .now() + .seconds(60)) == .timedOut { throw Wrong(description: "it hangs") }
        try outcome.get()
    }

    /// The numbers of the steps, each of which has written one large row.
    static func numbers(_ path: String) throws -> [Int] {
        try intact(path, one()) { db in try db.fetchAll(Int.self, "SELECT id FROM t ORDER BY id") }
    }

    static func write(_ number: Int, _ db: Connection, bytes: Int = 5000) throws {
        try db.execute("INSERT INTO t VALUES (\(number), \(marker + String(repeating: "x", count: bytes)))")
        try db.execute("UPDATE t SET x = x || \(String(number))")
    }

    // MARK: - Replicating

    /// A database whose store is on another machine, which keeps its power.
    private static func replicating(_ setting: Setting) throws -> SweepScenario {
        let files = FileManager.default
        let store = { (folder: String, name: String) in folder + "/../store-\(name)" }
        /// Writes rows, keeps the store as it is after each, and says that it has it.
        @Sendable func replicate(_ folder: String, _ name: String, _ numbers: [Int], keeping: Bool) throws {
            let pool = try DatabasePool(.file(folder + "/a.db"), key: one(), configuration: setting.configuration)
            let present = folder + "/../store-" + name
            let store = try FolderStore(present)
            try waiting {
                let replica = try await replica(of: pool, in: store)
                for number in numbers {
                    try await pool.write { db in try write(number, db) }
                    // On a full disk it waits for room.
                    try await replica.waitUntilStored(timeout: .seconds(10))
                    if !keeping { continue }
                    try FileManager.default.copyItem(atPath: present, toPath: folder + "/../store-\(number)")
                    returned()
                }
                await replica.stop()
                try await pool.close()
            }
        }
        nonisolated(unsafe) var acknowledged = 0
        return SweepScenario(
            prepare: { folder in
                for name in ["now", "again"] + (0...steps).map(String.init) { try? files.removeItem(atPath: store(folder, name)) }
                let db = try Connection(.file(folder + "/a.db"), key: one(), configuration: setting.flushed.configuration)
                try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
                db.close()
                try replicate(folder, "now", [], keeping: false)
                try files.copyItem(atPath: store(folder, "now"), toPath: store(folder, "0"))
            },
            act: { folder in try replicate(folder, "now", Array(1...steps), keeping: true) },
            check: { folder in
                // The store's content after the power cut: at least the objects acknowledged before.
                try? files.removeItem(atPath: store(folder, "again"))
                try files.copyItem(atPath: store(folder, "\(acknowledged)"), toPath: store(folder, "again"))
                try replicate(folder, "again", [100], keeping: false)
                let restored = folder + "/../restored.db", written = try numbers(folder + "/a.db")
                for suffix in ["", "-wal", "-shm"] { try? files.removeItem(atPath: restored + suffix) }
                let again = try FolderStore(store(folder, "again"))
                try waiting { try await Replicator.restore(to: restored, from: again, key: one()) }
                let found = try numbers(restored)
                guard found == written, found.starts(with: Array(1...steps).prefix(acknowledged)), found.last == 100 else {
                    throw Wrong(description: "\(acknowledged) rows are acknowledged, \(written) are here, and \(found) in the store")
                }
                let others = names(in: folder).filter { !$0.hasPrefix("a.db") }
                guard others.isEmpty else { throw Wrong(description: "there are \(others)") }
            },
            checkReturned: { _, calls in acknowledged = calls })
    }

    // MARK: - Following

    /// A follower's copy, whose store and original are outside the reach of the power cut.
    private static func following(_ setting: Setting) throws -> SweepScenario {
        // Beside the folder that is recorded.
        let original = { (folder: String) in folder + "/../original.db" }, store = { (folder: String) in folder + "/../store" }
        /// The numbers in the copy. The check writes, which nothing but the follower may do: so its files are copied.
        @Sendable func copied(_ folder: String) throws -> [Int] {
            let files = FileManager.default, path = folder + "/../copied.db"
            for suffix in ["", "-wal", "-shm"] { try? files.removeItem(atPath: path + suffix) }
            for suffix in ["", "-wal"] where files.fileExists(atPath: folder + "/copy.db" + suffix) {
                try files.copyItem(atPath: folder + "/copy.db" + suffix, toPath: path + suffix)
            }
            return try numbers(path)
        }
        /// Runs with a follower of the copy, after its store was brought up to date.
        @Sendable func follow(_ folder: String, writing steps: ClosedRange<Int>?) throws {
            let pool = try DatabasePool(.file(folder + "/../original.db"), key: one())
            let store = try FolderStore(folder + "/../store")
            try waiting {
                let replicator = try await replica(of: pool, in: store)
                if steps?.lowerBound == 1 { try await pool.write { db in try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x)") } }
                try await replicator.waitUntilStored()
                let follower = try await ReplicaFollower(
                    at: folder + "/copy.db", following: store, key: one(), every: .seconds(3600),
                    configuration: setting.configuration)
                for number in steps.map(Array.init) ?? [] {
                    try await pool.write { db in try write(number, db) }
                    try await replicator.waitUntilStored()
                    _ = try await follower.catchUp()
                    returned()
                }
                _ = try await follower.catchUp()
                await follower.stop()
                try await follower.database.close()
                await replicator.stop()
                try await pool.close()
            }
        }
        return SweepScenario(
            prepare: { folder in
                for path in [original(folder), store(folder), folder + "/../kept"] { try? FileManager.default.removeItem(atPath: path) }
                try follow(folder, writing: 1...1)
            },
            act: { folder in
                try follow(folder, writing: 2...1 + steps)
                try keep(besides: folder, ["original.db", "store"])
            },
            check: { folder in
                try putBack(besides: folder)
                // The copy is a state that the original had, whatever the position beside it says.
                let before = try copied(folder)
                guard before == Array(1...max(before.count, 1)) else { throw Wrong(description: "the copy has the rows \(before)") }
                try follow(folder, writing: nil)
                let after = try copied(folder), all = try numbers(original(folder))
                guard after == all else { throw Wrong(description: "the copy has the rows \(after) of \(all)") }
                let others = names(in: folder).filter { !$0.hasPrefix("copy.db") }
                guard others.isEmpty else { throw Wrong(description: "there are \(others)") }
            })
    }

    // MARK: - Messages

    /// A copy that writes and sends, and one that receives.
    private static func messages(_ setting: Setting) throws -> SweepScenario {
        let names = ["a.db", "b.db"]
        let open = { (folder: String, name: String, setting: Setting) in
            let db = try Connection(.file(folder + "/" + name), key: one(), configuration: setting.configuration)
            return try ChangeLog(db, tables: ["t"], localPeer: name)
        }
        let found = { (folder: String) in try names.map { try numbers(folder + "/" + $0) } }
        return SweepScenario(
            prepare: { folder in
                for name in names { try makeCopy(folder + "/" + name, name, setting.mode) }
            },
            act: { folder in
                let a = try open(folder, "a.db", setting), b = try open(folder, "b.db", setting.flushed)
                for number in 1...steps {
                    try a.write { db in try write(number, db) }
                    let message = try a.changes(since: b.position)
                    // From here on, its content may be elsewhere.
                    returned()
                    _ = try b.receive(message)
                }
            },
            check: { folder in
                let a = try open(folder, "a.db", setting), b = try open(folder, "b.db", setting.flushed)
                try a.write { db in try write(100, db) }
                for _ in 0..<2 {
                    _ = try b.receive(a.changes(since: b.position))
                    _ = try a.receive(b.changes(since: a.position))
                }
                for log in [a, b] { log.connection.close() }
                let found = try found(folder)
                guard found[0] == found[1] else { throw Wrong(description: "the copies have the rows \(found)") }
                try expect(folder, files: names)
            },
            checkReturned: { folder, calls in
                let found = try found(folder)
                guard found[0].starts(with: Array(1...max(calls, 1)).prefix(calls)) else {
                    throw Wrong(description: "\(calls) messages had gone out, and the rows are \(found)")
                }
            })
    }

    // MARK: - Synchronizing

    /// A store on another machine, which keeps its content as it is after each object that it gets.
    final class KeptStore: ObjectStore {
        private let folder: String, store: FolderStore
        private let count = Mutex(0)

        init(_ folder: String) throws { (self.folder, store) = (folder, try FolderStore(folder)) }

        /// The number of objects that it has got.
        var puts: Int { count.withLock { $0 } }

        func list(prefix: String) async throws -> [StoredObject.Info] { try await store.list(prefix: prefix) }
        func get(_ name: String) async throws -> StoredObject? { try await store.get(name) }
        func delete(_ name: String) async throws { try await store.delete(name) }

        func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
            let version = try await store.put(name, bytes, if: condition)
            let number = count.withLock { $0 += 1; return $0 }
            try? FileManager.default.removeItem(atPath: "\(folder)-\(number)")
            try FileManager.default.copyItem(atPath: folder, toPath: "\(folder)-\(number)")
            // From here on, other machines may have the object.
            returned()
            return version
        }
    }

    /// An empty copy of the name.
    @Sendable private static func makeCopy(_ path: String, _ peer: String, _ mode: String) throws {
        for suffix in ["", "-wal", "-journal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        let configuration = Setting(mode: mode, durability: .everyCommit).configuration
        let db = try Connection(.file(path), key: one(), configuration: configuration)
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
        _ = try ChangeLog(db, tables: ["t"], localPeer: peer)
        db.close()
    }

    /// Writes rows into a copy, each of which goes to the store, or only synchronizes.
    @Sendable private static func synchronize(
        _ path: String, _ peer: String, _ setting: Setting, _ store: any ObjectStore, writing numbers: [Int], bytes: Int = 5000
    ) throws {
        let queue = try DatabaseQueue(.file(path), key: one(), configuration: setting.configuration)
        let target = ChangeStore(store, key: try one())
        try waiting {
            let log = try await SharedChangeLog(queue, tables: ["t"], localPeer: peer)
            for number in numbers {
                try await log.write { db in try write(number, db, bytes: bytes) }
                _ = try await log.synchronize(with: target)
            }
            if numbers.isEmpty { _ = try await log.synchronize(with: target) }
            try await queue.close()
        }
    }

    /// A copy that synchronizes with others through a store: what the store has got, the copy has as well.
    private static func synchronizing(_ setting: Setting) throws -> SweepScenario {
        nonisolated(unsafe) var stored = 0
        return SweepScenario(
            prepare: { folder in
                try removeStores(folder)
                try makeCopy(folder + "/a.db", "a", setting.mode)
                try FileManager.default.createDirectory(atPath: folder + "/../store-0", withIntermediateDirectories: true)
            },
            act: { folder in
                try synchronize(folder + "/a.db", "a", setting, KeptStore(folder + "/../store"), writing: Array(1...steps))
            },
            check: { folder in
                let store = try storeAfterCut(folder, stored), other = folder + "/../other.db"
                try makeCopy(other, "b", setting.mode)
                try synchronize(other, "b", setting.flushed, store, writing: [])
                let sent = try numbers(other), written = try numbers(folder + "/a.db")
                guard written.starts(with: sent), Array(1...steps).starts(with: written) else {
                    throw Wrong(description: "the store has the rows \(sent), and the database \(written)")
                }
                // Both go on.
                try synchronize(folder + "/a.db", "a", setting, store, writing: [100])
                try synchronize(other, "b", setting.flushed, store, writing: [])
                let found = try [folder + "/a.db", other].map { try numbers($0) }, expected = written + [100]
                guard found == [expected, expected] else { throw Wrong(description: "the copies have the rows \(found)") }
                try expect(folder, files: ["a.db"])
            },
            checkReturned: { _, calls in stored = calls })
    }

    private static func removeStores(_ folder: String) throws {
        for name in names(in: folder + "/..") where name.hasPrefix("store") {
            try FileManager.default.removeItem(atPath: folder + "/../" + name)
        }
    }

    /// The content of a kept store at the power cut.
    private static func storeAfterCut(_ folder: String, _ puts: Int, for use: String = "again") throws -> FolderStore {
        let again = folder + "/../store-\(use)"
        try? FileManager.default.removeItem(atPath: again)
        try FileManager.default.copyItem(atPath: folder + "/../store-\(puts)", toPath: again)
        return try FolderStore(again)
    }

    /// The rows of the steps of two copies that write in turns: both change every row, so that each has to receive first.
    private static let turns = [("a", [1]), ("b", [2]), ("a", [3]), ("b", [])]

    /// Synchronizes two copies, which write in turns.
    private static func takeTurns(_ folder: String, _ setting: Setting, _ store: any ObjectStore) throws {
        for (peer, numbers) in turns { try synchronize("\(folder)/\(peer).db", peer, setting, store, writing: numbers, bytes: 100) }
    }

    /// Throws unless both copies and a new one become equal, without a row that neither had, and with these rows.
    private static func expectEqual(
        _ paths: [String], _ new: String, _ setting: Setting, _ store: any ObjectStore, rows expected: Set<Int>
    ) throws {
        for (path, peer) in [(paths[0], "a"), (paths[1], "b"), (paths[0], "a")] {
            try synchronize(path, peer, setting, store, writing: [])
        }
        try makeCopy(new, "c", setting.mode)
        try synchronize(new, "c", setting.flushed, store, writing: [])
        let found = try (paths + [new]).map { try numbers($0) }
        guard Set(found).count == 1, expected.isSubset(of: found[0]) else {
            throw Wrong(description: "the copies have the rows \(found), and before \(expected.sorted())")
        }
    }

    /// Two copies on the machine whose power fails. Each has told the store which changes it has received, and the sender has
    /// removed these from its log.
    private static func exchanging(_ setting: Setting) throws -> SweepScenario {
        nonisolated(unsafe) var stored = 0
        return SweepScenario(
            prepare: { folder in
                try removeStores(folder)
                for peer in ["a", "b"] { try makeCopy("\(folder)/\(peer).db", peer, setting.mode) }
                try FileManager.default.createDirectory(atPath: folder + "/../store-0", withIntermediateDirectories: true)
            },
            act: { folder in try takeTurns(folder, setting, KeptStore(folder + "/../store")) },
            check: { folder in
                let store = try storeAfterCut(folder, stored), paths = ["a", "b"].map { "\(folder)/\($0).db" }
                let before = try paths.flatMap { try numbers($0) }
                // A copy made from the store alone has no row that neither copy has.
                let other = folder + "/../other.db"
                try makeCopy(other, "d", setting.mode)
                try synchronize(other, "d", setting.flushed, storeAfterCut(folder, stored, for: "alone"), writing: [])
                let sent = try numbers(other)
                guard Set(sent).isSubset(of: before) else { throw Wrong(description: "sent are \(sent), and here \(before)") }
                try expectEqual(paths, folder + "/../new.db", setting, store, rows: Set(before))
                try expect(folder, files: ["a.db", "b.db"])
            },
            checkReturned: { _, calls in stored = calls })
    }

    /// The store of a folder on the machine whose power fails; the folder has no subfolders.
    private struct FlatStore: ObjectStore {
        let store: FolderStore
        /// Runs before each object is stored.
        let keep: @Sendable () throws -> Void

        private func flat(_ name: String) -> String { name.replacingOccurrences(of: "/", with: ".") }

        func list(prefix: String) async throws -> [StoredObject.Info] {
            try await store.list(prefix: flat(prefix)).map { object in
                StoredObject.Info(name: object.name.replacingOccurrences(of: ".", with: "/"), size: object.size)
            }
        }
        func get(_ name: String) async throws -> StoredObject? { try await store.get(flat(name)) }
        func delete(_ name: String) async throws { try await store.delete(flat(name)) }

        func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
            try keep()
            let version = try await store.put(flat(name), bytes, if: condition)
            returned()
            return version
        }
    }

    /// The store of two copies, which are on machines that keep their power. They are kept as they are when they store an object.
    private static func storing(_ setting: Setting) throws -> SweepScenario {
        @Sendable func keep(_ folder: String, _ number: Int) throws {
            let kept = "\(folder)/../kept-\(number)"
            try? FileManager.default.removeItem(atPath: kept)
            try FileManager.default.createDirectory(atPath: kept, withIntermediateDirectories: true)
            for peer in ["a", "b"] {
                for name in ["", "-wal", "-journal"].map({ "/\(peer).db\($0)" }) {
                    guard FileManager.default.fileExists(atPath: folder + "/.." + name) else { continue }
                    try FileManager.default.copyItem(atPath: folder + "/.." + name, toPath: kept + name)
                }
            }
        }
        nonisolated(unsafe) var puts = 0
        return SweepScenario(
            prepare: { folder in
                for peer in ["a", "b"] { try makeCopy("\(folder)/../\(peer).db", peer, setting.mode) }
                try keep(folder, 0)
            },
            act: { folder in
                let count = Mutex(0)
                let store = FlatStore(store: try FolderStore(folder)) {
                    try keep(folder, count.withLock { $0 += 1; return $0 - 1 })
                }
                try takeTurns(folder + "/..", setting, store)
                try keep(folder, count.withLock { $0 })
            },
            check: { folder in
                let machines = folder + "/../machines"
                try? FileManager.default.removeItem(atPath: machines)
                try FileManager.default.copyItem(atPath: folder + "/../kept-\(puts)", toPath: machines)
                let paths = ["a", "b"].map { "\(machines)/\($0).db" }, before = try Set(paths.flatMap { try numbers($0) })
                let store = FlatStore(store: try FolderStore(folder)) {}
                try expectEqual(paths, folder + "/../new.db", setting, store, rows: before)
                let others = names(in: folder).filter { !$0.hasPrefix("changes") && $0 != "~lock" }
                guard others.isEmpty else { throw Wrong(description: "there are \(others)") }
            },
            checkReturned: { _, calls in puts = calls })
    }
}
