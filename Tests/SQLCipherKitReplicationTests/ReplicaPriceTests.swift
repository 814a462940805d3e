import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import Synchronization
import StoreSupport
import Testing
import TestSupport

/// The cost of replication to a store: requests, and bytes.
@Suite(.timeLimit(.minutes(60))) struct ReplicaPriceTests {
    let folder: TemporaryFolder
    let key: DatabaseKey
    let store = CountingStore()

    init() throws {
        folder = try TemporaryFolder()
        key = try CommitOracle.key
    }

    private func commit(_ pool: DatabasePool) throws {
        try pool.write { db in try db.execute("INSERT INTO note(text) VALUES (\(String(repeating: "0123456789", count: 20)))") }
    }

    private func database() throws -> DatabasePool {
        let pool = try DatabasePool(.file(folder.path("a.db")), key: key)
        try pool.write { db in
            try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)")
            try db.execute("CREATE INDEX note_text ON note(text)")
        }
        return pool
    }

    /// RP6: a steady trickle, in a sixtieth of the time. Nothing is read, and nothing is stored while nothing is committed.
    @Test func steadyTrickleMakesFewRequests() async throws {
        let pool = try database()
        var options = Replicator.Options()
        options.interval = .milliseconds(10)
        let replica = try await Replicator(of: pool, in: store, options: options)
        try await replica.waitUntilStored()
        let before = store.figures, status = await replica.currentStatus, start = ContinuousClock.now
        let count = LongTests.areOn ? 6000 : 600
        for _ in 0..<count {
            try commit(pool)
            try await Task.sleep(for: .milliseconds(10))
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let after = store.figures, pages = await replica.currentStatus.pages - status.pages
        let ratio = Double(after.bytes - before.bytes) / Double(pages * (4096 + 24))
        print("trickle: \(ratio) bytes for a byte of log, \(Double(after.puts - before.puts) / (seconds * 50)) of the requests allowed")
        #expect(ratio <= 2)
        // One request for two intervals, the head included, and the requests saved up before.
        #expect(Double(after.puts - before.puts) <= seconds * 50 + 10)
        #expect(after.gets == before.gets && after.lists == before.lists)
        try await replica.waitUntilStored()
        let quiet = store.figures
        try await Task.sleep(for: .milliseconds(300))
        #expect(store.figures == quiet)
        await replica.stop()
    }

    /// Replacing the head is a request as well: after every second link, here.
    @Test func headUpdatesCountTowardRequestRate() async throws {
        let pool = try database()
        var options = Replicator.Options()
        (options.interval, options.fanOut) = (.milliseconds(50), 2)
        let replica = try await Replicator(of: pool, in: store, options: options)
        try await replica.waitUntilStored()
        let before = store.figures.puts, start = ContinuousClock.now
        while .now - start < .seconds(2) {
            try commit(pool)
            try await Task.sleep(for: .milliseconds(10))
        }
        let puts = store.figures.puts - before, seconds = (ContinuousClock.now - start) / .seconds(1)
        await replica.stop()
        print("with heads: \(puts) requests in \(seconds) seconds")
        // One request for two intervals, and the requests saved up before.
        #expect(Double(puts) <= seconds * 10 + 10)
    }

    /// Callers that wait are served at once, and leave no debt that commits after them would have to wait for.
    @Test func commitAfterManyWaitsIsStoredPromptly() async throws {
        let pool = try database(), replica = try await Replicator(of: pool, in: store)
        for _ in 0..<30 {
            try commit(pool)
            try await replica.waitUntilStored()
        }
        var longest = Duration.zero
        // The first commit counts as a part of the fast commits before it.
        for _ in 0..<2 {
            let before = store.figures.puts, start = ContinuousClock.now
            try commit(pool)
            while store.figures.puts == before { try await Task.sleep(for: .milliseconds(5)) }
            longest = max(longest, .now - start)
        }
        await replica.stop()
        print("stored after at most \(longest), thirty calls that waited before")
        // With a debt of eight requests it would be nine seconds.
        #expect(longest < .seconds(6))
    }

    /// The head does not grow, however much was stored.
    @Test func headDoesNotGrow() async throws {
        let pool = try database()
        var options = Replicator.Options.forTests
        options.fanOut = 1
        let replica = try await Replicator(of: pool, in: store, options: options)
        try await replica.waitUntilStored()
        var largest: [Int] = []
        let commits = LongTests.areOn ? 300 : 100
        for _ in 0..<(LongTests.areOn ? 10 : 3) {
            for _ in 0..<commits {
                try commit(pool)
                try await replica.waitUntilStored()
            }
            largest.append(store.largestHead)
        }
        await replica.stop()
        print("largest heads: \(largest)")
        #expect(largest.allSatisfy { $0 < 6000 })
        try await Replicator.restore(to: folder.path("b.db"), from: store.store, key: key)
        #expect(try rows("b.db") == largest.count * commits)
        // By way of the pages of the index.
        let range = try #require(try await Replicator.generations(in: store.store, key: key).last)
        #expect(range.last.commit >= UInt64(largest.count * commits))
    }

    private func rows(_ name: String) throws -> Int? {
        try Connection(.file(folder.path(name)), key: key).fetchOne(Int.self, "SELECT count(*) FROM note")
    }

    /// 10 GB a day with a week's retention, in a millionth of the time: more and more is stored and removed, and neither the head
    /// nor the number of objects grows.
    @Test func retentionBoundsHeadAndObjectCount() async throws {
        let pool = try database()
        var options = Replicator.Options.forTests
        (options.interval, options.fanOut) = (.milliseconds(10), 1)
        (options.retention, options.gracePeriod, options.sweepInterval) = (.milliseconds(500), .milliseconds(50), .milliseconds(20))
        options.snapshotInterval = .milliseconds(200)
        let replica = try await Replicator(of: pool, in: store, options: options)
        try await replica.waitUntilStored()
        let text = String(repeating: "0123456789", count: 1000)
        var heads: [Int] = [], objects: [Int] = []
        for _ in 0..<(LongTests.areOn ? 20 : 4) {
            let end = ContinuousClock.now + .milliseconds(700)
            while .now < end {
                try await pool.write { db in
                    try db.execute("DELETE FROM note WHERE id % 3 = 0")
                    try db.execute("INSERT INTO note(text) VALUES (\(text))")
                }
                try await replica.waitUntilStored()
            }
            heads.append(store.largestHead)
            objects.append(store.store.objects.count)
        }
        print("largest heads: \(heads), objects: \(objects), stored: \(store.figures.puts)")
        #expect(heads.allSatisfy { $0 < 6000 })
        try await suspendUntil("what is old is removed") { store.store.objects.count < max(20, store.figures.puts / 4) }
        await replica.stop()
        let rows = try await pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") }
        try await Replicator.restore(to: folder.path("b.db"), from: store, key: key)
        #expect(try self.rows("b.db") == rows)
    }

    /// At most a fifth more than the snapshot and the log from there to the state, with objects of the default size.
    @Test func restoreReadsAtMostFifthMoreThanNeeded() async throws {
        let pool = try database(), text = String(repeating: "0123456789", count: 20_000)
        for _ in 0..<40 { try await pool.write { db in try db.execute("INSERT INTO note(text) VALUES (\(text))") } }
        let replica = try await Replicator(of: pool, in: store)
        try await replica.waitUntilStored()
        let start = await replica.currentStatus
        var states: [(position: Replicator.Position, needed: Int)] = []
        for _ in 0..<24 {
            try await pool.write { db in try db.execute("UPDATE note SET text = text || 'x' WHERE id = 1") }
            let position = try await replica.waitUntilStored()
            states.append((position, start.snapshotBytes + (await replica.currentStatus.walBytes) - start.walBytes))
        }
        await replica.stop()
        var ratios: [Double] = []
        for (index, (position, needed)) in states.enumerated() where index % 3 == 0 || index > 20 {
            let before = store.figures.read
            try await Replicator.restore(to: folder.path("r\(index).db"), from: store, key: key, at: .position(position))
            ratios.append(Double(store.figures.read - before) / Double(needed))
        }
        print("bytes read for a byte that is needed: \(ratios)")
        #expect(ratios.allSatisfy { $0 <= 1.2 })
    }

    /// A restore reads only the objects that the state needs: one snapshot, the log since, and little of the index.
    @Test func restoreReadsLittleOfTheIndex() async throws {
        let pool = try database(), replica = try await Replicator(of: pool, in: store, options: .forTests)
        var positions: [Replicator.Position] = []
        for number in 0..<600 {
            try commit(pool)
            let position = try await replica.waitUntilStored()
            if number % 100 == 50 { positions.append(position) }
        }
        await replica.stop()
        for (index, position) in positions.enumerated() {
            let before = store.figures, path = "r\(index).db"
            try await Replicator.restore(to: folder.path(path), from: store, key: key, at: .position(position))
            #expect(try rows(path) == index * 100 + 51)
            let after = store.figures
            print("restore of \(position): \(after.read - before.read) bytes, of which \(after.index - before.index) of the index")
            #expect(Double(after.index - before.index) <= 0.2 * Double(after.read - before.read - (after.index - before.index)) + 20_000)
        }
    }
}

/// Counts the requests to a store.
final class CountingStore: ObjectStore {
    struct Figures: Equatable {
        var puts = 0, gets = 0, lists = 0
        /// Bytes that were stored, that were read, and that were read of heads, openings and pages of the index.
        var bytes = 0, read = 0, index = 0
    }

    let store = MemoryStore()
    private let state = Mutex((figures: Figures(), head: 0))

    var figures: Figures { state.withLock { $0.figures } }
    var largestHead: Int { state.withLock { $0.head } }

    func list(prefix: String) async throws -> [StoredObject.Info] {
        state.withLock { $0.figures.lists += 1 }
        return try await store.list(prefix: prefix)
    }

    func get(_ name: String) async throws -> StoredObject? {
        let object = try await store.get(name)
        state.withLock { state in
            state.figures.gets += 1
            state.figures.read += object?.bytes.count ?? 0
            if name == "head" || name.contains("/index-") || name.hasSuffix("-0") && name.contains("/log-") {
                state.figures.index += object?.bytes.count ?? 0
            }
        }
        return object
    }

    func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
        state.withLock { state in
            state.figures.puts += 1
            state.figures.bytes += bytes.count
            if name == "head" { state.head = max(state.head, bytes.count) }
        }
        return try await store.put(name, bytes, if: condition)
    }

    func delete(_ name: String) async throws { try await store.delete(name) }
}
