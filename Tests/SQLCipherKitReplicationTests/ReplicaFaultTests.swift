import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import Synchronization
import StoreSupport
import Testing
import TestSupport

/// Stored commits survive whatever happens between the replica and the store.
@Suite struct ReplicaFaultTests {
    static let seeds: [UInt64] = LongTests.areOn ? Array(1...60) : [1, 2, 3]

    @Test(arguments: seeds) func storeFaultsLoseNoCommit(seed: UInt64) async throws {
        let folder = try TemporaryFolder(), key = try CommitOracle.key
        func path(_ name: String) -> String { folder.url.appendingPathComponent(name).path }
        let memory = MemoryStore(), store = FaultyStore(memory, seed: seed, rate: 30)
        var random = SeededGenerator(state: seed &+ 1000)
        let oracle = CommitOracle(seed: seed)
        let pool = try DatabasePool(.file(path("a.db")), key: key)
        var options = Replicator.Options.forTests
        options.interval = .milliseconds(5)
        var stored = 0
        var replica = try await Replicator(of: pool, in: store, options: options), formers: [Replicator] = []
        for round in 0..<40 {
            for _ in 0..<Int.random(in: 1..<8, using: &random) { try oracle.commit(pool) }
            switch Int.random(in: 0..<8, using: &random) {
            case 0...3:
                let commits = oracle.commits
                if (try? await replica.waitUntilStored(timeout: .seconds(2))) != nil { stored = commits }
            case 4:
                // Another replica takes over, while the first replica still runs.
                formers.append(replica)
                replica = try await Replicator(of: pool, in: store, options: options)
                if Bool.random(using: &random) { await formers.last?.stop() }
            case 5:
                await replica.stop()
                replica = try await Replicator(of: pool, in: store, options: options)
            case 6 where stored > 0:
                let file = path("r\(round).db")
                // The printed line can be used to restore.
                try await Replicator.restore(to: file, from: memory, key: key)
                #expect(try oracle.check(fileAt: file) >= stored)
            default: try await Task.sleep(for: .milliseconds(10))
            }
        }
        store.rate.store(0, ordering: .relaxed)
        // A replicator that began earlier may have taken over later.
        for former in formers + [replica] { await former.stop() }
        replica = try await Replicator(of: pool, in: store, options: options)
        try await replica.waitUntilStored(timeout: .forTests)
        await replica.stop()
        try await Replicator.restore(to: path("b.db"), from: memory, key: key)
        #expect(try oracle.check(fileAt: path("b.db")) == oracle.commits)
        #expect(store.faults.load(ordering: .relaxed) > 0)
    }

    @Test func longOutageEndsTheGenerationAndLosesNothing() async throws {
        let folder = try TemporaryFolder(), key = try CommitOracle.key
        let memory = MemoryStore(), store = FaultyStore(memory, seed: 99, rate: 0), oracle = CommitOracle(seed: 99)
        let pool = try DatabasePool(.file(folder.path("a.db")), key: key)
        var options = Replicator.Options.forTests
        options.maximumWALSize = 300_000
        let replica = try await Replicator(of: pool, in: store, options: options)
        for _ in 0..<5 { try oracle.commit(pool) }
        let before = try await replica.waitUntilStored(timeout: .forTests)
        // A short one: the log waits.
        store.rate.store(100, ordering: .relaxed)
        for _ in 0..<5 { try oracle.commit(pool) }
        try await suspendUntil("the replica has noticed") { await replica.currentStatus.error != nil }
        store.rate.store(0, ordering: .relaxed)
        #expect(try await replica.waitUntilStored(timeout: .forTests).generation == before.generation)
        // A long one: the replica lets go of the log.
        store.rate.store(100, ordering: .relaxed)
        for _ in 0..<200 { try oracle.commit(pool) }
        await #expect { try await replica.waitUntilStored(timeout: .milliseconds(500)) } throws: {
            ($0 as? DatabaseError)?.reason == .timeout
        }
        store.rate.store(0, ordering: .relaxed)
        #expect(try await replica.waitUntilStored(timeout: .forTests).generation == before.generation + 1)
        await replica.stop()
        try await Replicator.restore(to: folder.path("b.db"), from: memory, key: key)
        #expect(try oracle.check(fileAt: folder.path("b.db")) == oracle.commits)
        try await Replicator.restore(to: folder.path("c.db"), from: memory, key: key, at: .position(before))
        #expect(try oracle.check(fileAt: folder.path("c.db")) == 5)
    }
}
