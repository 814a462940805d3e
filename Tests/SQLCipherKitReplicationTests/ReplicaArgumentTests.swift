import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import StoreSupport
import Testing
import TestSupport

/// Arguments beyond all bounds, and stores in which there is something else.
@Suite struct ReplicaArgumentTests {
    let folder: TemporaryFolder
    let key: DatabaseKey

    init() throws {
        folder = try TemporaryFolder()
        key = try CommitOracle.key
    }

    private func source() throws -> (DatabasePool, CommitOracle) {
        let pool = try DatabasePool(.file(folder.path("a.db")), key: key), oracle = CommitOracle(seed: 21)
        for _ in 0..<3 { try oracle.commit(pool) }
        return (pool, oracle)
    }

    private func check(_ oracle: CommitOracle, _ follower: ReplicaFollower) throws -> Int {
        try follower.reader.read { db in try oracle.check(db) }
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.min), .zero, .nanoseconds(1)])
    func replicaAcceptsAnyDuration(duration: Duration) async throws {
        let store = MemoryStore(), (pool, oracle) = try source()
        var options = Replicator.Options.forTests
        // An interval of centuries would be waited for.
        options.interval = min(duration, .milliseconds(20))
        options.snapshotInterval = duration
        options.retention = duration
        options.gracePeriod = duration
        let replica = try await Replicator(of: pool, in: store, options: options)
        try await replica.waitUntilStored(timeout: .seconds(Int64.max))
        async let first: Void = replica.stop()
        async let second: Void = replica.stop()
        _ = await (first, second)
        #expect(await replica.currentStatus.error == nil)
        let follower = try await ReplicaFollower(at: folder.path("b.db"), following: store, key: key, every: duration)
        #expect(try check(oracle, follower) == 3)
        await follower.stop()
        await follower.stop()
    }

    @Test func restoreAcceptsAnyTimeOrThrows() async throws {
        let store = MemoryStore(), (pool, oracle) = try source()
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        try await replica.waitUntilStored(timeout: .forTests)
        await replica.stop()
        for seconds in [1e30, .infinity, .greatestFiniteMagnitude] {
            try await Replicator.restore(
                to: folder.path("b.db"), from: store, key: key, at: .time(Date(timeIntervalSince1970: seconds)), replacing: true)
            #expect(try oracle.check(fileAt: folder.path("b.db")) == 3)
        }
        for seconds in [-1e30, -.infinity, -1, .nan] {
            await #expect {
                try await Replicator.restore(
                    to: folder.path("c.db"), from: store, key: key, at: .time(Date(timeIntervalSince1970: seconds)))
            } throws: { ($0 as? DatabaseError)?.reason == .invalidArgument }
            #expect(!FileManager.default.fileExists(atPath: folder.path("c.db")))
        }
    }

    /// Neither waited for nor read into memory.
    @Test(arguments: ["pipe", "folder", "huge"]) func pipeFolderOrHugeFileAsHeadThrows(kind: String) async throws {
        let (pool, _) = try source()
        let store = try FolderStore(folder.path("store"))
        let path = folder.path("store/head")
        switch kind {
        case "pipe": #expect(mkfifo(path, 0o600) == 0)
        case "folder": try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        default:
            try Data().write(to: URL(fileURLWithPath: path))
            #expect(truncate(path, 1 << 40) == 0)
        }
        await #expect(throws: (any Error).self) { try await store.get("head") }
        await #expect(throws: (any Error).self) { try await Replicator.restore(to: folder.path("b.db"), from: store, key: key) }
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        await #expect(throws: (any Error).self) { try await replica.waitUntilStored(timeout: .milliseconds(300)) }
        #expect(await replica.currentStatus.error != nil)
        await replica.stop()
    }

    @Test func failedFirstRestoreLeavesNoFile() async throws {
        let path = folder.path("b.db")
        for _ in 0..<2 {
            await #expect(throws: DatabaseError.self) { try await ReplicaFollower(at: path, following: MemoryStore(), key: key) }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == [])
    }

    @Test func followerDoesNotReplaceForeignFile() async throws {
        let store = MemoryStore(), (pool, _) = try source()
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        try await replica.waitUntilStored(timeout: .forTests)
        await replica.stop()
        let path = folder.path("b.db"), content = Data("another's".utf8)
        try content.write(to: URL(fileURLWithPath: path))
        await #expect { try await ReplicaFollower(at: path, following: store, key: key) } throws: {
            ($0 as? DatabaseError)?.reason == .cannotOpen
        }
        #expect(FileManager.default.contents(atPath: path) == content)
        #expect(!FileManager.default.fileExists(atPath: path + "-replica"))
    }
}
