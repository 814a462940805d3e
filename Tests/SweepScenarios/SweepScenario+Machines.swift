import Foundation
import SQLCipherKit
import SQLCipherKitReplication

/// Several machines on one replica, whose store keeps its power: the next machine takes over, a restore to an earlier state runs
/// beside the writer, and a follower goes on after a change of key.
extension SweepScenario {
    static func onSeveralMachines(_ action: String, _ setting: Setting) throws -> SweepScenario? {
        switch action {
        case "take-over": return try takingOver(setting)
        case "restore-earlier": return try restoringEarlier(setting)
        case "follow-key": return try followingKey(setting)
        default: return nil
        }
    }

    /// The store, which is kept as it is after each object, and the notes of the run, beside the folder that is recorded.
    private struct Site {
        let folder: String
        var store: String { folder + "/../store" }
        private var notes: String { folder + "/../notes" }

        func clear() throws {
            for name in names(in: folder + "/..") where name.hasPrefix("store") || ["kept", "notes"].contains(name) {
                try? FileManager.default.removeItem(atPath: folder + "/../" + name)
            }
        }

        /// Notes what is true once the store has got so many objects.
        func note(_ text: String, after puts: Int) throws {
            let former = (try? String(contentsOfFile: notes, encoding: .utf8)) ?? ""
            try (former + "\(puts) \(text)\n").write(toFile: notes, atomically: false, encoding: .utf8)
        }

        func noted(by puts: Int) throws -> [String] {
            let lines = ((try? String(contentsOfFile: notes, encoding: .utf8)) ?? "").split(separator: "\n")
            return lines.map { $0.split(separator: " ") }.filter { (Int($0[0]) ?? 0) <= puts }.map { String($0[1]) }
        }

        /// A copy of the store as it was at the power cut.
        func storeAfterCut(_ puts: Int) throws -> FolderStore {
            let again = store + "-again"
            try? FileManager.default.removeItem(atPath: again)
            try FileManager.default.copyItem(atPath: "\(store)-\(puts)", toPath: again)
            return try FolderStore(again)
        }
    }

    private static func pool(_ path: String, _ key: DatabaseKey, _ setting: Setting) throws -> DatabasePool {
        try DatabasePool(.file(path), key: key, configuration: setting.configuration)
    }

    /// Writes rows, each of which is in the store when `stored` runs.
    @Sendable private static func replicate(
        _ path: String, _ setting: Setting, _ store: any ObjectStore, _ numbers: [Int], key: DatabaseKey? = nil,
        stored: (Int, Replicator.Position) throws -> Void = { _, _ in }
    ) async throws {
        let pool = try pool(path, key ?? one(), setting)
        var started: Replicator?
        do {
            let replica = try await replica(of: pool, in: store)
            started = replica
            if numbers.isEmpty { try await replica.waitUntilStored(timeout: .seconds(10)) }
            for number in numbers {
                try await pool.write { db in try write(number, db) }
                try stored(number, await replica.waitUntilStored(timeout: .seconds(10)))
            }
        } catch {
            // Nothing has the files open when this ends: the next state is written over them.
            await started?.stop()
            try? await pool.close()
            throw error
        }
        await started?.stop()
        try await pool.close()
    }

    private static func restored(_ folder: String, _ store: any ObjectStore) throws -> [Int] {
        let path = folder + "/../restored.db"
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        try waiting { try await Replicator.restore(to: path, from: store, key: one()) }
        return try numbers(path)
    }

    /// Prepares a database with an empty table, in a store.
    private static func prepare(_ site: Site, _ path: String, _ setting: Setting) throws {
        try site.clear()
        let db = try Connection(.file(path), key: one(), configuration: setting.flushed.configuration)
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
        db.close()
        try waiting { try await replicate(path, setting.flushed, FolderStore(site.store), []) }
        try FileManager.default.copyItem(atPath: site.store, toPath: site.store + "-0")
    }

    /// The database `a.db` is replicated, `b.db` is restored and takes over the store, and `a.db` is refused from then on.
    private static func takingOver(_ setting: Setting) throws -> SweepScenario {
        @Sendable func restore(_ folder: String, _ store: any ObjectStore) async throws {
            _ = try await Replicator.restore(to: folder + "/b.db", from: store, key: one())
        }
        nonisolated(unsafe) var puts = 0
        return SweepScenario(
            prepare: { folder in try prepare(Site(folder: folder), folder + "/a.db", setting) },
            act: { folder in
                let site = Site(folder: folder), store = try KeptStore(site.store)
                try waiting {
                    try await replicate(folder + "/a.db", setting, store, [1]) { number, _ in
                        try site.note("\(number)", after: store.puts)
                    }
                    try await restore(folder, store)
                    try await replicate(folder + "/b.db", setting, store, [2]) { number, _ in
                        try site.note("\(number)", after: store.puts)
                    }
                }
            },
            check: { folder in
                let site = Site(folder: folder), store = try site.storeAfterCut(puts)
                let acknowledged = try site.noted(by: puts).compactMap { Int($0) }
                let before = try restored(folder, store)
                guard before.starts(with: acknowledged) else {
                    throw Wrong(description: "\(acknowledged) are acknowledged, and \(before) are in the store")
                }
                let exists = FileManager.default.fileExists(atPath: folder + "/b.db")
                try waiting {
                    if !exists { try await restore(folder, store) }
                    try await replicate(folder + "/b.db", setting, store, [100])
                }
                let second = try numbers(folder + "/b.db"), after = try restored(folder, store)
                guard second == after, after.starts(with: acknowledged), after.last == 100 else {
                    throw Wrong(description: "\(acknowledged) are acknowledged, \(second) are here, and \(after) in the store")
                }
                // The first machine has commits that the store lacks, or none; it changes nothing there.
                do {
                    try waiting { try await replicate(folder + "/a.db", setting, store, [200]) }
                    let last = try restored(folder, store)
                    throw Wrong(description: "the former machine goes on: the store had \(after), and has \(last)")
                } catch let error as DatabaseError where error.reason == .replicaForked {}
                let last = try restored(folder, store)
                guard last == after else { throw Wrong(description: "the store has \(last) of \(after)") }
                let others = names(in: folder).filter { !$0.hasPrefix("a.db") && !$0.hasPrefix("b.db") }
                guard others.isEmpty else { throw Wrong(description: "there are \(others)") }
            },
            checkReturned: { _, calls in puts = calls })
    }

    /// A restore of the state after the second commit, while the database goes on.
    private static func restoringEarlier(_ setting: Setting) throws -> SweepScenario {
        nonisolated(unsafe) var puts = 0
        @Sendable func restore(_ folder: String, _ store: any ObjectStore, _ position: String) async throws {
            guard let position = Replicator.Position(position) else { throw Wrong(description: "no position \(position)") }
            _ = try await Replicator.restore(to: folder + "/b.db", from: store, key: one(), at: .position(position))
        }
        return SweepScenario(
            prepare: { folder in try prepare(Site(folder: folder), folder + "/a.db", setting) },
            act: { folder in
                let site = Site(folder: folder), store = try KeptStore(site.store)
                try waiting {
                    try await replicate(folder + "/a.db", setting, store, [1, 2, 3]) { number, position in
                        try site.note("\(number)", after: store.puts)
                        if number == 2 { try site.note("\(position)", after: store.puts) }
                    }
                    let position = try site.noted(by: .max).first { $0.contains(":") } ?? ""
                    async let earlier: Void = restore(folder, store, position)
                    try await replicate(folder + "/a.db", setting, store, [4, 5]) { number, _ in
                        try site.note("\(number)", after: store.puts)
                    }
                    try await earlier
                }
            },
            check: { folder in
                let site = Site(folder: folder), store = try site.storeAfterCut(puts), noted = try site.noted(by: puts)
                let acknowledged = noted.compactMap { Int($0) }
                try waiting { try await replicate(folder + "/a.db", setting, store, [100]) }
                let written = try numbers(folder + "/a.db"), found = try restored(folder, store)
                guard found == written, found.starts(with: acknowledged), found.last == 100 else {
                    throw Wrong(description: "\(acknowledged) are acknowledged, \(written) are here, and \(found) in the store")
                }
                if let position = noted.first(where: { $0.contains(":") }) {
                    if !FileManager.default.fileExists(atPath: folder + "/b.db") {
                        try waiting { try await restore(folder, store, position) }
                    }
                    let earlier = try numbers(folder + "/b.db")
                    guard earlier == [1, 2] else { throw Wrong(description: "the restored state has \(earlier)") }
                }
                let others = names(in: folder).filter { !$0.hasPrefix("a.db") && !$0.hasPrefix("b.db") }
                guard others.isEmpty else { throw Wrong(description: "there are \(others)") }
            },
            checkReturned: { _, calls in puts = calls })
    }

    /// A follower's copy whose original, beside the folder, gets another key.
    private static func followingKey(_ setting: Setting) throws -> SweepScenario {
        let original = { (folder: String) in folder + "/../original.db" }
        /// The rows of the copy, of which only a copy is written to, and its key.
        @Sendable func copied(_ folder: String) throws -> [Int] {
            let path = folder + "/../copied.db", files = FileManager.default
            for suffix in ["", "-wal", "-journal", "-shm"] { try? files.removeItem(atPath: path + suffix) }
            for suffix in ["", "-wal", "-journal"] where files.fileExists(atPath: folder + "/copy.db" + suffix) {
                try files.copyItem(atPath: folder + "/copy.db" + suffix, toPath: path + suffix)
            }
            var found: [[Int]] = []
            for key in try [one(), two()] {
                do {
                    let rows = try intact(path, key) { db in try db.fetchAll(Int.self, "SELECT id FROM t ORDER BY id") }
                    found.append(rows)
                } catch let error as DatabaseError where error.reason == .wrongKeyOrNotADatabase {}
            }
            guard found.count == 1 else { throw Wrong(description: "\(found.count) keys open the copy") }
            return found[0]
        }
        @Sendable func follower(_ folder: String, _ key: DatabaseKey) async throws -> ReplicaFollower {
            try await ReplicaFollower(
                at: folder + "/copy.db", following: FolderStore(folder + "/../store"), key: key, every: .seconds(3600),
                configuration: setting.configuration)
        }
        @Sendable func end(_ follower: ReplicaFollower) async throws {
            await follower.stop()
            try await follower.database.close()
        }
        return SweepScenario(
            prepare: { folder in
                for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: original(folder) + suffix) }
                try prepare(Site(folder: folder), original(folder), setting)
                try waiting {
                    try await replicate(folder + "/../original.db", setting.flushed, FolderStore(folder + "/../store"), [1])
                    let follower = try await follower(folder, one())
                    _ = try await follower.catchUp()
                    try await end(follower)
                }
            },
            act: { folder in
                try waiting {
                    let follower = try await follower(folder, one()), store = try FolderStore(folder + "/../store")
                    try await replicate(folder + "/../original.db", setting.flushed, store, [2])
                    _ = try await follower.catchUp()
                    returned()
                    let pool = try pool(folder + "/../original.db", one(), setting.flushed)
                    try await pool.changeKey(to: two())
                    try await pool.close()
                    try await replicate(folder + "/../original.db", setting.flushed, store, [3], key: two())
                    try await follower.changeKey(to: two())
                    returned()
                    try await end(follower)
                }
                try keep(besides: folder, ["original.db", "store"])
            },
            check: { folder in
                try putBack(besides: folder)
                // With a full disk, the run may have ended before the original got its new key.
                let isChanged = (try? Connection(.file(original(folder)), key: two()).close()) != nil
                try waiting {
                    let key = try isChanged ? two() : one()
                    let store = try FolderStore(folder + "/../store")
                    try await replicate(folder + "/../original.db", setting.flushed, store, [], key: key)
                    // The copy has one of the keys.
                    var next: ReplicaFollower?
                    do { next = try await follower(folder, key) } catch let error as DatabaseError
                        where isChanged && error.reason == .replicaKeyChanged {}
                    if let next {
                        _ = try await next.catchUp()
                        try await end(next)
                    } else {
                        let former = try await follower(folder, one())
                        try await former.changeKey(to: key)
                        try await end(former)
                    }
                }
                let after = try copied(folder)
                let all = try intact(original(folder), isChanged ? two() : one()) { db in
                    try db.fetchAll(Int.self, "SELECT id FROM t ORDER BY id")
                }
                guard after == all else { throw Wrong(description: "the copy has the rows \(after) of \(all)") }
                let others = names(in: folder).filter { !$0.hasPrefix("copy.db") }
                guard others.isEmpty else { throw Wrong(description: "there are \(others)") }
            },
            checkReturned: { folder, _ in
                let found = try copied(folder)
                guard found.isEmpty || found == Array(1...found.count) else { throw Wrong(description: "the copy has the rows \(found)") }
            })
    }
}
