import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import Synchronization
import StoreSupport
import Testing
import TestSupport

/// RP8: checkpoints of other programs, which wait for readers of the log and keep writers waiting meanwhile.
@Suite(.timeLimit(.minutes(60))) struct ForeignCheckpointTests {
    let folder: TemporaryFolder
    let key: DatabaseKey

    init() throws {
        folder = try TemporaryFolder()
        key = try CommitOracle.key
    }

    /// Checkpoints with a timeout of twenty seconds, as another program, and says how long each took.
    private func checkpoint(_ times: Int, _ mode: CheckpointMode, _ path: String) throws -> [Duration] {
        let other = try Connection(.file(path), key: key)
        defer { other.close() }
        try other.execute("PRAGMA busy_timeout = 20000")
        return try (0..<times).map { _ in
            let start = ContinuousClock.now
            _ = try other.main.checkpoint(mode)
            return .now - start
        }
    }

    private func commit(_ oracle: CommitOracle, _ pool: DatabasePool) throws { try oracle.commit(pool) }

    @Test(arguments: [CheckpointMode.truncate, .restart, .full], [true, false])
    func checkpointDoesNotWaitForTheReplica(mode: CheckpointMode, isReachable: Bool) async throws {
        let memory = MemoryStore(), store = FaultyStore(memory, seed: 1, rate: 0), oracle = CommitOracle(seed: 61)
        let path = folder.path("a.db"), pool = try DatabasePool(.file(path), key: key)
        try commit(oracle, pool)
        var options = Replicator.Options.forTests
        (options.checkpointSize, options.objectSize) = (1 << 30, 1 << 20)
        // However busy the machine is.
        options.patience = .seconds(3600)
        let replica = try await Replicator(of: pool, in: store, options: options)
        try await replica.waitUntilStored(timeout: .forTests)
        if !isReachable {
            store.rate.store(100, ordering: .relaxed)
            try commit(oracle, pool)
            try await suspendUntil("the replica has noticed") { await replica.currentStatus.error != nil }
        }
        var times: [Duration] = []
        for _ in 0..<4 {
            for _ in 0..<10 { try commit(oracle, pool) }
            times += try await Task.detached { try checkpoint(1, mode, path) }.value
        }
        print("checkpoints \(mode), \(isReachable ? "reachable" : "not reachable"): \(times)")
        // Not until the timeout of twenty seconds.
        #expect(times.allSatisfy { $0 < (LongTests.areAlone ? .milliseconds(250) : .seconds(18)) })
        store.rate.store(0, ordering: .relaxed)
        try commit(oracle, pool)
        let position = try await replica.waitUntilStored(timeout: .forTests)
        // The log was read before it was let go.
        #expect(position.generation == 1)
        await replica.stop()
        try await Replicator.restore(to: folder.path("b.db"), from: memory, key: key)
        #expect(try oracle.check(fileAt: folder.path("b.db")) == oracle.commits)
    }

    /// Whatever the replica is doing, the watch lets go of the log in its place: here it never comes to an end by itself.
    @Test func checkpointDoesNotWaitForABusyReplica() async throws {
        let memory = MemoryStore(), oracle = CommitOracle(seed: 63), gate = Gate()
        let path = folder.path("a.db"), pool = try DatabasePool(.file(path), key: key)
        try commit(oracle, pool)
        var options = Replicator.Options.forTests
        options.now = {
            gate.pass()
            return Date()
        }
        let replica = try await Replicator(of: pool, in: memory, options: options)
        let before = try await replica.waitUntilStored(timeout: .forTests)
        gate.close()
        try commit(oracle, pool)
        try await suspendUntil("the replica is busy") { gate.isStopping }
        let times = try await Task.detached { try checkpoint(1, .truncate, path) }.value
        print("checkpoint beside a busy replica: \(times)")
        try commit(oracle, pool)
        gate.open()
        #expect(try await replica.waitUntilStored(timeout: .forTests).generation == before.generation + 1)
        await replica.stop()
        try await Replicator.restore(to: folder.path("b.db"), from: memory, key: key)
        #expect(try oracle.check(fileAt: folder.path("b.db")) == oracle.commits)
    }

    /// A replica that has not reached its store yet keeps no one waiting either, and lets go of a log that is too large.
    @Test func unreachableStoreAtStartBlocksNoCheckpoint() async throws {
        let memory = MemoryStore(), store = FaultyStore(memory, seed: 1, rate: 100), oracle = CommitOracle(seed: 64)
        let path = folder.path("a.db"), other = folder.path("b.db")
        var configuration = DatabaseConfiguration()
        configuration.pool.checkpointSize = 100_000
        let pool = try DatabasePool(.file(path), key: key, configuration: configuration)
        try commit(oracle, pool)
        var options = Replicator.Options.forTests
        (options.patience, options.maximumWALSize) = (.seconds(3600), 300_000)
        let replica = try await Replicator(of: pool, in: store, options: options)
        for _ in 0..<5 { try commit(oracle, pool) }
        _ = try await Task.detached { try checkpoint(1, .truncate, path) }.value
        // Every few commits, the replica has time to look at the log.
        for _ in 0..<30 {
            for _ in 0..<20 { try commit(oracle, pool) }
            try await Task.sleep(for: .milliseconds(20))
        }
        let size = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
        print("log without a store: \(size ?? -1)")
        #expect(try #require(size) < 5_000_000)
        store.rate.store(0, ordering: .relaxed)
        try await replica.waitUntilStored(timeout: .forTests)
        await replica.stop()
        try await Replicator.restore(to: other, from: memory, key: key)
        #expect(try oracle.check(fileAt: other) == oracle.commits)
    }

    /// A backlog too large for the memory is given up: a snapshot has it when the store is back.
    @Test func snapshotReplacesOversizedBacklog() async throws {
        let memory = MemoryStore(), store = FaultyStore(memory, seed: 1, rate: 0), oracle = CommitOracle(seed: 62)
        let path = folder.path("a.db"), pool = try DatabasePool(.file(path), key: key)
        try commit(oracle, pool)
        var options = Replicator.Options.forTests
        options.checkpointSize = 1 << 30
        let replica = try await Replicator(of: pool, in: store, options: options)
        try await replica.waitUntilStored(timeout: .forTests)
        store.rate.store(100, ordering: .relaxed)
        for _ in 0..<150 { try commit(oracle, pool) }
        try await suspendUntil("the replica has noticed") { await replica.currentStatus.error != nil }
        let times = try await Task.detached { try checkpoint(1, .truncate, path) }.value
        #expect(times[0] < .seconds(18))
        store.rate.store(0, ordering: .relaxed)
        #expect(try await replica.waitUntilStored(timeout: .forTests).generation == 2)
        await replica.stop()
        try await Replicator.restore(to: folder.path("b.db"), from: memory, key: key)
        #expect(try oracle.check(fileAt: folder.path("b.db")) == oracle.commits)
    }
}

/// A place that stops threads that pass it while it is closed.
private final class Gate: Sendable {
    private let isClosed = Atomic<Bool>(false), stopping = Atomic<Bool>(false)

    var isStopping: Bool { stopping.load(ordering: .relaxed) }

    func close() { isClosed.store(true, ordering: .relaxed) }

    func open() { isClosed.store(false, ordering: .relaxed) }

    func pass() {
        while isClosed.load(ordering: .relaxed) {
            stopping.store(true, ordering: .relaxed)
            usleep(1000)
        }
    }
}
