import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import Synchronization
import StoreSupport
import Testing
import TestSupport

/// Clocks, retention, and changes of the key.
@Suite struct ReplicaTimeTests {
    let folder: TemporaryFolder
    let key: DatabaseKey

    init() throws {
        folder = try TemporaryFolder()
        key = try CommitOracle.key
    }

    func path(_ name: String) -> String { folder.path(name) }

    /// A clock that can be set.
    final class SetClock: Sendable {
        private let time = Mutex(Date(timeIntervalSince1970: 1_800_000_000))

        var now: Date {
            get { time.withLock { $0 } }
            set { time.withLock { $0 = newValue } }
        }
    }

    @Test func restoreByTimeSurvivesClockJumps() async throws {
        let store = MemoryStore(), pool = try DatabasePool(.file(path("a.db")), key: key), clock = SetClock()
        let oracle = CommitOracle(seed: 21), start = clock.now
        var options = Replicator.Options.forTests
        options.now = { clock.now }
        options.sweepInterval = .zero
        options.gracePeriod = .zero
        let replica = try await Replicator(of: pool, in: store, options: options)
        try oracle.commit(pool)
        let first = try await replica.waitUntilStored(timeout: .forTests)
        // An hour, ten years ahead, back before the beginning, and back to the hour.
        for seconds in [3600.0, 3.2e8, -3600, 3700] {
            clock.now = start + seconds
            for _ in 0..<20 { try oracle.commit(pool) }
            try await replica.waitUntilStored(timeout: .forTests)
        }
        await replica.stop()
        let cases = [
            (Replicator.RestorePoint.newest, 81), (.position(first), 1), (.time(start + 1800), 61), (.time(start + 3600), 61),
            (.time(start + 3700), 81), (.time(start + 1e9), 81),
        ]
        for (index, (moment, commit)) in cases.enumerated() {
            try await Replicator.restore(to: path("r\(index).db"), from: store, key: key, at: moment)
            #expect(try oracle.check(fileAt: path("r\(index).db")) == commit, "\(moment)")
        }
        await #expect { try await Replicator.restore(to: path("x.db"), from: store, key: key, at: .time(start - 1e7)) } throws: {
            ($0 as? DatabaseError)?.reason == .invalidArgument
        }
    }

    @Test func statesOlderThanRetentionAreRemoved() async throws {
        let store = MemoryStore(), pool = try DatabasePool(.file(path("a.db")), key: key)
        let oracle = CommitOracle(seed: 22)
        var options = Replicator.Options.forTests
        options.retention = .milliseconds(100)
        options.gracePeriod = .zero
        options.sweepInterval = .zero
        options.snapshotInterval = .milliseconds(50)
        let replica = try await Replicator(of: pool, in: store, options: options)
        try oracle.commit(pool)
        let first = try await replica.waitUntilStored(timeout: .forTests)
        for _ in 0..<20 {
            for _ in 0..<5 { try oracle.commit(pool) }
            try await replica.waitUntilStored(timeout: .forTests)
            try await Task.sleep(for: .milliseconds(30))
        }
        try await Task.sleep(for: .milliseconds(300))
        await replica.stop()
        await #expect { try await Replicator.restore(to: path("x.db"), from: store, key: key, at: .position(first)) } throws: {
            ($0 as? DatabaseError)?.reason == .invalidArgument
        }
        try await Replicator.restore(to: path("b.db"), from: store, key: key)
        #expect(try oracle.check(fileAt: path("b.db")) == oracle.commits)
        // Twenty rounds have stored at least that many objects of the log, and several snapshots.
        #expect(store.objects.count < 40)
    }

    /// RP7: a clock that is wrong by a year, both ways, at a start and while the replica runs, shortens nothing.
    @Test(arguments: [400.0, -400]) func wrongClockRemovesNothing(days: Double) async throws {
        let store = MemoryStore(), pool = try DatabasePool(.file(path("a.db")), key: key), clock = SetClock()
        let oracle = CommitOracle(seed: 25), start = clock.now
        var options = Replicator.Options.forTests
        options.now = { clock.now }
        (options.sweepInterval, options.gracePeriod, options.snapshotInterval) = (.zero, .zero, .milliseconds(1))
        var positions: [Replicator.Position] = []
        for round in 0..<8 {
            // Right, wrong, right again, and so on; a day passes in each round.
            clock.now = start + Double(round) * 40_000 + (round % 2 == 1 ? days * 86_400 : 0)
            let replica = try await Replicator(of: pool, in: store, options: options)
            for part in 0..<3 {
                if round == 4, part == 1 { clock.now += days * 86_400 }
                if round == 4, part == 2 { clock.now -= days * 86_400 }
                try oracle.commit(pool)
                positions.append(try await replica.waitUntilStored(timeout: .forTests))
                for _ in 0..<3 { try await replica.waitUntilStored(timeout: .forTests) }
            }
            await replica.stop()
        }
        for (index, position) in positions.enumerated() {
            let file = path("r\(index).db")
            try await Replicator.restore(to: file, from: store, key: key, at: .position(position))
            #expect(try oracle.check(fileAt: file) == index + 1)
        }
    }

    /// States beyond the retention go all the same, also if the clock is behind all that is stored.
    @Test(arguments: [0.0, 400, -400]) func retentionRemovesStatesWithAnyClock(days: Double) async throws {
        let store = MemoryStore(), pool = try DatabasePool(.file(path("a.db")), key: key), clock = SetClock()
        let oracle = CommitOracle(seed: 26)
        var options = Replicator.Options.forTests
        options.now = { clock.now }
        (options.retention, options.gracePeriod, options.sweepInterval) = (.milliseconds(100), .zero, .zero)
        options.snapshotInterval = .milliseconds(50)
        for round in 0..<2 {
            if round == 1 { clock.now += days * 86_400 }
            let replica = try await Replicator(of: pool, in: store, options: options)
            for _ in 0..<15 {
                for _ in 0..<5 { try oracle.commit(pool) }
                try await replica.waitUntilStored(timeout: .forTests)
                try await Task.sleep(for: .milliseconds(30))
            }
            await replica.stop()
        }
        #expect(store.objects.count < 60)
        try await Replicator.restore(to: path("b.db"), from: store, key: key)
        #expect(try oracle.check(fileAt: path("b.db")) == oracle.commits)
    }

    @Test func keyChangeStartsNewSection() async throws {
        let store = MemoryStore(), pool = try DatabasePool(.file(path("a.db")), key: key)
        let oracle = CommitOracle(seed: 23), other = try DatabaseKey.raw([UInt8](repeating: 9, count: 32))
        var replica = try await Replicator(of: pool, in: store, options: .forTests)
        for _ in 0..<10 { try oracle.commit(pool) }
        try await replica.waitUntilStored(timeout: .forTests)
        await replica.stop()
        try change(pool, other)
        replica = try await Replicator(of: pool, in: store, options: .forTests)
        for _ in 0..<5 { try oracle.commit(pool) }
        try await replica.waitUntilStored(timeout: .forTests)
        await replica.stop()
        try await Replicator.restore(to: path("b.db"), from: store, key: other)
        #expect(try number(path("b.db"), other) == 15)
        try await Replicator.restore(to: path("c.db"), from: store, key: key)
        #expect(try oracle.check(fileAt: path("c.db")) == 10)
    }

    @Test func passphraseOpensTheReplica() async throws {
        var cipher = CipherConfiguration()
        cipher.kdfIterations = 1000
        let key = try DatabaseKey.passphrase("correct horse", cipher: cipher)
        let store = MemoryStore(), pool = try DatabasePool(.file(path("a.db")), key: key)
        let oracle = CommitOracle(seed: 24)
        try oracle.commit(pool)
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        try await replica.waitUntilStored(timeout: .forTests)
        await replica.stop()
        try await Replicator.restore(to: path("b.db"), from: store, key: key)
        #expect(try number(path("b.db"), key) == 1)
        let wrong = try DatabaseKey.passphrase("battery staple", cipher: cipher)
        await #expect { try await Replicator.restore(to: path("c.db"), from: store, key: wrong) } throws: {
            ($0 as? DatabaseError)?.reason == .replicaDamaged
        }
    }

    func change(_ pool: DatabasePool, _ key: DatabaseKey) throws { try pool.changeKey(to: key) }

    func number(_ path: String, _ key: DatabaseKey) throws -> Int? {
        try Connection(.file(path), key: key).fetchOne(Int.self, "SELECT number FROM commits")
    }
}
