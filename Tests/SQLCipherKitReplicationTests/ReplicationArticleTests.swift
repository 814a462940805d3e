import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import Testing
import TestSupport

/// The examples of the article Replication.
@Suite struct ReplicationArticleTests {
    @Test func replication() async throws {
        let folder = try TemporaryFolder(), key = try CommitOracle.key
        let path = folder.path("notes.db"), backup = folder.path("backup"), copy = folder.path("copy.db")
        try makeTable(path, key)

        let store = try FolderStore(backup)
        let pool = try DatabasePool(.file(path), key: key)
        let replica = try await Replica(following: pool, in: store)

        try await pool.write { db in
            try db.execute("INSERT INTO note(title) VALUES ('Foxes')")
        }
        try await replica.waitUntilStored()

        let moment = Date() + 1
        try await ReplicaRestore.restore(
            to: copy, from: store, key: key, at: .time(moment))

        #expect(try count(copy, key) == 1)
        await replica.stop()
    }

    private func makeTable(_ path: String, _ key: Encryption) throws {
        try Connection(.file(path), key: key).execute("CREATE TABLE note(title)")
    }

    private func count(_ path: String, _ key: Encryption) throws -> Int? {
        try Connection(.file(path), key: key).fetchOne(Int.self, "SELECT count(*) FROM note")
    }
}
