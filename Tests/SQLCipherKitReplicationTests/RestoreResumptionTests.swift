import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import Synchronization
import StoreSupport
import Testing
import TestSupport

/// A restore that was interrupted goes on where it stopped, and ends with the same content as any other.
@Suite struct RestoreResumptionTests {
    private func restore(
        _ path: String, _ store: any ObjectStore, _ moment: Replicator.RestorePoint = .newest, key: DatabaseKey? = nil, replacing: Bool = false
    ) async throws -> Replicator.Position {
        try await Replicator.restore(
            to: path, from: store, key: key ?? CommitOracle.key, at: moment, replacing: replacing, recordEvery: .zero)
    }

    private func remains(_ folder: TemporaryFolder) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { $0.contains("-restoring") }.sorted()
    }

    /// A replica with a snapshot of many parts, and some commits after it.
    private func source(
        _ folder: TemporaryFolder, _ store: MemoryStore, _ oracle: CommitOracle, later: Int = 20
    ) async throws -> (DatabasePool, Replicator) {
        let pool = try DatabasePool(.file(folder.path("a.db")), key: CommitOracle.key)
        for _ in 0..<100 { try oracle.commit(pool) }
        try await pool.write { db in
            try db.execute("CREATE TABLE filling(x)")
            try db.execute("INSERT INTO filling WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 200) SELECT randomblob(5000) FROM n")
        }
        var options = Replicator.Options.forTests
        options.fanOut = 16
        let replica = try await Replicator(of: pool, in: store, options: options)
        try await replica.waitUntilStored(timeout: .forTests)
        for _ in 0..<later {
            try oracle.commit(pool)
            try await replica.waitUntilStored(timeout: .forTests)
        }
        return (pool, replica)
    }

    @Test func resumedRestoreReadsEachObjectAboutOnce() async throws {
        let folder = try TemporaryFolder(), memory = MemoryStore(), oracle = CommitOracle(seed: 1)
        let (_, replica) = try await source(folder, memory, oracle)
        await replica.stop()
        let whole = BreakingStore(memory), store = BreakingStore(memory)
        whole.left.store(1000, ordering: .relaxed)
        _ = try await restore(folder.path("whole.db"), whole)
        let needed = whole.reads.load(ordering: .relaxed)
        #expect(needed > 30)
        var attempts = 0
        while attempts < 100 {
            store.left.store(14, ordering: .relaxed)
            attempts += 1
            do {
                _ = try await restore(folder.path("b.db"), store)
                break
            } catch { #expect(((error as? DatabaseError)?.underlyingError as? StoreFault)?.text == "broken") }
            // The waiting pages are encrypted.
            let pages = try Data(contentsOf: folder.url.appendingPathComponent("b.db-restoring"))
            #expect(pages.range(of: Data(CommitOracle.marker.utf8)) == nil && !pages.starts(with: Array("SQLite format 3".utf8)))
        }
        #expect(try oracle.check(fileAt: folder.path("b.db")) == oracle.commits)
        #expect(attempts > 2)
        // Each further attempt reads the head, the opening of the term, and looks for links after the head. Eight objects are read
        // at once, in any order: if the first of them fails, the others are read again.
        let reads = store.reads.load(ordering: .relaxed)
        print("\(attempts) attempts read \(reads) times where \(needed) are needed")
        #expect(reads <= needed + (attempts - 1) * (3 + 7))
        #expect(try remains(folder) == [])
    }

    @Test func shortFailedRestoresLeaveNoFiles() async throws {
        let folder = try TemporaryFolder(), memory = MemoryStore(), oracle = CommitOracle(seed: 2)
        let (_, replica) = try await source(folder, memory, oracle)
        await replica.stop()
        let store = BreakingStore(memory)
        for count in 0..<2 {
            store.left.store(count, ordering: .relaxed)
            await #expect { try await restore(folder.path("b.db"), store) } throws: { ($0 as? DatabaseError)?.reason == .storeUnavailable }
            #expect(try remains(folder) == [])
        }
        // The restore ends before the first record.
        store.left.store(12, ordering: .relaxed)
        await #expect {
            try await Replicator.restore(
                to: folder.path("b.db"), from: store, key: CommitOracle.key, at: .newest, replacing: false, recordEvery: .seconds(1000))
        } throws: { ($0 as? DatabaseError)?.reason == .storeUnavailable }
        #expect(try remains(folder) == [])
    }

    static let seeds: [UInt64] = LongTests.areOn ? Array(1...60) : [1, 2, 3]

    /// Restores to any state, interrupted anywhere, while commits go on and the waiting files are damaged.
    @Test(arguments: seeds) func interruptedRestoresEndWithCorrectContent(seed: UInt64) async throws {
        let folder = try TemporaryFolder(), memory = MemoryStore(), oracle = CommitOracle(seed: seed)
        var random = SeededGenerator(state: seed)
        let (pool, replica) = try await source(folder, memory, oracle)
        let store = BreakingStore(memory), path = folder.path("b.db")
        // The commit that fills the database is not one of the oracle's.
        let first = 100, before = oracle.commits
        var positions = [try await replica.waitUntilStored(timeout: .forTests): before], moment = Replicator.RestorePoint.newest
        var successes = 0, rounds = 0
        while successes < 6, rounds < 300 {
            rounds += 1
            if Int.random(in: 0..<3, using: &random) == 0 {
                for _ in 0..<Int.random(in: 1..<6, using: &random) { try oracle.commit(pool) }
                positions[try await replica.waitUntilStored(timeout: .forTests)] = oracle.commits
            }
            if Int.random(in: 0..<3, using: &random) == 0 {
                let position = positions.keys.sorted().randomElement(using: &random)
                moment = position.map { Bool.random(using: &random) ? .newest : .position($0) } ?? .newest
            }
            if Int.random(in: 0..<4, using: &random) == 0 { try damage(path, &random) }
            store.left.store(Int.random(in: 0..<50, using: &random), ordering: .relaxed)
            guard let position = try? await restore(path, store, moment, replacing: true) else { continue }
            successes += 1
            #expect(try remains(folder) == [])
            let commit = try oracle.check(fileAt: path)
            #expect(commit > first)
            if case .position(let wanted) = moment { #expect(position == wanted) }
            if let expected = positions[position] { #expect(commit == expected) }
        }
        #expect(successes == 6)
        await replica.stop()
    }

    /// Does something to the files that wait.
    private func damage(_ path: String, _ random: inout SeededGenerator) throws {
        let name = path + (Bool.random(using: &random) ? "-restoring" : "-restoring-state")
        guard var bytes = FileManager.default.contents(atPath: name), !bytes.isEmpty else { return }
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1
        case 1: bytes.removeLast(bytes.count / 2)
        case 2: bytes = Data(repeating: 0, count: bytes.count)
        case 3:
            unlink(name)
            return
        default:
            // Another name for something that is not the restore's.
            unlink(name)
            symlink("/etc/hostname", name)
            return
        }
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: name))
        try handle.write(contentsOf: bytes)
        try handle.truncate(atOffset: UInt64(bytes.count))
        try handle.close()
    }

    @Test func restoreReplacesUnfinishedFilesOfAnotherReplica() async throws {
        let folder = try TemporaryFolder(), other = try TemporaryFolder(), key = try DatabaseKey.raw([UInt8](repeating: 9, count: 32))
        let memory = MemoryStore(), oracle = CommitOracle(seed: 4), second = MemoryStore()
        let (_, replica) = try await source(folder, memory, oracle)
        await replica.stop()
        let pool = try DatabasePool(.file(other.path("o.db")), key: key)
        try await pool.write { db in try db.execute("CREATE TABLE other(x)") }
        let otherReplica = try await Replicator(of: pool, in: second, options: .forTests)
        try await otherReplica.waitUntilStored(timeout: .forTests)
        await otherReplica.stop()
        let store = BreakingStore(memory)
        store.left.store(20, ordering: .relaxed)
        await #expect { try await restore(folder.path("b.db"), store) } throws: { ($0 as? DatabaseError)?.reason == .storeUnavailable }
        #expect(try remains(folder) == ["b.db-restoring", "b.db-restoring-state"])
        _ = try await restore(folder.path("b.db"), second, key: key)
        #expect(try remains(folder) == [])
        let db = try Connection(.file(folder.path("b.db")), key: key)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM other") == 0)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM sqlite_schema") == 1)
        db.close()
    }

    @Test func damagedUnfinishedRestoreIsRepaired() async throws {
        let folder = try TemporaryFolder(), memory = MemoryStore(), oracle = CommitOracle(seed: 6)
        let (_, replica) = try await source(folder, memory, oracle)
        await replica.stop()
        let store = BreakingStore(memory)
        for offset in [300_000, 400_000, nil] {
            store.left.store(15, ordering: .relaxed)
            await #expect { try await restore(folder.path("b.db"), store, replacing: true) } throws: { ($0 as? DatabaseError)?.reason == .storeUnavailable }
            let pages = try FileHandle(forUpdating: folder.url.appendingPathComponent("b.db-restoring"))
            if let offset {
                try pages.seek(toOffset: UInt64(offset))
                let byte = try #require(try pages.read(upToCount: 1)?.first)
                try pages.seek(toOffset: UInt64(offset))
                try pages.write(contentsOf: [byte ^ 1])
            } else {
                try pages.truncate(atOffset: 300_000)
            }
            try pages.close()
            store.left.store(1000, ordering: .relaxed)
            _ = try await restore(folder.path("b.db"), store, replacing: true)
            #expect(try oracle.check(fileAt: folder.path("b.db")) == oracle.commits)
            #expect(try remains(folder) == [])
        }
    }

    /// The state that an interrupted restore has seen must be there when it goes on to the newest state. A state that is named is
    /// restored.
    @Test(arguments: [DatabaseError.Reason.replicaRolledBack, .replicaForked])
    func interruptedRestoreRefusesRolledBackOrForkedStore(reason: DatabaseError.Reason) async throws {
        let folder = try TemporaryFolder(), memory = MemoryStore(), oracle = CommitOracle(seed: 7)
        let (pool, first) = try await source(folder, memory, oracle)
        await first.stop()
        let old = memory.objects, commits = oracle.commits
        let position = try #require(try await Replicator.generations(in: memory, key: CommitOracle.key).last?.last)
        let replica = try await Replicator(of: pool, in: memory, options: .forTests)
        try oracle.commit(pool)
        try await replica.waitUntilStored(timeout: .forTests)
        await replica.stop()
        let store = BreakingStore(memory), path = folder.path("b.db")
        store.left.store(20, ordering: .relaxed)
        await #expect { try await restore(path, store) } throws: { ($0 as? DatabaseError)?.reason == .storeUnavailable }
        memory.restore(old)
        if reason == .replicaForked {
            // Another machine goes on from the earlier state.
            _ = try await restore(folder.path("c.db"), memory)
            let other = try DatabasePool(.file(folder.path("c.db")), key: CommitOracle.key)
            let next = try await Replicator(of: other, in: memory, options: .forTests)
            try await next.waitUntilStored(timeout: .forTests)
            await next.stop()
        }
        store.left.store(1000, ordering: .relaxed)
        for _ in 0..<2 {
            await #expect { try await restore(path, store) } throws: { ($0 as? DatabaseError)?.reason == reason && "\($0)".contains(path) }
            #expect(try remains(folder) == ["b.db-restoring", "b.db-restoring-state"])
        }
        _ = try await restore(path, store, .position(position))
        #expect(try oracle.check(fileAt: path) == commits)
        #expect(try remains(folder) == [])
    }

    /// Later pages must not be taken for pages of an earlier state.
    @Test(arguments: [false, true]) func restoreOfEarlierStateStartsFromScratch(recordIsOlder: Bool) async throws {
        let folder = try TemporaryFolder(), memory = MemoryStore(), oracle = CommitOracle(seed: 5)
        let (pool, replica) = try await source(folder, memory, oracle, later: 5)
        let position = try await replica.waitUntilStored(timeout: .forTests), commits = oracle.commits
        for _ in 0..<15 {
            try oracle.commit(pool)
            try await replica.waitUntilStored(timeout: .forTests)
        }
        await replica.stop()
        let store = BreakingStore(memory)
        store.left.store(1000, ordering: .relaxed)
        _ = try await restore(folder.path("whole.db"), store)
        // All but the last objects of the log, and perhaps with a record from before the state, as the pages may come further.
        let objects = store.reads.load(ordering: .relaxed), record = folder.url.appendingPathComponent("b.db-restoring-state")
        var older: Data?
        // The second attempt reads the head and the last twenty objects but two.
        for reads in recordIsOlder ? [objects - 20, 19] : [objects - 2] {
            older = try? Data(contentsOf: record)
            store.left.store(reads, ordering: .relaxed)
            await #expect { try await restore(folder.path("b.db"), store) } throws: { ($0 as? DatabaseError)?.reason == .storeUnavailable }
        }
        try older?.write(to: record)
        #expect(try !remains(folder).isEmpty)
        store.left.store(1000, ordering: .relaxed)
        _ = try await restore(folder.path("b.db"), store, .position(position))
        #expect(try oracle.check(fileAt: folder.path("b.db")) == commits)
    }
}

/// Fails after a number of objects that were read.
private final class BreakingStore: ObjectStore {
    let store: any ObjectStore
    let left = Atomic<Int>(0), reads = Atomic<Int>(0)

    init(_ store: any ObjectStore) { self.store = store }

    func list(prefix: String) async throws -> [StoredObject.Info] { try await store.list(prefix: prefix) }
    func delete(_ name: String) async throws { try await store.delete(name) }

    func get(_ name: String) async throws -> StoredObject? {
        guard left.subtract(1, ordering: .relaxed).oldValue > 0 else { throw StoreFault("broken") }
        reads.add(1, ordering: .relaxed)
        return try await store.get(name)
    }

    func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
        try await store.put(name, bytes, if: condition)
    }
}
