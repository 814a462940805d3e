import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import StoreSupport
import Testing
import TestSupport

@Suite struct ReplicaTests {
    let folder: TemporaryFolder
    let key: DatabaseKey

    init() throws {
        folder = try TemporaryFolder()
        key = try CommitOracle.key
    }

    func path(_ name: String) -> String { folder.url.appendingPathComponent(name).path }

    func close(_ pool: DatabasePool) throws { try pool.close() }

    @Test func storedCommitsAreRestorable() async throws {
        let store = MemoryStore(), pool = try DatabasePool(.file(path("a.db")), key: key)
        let oracle = CommitOracle(seed: 1)
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        for round in 0..<6 {
            for _ in 0..<30 { try oracle.commit(pool) }
            try await replica.waitUntilStored(timeout: .forTests)
            try await Replicator.restore(to: path("b\(round).db"), from: store, key: key)
            #expect(try oracle.check(fileAt: path("b\(round).db")) == oracle.commits)
        }
        let status = await replica.currentStatus
        #expect(status.error == nil)
        // The log was kept by the replica all the time.
        #expect(status.stored?.generation == 1)
        await replica.stop()
        for (name, bytes) in store.objects {
            let text = Data(bytes)
            #expect(text.range(of: Data("SQLite format".utf8)) == nil && text.range(of: Data(CommitOracle.marker.utf8)) == nil, "\(name)")
            #expect(text.range(of: Data("generation".utf8)) == nil, "\(name)")
        }
    }

    @Test func databaseWithUncheckableForeignKeysIsRestored() async throws {
        var configuration = DatabaseConfiguration()
        configuration.enforcesForeignKeys = false
        let store = MemoryStore(), pool = try DatabasePool(.file(path("a.db")), key: key, configuration: configuration)
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        try await pool.write { db in
            try db.execute(SQLScript("CREATE TABLE parent(x); CREATE TABLE t(y REFERENCES parent(x)); INSERT INTO t VALUES (7)"))
        }
        try await replica.waitUntilStored(timeout: .forTests)
        await replica.stop()
        try await Replicator.restore(to: path("b.db"), from: store, key: key)
        #expect(try Connection(.file(path("b.db")), key: key).fetchOne(Int.self, "SELECT y FROM t") == 7)
    }

    /// Between the commits of a busy writer, the write lock is free for microseconds.
    @Test func walOfBusyWriterRestarts() async throws {
        let store = MemoryStore(), pool = try DatabasePool(.file(path("a.db")), key: key)
        let replica = try await Replicator(of: pool, in: store, options: .forTests), log = path("a.db-wal")
        try await replica.waitUntilStored(timeout: .forTests)
        try await pool.write { db in try db.execute("CREATE TABLE t(x)") }
        func salts() throws -> Data {
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: log))
            defer { try? file.close() }
            try file.seek(toOffset: 16)
            return try file.read(upToCount: 8) ?? Data()
        }
        var starts: Set<Data> = [], commits = 0
        // Some 80 MB.
        while starts.count < 4, commits < 20_000 {
            try await pool.write { db in try db.execute("INSERT INTO t VALUES ('a row')") }
            commits += 1
            if commits % 20 == 0 { starts.insert(try salts()) }
        }
        #expect(starts.count == 4, "\(commits) commits")
        try await replica.waitUntilStored(timeout: .forTests)
        #expect(await replica.currentStatus.stored?.generation == 1)
        await replica.stop()
        try await Replicator.restore(to: path("b.db"), from: store, key: key)
        #expect(try Connection(.file(path("b.db")), key: key).fetchOne(Int.self, "SELECT count(*) FROM t") == commits)
    }

    @Test func everyCommitCanBeRestored() async throws {
        let store = MemoryStore(), pool = try DatabasePool(.file(path("a.db")), key: key)
        let oracle = CommitOracle(seed: 2)
        try oracle.commit(pool)
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        var positions: [(Replicator.Position, Int)] = [(try await replica.waitUntilStored(timeout: .forTests), 1)]
        for _ in 0..<40 {
            try oracle.commit(pool)
            if oracle.commits % 3 == 0 {
                positions.append((try await replica.waitUntilStored(timeout: .forTests), oracle.commits))
            }
        }
        await replica.stop()
        for (index, (position, commit)) in positions.enumerated() {
            let file = path("r\(index).db")
            try await Replicator.restore(to: file, from: store, key: key, at: .position(position))
            #expect(try oracle.check(fileAt: file) == commit)
        }
        // Also the commits that were stored together.
        let first = try #require(positions.first)
        for (index, commit) in [first.1 + 1, first.1 + 2, 20, 31].enumerated() {
            let position = Replicator.Position(generation: first.0.generation, commit: first.0.commit + UInt64(commit - first.1))
            try await Replicator.restore(to: path("s\(index).db"), from: store, key: key, at: .position(position))
            #expect(try oracle.check(fileAt: path("s\(index).db")) == commit)
        }
    }

    @Test func walRestartsLoseNoCommit() async throws {
        let store = MemoryStore(), pool = try DatabasePool(.file(path("a.db")), key: key)
        let oracle = CommitOracle(seed: 3)
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        // Another connection writes too, and tries to start the log from the beginning whenever it can.
        let other = try Connection(.file(path("a.db")), key: key)
        try other.execute("PRAGMA wal_autocheckpoint = 20")
        for round in 0..<150 {
            if round % 2 == 0 { try oracle.commit(pool) } else { try other.transaction { try oracle.commit($0) } }
            if round % 7 == 0 {
                // Not waiting: the replica's transaction may be in the way.
                try other.execute("PRAGMA busy_timeout = 0")
                _ = try? other.main.checkpoint(round % 14 == 0 ? .restart : .truncate)
                try other.execute("PRAGMA busy_timeout = 5000")
            }
            if round % 10 == 0 { try await Task.sleep(for: .milliseconds(30)) }
        }
        let position = try await replica.waitUntilStored(timeout: .forTests)
        #expect(position.generation == 1)
        await replica.stop()
        try await Replicator.restore(to: path("b.db"), from: store, key: key)
        #expect(try oracle.check(fileAt: path("b.db")) == oracle.commits)
    }

    @Test func replicaContinuesWhereItStopped() async throws {
        let store = MemoryStore(), pool = try DatabasePool(.file(path("a.db")), key: key)
        let oracle = CommitOracle(seed: 4)
        // The log must still have everything since the last stop.
        var options = Replicator.Options.forTests
        options.checkpointSize = 1 << 30
        for round in 0..<5 {
            let replica = try await Replicator(of: pool, in: store, options: options)
            for _ in 0..<20 { try oracle.commit(pool) }
            let position = try await replica.waitUntilStored(timeout: .forTests)
            #expect(position.generation == 1, "round \(round)")
            await replica.stop()
            // While there is no replica.
            for _ in 0..<3 { try oracle.commit(pool) }
        }
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        try await replica.waitUntilStored(timeout: .forTests)
        await replica.stop()
        try await Replicator.restore(to: path("b.db"), from: store, key: key)
        #expect(try oracle.check(fileAt: path("b.db")) == oracle.commits)
    }

    @Test func walRestartWhileStoppedStartsNewGeneration() async throws {
        let store = MemoryStore()
        let oracle = CommitOracle(seed: 5)
        var second: Replicator.Position?
        for round in 1...3 {
            let pool = try DatabasePool(.file(path("a.db")), key: key)
            let replica = try await Replicator(of: pool, in: store, options: .forTests)
            for _ in 0..<10 { try oracle.commit(pool) }
            let position = try await replica.waitUntilStored(timeout: .forTests)
            #expect(position.generation == UInt64(round))
            if round == 2 { second = position }
            await replica.stop()
            try oracle.commit(pool)
            try close(pool)
        }
        try await Replicator.restore(to: path("b.db"), from: store, key: key)
        #expect(try oracle.check(fileAt: path("b.db")) == oracle.commits - 1)
        try await Replicator.restore(
            to: path("c.db"), from: store, key: key, at: .position(try #require(second)))
        #expect(try oracle.check(fileAt: path("c.db")) == 21)
    }

    @Test func secondWriterFencesFirst() async throws {
        let store = MemoryStore(), pool = try DatabasePool(.file(path("a.db")), key: key)
        let oracle = CommitOracle(seed: 6)
        let first = try await Replicator(of: pool, in: store, options: .forTests)
        for _ in 0..<10 { try oracle.commit(pool) }
        try await first.waitUntilStored(timeout: .forTests)
        let second = try await Replicator(of: pool, in: store, options: .forTests)
        try await second.waitUntilStored(timeout: .forTests)
        try oracle.commit(pool)
        await #expect { try await first.waitUntilStored(timeout: .forTests) } throws: {
            ($0 as? DatabaseError)?.reason == .replicaFenced
        }
        try await second.waitUntilStored(timeout: .forTests)
        await second.stop()
        try await Replicator.restore(to: path("b.db"), from: store, key: key)
        #expect(try oracle.check(fileAt: path("b.db")) == oracle.commits)
    }

    @Test func changedObjectThrowsReplicaDamaged() async throws {
        let store = MemoryStore(), pool = try DatabasePool(.file(path("a.db")), key: key)
        let oracle = CommitOracle(seed: 7)
        // One snapshot: an older one is not read, and so no change to it is found.
        var options = Replicator.Options.forTests
        options.objectSize = 1 << 20
        let replica = try await Replicator(of: pool, in: store, options: options)
        for _ in 0..<20 { try oracle.commit(pool) }
        try await replica.waitUntilStored(timeout: .forTests)
        for _ in 0..<5 { try oracle.commit(pool) }
        await replica.stop()
        var random = SeededGenerator(state: 7)
        try await Replicator.restore(to: path("c.db"), from: store, key: key)
        #expect(try oracle.check(fileAt: path("c.db")) == oracle.commits)
        // Links whose blocks are all in a later link, and the copy of the opening.
        let numbers = store.objects.keys.compactMap { $0.contains("/log-") ? $0.split(separator: "-").last.flatMap { Int($0) } : nil }
        let last = try #require(numbers.max())
        let unneeded = store.objects.keys.filter { name in
            name.contains("/log-") && !name.hasSuffix("-0") && !name.hasSuffix("-\(last)")
        }
        for name in store.objects.keys.sorted() {
            for _ in 0..<4 {
                let before = store.objects[name] ?? []
                let bit = Int.random(in: 0..<before.count * 8, using: &random)
                store.change(name) { $0[bit / 8] ^= 1 << UInt8(bit % 8) }
                do {
                    try await Replicator.restore(to: path("c.db"), from: store, key: key, replacing: true)
                    #expect(try oracle.check(fileAt: path("c.db")) == oracle.commits)
                    #expect(unneeded.contains(name), "\(name), bit \(bit)")
                } catch let error as DatabaseError { #expect(error.reason == .replicaDamaged, "\(name), bit \(bit): \(error)") }
                store.change(name) { $0 = before }
            }
        }
        let other = try DatabaseKey.raw([UInt8](repeating: 8, count: 32))
        await #expect { try await Replicator.restore(to: path("d.db"), from: store, key: other) } throws: {
            ($0 as? DatabaseError)?.reason == .replicaDamaged
        }
        #expect(!FileManager.default.fileExists(atPath: path("d.db")))
    }
}
