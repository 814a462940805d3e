import Foundation
import SQLCipherKit
import SQLCipherKitReplication

/// Kills a writer with its replica, and a follower, at random moments, and checks that the store has everything that was
/// acknowledged, and that each restored or followed state is a prefix of the commits.
@main struct ReplicaProof {
    static func main() async throws {
        var options = ["--seed": 1, "--cases": 20, "--minutes": 0], arguments = Array(CommandLine.arguments.dropFirst())
        if let role = arguments.first, ["writer", "follower", "restorer"].contains(role), arguments.count == 3 {
            return try await ProofChild(folder: arguments[1], seed: UInt64(arguments[2]) ?? 0).run(role)
        }
        while arguments.count >= 2, options[arguments[0]] != nil, let value = Int(arguments[1]) {
            options[arguments[0]] = value
            arguments.removeFirst(2)
        }
        guard arguments.isEmpty else {
            print("usage: ReplicaProof [--seed N] [--cases N] [--minutes N]")
            exit(2)
        }
        let start = ContinuousClock.now, minutes = options["--minutes"] ?? 0, first = options["--seed"] ?? 1
        var seed = first, found = 0, kills = 0, acknowledged = 0
        while minutes > 0 ? .now - start < .seconds(60 * minutes) : seed < first + (options["--cases"] ?? 1) {
            var run = ProofRun(seed: UInt64(seed))
            do { try await run.run() } catch {
                found += 1
                print("FOUND seed \(seed): \(error)")
            }
            kills += run.kills
            acknowledged += run.acknowledged
            seed += 1
        }
        print("replica: \(seed - first) databases, \(kills) kills, \(acknowledged) commits acknowledged and present, \(found) findings")
        exit(found == 0 ? 0 : 1)
    }
}

/// The part of a killed process.
struct ProofChild {
    let folder: String
    let seed: UInt64

    func run(_ role: String) async throws {
        let key = try ProofDatabase.key, store = try FolderStore(folder + "/store")
        if role == "restorer" {
            try await Replicator.restore(
                to: folder + "/again.db", from: SlowStore(store: store), key: key, at: .newest, replacing: true, recordEvery: .zero)
            return
        }
        if role == "follower" {
            let follower = try await ReplicaFollower(at: folder + "/copy.db", following: store, key: key, every: .milliseconds(1))
            while true {
                _ = try? await follower.catchUp()
                try check(follower.database)
            }
        }
        let pool = try DatabasePool(.file(folder + "/a.db"), key: key)
        var options = Replicator.Options()
        options.interval = .milliseconds(5)
        options.objectSize = 1 << 16
        options.checkpointSize = 100_000
        options.fanOut = 3
        options.gracePeriod = .zero
        options.retention = .milliseconds(200)
        let replica = try await Replicator(of: pool, in: store, options: options)
        let log = open(folder + "/stored", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        while true {
            let last = try commit(pool)
            guard last % 7 == 0 else { continue }
            try await replica.waitUntilStored()
            let line = Array("\(last)\n".utf8)
            _ = write(log, line, line.count)
        }
    }

    private func commit(_ pool: DatabasePool) throws -> Int { try pool.write { db in try ProofDatabase(seed: seed).commit(db) } }

    private func check(_ pool: DatabasePool) throws {
        do { _ = try pool.read { db in try ProofDatabase(seed: seed).check(db) } } catch {
            _ = FileManager.default.createFile(atPath: folder + "/found", contents: Data("\(error)".utf8))
            throw error
        }
    }
}

/// One database, whose processes are killed several times.
struct ProofRun {
    let seed: UInt64
    private(set) var kills = 0
    private(set) var acknowledged = 0

    init(seed: UInt64) { self.seed = seed }

    mutating func run() async throws {
        let folder = NSTemporaryDirectory() + "replica-proof-\(ProcessInfo.processInfo.processIdentifier)-\(seed)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let key = try ProofDatabase.key, store = try FolderStore(folder + "/store"), database = ProofDatabase(seed: seed)
        var random = seed &* 0x2545_f491_4f6c_dd1d | 1, last = 0
        func below(_ limit: UInt64) -> UInt64 {
            random ^= random << 13
            random ^= random >> 7
            random ^= random << 17
            return random % limit
        }
        for round in 0..<5 {
            let writer = try start("writer", folder)
            // A follower can begin when the first snapshot is there.
            let follower = round > 0 && acknowledged > 0 ? try start("follower", folder) : nil
            try await Task.sleep(for: .milliseconds(Int(50 + below(400))))
            if below(3) == 0, let follower { kill(follower.processIdentifier, SIGKILL) }
            try await Task.sleep(for: .milliseconds(Int(below(100))))
            for process in [writer, follower].compactMap({ $0 }) {
                if process.isRunning { kills += 1 }
                kill(process.processIdentifier, SIGKILL)
                process.waitUntilExit()
            }
            if let found = FileManager.default.contents(atPath: folder + "/found") {
                throw Finding("the follower read: " + String(decoding: found, as: UTF8.self))
            }
            let lines = FileManager.default.contents(atPath: folder + "/stored") ?? Data()
            acknowledged = String(decoding: lines, as: UTF8.self).split(separator: "\n").last.flatMap { Int($0) } ?? 0
            guard acknowledged > 0 else { continue }
            let file = folder + "/restored-\(round).db"
            try await Replicator.restore(to: file, from: store, key: key)
            let commit = try check(file, database)
            guard commit >= acknowledged else { throw Finding("commit \(acknowledged) was acknowledged, and \(commit) is restored") }
            guard commit >= last else { throw Finding("commit \(last) was there before, and \(commit) is restored") }
            last = commit
            // Restores that are killed continue in the next restore, in this round or in a later round.
            for _ in 0..<below(4) {
                let restorer = try start("restorer", folder)
                try await Task.sleep(for: .milliseconds(Int(below(150))))
                if restorer.isRunning { kills += 1 }
                kill(restorer.processIdentifier, SIGKILL)
                restorer.waitUntilExit()
                try checkRemains(folder)
            }
            guard below(2) == 0 else { continue }
            try await Replicator.restore(
                to: folder + "/again.db", from: store, key: key, at: .newest, replacing: true, recordEvery: .zero)
            let again = try check(folder + "/again.db", database)
            guard again == commit else { throw Finding("commit \(commit) was restored, and then \(again)") }
            for name in ["/again.db-restoring", "/again.db-restoring-state"] where access(folder + name, F_OK) == 0 {
                throw Finding("there is a file \(name)")
            }
        }
        guard acknowledged > 0 else { return }
        let follower = try await ReplicaFollower(at: folder + "/copy.db", following: store, key: key, every: .seconds(1000))
        try await follower.catchUp()
        let followed = try check(follower.database, database)
        guard followed == last else { throw Finding("the follower ends with commit \(followed), not \(last)") }
        await follower.stop()
    }

    /// The remains of a killed restore are encrypted.
    private func checkRemains(_ folder: String) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasPrefix("again.db") {
            let bytes = FileManager.default.contents(atPath: folder + "/" + name) ?? Data()
            if bytes.range(of: Data("plain plain".utf8)) != nil { throw Finding("\(name) is plaintext") }
        }
    }

    private func check(_ path: String, _ database: ProofDatabase) throws -> Int {
        let db = try Connection(.file(path), key: ProofDatabase.key)
        defer { db.close() }
        return try database.check(db)
    }

    private func check(_ pool: DatabasePool, _ database: ProofDatabase) throws -> Int { try pool.read { db in try database.check(db) } }

    private func start(_ role: String, _ folder: String) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).absoluteURL
        process.arguments = [role, folder, "\(seed)"]
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
    }
}

/// A store that takes its time, so that a kill is likely to come in the midst of a restore.
private struct SlowStore: ObjectStore {
    let store: FolderStore

    func list(prefix: String) async throws -> [StoredObject.Info] { try await store.list(prefix: prefix) }
    func delete(_ name: String) async throws { try await store.delete(name) }

    func get(_ name: String) async throws -> StoredObject? {
        try await Task.sleep(for: .milliseconds(3))
        return try await store.get(name)
    }

    func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
        try await store.put(name, bytes, if: condition)
    }
}
