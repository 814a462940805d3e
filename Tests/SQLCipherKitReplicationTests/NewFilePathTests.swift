import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import StoreSupport
import Testing
import TestSupport

/// A path that no opening takes is refused by every call that makes a file, and nothing is made under another name.
@Suite struct NewFilePathTests {
    enum Way: CaseIterable { case open, backup, salvage, recoveryCopy, restore, restoreIfMissing, follow }

    private static let endings = ["/", "//", "/.", "\0", "\0.db"]

    let folder: TemporaryFolder
    let key: DatabaseKey
    let store = MemoryStore()

    init() throws {
        folder = try TemporaryFolder()
        key = try CommitOracle.key
    }

    @Test(arguments: Way.allCases) func unopenablePathsAreRefused(way: Way) async throws {
        let path = folder.path("a.db"), pool = try DatabasePool(.file(path), key: key)
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        try await pool.write { db in try db.execute("CREATE TABLE t(x)") }
        try await replica.waitUntilStored(timeout: .forTests)
        await replica.stop()
        try await pool.close()
        let before = try folder.names()
        for ending in Self.endings + [nil] {
            let new = ending.map { folder.path("new.db") + $0 } ?? ""
            await #expect(throws: DatabaseError.self, "\(way) at \(new.debugDescription)") { try await make(way, new, from: path) }
            #expect(try folder.names() == before, "\(way) at \(new.debugDescription)")
        }
    }

    private func make(_ way: Way, _ new: String, from path: String) async throws {
        switch way {
        case .open: try Connection(.file(new), key: key).execute("CREATE TABLE t(x)")
        case .backup: try Connection(.file(path), key: key).main.backup(toFileAt: new)
        case .salvage: _ = try DatabaseConverter.salvage(fileAt: path, key: key, to: new)
        case .recoveryCopy: try Connection(.file(path), key: key).main.writeRecoveryCopy(toFileAt: new)
        case .restore: try await Replicator.restore(to: new, from: store, key: key)
        case .restoreIfMissing: try await Replicator.restoreIfMissing(new, from: store, key: key)
        case .follow: await (try ReplicaFollower(at: new, following: store, key: key)).stop()
        }
    }
}
