import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import StoreSupport
import Testing
import TestSupport

#if os(Linux)
/// Whose rights a thread has to files (<https://man7.org/linux/man-pages/man2/setfsuid.2.html>).
@_silgen_name("setfsuid")
@discardableResult
private func setfsuid(_ user: UInt32) -> Int32
#endif

/// A file or a folder of replication is there, or it is not. If it is there and cannot be read, that is an error: what it says
/// would be missed.
@Suite struct UnreadableFileTests {
    enum Obstacle: String, CaseIterable {
        case folder, link, text

        func replace(_ path: String) throws {
            try? FileManager.default.removeItem(atPath: path)
            switch self {
            case .folder: try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            case .link: symlink("/dev/null", path)
            case .text: try Data("not what it was".utf8).write(to: URL(fileURLWithPath: path))
            }
        }
    }

    let folder: TemporaryFolder, store = MemoryStore(), key: DatabaseKey, pool: DatabasePool, oracle = CommitOracle(seed: 53)

    init() throws {
        folder = try TemporaryFolder()
        key = try CommitOracle.key
        pool = try DatabasePool(.file(folder.path("a.db")), key: key)
        for _ in 0..<3 { try oracle.commit(pool) }
    }

    private func replicate() async throws {
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        try await replica.waitUntilStored(timeout: .forTests)
        await replica.stop()
    }

    private func memory() throws -> String {
        folder.path(try #require(try folder.names().first { $0.hasPrefix("a.db-replicated-") && !$0.hasSuffix("~") }))
    }

    private func error(_ body: () async throws -> Void) async -> DatabaseError? {
        do { try await body() } catch { return error as? DatabaseError }
        return nil
    }

    @Test(arguments: Obstacle.allCases) func unreadableFollowerStateThrows(obstacle: Obstacle) async throws {
        try await replicate()
        let path = folder.path("b.db"), state = path + "-replica"
        func follow() async throws {
            let follower = try await ReplicaFollower(at: path, following: store, key: key)
            try await follower.catchUp()
            await follower.stop()
            try await follower.database.close()
        }
        try await follow()
        try obstacle.replace(state)
        let found = await error(follow)
        #expect(found?.reason == .cannotOpen && found?.path == state, "\(String(describing: found))")
        try FileManager.default.removeItem(atPath: state)
        // The copy is one that no follower has made, then.
        #expect(await error(follow)?.path == path)
        try FileManager.default.removeItem(atPath: path)
        try await follow()
    }

    @Test(arguments: Obstacle.allCases) func unreadableReplicationRecordThrows(obstacle: Obstacle) async throws {
        try await replicate()
        let memory = try memory()
        try obstacle.replace(memory)
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        let found = await error { try await replica.waitUntilStored(timeout: .milliseconds(300)) }
        let cause = found?.underlyingError as? DatabaseError
        #expect(found?.reason == .timeout && cause?.reason == .cannotOpen && cause?.path == memory, "\(String(describing: found))")
        await replica.stop()
        let other = folder.path("c.db")
        try FileManager.default.removeItem(atPath: memory)
        try obstacle.replace(other + memory.dropFirst(folder.path("a.db").count))
        #expect(await error { try await Replicator.restoreIfMissing(other, from: store, key: key) }?.reason == .cannotOpen)
        try await replicate()
    }

    /// Each record is flushed, so a power failure leaves no such rest. A new history would hide the commits of a machine that has
    /// taken over.
    @Test(arguments: [0, 1000]) func zeroedReplicationRecordThrows(count: Int) async throws {
        try await replicate()
        let memory = try memory()
        try Data(count: count).write(to: URL(fileURLWithPath: memory))
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        let found = await error { try await replica.waitUntilStored(timeout: .milliseconds(300)) }
        let cause = found?.underlyingError as? DatabaseError
        #expect(found?.reason == .timeout && cause?.reason == .cannotOpen && cause?.path == memory, "\(String(describing: found))")
        await replica.stop()
    }

    @Test(arguments: [Obstacle.folder, .link]) func unreadableRestoreRecordThrows(obstacle: Obstacle) async throws {
        try await replicate()
        let path = folder.path("b.db"), record = path + "-restoring-state"
        try obstacle.replace(record)
        let found = await error { try await Replicator.restore(to: path, from: store, key: key) }
        #expect(found?.reason == .cannotOpen && found?.path == record, "\(String(describing: found))")
        try FileManager.default.removeItem(atPath: record)
        try await Replicator.restore(to: path, from: store, key: key)
        #expect(try oracle.check(fileAt: path) == oracle.commits)
    }

    #if os(Linux)
    @Test(.enabled(if: geteuid() == 0)) func unreadableStoreFolderThrows() throws {
        let path = folder.path("store"), folders = try FolderStore(path)
        try FileManager.default.createDirectory(atPath: path + "/open/closed", withIntermediateDirectories: true)
        try Data([1]).write(to: URL(fileURLWithPath: path + "/open/closed/object"))
        try Data([1]).write(to: URL(fileURLWithPath: path + "/open/object"))
        for place in [folder.url.path, path, path + "/open"] { chmod(place, 0o755) }
        #expect(try Set(folders.objects(prefix: "").map(\.name)) == ["open/object", "open/closed/object"])
        chmod(path + "/open/closed", 0)
        func listed(_ prefix: String) throws -> [String] {
            setfsuid(65534)
            defer { setfsuid(0) }
            return try folders.objects(prefix: prefix).map(\.name)
        }
        for prefix in ["", "open", "open/closed/", "open/closed/obj"] {
            #expect { try listed(prefix) } throws: { ($0 as? DatabaseError)?.reason == .storeUnavailable }
        }
        // The unreadable folder has no object of that name.
        #expect(try listed("open/object") == ["open/object"])
    }
    #endif
}
