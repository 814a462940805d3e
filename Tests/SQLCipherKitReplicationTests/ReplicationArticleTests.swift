import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import Testing
import TestSupport

/// The examples of the articles about replication.
@Suite struct ReplicationArticleTests {
    @Test func replicationArticleRestoresAndFollows() async throws {
        let folder = try TemporaryFolder(), key = try CommitOracle.key
        let path = folder.path("notes.db"), backup = folder.path("backup"), copy = folder.path("copy.db")
        try makeTable(path, key)

        let store = try FolderStore(backup)
        let pool = try DatabasePool(.file(path), key: key)
        let replica = try await Replicator(of: pool, in: store)

        try await pool.write { db in
            try db.execute("INSERT INTO note(title) VALUES ('Foxes')")
        }
        try await replica.waitUntilStored()

        let moment = Date() + 1
        try await Replicator.restore(
            to: copy, from: store, key: key, at: .time(moment))

        #expect(try count(copy, key) == 1)
        let other = folder.path("other.db")

        let follower = try await ReplicaFollower(
            at: other, following: store, key: key)
        let titles = try await follower.reader.read { db in
            try db.fetchAll(String.self, "SELECT title FROM note")
        }

        #expect(titles == ["Foxes"])
        await follower.stop()
        await replica.stop()
    }

    /// Each line of the table of faults names tests that there are, and the article names each test of the suites about faults and
    /// prices. So a promise whose test has gone is found, and what is tested and not promised.
    @Test func replicationArticleNamesTestForEachFault() throws {
        let article = try ["Faults", "Costs", "Format"].map { page in
            let path = "Sources/SQLCipherKitReplication/Documentation.docc/Replication\(page).md"
            return try String(contentsOf: Repository.file(path), encoding: .utf8)
        }.joined()
        let section = try #require(article.components(separatedBy: "### Losses by fault").dropFirst().first)
        let rows = section.split(separator: "\n").drop { !$0.hasPrefix("|---") }.dropFirst().prefix { $0.hasPrefix("|") }
        var tests: Set<String> = []
        let folders = ["Tests/SQLCipherKitReplicationTests", "Tests/SQLCipherKitStoresTests", "Tests/S3/Tests/S3Tests"]
        for folder in folders.map(Repository.file) {
            for file in try FileManager.default.contentsOfDirectory(atPath: folder.path) where file.hasSuffix(".swift") {
                let source = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
                tests.formUnion(source.matches(of: /@Test.*\s+func (\w+)\(/).map { String($0.1) })
            }
        }
        #expect(rows.count >= 20)
        for row in rows {
            let names = try #require(row.split(separator: "|").last).matches(of: /`(\w+)`/).map { String($0.1) }
            #expect(!names.isEmpty, "\(row) names no test")
            #expect(tests.isSuperset(of: names), "\(row) names a test that there is not")
        }
        let named = Set(article.matches(of: /`(\w+)`/).map { String($0.1) })
        let suites = ["ForeignCheckpoint", "ReplicaFault", "ReplicaPrice", "ReplicaKill", "ReplicaMemory", "ReplicaRequest"]
        for file in suites.map({ $0 + "Tests" }) {
            let path = Repository.file("Tests/SQLCipherKitReplicationTests/\(file).swift")
            for match in try String(contentsOf: path, encoding: .utf8).matches(of: /@Test.*\s+func (\w+)\(/) {
                #expect(named.contains(String(match.1)), "the article does not say what \(match.1) shows")
            }
        }
    }

    @Test func replicationArticleServerStarts() async throws {
        let folder = try TemporaryFolder(), key = try CommitOracle.key, store = try FolderStore(folder.path("backup"))
        // The server's first start, and a start on another machine.
        for (start, path) in [folder.path("a.db"), folder.path("b.db")].enumerated() {
            try await Replicator.restoreIfMissing(
                path, from: store, key: key)
            let pool = try DatabasePool(.file(path), key: key)
            let replica = try await Replicator(of: pool, in: store)

            try await pool.write { db in
                try db.execute("CREATE TABLE IF NOT EXISTS note(title)")
                try db.execute("INSERT INTO note(title) VALUES ('Foxes')")
            }
            #expect(try await pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") } == start + 1)

            try await replica.waitUntilStored(timeout: .seconds(20))
            await replica.stop()
            try await pool.close()
        }
    }

    @Test func replicationArticleReportsUnreachableStore() async throws {
        let folder = try TemporaryFolder(), key = try CommitOracle.key, path = folder.path("notes.db")
        try makeTable(path, key)
        let pool = try DatabasePool(.file(path), key: key)
        let replica = try await Replicator(of: pool, in: FolderStore(folder.path("backup")))

        let status = await replica.currentStatus
        if let error = status.error {
            print("up to date", status.upToDateAt ?? .distantPast, error)
        }

        do {
            try await replica.waitUntilStored(timeout: .seconds(10))
        } catch let error as DatabaseError where error.reason == .timeout {
            print("not stored yet", error.underlyingError ?? error)
        }

        await replica.stop()
    }

    @Test func replicationArticleReplacesDamagedStore() async throws {
        let folder = try TemporaryFolder(), key = try CommitOracle.key, path = folder.path("notes.db")
        try makeTable(path, key)
        let pool = try DatabasePool(.file(path), key: key), store = try FolderStore(folder.path("backup"))
        let replica = try await Replicator(of: pool, in: store), second = folder.path("second")
        try await replica.waitUntilStored()

        for range in try await Replicator.generations(in: store, key: key) {
            print(range.first, range.last, range.lastTime)
        }

        await replica.stop()
        let fresh = try FolderStore(second)
        let replacement = try await Replicator(of: pool, in: fresh)
        try await replacement.waitUntilStored()

        await replacement.stop()
        try await Replicator.restore(to: folder.path("copy.db"), from: fresh, key: key)
        #expect(try count(folder.path("copy.db"), key) == 0)
    }

    @Test func replicationArticleRecoversLostMachine() async throws {
        let folder = try TemporaryFolder(), key = try CommitOracle.key
        let path = folder.path("notes.db"), copy = folder.path("copy.db")
        try makeTable(path, key)
        let pool = try DatabasePool(.file(path), key: key), store = try FolderStore(folder.path("backup"))
        let replica = try await Replicator(of: pool, in: store)
        try await replica.waitUntilStored()

        let position = try await Replicator.restore(
            to: copy, from: store, key: key)
        let restored = try DatabasePool(.file(copy), key: key)
        let successor = try await Replicator(of: restored, in: store)

        #expect(position.generation == 1)
        #expect(try await successor.waitUntilStored().generation == 2)
        await successor.stop()
    }

    @Test func replicationArticleReplacesLeakedKey() async throws {
        let folder = try TemporaryFolder(), key = try CommitOracle.key, path = folder.path("notes.db")
        let newKey = try DatabaseKey.raw([UInt8](repeating: 8, count: 32))
        try makeTable(path, key)
        let pool = try DatabasePool(.file(path), key: key), store = try FolderStore(folder.path("backup"))
        let replica = try await Replicator(of: pool, in: store)
        try await replica.waitUntilStored()
        let follower = try await ReplicaFollower(at: folder.path("copy.db"), following: store, key: key)

        await replica.stop()
        try await pool.changeKey(to: newKey)
        let next = try await Replicator(of: pool, in: store)
        try await next.waitUntilStored()
        try await Replicator.removeContentOfFormerKeys(in: store, key: newKey)
        try await follower.changeKey(to: newKey)

        await #expect(throws: DatabaseError.self) { try await Replicator.generations(in: store, key: key) }
        await follower.stop()
        await next.stop()
    }

    @Test func replicationArticleDetectsSecondWriter() async throws {
        let folder = try TemporaryFolder(), key = try CommitOracle.key
        let path = folder.path("notes.db"), copy = folder.path("copy.db")
        try makeTable(path, key)
        let pool = try DatabasePool(.file(path), key: key), store = try FolderStore(folder.path("backup"))
        let replica = try await Replicator(of: pool, in: store)
        try await replica.waitUntilStored()
        try await Replicator.restore(to: copy, from: store, key: key)
        let successor = try await Replicator(of: DatabasePool(.file(copy), key: key), in: store)
        try await successor.waitUntilStored()
        try await pool.write { db in try db.execute("INSERT INTO note(title) VALUES ('Foxes')") }
        await #expect(throws: DatabaseError.self) { try await replica.waitUntilStored() }

        let last = await replica.currentStatus.error
        if last?.reason == .replicaFenced {
            print("another writer has taken over the store")
        }

        #expect(last?.reason == .replicaFenced)
        await successor.stop()
    }

    private func makeTable(_ path: String, _ key: DatabaseKey) throws {
        try Connection(.file(path), key: key).execute("CREATE TABLE note(title)")
    }

    private func count(_ path: String, _ key: DatabaseKey) throws -> Int? {
        try Connection(.file(path), key: key).fetchOne(Int.self, "SELECT count(*) FROM note")
    }
}
