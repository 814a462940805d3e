import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import StoreSupport
import Synchronization
import Testing
import TestSupport

/// A copy, a restore and a replica go on only in the history that they have.
@Suite(.timeLimit(.minutes(60))) struct HistoryTests {
    let folder: TemporaryFolder
    let key: DatabaseKey
    let store = MemoryStore()

    init() throws {
        folder = try TemporaryFolder()
        key = try CommitOracle.key
    }

    private func pool(_ name: String) throws -> DatabasePool { try DatabasePool(.file(folder.path(name)), key: key) }

    private func numbers(_ pool: DatabasePool) throws -> [Int] {
        try pool.read { db in try db.fetchAll(Int.self, "SELECT x FROM t ORDER BY x") }
    }

    private func insert(_ number: Int, _ pool: DatabasePool) throws { try pool.write { db in try db.execute("INSERT INTO t VALUES (\(number))") } }

    private func create(_ pool: DatabasePool) throws { try pool.write { db in try db.execute("CREATE TABLE t(x)") } }

    /// Commits numbers, and stores them.
    private func replicate(_ numbers: [Int], _ pool: DatabasePool) async throws {
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        for number in numbers {
            try insert(number, pool)
            try await replica.waitUntilStored(timeout: .forTests)
        }
        await replica.stop()
    }

    private func reason(_ body: () async throws -> Void) async -> DatabaseError.Reason? {
        do { try await body() } catch { return (error as? DatabaseError)?.reason }
        return nil
    }

    /// RP1: an old head once made a follower a mixture of two histories.
    @Test func oldHeadDoesNotMixHistories() async throws {
        let pool = try pool("a.db")
        try create(pool)
        try await replicate([0], pool)
        let old = store.objects
        try await replicate([1, 2, 3], pool)
        let follower = try await ReplicaFollower(at: folder.path("b.db"), following: store, key: key, every: .seconds(1000))
        try await follower.catchUp()
        #expect(try numbers(follower.database) == [0, 1, 2, 3])
        // The store is restored from a copy of itself.
        store.restore(old)
        #expect(await reason { try await follower.catchUp() } == .replicaRolledBack)
        #expect(try numbers(follower.database) == [0, 1, 2, 3])
        await follower.stop()
        #expect(await reason { _ = try await ReplicaFollower(at: folder.path("b.db"), following: store, key: key) } == .replicaRolledBack)
        // The writer goes on from its database, which the store has not seen the last of.
        try await replicate([500, 1000], pool)
        let next = try? await ReplicaFollower(at: folder.path("b.db"), following: store, key: key, every: .seconds(1000))
        let result = await reason { _ = try await next?.catchUp() }
        let seen = try next.map { try numbers($0.database) }
        // The writer remembers its stored objects, and names them as predecessors.
        #expect(result == nil && seen == [0, 1, 2, 3, 500, 1000], "\(String(describing: seen))")
        await next?.stop()
    }

    /// A replica that runs while the store returns to an older state stores the lost objects again.
    @Test func replicaHealsStoreRolledBackWhileItRuns() async throws {
        let pool = try pool("a.db")
        try create(pool)
        var options = Replicator.Options.forTests
        options.fanOut = 2
        let replica = try await Replicator(of: pool, in: store, options: options)
        try insert(0, pool)
        try await replica.waitUntilStored(timeout: .forTests)
        let old = store.objects
        for number in 1...6 {
            try insert(number, pool)
            try await replica.waitUntilStored(timeout: .forTests)
        }
        let follower = try await ReplicaFollower(at: folder.path("b.db"), following: store, key: key, every: .seconds(1000))
        try await follower.catchUp()
        store.restore(old)
        #expect(await reason { try await follower.catchUp() } == .replicaRolledBack)
        var number = 7, errors: [DatabaseError.Reason?] = []
        while await replica.currentStatus.stored?.generation == 1, number < 1000 {
            try insert(number, pool)
            _ = try? await replica.waitUntilStored(timeout: .milliseconds(200))
            errors.append(await replica.currentStatus.error?.reason)
            number += 1
        }
        try await replica.waitUntilStored(timeout: .forTests)
        #expect(await replica.currentStatus.error == nil)
        await replica.stop()
        try await follower.catchUp()
        #expect(try numbers(follower.database) == Array(0..<number))
        await follower.stop()
    }

    /// RR1: ten commits were once acknowledged that no restore had.
    @Test(arguments: [1, 2, 5]) func acknowledgedCommitAfterStoreRollbackIsRestorable(kept: Int) async throws {
        let pool = try pool("a.db")
        try create(pool)
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        var copies: [[String: [UInt8]]] = []
        for number in 0..<6 {
            try insert(number, pool)
            try await replica.waitUntilStored(timeout: .forTests)
            copies.append(store.objects)
        }
        store.restore(copies[kept - 1])
        // The first call has nothing new to store.
        for number in 6..<9 {
            try await replica.waitUntilStored(timeout: .forTests)
            let name = "b\(number).db"
            try await Replicator.restore(to: folder.path(name), from: store, key: key)
            #expect(try numbers(self.pool(name)) == Array(0..<number))
            try insert(number, pool)
        }
        await replica.stop()
    }

    /// The head went back alone: to before the first snapshot was complete.
    @Test func acknowledgedCommitAfterHeadRollbackIsRestorable() async throws {
        let pool = try pool("a.db"), withoutSnapshots = RefusingStore(store: store)
        try create(pool)
        let first = try await Replicator(of: pool, in: withoutSnapshots, options: .forTests)
        await #expect(throws: DatabaseError.self) { try await first.waitUntilStored(timeout: .milliseconds(300)) }
        await first.stop()
        let second = try await Replicator(of: pool, in: store, options: .forTests)
        let old = store.objects
        try await second.waitUntilStored(timeout: .forTests)
        store.restore(old)
        try await second.waitUntilStored(timeout: .forTests)
        await second.stop()
        try await Replicator.restore(to: folder.path("b.db"), from: store, key: key)
        #expect(try numbers(self.pool("b.db")) == [])
    }

    /// A link that was acknowledged is lost.
    @Test(arguments: [0, 1]) func acknowledgedCommitAfterLossOfLinkIsRestorable(after count: Int) async throws {
        let pool = try pool("a.db")
        try create(pool)
        var options = Replicator.Options.forTests
        options.fanOut = 16
        let replica = try await Replicator(of: pool, in: store, options: options)
        try await replica.waitUntilStored(timeout: .forTests)
        let before = Set(store.objects.keys)
        try insert(1, pool)
        try await replica.waitUntilStored(timeout: .forTests)
        let link = try #require(store.objects.keys.first { !before.contains($0) && $0.contains("/log-") })
        try await store.delete(link)
        if count > 0 { try insert(2, pool) }
        try await replica.waitUntilStored(timeout: .forTests)
        await replica.stop()
        try await Replicator.restore(to: folder.path("b.db"), from: store, key: key)
        #expect(try numbers(self.pool("b.db")) == (count > 0 ? [1, 2] : [1]))
    }

    /// The age alone of a section once removed it, before there was anything else to restore.
    @Test func formerSectionStaysUntilSnapshotIsComplete() async throws {
        let first = try pool("a.db"), slow = SlowStore(store: store)
        try create(first)
        for _ in 0..<40 { try await first.write { db in try db.execute("INSERT INTO t VALUES (randomblob(8000))") } }
        try await replicate([1], first)
        try convert(first)
        var options = Replicator.Options.forTests
        (options.retention, options.gracePeriod, options.sweepInterval) = (.milliseconds(50), .zero, .zero)
        options.partsPerStep = 1
        let replica = try await Replicator(of: first, in: slow, options: options)
        try await replica.waitUntilStored(timeout: .forTests)
        let sections = slow.sections.withLock { $0 }
        #expect(sections.count >= 5 && sections.allSatisfy { $0 == 2 }, "\(sections)")
        try await suspendUntil("the former section is removed") { head.sections.count == 1 }
        await replica.stop()
    }

    /// Takes a while for a part of a snapshot, and notes how many sections the head has then.
    private final class SlowStore: ObjectStore {
        let store: MemoryStore, sections = Mutex<[Int]>([])

        init(store: MemoryStore) { self.store = store }

        func list(prefix: String) async throws -> [StoredObject.Info] { try await store.list(prefix: prefix) }
        func get(_ name: String) async throws -> StoredObject? { try await store.get(name) }
        func delete(_ name: String) async throws { try await store.delete(name) }

        func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
            if name.contains("/snapshot-") {
                try await Task.sleep(for: .milliseconds(60))
                sections.withLock { $0.append(HeadBytes(store.objects["head"] ?? []).sections.count) }
            }
            return try await store.put(name, bytes, if: condition)
        }
    }

    private var head: HeadBytes { HeadBytes(store.objects["head"] ?? []) }

    /// The sections between were removed long ago.
    @Test func followerContinuesAfterSeveralConversions() async throws {
        let first = try pool("a.db")
        try create(first)
        try await replicate([1], first)
        let follower = try await ReplicaFollower(at: folder.path("f.db"), following: store, key: key, every: .seconds(1000))
        var options = Replicator.Options.forTests
        (options.retention, options.gracePeriod, options.sweepInterval) = (.milliseconds(50), .zero, .zero)
        for number in 2..<5 {
            try convert(first)
            let replica = try await Replicator(of: first, in: store, options: options)
            try insert(number, first)
            try await replica.waitUntilStored(timeout: .forTests)
            // The head no longer names it either.
            try await suspendUntil("the former section is removed") { head.sections.count == 1 && head.start.count == 6 }
            await replica.stop()
        }
        try await follower.catchUp()
        #expect(try numbers(follower.database) == [1, 2, 3, 4])
        await follower.stop()
    }

    /// Two machines have gone on from one state.
    @Test func followerRefusesForkedHistory() async throws {
        let first = try pool("a.db")
        try create(first)
        try await replicate([1, 2], first)
        let old = store.objects
        try await replicate([3, 4], first)
        let follower = try await ReplicaFollower(at: folder.path("f.db"), following: store, key: key, every: .seconds(1000))
        try await follower.catchUp()
        // Another machine restores from an old copy of the store, and goes on there.
        store.restore(old)
        try await Replicator.restore(to: folder.path("b.db"), from: store, key: key)
        try await replicate([100, 101], pool("b.db"))
        #expect(await reason { try await follower.catchUp() } == .replicaForked)
        #expect(try numbers(follower.database) == [1, 2, 3, 4])
        #expect((await follower.currentStatus.position).commit > 0)
        await follower.stop()
        // A restore from scratch has the new history, and nothing of the other history.
        try await Replicator.restore(to: folder.path("c.db"), from: store, key: key)
        #expect(try numbers(pool("c.db")) == [1, 2, 100, 101])
    }

    @Test func followerContinuesAfterTakeover() async throws {
        let first = try pool("a.db")
        try create(first)
        try await replicate([1, 2], first)
        let follower = try await ReplicaFollower(at: folder.path("f.db"), following: store, key: key, every: .seconds(1000))
        for round in 0..<4 {
            let path = folder.path("m\(round).db")
            try await Replicator.restore(to: path, from: store, key: key)
            try await replicate([10 * round + 10, 10 * round + 11], pool("m\(round).db"))
            if round != 1 { try await follower.catchUp() }
        }
        #expect(try numbers(follower.database) == [1, 2, 10, 11, 20, 21, 30, 31, 40, 41])
        await follower.stop()
    }

    /// A machine that was superseded comes back: its database lacks the other machine's commits.
    @Test func returningOldMachineIsRefused() async throws {
        let first = try pool("a.db")
        try create(first)
        try await replicate([1, 2], first)
        try await Replicator.restore(to: folder.path("b.db"), from: store, key: key)
        try await replicate([10], pool("b.db"))
        try insert(3, first)
        let replica = try await Replicator(of: first, in: store, options: .forTests)
        #expect(await reason { try await replica.waitUntilStored(timeout: .forTests) } == .replicaForked)
        #expect(await reason { try await replica.waitUntilEnded() } == .replicaForked)
        await replica.stop()
        try await Replicator.restore(to: folder.path("c.db"), from: store, key: key)
        #expect(try numbers(pool("c.db")) == [1, 2, 10])
        // Told to, it begins a history of its own.
        let memory = try #require(try folder.names().first { $0.hasPrefix("a.db-replicated-") })
        unlink(folder.path(memory))
        try await replicate([4], first)
        try await Replicator.restore(to: folder.path("d.db"), from: store, key: key)
        #expect(try numbers(pool("d.db")) == [1, 2, 3, 4])
    }

    /// A machine is lost in a generation whose first snapshot was not complete. No machine can restore that generation, and the
    /// next machine continues.
    @Test func generationWithoutSnapshotDoesNotBlockTakeover() async throws {
        let first = try pool("a.db"), withoutSnapshots = RefusingStore(store: store)
        try create(first)
        try await replicate([1], first)
        try restartLog(first)
        try insert(2, first)
        let replica = try await Replicator(of: first, in: withoutSnapshots, options: .forTests)
        await #expect(throws: DatabaseError.self) { try await replica.waitUntilStored(timeout: .milliseconds(300)) }
        try insert(3, first)
        await #expect(throws: DatabaseError.self) { try await replica.waitUntilStored(timeout: .milliseconds(300)) }
        await replica.stop()
        try await Replicator.restore(to: folder.path("b.db"), from: store, key: key)
        try await replicate([10], pool("b.db"))
        try await Replicator.restore(to: folder.path("c.db"), from: store, key: key)
        #expect(try numbers(pool("c.db")) == [1, 10])
    }

    /// The objects left in a store that has gone back are no part of the history of the writer that heals it, until that has stored
    /// a snapshot: a machine that goes on from there begins another history.
    @Test func restoreAfterStoreRollbackStartsNewHistory() async throws {
        let first = try pool("a.db")
        try create(first)
        try await replicate([0], first)
        let old = store.objects
        try await replicate([1, 2, 3], first)
        let follower = try await ReplicaFollower(at: folder.path("f.db"), following: store, key: key, every: .seconds(1000))
        try await follower.catchUp()
        store.restore(old)
        // The replicator claims the store, and gets no further.
        let replica = try await Replicator(of: first, in: RefusingStore(store: store), options: .forTests)
        await #expect(throws: DatabaseError.self) { try await replica.waitUntilStored(timeout: .seconds(2)) }
        await replica.stop()
        try await Replicator.restore(to: folder.path("b.db"), from: store, key: key)
        try await replicate([10], pool("b.db"))
        #expect(await reason { try await follower.catchUp() } == .replicaForked)
        #expect(try numbers(follower.database) == [0, 1, 2, 3])
        await follower.stop()
    }

    /// Another database begins a history where there is one, and gets no further than its claim. Only states of the former history
    /// can be restored, and no copy continues from that history to the new history.
    @Test func anotherDatabaseStartsNewHistory() async throws {
        let first = try pool("a.db")
        try create(first)
        try await replicate([1], first)
        let position = try #require(try await Replicator.generations(in: store, key: key).last?.last)
        try await replicate([2], first)
        let follower = try await ReplicaFollower(at: folder.path("f.db"), following: store, key: key, every: .seconds(1000))
        // The database has the salt of the first, so its objects are among the first database's objects.
        try await Replicator.restore(to: folder.path("b.db"), from: store, key: key, at: .position(position))
        let second = try pool("b.db")
        try insert(100, second)
        let replica = try await Replicator(of: second, in: RefusingStore(store: store), options: .forTests)
        await #expect(throws: DatabaseError.self) { try await replica.waitUntilStored(timeout: .seconds(2)) }
        await replica.stop()
        try await Replicator.restore(to: folder.path("c.db"), from: store, key: key)
        #expect(try numbers(pool("c.db")) == [1, 2])
        let copy = folder.path("g.db")
        #expect(await reason { _ = try await ReplicaFollower(at: copy, following: store, key: key) } == .replicaDamaged)
        #expect(try folder.names().allSatisfy { !$0.hasPrefix("g.db") })
        try await replicate([101], second)
        let next = try await ReplicaFollower(at: copy, following: store, key: key, every: .seconds(1000))
        #expect(try numbers(next.database) == [1, 100, 101])
        await next.stop()
        #expect(await reason { try await follower.catchUp() } == .replicaForked)
        #expect(try numbers(follower.database) == [1, 2])
        await follower.stop()
        let former = try await Replicator(of: pool("c.db"), in: store, options: .forTests)
        #expect(await reason { try await former.waitUntilEnded() } == .replicaForked)
        await former.stop()
    }

    /// The machine is lost after a conversion of the database, before the first snapshot with the new salt was complete.
    @Test func stateBeforeUnfinishedConversionIsRestorable() async throws {
        let first = try pool("a.db")
        try create(first)
        try await replicate([1, 2], first)
        let follower = try await ReplicaFollower(at: folder.path("f.db"), following: store, key: key, every: .seconds(1000))
        try convert(first)
        let replica = try await Replicator(of: first, in: RefusingStore(store: store), options: .forTests)
        try insert(3, first)
        await #expect(throws: DatabaseError.self) { try await replica.waitUntilStored(timeout: .seconds(2)) }
        await replica.stop()
        #expect(HeadBytes(store.objects["head"] ?? []).sections.count == 2)
        #expect(try await Replicator.generations(in: store, key: key).count == 1)
        _ = try await Replicator.restoreIfMissing(folder.path("b.db"), from: store, key: key)
        try await replicate([10], pool("b.db"))
        try await Replicator.restore(to: folder.path("c.db"), from: store, key: key)
        #expect(try numbers(pool("c.db")) == [1, 2, 10])
        try await follower.catchUp()
        #expect(try numbers(follower.database) == [1, 2, 10])
        await follower.stop()
        // The first machine has continued too, and comes back.
        let former = try await Replicator(of: first, in: store, options: .forTests)
        #expect(await reason { try await former.waitUntilEnded() } == .replicaForked)
        await former.stop()
    }

    /// The machine that goes on gives the database another key, or the one before it does, or converts it. That one comes back.
    @Test(arguments: ["there", "removed", "here", "conversion"]) func formerMachineIsRefusedAfterKeyChange(_ kind: String) async throws {
        let first = try pool("a.db"), other = try DatabaseKey.raw([UInt8](repeating: 8, count: 32))
        try create(first)
        try await replicate([1, 2], first)
        try await Replicator.restore(to: folder.path("b.db"), from: store, key: key)
        let second = try pool("b.db")
        try await replicate([10], second)
        let isThere = ["there", "removed"].contains(kind)
        if isThere {
            try change(second, other)
            try await replicate([11], second)
            if kind == "removed" { try await Replicator.removeContentOfFormerKeys(in: store, key: other) }
        } else if kind == "here" { try change(first, other) } else { try convert(first) }
        let replica = try await Replicator(of: first, in: store, options: .forTests)
        try insert(3, first)
        #expect(await reason { try await replica.waitUntilStored(timeout: .forTests) } == .replicaForked)
        await replica.stop()
        let newest = isThere ? other : key
        try await Replicator.restore(to: folder.path("c.db"), from: store, key: newest)
        let restored = try DatabasePool(.file(folder.path("c.db")), key: newest)
        #expect(try numbers(restored) == [1, 2, 10] + (isThere ? [11] : []))
    }

    /// Another database with the same key comes to the store of the first, by mistake. Copies stay with the first.
    @Test func followerRefusesAnotherDatabaseWithSameKey() async throws {
        let first = try pool("a.db"), second = try pool("b.db")
        try create(first)
        try create(second)
        try await replicate([1, 2], first)
        let follower = try await ReplicaFollower(at: folder.path("f.db"), following: store, key: key, every: .seconds(1000))
        try await replicate([100], second)
        #expect(HeadBytes(store.objects["head"] ?? []).sections.count == 2)
        #expect(await reason { try await follower.catchUp() } == .replicaForked)
        #expect(try numbers(follower.database) == [1, 2])
        await follower.stop()
    }

    private func restartLog(_ pool: DatabasePool) throws { _ = try pool.barrierWriteWithoutTransaction { db in try db.main.checkpoint(.truncate) } }

    /// Stores no snapshots.
    private struct RefusingStore: ObjectStore {
        let store: MemoryStore

        func list(prefix: String) async throws -> [StoredObject.Info] { try await store.list(prefix: prefix) }
        func get(_ name: String) async throws -> StoredObject? { try await store.get(name) }
        func delete(_ name: String) async throws { try await store.delete(name) }

        func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
            if name.contains("/snapshot-") { throw StoreFault("no snapshots") }
            return try await store.put(name, bytes, if: condition)
        }
    }

    /// An earlier state that was restored on purpose begins another history, of which copies are told.
    @Test func restoreOfEarlierStateStartsNewHistory() async throws {
        let first = try pool("a.db")
        try create(first)
        try await replicate([1], first)
        let position = try #require(try await Replicator.generations(in: store, key: key).last?.last)
        try await replicate([2, 3], first)
        let follower = try await ReplicaFollower(at: folder.path("f.db"), following: store, key: key, every: .seconds(1000))
        try await Replicator.restore(to: folder.path("b.db"), from: store, key: key, at: .position(position))
        try await replicate([100], pool("b.db"))
        #expect(await reason { try await follower.catchUp() } == .replicaForked)
        #expect(try numbers(follower.database) == [1, 2, 3])
        await follower.stop()
    }

    /// A server whose database is lost starts from a store that has gone back.
    @Test func restoreIfMissingRefusesRolledBackStore() async throws {
        let first = try pool("a.db"), path = folder.path("a.db")
        try create(first)
        try await replicate([1], first)
        let old = store.objects
        try await replicate([2, 3], first)
        try close(first)
        for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
        let new = store.objects
        store.restore(old)
        #expect(await reason { _ = try await Replicator.restoreIfMissing(path, from: store, key: key) } == .replicaRolledBack)
        #expect(!FileManager.default.fileExists(atPath: path))
        store.restore(new)
        #expect(try await Replicator.restoreIfMissing(path, from: store, key: key) != nil)
        #expect(try numbers(pool("a.db")) == [1, 2, 3])
    }

    /// The answer to the head that a claim stores is lost, and the log is restarted before the next claim: it is this database's.
    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64]) func unansweredClaimIsRecognized(seed: UInt64) async throws {
        let first = try pool("a.db"), faulty = FaultyStore(store, seed: seed, rate: 60)
        try create(first)
        for number in 0..<6 {
            let replica = try await Replicator(of: first, in: faulty, options: .forTests)
            try insert(number, first)
            _ = try? await replica.waitUntilStored(timeout: .milliseconds(250))
            await replica.stop()
            try restartLog(first)
        }
        try await replicate([6], first)
        try await Replicator.restore(to: folder.path("b.db"), from: store, key: key)
        #expect(try numbers(pool("b.db")) == Array(0..<7))
    }

    /// RP3.
    @Test func secondFollowerOfCopyThrowsBusy() async throws {
        let first = try pool("a.db")
        try create(first)
        try await replicate([1], first)
        let path = folder.path("f.db")
        let follower = try await ReplicaFollower(at: path, following: store, key: key)
        #expect(await reason { _ = try await ReplicaFollower(at: path, following: store, key: key) } == .busy)
        await follower.stop()
        let next = try await ReplicaFollower(at: path, following: store, key: key)
        await next.stop()
    }

    /// RP4: the usual restore by hand. The other file has the key and the salt, as a copy of the database has.
    @Test func replacedFileStartsNewGeneration() async throws {
        let path = folder.path("a.db"), salted = try DatabaseKey.raw([UInt8](repeating: 7, count: 32), salt: [UInt8](repeating: 3, count: 16))
        try makeFile("other.db", salted, [7, 8])
        try makeFile("a.db", salted, [1])
        let replica = try await Replicator(of: .file(path), key: salted, in: store, options: .forTests)
        let before = try await replica.waitUntilStored(timeout: .forTests)
        let follower = try await ReplicaFollower(at: folder.path("f.db"), following: store, key: salted, every: .seconds(1000))
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        #expect(rename(folder.path("other.db"), path) == 0)
        try await suspendUntil("the replica has noticed") {
            let error = await replica.currentStatus.error
            let stored = await replica.currentStatus.stored
            return error?.reason == .databaseReplaced || stored.map { $0 > before } ?? false
        }
        let position = try await replica.waitUntilStored(timeout: .forTests)
        #expect(position.generation == before.generation + 1)
        await replica.stop()
        try await Replicator.restore(to: folder.path("r.db"), from: store, key: salted)
        #expect(try numbers(fileAt: "r.db", salted) == [7, 8])
        try await Replicator.restore(to: folder.path("s.db"), from: store, key: salted, at: .position(before))
        #expect(try numbers(fileAt: "s.db", salted) == [1])
        // The other file's states do not come after the copy's.
        #expect(await reason { try await follower.catchUp() } == .replicaForked)
        await follower.stop()
    }

    private func makeFile(_ name: String, _ key: DatabaseKey, _ numbers: [Int]) throws {
        let pool = try DatabasePool(.file(folder.path(name)), key: key)
        try create(pool)
        for number in numbers { try insert(number, pool) }
        try close(pool)
    }

    private func numbers(fileAt name: String, _ key: DatabaseKey) throws -> [Int] {
        try Connection(.file(folder.path(name)), key: key).fetchAll(Int.self, "SELECT x FROM t ORDER BY x")
    }

    private func close(_ pool: DatabasePool) throws { try pool.close() }

    /// RP2: a store that shows old heads, and lists late, does not make a replica remove needed objects.
    @Test(arguments: [1, 2, 3, 4]) func staleReadsRemoveNothing(seed: UInt64) async throws {
        let store = HostileStore(seed: seed), first = try pool("a.db"), other = try DatabaseKey.raw([UInt8](repeating: 9, count: 32))
        var options = Replicator.Options.forTests
        (options.gracePeriod, options.sweepInterval, options.retention) = (.zero, .zero, .milliseconds(200))
        try create(first)
        var replica = try await Replicator(of: first, in: store, options: options)
        for number in 0..<10 {
            try insert(number, first)
            try await replica.waitUntilStored(timeout: .forTests)
        }
        await replica.stop()
        try change(first, other)
        store.behave(stale: 50, failing: 0)
        replica = try await Replicator(of: first, in: store, options: options)
        for number in 10..<60 {
            try insert(number, first)
            _ = try? await replica.waitUntilStored(timeout: .milliseconds(100))
            if number % 20 == 0 { _ = try? await Replicator.removeContentOfFormerKeys(in: store, key: other) }
        }
        store.behave(stale: 0, failing: 0)
        try await replica.waitUntilStored(timeout: .forTests)
        try await Replicator.removeContentOfFormerKeys(in: store, key: other)
        await replica.stop()
        try await Replicator.restore(to: folder.path("b.db"), from: store, key: other)
        let restored = try DatabasePool(.file(folder.path("b.db")), key: other)
        #expect(try numbers(restored) == Array(0..<60))
    }

    private func change(_ pool: DatabasePool, _ key: DatabaseKey) throws { try pool.changeKey(to: key) }

    private func convert(_ pool: DatabasePool) throws { try pool.changeKey(to: key, mode: .newFile) }

    /// RP10: a flipped bit is no change of the key.
    @Test func damagedHeadIsNotReportedAsKeyChange() async throws {
        let first = try pool("a.db")
        try create(first)
        try await replicate([1], first)
        let follower = try await ReplicaFollower(at: folder.path("f.db"), following: store, key: key, every: .seconds(1000))
        let before = try #require(store.objects["head"])
        store.change("head") { $0[$0.count - 20] ^= 1 }
        #expect(await reason { try await follower.catchUp() } == .replicaDamaged)
        store.change("head") { $0 = before }
        try await follower.catchUp()
        #expect(await follower.currentStatus.error == nil)
        await follower.stop()
    }

    /// The form that was never released is refused in words.
    @Test func unreleasedStoreFormatIsRefused() async throws {
        _ = try await store.put("manifest", Array("SCKM".utf8) + [1, 0, 0], if: .always)
        let first = try pool("a.db")
        await #expect { try await Replicator.restore(to: folder.path("b.db"), from: store, key: key) } throws: {
            "\($0)".contains("unreleased version")
        }
        await #expect { try await Replicator.restoreIfMissing(folder.path("b.db"), from: store, key: key) } throws: {
            "\($0)".contains("unreleased version")
        }
        let replica = try await Replicator(of: first, in: store, options: .forTests)
        await #expect(throws: DatabaseError.self) { try await replica.waitUntilStored(timeout: .milliseconds(300)) }
        #expect("\(String(describing: await replica.currentStatus.error))".contains("unreleased version"))
        await replica.stop()
        #expect(store.objects.count == 1)
    }
}
