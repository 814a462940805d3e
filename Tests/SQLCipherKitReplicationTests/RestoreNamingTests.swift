import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import Synchronization
import StoreSupport
import Testing
import TestSupport

/// In its last steps, a restore writes down the place of its database in the replica, and gives the database its name. What fails
/// then leaves every file as it was, whichever way the restore came.
@Suite(.timeLimit(.minutes(60))) struct RestoreNamingTests {
    enum Way: CaseIterable { case restore, restoreEarlier, replace, replaceByEarlier, restoreIfMissing, follow }

    enum Obstacle: CaseIterable { case memory, name }

    let folder: TemporaryFolder
    let key: DatabaseKey
    let store = MemoryStore()

    init() throws {
        folder = try TemporaryFolder()
        key = try CommitOracle.key
    }

    /// Two commits, and their positions.
    private func makeReplica() async throws -> [Replicator.Position] {
        let pool = try DatabasePool(.file(folder.path("a.db")), key: key)
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        try await pool.write { db in try db.execute("CREATE TABLE t(x)") }
        let first = try await replica.waitUntilStored(timeout: .forTests)
        try await pool.write { db in try db.execute("INSERT INTO t VALUES (1)") }
        let second = try await replica.waitUntilStored(timeout: .forTests)
        await replica.stop()
        return [first, second]
    }

    private func run(_ way: Way, _ path: String, _ store: some ObjectStore, _ first: Replicator.Position) async throws {
        switch way {
        case .restore: try await Replicator.restore(to: path, from: store, key: key)
        case .restoreEarlier: try await Replicator.restore(to: path, from: store, key: key, at: .position(first))
        case .replace: try await Replicator.restore(to: path, from: store, key: key, replacing: true)
        case .replaceByEarlier: try await Replicator.restore(to: path, from: store, key: key, at: .position(first), replacing: true)
        case .restoreIfMissing: try await Replicator.restoreIfMissing(path, from: store, key: key)
        case .follow: await (try ReplicaFollower(at: path, following: store, key: key)).stop()
        }
    }

    /// The files of the database, without the files that an interrupted restore keeps to continue.
    private func files() throws -> [String: [UInt8]] {
        let names = try folder.names().filter { $0.hasPrefix("b.db") && !$0.hasPrefix("b.db-restoring") && !$0.hasSuffix("-lock") }
        return Dictionary(uniqueKeysWithValues: names.map { ($0, FileManager.default.contents(atPath: folder.path($0)).map(Array.init) ?? []) })
    }

    @Test(arguments: Way.allCases, Obstacle.allCases) func failedLastRestoreStepChangesNothing(way: Way, obstacle: Obstacle) async throws {
        let positions = try await makeReplica(), path = folder.path("b.db"), manager = FileManager.default
        // The state that a database holds, or has held if it is missing.
        let isHeld = way != .follow
        if isHeld { try await Replicator.restore(to: path, from: store, key: key) }
        let memory = try #require(try folder.names().first { $0.hasPrefix("a.db-replicated-") }).replacing("a.db", with: "b.db")
        let isReplaced = way == .replace || way == .replaceByEarlier
        if !isReplaced { try? manager.removeItem(atPath: path) }
        let before = try files(), aside = folder.path("aside")
        // When the new file is being made.
        let watched = WatchedStore(store) {
            guard manager.fileExists(atPath: path + "-restoring"), !manager.fileExists(atPath: aside) else { return }
            let target = obstacle == .name ? path : self.folder.path(memory)
            try manager.createDirectory(atPath: aside, withIntermediateDirectories: true)
            if manager.fileExists(atPath: target) { try manager.moveItem(atPath: target, toPath: aside + "/former") }
            try manager.createDirectory(atPath: target + "/full", withIntermediateDirectories: true)
        }
        await #expect(throws: DatabaseError.self) { try await run(way, path, watched, positions[0]) }
        #expect(manager.fileExists(atPath: aside))
        let target = obstacle == .name ? path : folder.path(memory)
        try manager.removeItem(atPath: target)
        if manager.fileExists(atPath: aside + "/former") { try manager.moveItem(atPath: aside + "/former", toPath: target) }
        #expect(try files() == before)
        // Without the obstacle it succeeds, and a replica goes on from there, or begins a history of its own.
        try await run(way, path, store, positions[0])
        let db = try Connection(.file(path), key: key)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == (way == .restoreEarlier || way == .replaceByEarlier ? 0 : 1))
        #expect(try folder.names().contains(memory) == (way != .restoreEarlier && way != .replaceByEarlier))
    }
}

/// A store that says when it is read.
private final class WatchedStore: ObjectStore {
    private let store: MemoryStore
    private let willGet: @Sendable () throws -> Void

    init(_ store: MemoryStore, willGet: @escaping @Sendable () throws -> Void) { (self.store, self.willGet) = (store, willGet) }

    func list(prefix: String) async throws -> [StoredObject.Info] { try await store.list(prefix: prefix) }

    func get(_ name: String) async throws -> StoredObject? {
        try willGet()
        return try await store.get(name)
    }

    func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
        try await store.put(name, bytes, if: condition)
    }

    func delete(_ name: String) async throws { try await store.delete(name) }
}
