import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import Synchronization
import StoreSupport
import Testing
import TestSupport

/// The events that can happen between any two requests of a replica.
@Suite(.timeLimit(.minutes(60))) struct ReplicaRequestTests {
    private static var options: Replicator.Options {
        var options = Replicator.Options.forTests
        (options.interval, options.fanOut, options.partsPerStep) = (.milliseconds(10), 2, 2)
        return options
    }

    /// The number of requests of `work`, about.
    private static let requests = 60

    private static func pool(_ folder: TemporaryFolder) throws -> DatabasePool {
        let pool = try DatabasePool(.file(folder.path("a.db")), key: try CommitOracle.key)
        try pool.write { db in
            try db.execute("CREATE TABLE t(x)")
            for _ in 0..<40 { try db.execute("INSERT INTO t VALUES (randomblob(8000))") }
        }
        return pool
    }

    private static func commit(_ pool: DatabasePool) throws { try pool.write { db in try db.execute("INSERT INTO t VALUES (1)") } }

    private static func rows(_ pool: DatabasePool) throws -> Int? {
        try pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") }
    }

    /// The newest state can be restored, and it is the last commit.
    private static func check(_ pool: DatabasePool, _ store: HostileStore, _ folder: TemporaryFolder, _ what: String) async throws {
        do { try await Replicator.restore(to: folder.path("b.db"), from: store, key: try CommitOracle.key) } catch {
            Issue.record(error, "\(what)")
            return
        }
        let restored = try DatabasePool(.file(folder.path("b.db")), key: try CommitOracle.key)
        let (found, wanted) = (try rows(restored), try rows(pool))
        #expect(found == wanted, "\(what)")
        try await restored.close()
    }

    /// The files beside databases.
    private static func memories(_ folder: TemporaryFolder) -> [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        return names?.filter { $0.contains("-replicated-") } ?? []
    }

    private static func inParallel<Item: Sendable>(_ items: [Item], _ body: @escaping @Sendable (Item) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, item) in items.enumerated() {
                if number >= 8 { try await group.next() }
                group.addTask { try await body(item) }
            }
            try await group.waitForAll()
        }
    }

    /// A store that was restored from a copy of itself may have the head that its writer knows, and lack objects stored since.
    @Test func storeRollbackBetweenAnyRequestsIsHealed() async throws {
        var all: [(copy: Int, back: Int)] = []
        for back in 2...Self.requests { for distance in 1...min(6, back - 1) { all.append((back - distance, back)) } }
        var random = SeededGenerator(state: Seed.value)
        let chosen = LongTests.areOn ? all : Array(all.shuffled(using: &random).prefix(16))
        try await Self.inParallel(chosen) { copy, back in
            let folder = try TemporaryFolder(), store = HostileStore(seed: 1), pool = try Self.pool(folder)
            // Twice from the same copy, the second time while the first is healed; or an answer is lost after that.
            let again = back + 1 + copy % (back % 2 == 0 ? 20 : 4)
            store.plan([copy: .copy, back: .back, again: back % 2 == 0 ? .back : .lost])
            let replica = try await Replicator(of: pool, in: store, options: Self.options)
            while store.requests <= again {
                try Self.commit(pool)
                try await replica.waitUntilStored(timeout: .forTests)
            }
            try Self.commit(pool)
            try await replica.waitUntilStored(timeout: .forTests)
            try await Self.check(pool, store, folder, "a copy before request \(copy), restored before \(back) and \(again)")
            await replica.stop()
        }
    }

    /// The next replica goes on, and what it says is stored can be restored. That is also so if the process is killed and the log
    /// is moved into the database: then what is beside the database is that of the time of the request. There may have been a
    /// generation before.
    @Test func replicaEndedAtAnyRequestIsContinued() async throws {
        let all = (1...Self.requests).flatMap { request in
            (0..<8).map { (request, $0 & 1 == 0 ? HostileStore.Event.cut : .cutAfter, $0 & 2 == 0, $0 & 4 == 0) }
        }
        let chosen = LongTests.areOn ? all : all.filter { $0.0 % 20 == Int(Seed.value % 20) || $0.0 == 8 }
        try await Self.inParallel(chosen) { request, event, isKilled, isSecond in
            let folder = try TemporaryFolder(), store = HostileStore(seed: 1), memory = Mutex<[URL: Data]>([:])
            var pool = try Self.pool(folder)
            if isSecond {
                let former = try await Replicator(of: pool, in: store, options: Self.options)
                try await former.waitUntilStored(timeout: .forTests)
                await former.stop()
                try await pool.close()
                pool = try DatabasePool(.file(folder.path("a.db")), key: try CommitOracle.key)
            }
            store.plan([store.requests + request: event]) {
                for name in Self.memories(folder) {
                    let url = URL(fileURLWithPath: folder.path(name))
                    memory.withLock { $0[url] = try? Data(contentsOf: url) }
                }
            }
            let first = try await Replicator(of: pool, in: store, options: Self.options)
            while !store.isCut {
                try Self.commit(pool)
                // The error is in the status a little later.
                _ = try? await first.waitUntilStored(timeout: .milliseconds(200))
            }
            await first.stop()
            store.mend()
            if isKilled {
                try await pool.close()
                for name in Self.memories(folder) { try FileManager.default.removeItem(atPath: folder.path(name)) }
                for (url, data) in memory.withLock({ $0 }) { try data.write(to: url) }
                pool = try DatabasePool(.file(folder.path("a.db")), key: try CommitOracle.key)
            }
            let second = try await Replicator(of: pool, in: store, options: Self.options)
            for _ in 0..<2 {
                try Self.commit(pool)
                do { try await second.waitUntilStored(timeout: .forTests) } catch { Issue.record(error, "\(request) \(event) \(isKilled) \(isSecond)") }
            }
            try await Self.check(pool, store, folder, "ended at request \(request), \(event), \(isKilled) \(isSecond)")
            await second.stop()
        }
    }

    /// The log was given up while links waited to be joined, and the process ends while it begins the next generation. The next
    /// replica once lost states before: an object had blocks of two generations.
    @Test func replicaEndedAfterOutageIsContinued() async throws {
        let all = (1...12).flatMap { [($0, HostileStore.Event.cut), ($0, .cutAfter)] }
        try await Self.inParallel(all) { request, event in
            let folder = try TemporaryFolder(), store = HostileStore(seed: 1), pool = try Self.pool(folder)
            var options = Self.options
            (options.fanOut, options.maximumWALSize) = (16, 300_000)
            let first = try await Replicator(of: pool, in: store, options: options)
            try await first.waitUntilStored(timeout: .forTests)
            var before = Replicator.Position(generation: 0, commit: 0)
            for _ in 0..<3 {
                try Self.commit(pool)
                before = try await first.waitUntilStored(timeout: .forTests)
            }
            let kept = try Self.rows(pool)
            store.plan([store.requests + 1: .cut])
            for _ in 0..<60 { try await pool.write { db in try db.execute("INSERT INTO t VALUES (randomblob(8000))") } }
            await #expect(throws: DatabaseError.self) { try await first.waitUntilStored(timeout: .milliseconds(500)) }
            store.mend()
            store.plan([store.requests + request: event])
            while !store.isCut {
                try Self.commit(pool)
                _ = try? await first.waitUntilStored(timeout: .milliseconds(200))
            }
            await first.stop()
            store.mend()
            let state = folder.path("c.db")
            try await Replicator.restore(to: state, from: store, key: try CommitOracle.key, at: .position(before))
            let second = try await Replicator(of: pool, in: store, options: options)
            try await second.waitUntilStored(timeout: .forTests)
            try await Self.check(pool, store, folder, "ended at request \(request), \(event)")
            await second.stop()
            try await Replicator.restore(
                to: state, from: store, key: try CommitOracle.key, at: .position(before), replacing: true)
            let former = try DatabasePool(.file(state), key: try CommitOracle.key)
            #expect(try Self.rows(former) == kept)
        }
    }
}
