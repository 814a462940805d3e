import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import StoreSupport
import Testing
import TestSupport

/// Writers, machines that take over, followers, restores and restarts at random, over a store that means harm.
///
/// Each commit of each machine is a state with its identity and the identity of the previous state. So a test can tell that a
/// restored or followed state is a committed state of one writer, and that it comes after the former state.
@Suite(.timeLimit(.minutes(60))) struct ReplicaModelTests {
    /// The first seed is the seed of all tests, so that it can be chosen.
    @Test(arguments: [Seed.value] + (2...6)) func randomReplicationShowsOnlyCommittedStates(seed: UInt64) async throws {
        try await ReplicaModel(seed: seed).run(steps: 40)
    }

    /// Other seeds, four at a time, for ten minutes.
    @Test(.enabled(if: LongTests.areOn)) func randomReplicationRunsForTenMinutes() async throws {
        let end = ContinuousClock.now + .seconds(600)
        let count = await withTaskGroup(of: Int.self) { group in
            for worker in 0..<4 as Range<UInt64> { group.addTask { await Self.run(from: worker, until: end) } }
            return await group.reduce(0, +)
        }
        print("replica model: \(count) runs")
    }

    private static func run(from worker: UInt64, until end: ContinuousClock.Instant) async -> Int {
        var seed = Seed.value &* 1_000_000 &+ worker, count = 0
        while .now < end {
            do { try await ReplicaModel(seed: seed).run(steps: 40) } catch { Issue.record(error, "seed \(seed)") }
            (seed, count) = (seed + 4, count + 1)
        }
        return count
    }
}

/// The states of all machines, as they were committed.
private struct StateTree {
    private(set) var parents: [Int: Int] = [0: -1]
    private(set) var rows: [Int: [Int]] = [0: []]

    mutating func add(_ state: Int, after parent: Int, _ row: Int) {
        parents[state] = parent
        rows[state] = (rows[parent] ?? []) + [row]
    }

    func isAncestor(_ old: Int, of state: Int) -> Bool {
        var next = state
        while next >= 0, next != old { next = parents[next] ?? -1 }
        return next == old
    }
}

/// One run. Its databases have a row for each commit, and the identity of the last commit.
private final class ReplicaModel {
    private let folder: TemporaryFolder
    private let key: DatabaseKey
    private let store: HostileStore
    private let seed: UInt64
    private var random: SeededGenerator
    private var tree = StateTree()
    /// The machine that has taken over last, and the replicas before its own.
    private var pool: DatabasePool, replica: Replicator, formers: [(pool: DatabasePool, replica: Replicator)] = []
    private var follower: ReplicaFollower?, followed = 0
    /// The last state that the present writer was told to be stored, since the store last went back.
    private var acknowledged = 0
    /// True if the store has ever gone back.
    private var hasForked = false
    private var count = 0, files = 0
    /// The last error of a restore.
    private var failure = ""

    init(seed: UInt64) async throws {
        self.seed = seed
        (folder, key, store) = (try TemporaryFolder(), try CommitOracle.key, HostileStore(seed: seed))
        random = SeededGenerator(state: seed)
        pool = try DatabasePool(.file(folder.path("m0.db")), key: key)
        try await pool.write { db in
            try db.execute("CREATE TABLE state(id)")
            try db.execute("INSERT INTO state VALUES (0)")
            try db.execute("CREATE TABLE t(x)")
        }
        replica = try await Replicator(of: pool, in: store, options: Self.options)
        try await replica.waitUntilStored(timeout: .forTests)
    }

    private static var options: Replicator.Options {
        var options = Replicator.Options.forTests
        options.interval = .milliseconds(5)
        options.checkpointSize = 60_000
        (options.gracePeriod, options.retention, options.sweepInterval) = (.milliseconds(20), .seconds(3), .milliseconds(20))
        return options
    }

    private func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }

    private func path() -> String {
        files += 1
        return folder.path("m\(files).db")
    }

    // MARK: Databases

    private func commit(_ pool: DatabasePool) throws {
        count += 1
        let (state, row) = (count, below(1 << 30)), text = String(repeating: "filling ", count: below(200))
        let parent = try pool.write { db in
            let parent = try db.fetchOne(Int.self, "SELECT id FROM state") ?? 0
            try db.execute("UPDATE state SET id = \(state)")
            try db.execute("INSERT INTO t VALUES (\(row))")
            try db.execute("CREATE TABLE IF NOT EXISTS filling(x)")
            try db.execute("INSERT INTO filling VALUES (\(text))")
            return parent
        }
        tree.add(state, after: parent, row)
    }

    private func state(_ pool: DatabasePool) throws -> Int { try pool.read { db in try check(db) } }

    private func check(_ db: Connection) throws -> Int {
        let state = try db.fetchOne(Int.self, "SELECT id FROM state") ?? -1
        let rows = try db.fetchAll(Int.self, "SELECT x FROM t ORDER BY rowid")
        let isCommitted = tree.rows[state] == rows
        #expect(isCommitted, "seed \(seed): state \(state) is none that was committed")
        return state
    }

    private func state(fileAt path: String) throws -> Int {
        let db = try Connection(.file(path), key: key)
        defer { db.close() }
        return try check(db)
    }

    private func close(_ pool: DatabasePool) throws { try pool.close() }

    private func mainPath(_ pool: DatabasePool) throws -> String { try pool.read { db in try #require(try db.main.path) } }

    // MARK: Steps

    func run(steps: Int) async throws {
        for _ in 0..<steps { try await step() }
        try await end()
    }

    private func trace(_ text: @autoclosure () -> String) {
        if ProcessInfo.processInfo.environment["SQLCIPHERKIT_MODEL_TRACE"] != nil { print("seed \(seed): \(text())") }
    }

    private func step() async throws {
        let kind = below(15)
        let status = await replica.currentStatus
        trace("step \(kind) pool \((try? state(pool)) ?? -1) followed \(followed) acknowledged \(acknowledged) hasForked \(hasForked) " +
            "\(status.stored.map { "\($0)" } ?? "") \(status.isEnded) \(status.error.map { "\($0)" } ?? "")")
        switch kind {
        case 0...3: for _ in 0..<(1 + below(4)) { try commit(pool) }
        case 4, 5: try await wait()
        case 6: store.behave(stale: below(30), failing: below(25))
        case 7: try await restore()
        case 8: if below(2) == 0 { try await takeOver() }
        case 9, 10: try await follow()
        case 11: try await restart()
        case 12: if let former = formers.randomElement(using: &random) { try commit(former.pool) }
        case 13: if below(2) == 0 { try await convert() }
        default:
            guard below(3) == 0 else { return store.makeCopy() }
            store.restoreCopy()
            (acknowledged, hasForked) = (0, true)
        }
    }

    private func wait() async throws {
        let state = try state(pool)
        if (try? await replica.waitUntilStored(timeout: .milliseconds(300))) != nil { acknowledged = state }
    }

    /// The database gets another salt, and its replica another section.
    private func convert() async throws {
        await replica.stop()
        try change(pool)
        replica = try await Replicator(of: pool, in: store, options: Self.options)
    }

    private func change(_ pool: DatabasePool) throws {
        trace("converted")
        try pool.changeKey(to: key, mode: .newFile)
    }

    /// - Returns: the state and the file; nil if the restore has failed.
    private func restored() async throws -> (state: Int, path: String)? {
        let path = path()
        do { try await Replicator.restore(to: path, from: store, key: key) } catch {
            failure = "\(error)"
            #expect(!FileManager.default.fileExists(atPath: path))
            return nil
        }
        return (try state(fileAt: path), path)
    }

    private func restore() async throws {
        _ = try await restored()
        guard below(2) == 0, acknowledged > 0, await !mayBeTakenOver() else { return }
        store.behave(stale: 0, failing: 0)
        let found = try #require(try await restored(), "seed \(seed): \(failure)")
        let hasAll = tree.isAncestor(acknowledged, of: found.state)
        #expect(hasAll, "seed \(seed): \(acknowledged) was acknowledged, and \(found.state) is there")
    }

    /// True if a former writer has not begun yet. If the store went back to before its state, that writer begins a history.
    private func mayBeTakenOver() async -> Bool {
        for former in formers where await !former.replica.currentStatus.isEnded { return true }
        return false
    }

    private func takeOver() async throws {
        guard let (_, path) = try await restored() else { return }
        formers.append((pool, replica))
        if below(2) == 0 { await replica.stop() }
        pool = try DatabasePool(.file(path), key: key)
        replica = try await Replicator(of: pool, in: store, options: Self.options)
        // The former writer's state is no longer promised.
        acknowledged = 0
    }

    private func restart() async throws {
        await replica.stop()
        if below(2) == 0 {
            let path = try mainPath(pool)
            try close(pool)
            pool = try DatabasePool(.file(path), key: key)
        }
        replica = try await Replicator(of: pool, in: store, options: Self.options)
    }

    private func follow() async throws {
        if follower == nil || below(4) == 0 {
            await follower?.stop()
            follower = try? await ReplicaFollower(at: folder.path("f.db"), following: store, key: key, every: .seconds(1000))
        }
        _ = try? await follower?.catchUp()
        try checkFollower()
    }

    private func checkFollower() throws {
        guard let follower else { return }
        let state = try state(follower.database)
        let follows = tree.isAncestor(followed, of: state)
        #expect(follows, "seed \(seed): the copy goes from \(followed) to \(state)")
        followed = state
    }

    private func commitAndWait(_ count: Int) async throws {
        for _ in 0..<count {
            try commit(pool)
            try await replica.waitUntilStored(timeout: .forTests)
        }
    }

    private func end() async throws {
        let mayLose = await mayBeTakenOver()
        store.behave(stale: 0, failing: 0)
        for former in formers { await former.replica.stop() }
        for round in 0..<3 {
            if await replica.currentStatus.isEnded { replica = try await Replicator(of: pool, in: store, options: Self.options) }
            // A replica that runs finds out that the store has gone back when it replaces the head, and also that a former writer,
            // which has more than the store, has taken over since and ended.
            do { try await commitAndWait(5) } catch let error as DatabaseError {
                if error.reason == .replicaFenced, round == 0, !formers.isEmpty { continue }
                // The machine had restored an old state, or another machine has continued. It has to restore the newest.
                #expect(error.reason == .replicaForked, "seed \(seed): \(error)")
                // Unless it went back to before the first snapshot: then there is nothing, and this history has ended.
                guard let (state, path) = try await restored() else {
                    #expect(hasForked, "seed \(seed): \(failure)")
                    return
                }
                #expect(tree.isAncestor(acknowledged, of: state) || mayLose)
                pool = try DatabasePool(.file(path), key: key)
            }
        }
        try await commitAndWait(12)
        let last = try state(pool)
        let found = try #require(try await restored(), "seed \(seed): \(failure)")
        #expect(found.state == last)
        await follower?.stop()
        do {
            let next = try await ReplicaFollower(at: folder.path("f.db"), following: store, key: key, every: .seconds(1000))
            follower = next
            try await next.catchUp()
            try checkFollower()
            #expect(followed == last, "seed \(seed)")
            await next.stop()
        } catch let error as DatabaseError {
            #expect(hasForked && [.replicaForked, .replicaRolledBack].contains(error.reason), "seed \(seed): \(error)")
            try checkFollower()
        }
        await replica.stop()
    }
}
