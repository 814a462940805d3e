import Foundation
import SQLCipherKit
@testable import SQLCipherKitReplication
import Synchronization
import StoreSupport
import Testing
import TestSupport

/// The memory that readers and writers take, however much comes after the head that a store shows.
@Suite(.timeLimit(.minutes(60))) struct ReplicaMemoryTests {
    let folder: TemporaryFolder
    let key: DatabaseKey
    let store = OldHeadStore()

    init() throws {
        folder = try TemporaryFolder()
        key = try CommitOracle.key
    }

    private static let text = String(repeating: "0123456789", count: 350_000)

    private func pool(_ name: String) throws -> DatabasePool { try DatabasePool(.file(folder.path(name)), key: key) }

    private func commit(_ pool: DatabasePool) throws { try pool.write { db in try db.execute("INSERT INTO note(text) VALUES (\(Self.text))") } }

    private func rows(_ db: Connection) throws -> Int? { try db.fetchOne(Int.self, "SELECT count(*) FROM note WHERE length(text) = 3500000") }

    private func rows(_ name: String) throws -> Int? { try rows(Connection(.file(folder.path(name)), key: key)) }

    private func rows(_ pool: DatabasePool) throws -> Int? { try pool.read { db in try rows(db) } }

    private static let count = 8

    /// A replica and a follower; each later commit is in its own object.
    private func begin() async throws -> (DatabasePool, Replicator, ReplicaFollower) {
        let pool = try pool("a.db")
        try await pool.write { db in try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)") }
        let replica = try await Replicator(of: pool, in: store)
        try await replica.waitUntilStored()
        let follower = try await ReplicaFollower(at: folder.path("f.db"), following: store, key: key, every: .milliseconds(10))
        try await follower.catchUp()
        store.keepHead()
        return (pool, replica, follower)
    }

    /// A restore reads again the objects that it does not keep, and so does a writer that takes over: nothing is lost.
    @Test func oldHeadIsReadInLittleMemory() async throws {
        let (pool, replica, follower) = try await begin()
        await follower.stop()
        for _ in 0..<Self.count {
            try commit(pool)
            try await replica.waitUntilStored()
        }
        await replica.stop()
        store.showKeptHead()
        let before = store.logBytes
        try await Replicator.restore(to: folder.path("b.db"), from: store, key: key)
        #expect(try rows("b.db") == Self.count)
        // Of 28 megabytes, fourteen are kept.
        let read = store.logBytes - before
        #expect(read > 40_000_000 && read < 45_000_000, "\(read)")
        let next = try await Replicator(of: try self.pool("b.db"), in: store)
        try await next.waitUntilStored()
        await next.stop()
        try await Replicator.restore(to: folder.path("c.db"), from: store, key: key)
        #expect(try rows("c.db") == Self.count)
        #expect(store.largestPut < 17 << 20, "\(store.largestPut)")
    }

    /// RP6: 10 GB of changes a day are two hundred objects an hour, and 7 days' retention keeps them for 8 days.
    @Test func headStaysSmallOverWeeksOfHeavyWriting() throws {
        var contents = ReplicaContents(), week = 0, largest = [Int](repeating: 0, count: 6)
        let term = [UInt8](repeating: 0xff, count: 8), tag = [UInt8](repeating: 1, count: 16)
        for hour in 0..<6 * 7 * 24 {
            for number in 0..<200 as Range<UInt64> {
                let link = UInt64(hour) * 200 + number, time = 1_800_000_000_000 + Int64(hour) * 3_600_000
                contents.index.append(
                    .log(
                        ReplicaIndex.LogEntry(
                            term: term, link: link * 16, generation: 1, first: link * 512, end: (link + 1) * 512,
                            commitsBefore: link * 72, commits: (link + 1) * 72, earliest: time, latest: time + 18_000,
                            age: UInt64(hour) * 3_600_000, size: 2_100_000, tag: tag)))
                while let (level, entries) = contents.index.full {
                    contents.index.replaceFull(
                        by: ReplicaIndex.PageEntry(
                            term: term, number: link, level: level + 1, entries: entries,
                            first: contents.index.first(ofLevel: level), bytes: tag))
                }
            }
            contents.index.first = contents.index.next - min(contents.index.next, 8 * 24 * 200)
            contents.index.drop(before: contents.index.first)
            week = hour / (7 * 24)
            largest[week] = max(largest[week], contents.bytes.count)
        }
        print("largest heads of weeks of 70 GB: \(largest)")
        #expect(largest.allSatisfy { $0 < 8000 })
        #expect(try #require(largest.last) < largest[1] + 500)
    }

    /// A follower that was away, as on a machine that slept, reads the head before it has read everything since.
    @Test func followerCatchesUpAfterSleepByIndex() async throws {
        let (pool, replica, follower) = try await begin()
        store.holdReads()
        for _ in 0..<Self.count {
            try commit(pool)
            try await replica.waitUntilStored()
        }
        let before = store.logBytes
        store.releaseReads()
        try await suspendUntil("the copy has everything") { try rows(follower.database) == Self.count }
        let first = try #require(store.logBytesAtFirstHead) - before
        print("read before the head: \(first)")
        #expect(first <= 24 << 20, "\(first)")
        await follower.stop()
        await replica.stop()
    }
}

/// Shows an old head, or stops reads of links, when it is told to.
final class OldHeadStore: ObjectStore {
    private struct State {
        var head: [UInt8]?
        var logBytes = 0, logBytesAtFirstHead: Int?, largestPut = 0
    }

    let store = MemoryStore()
    private let state = Mutex(State()), isHolding = Atomic<Bool>(false)

    var logBytes: Int { state.withLock { $0.logBytes } }
    var logBytesAtFirstHead: Int? { state.withLock { $0.logBytesAtFirstHead } }
    var largestPut: Int { state.withLock { $0.largestPut } }

    func keepHead() {
        let head = store.objects["head"]
        state.withLock { $0.head = head }
    }

    /// From now on, the head is the former head, as if the head alone had been restored.
    func showKeptHead() {
        guard let head = state.withLock({ $0.head }) else { return }
        store.change("head") { $0 = head }
    }

    func holdReads() { isHolding.store(true, ordering: .sequentiallyConsistent) }

    func releaseReads() {
        state.withLock { $0.logBytesAtFirstHead = nil }
        isHolding.store(false, ordering: .sequentiallyConsistent)
    }

    func list(prefix: String) async throws -> [StoredObject.Info] { try await store.list(prefix: prefix) }
    func delete(_ name: String) async throws { try await store.delete(name) }

    func get(_ name: String) async throws -> StoredObject? {
        while name.contains("/log-"), isHolding.load(ordering: .sequentiallyConsistent) { try await Task.sleep(for: .milliseconds(1)) }
        let object = try await store.get(name)
        state.withLock { state in
            if name.contains("/log-") { state.logBytes += object?.bytes.count ?? 0 }
            if name == "head", state.logBytesAtFirstHead == nil { state.logBytesAtFirstHead = state.logBytes }
        }
        return object
    }

    func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
        state.withLock { $0.largestPut = max($0.largestPut, bytes.count) }
        return try await store.put(name, bytes, if: condition)
    }
}
