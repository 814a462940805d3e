import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import Testing
import TestSupport

@Suite struct ReplicaCommandTests {
    let folder: TemporaryFolder
    let database: String
    let store: String

    init() throws {
        folder = try TemporaryFolder()
        (database, store) = (folder.path("a.db"), folder.path("store"))
        try Tool.run(["create", database] + Tool.key).expectSuccess()
        try write("PRAGMA journal_mode = WAL")
        try write("CREATE TABLE t(x)")
    }

    private func write(_ sql: String) throws { try Tool.run(["query", database, sql, "--write"] + Tool.key).expectSuccess() }

    private func count(_ name: String) throws -> String {
        try Tool.run(["query", folder.path(name), "SELECT count(*) AS n FROM t", "--format", "csv"] + Tool.key).output
    }

    @Test func replicatedDatabaseIsListedAndRestored() async throws {
        try await Tool.runAside(["replicate", database, store, "--once"] + Tool.key).expectSuccess()
        try write("INSERT INTO t VALUES (1)")
        try await Tool.runAside(["replicate", database, store, "--once"] + Tool.key).expectSuccess()
        let list = try await Tool.runAside(["replicas", store, "--json"] + Tool.key)
        list.expectSuccess()
        #expect(list.output.contains("\"last_time\""))
        try await Tool.runAside(["restore", folder.path("b.db"), "--from", store] + Tool.key).expectSuccess()
        #expect(try count("b.db") == "n\n1\n")
        try await Tool.runAside(["restore", folder.path("b.db"), "--from", store] + Tool.key).expectFailure(1, "--replace")
        let past = ["restore", folder.path("c.db"), "--from", store]
        try await Tool.runAside(past + ["--time", "2000-01-01T00:00:00Z"] + Tool.key).expectFailure(1, "retention")
        try await Tool.runAside(past + ["--position", "9:1"] + Tool.key).expectFailure(1, "9:1")
        try await Tool.runAside(past + ["--position", "x"] + Tool.key).expectFailure(64, "--position")
        try await Tool.runAside(past + [database] + Tool.key).expectFailure(64, "--from")
        #expect(try !folder.names().contains("c.db"))
        let last = try await Tool.runAside(["restore", folder.path("b.db"), "--from", store, "--replace", "--json"] + Tool.key)
        last.expectSuccess()
        #expect(last.output.contains("\"position\":\""))
    }

    @Test func replicationMistakesAreExplained() async throws {
        let other = folder.path("other.db"), empty = folder.path("empty"), missing = folder.path("missing")
        try Tool.run(["create", other] + Tool.key).expectSuccess()
        try await Tool.runAside(["replicate", other, store, "--once"] + Tool.key).expectFailure(1, "sqlcipherkit query \(other) 'PRAGMA journal_mode")
        #expect(try !folder.names().contains("store"))
        try await Tool.runAside(["replicate", database, database, "--once"] + Tool.key).expectFailure(1, "is a file, and not a folder")
        try await Tool.runAside(["replicate", database, database + "/b", "--once"] + Tool.key).expectFailure(1, "cannot be created: Not a directory")
        try await Tool.runAside(["replicas", database] + Tool.key).expectFailure(1, "is a file, and not a folder")
        for name in ["https://example.com/b", "file:///b"] {
            try await Tool.runAside(["replicate", database, folder.path(name), "--once"] + Tool.key).expectFailure(64, "s3://BUCKET/PREFIX")
        }
        try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: false)
        for command in [["replicas"], ["restore", folder.path("b.db"), "--from"]] {
            try await Tool.runAside(command + [missing] + Tool.key).expectFailure(1, "there is no folder")
            try await Tool.runAside(command + [empty] + Tool.key).expectFailure(1, "there is no replica in the store")
        }
        try await Tool.runAside(["replicate", database, store, "--once"] + Tool.key).expectSuccess()
        let file = folder.path("key")
        #expect(
            FileManager.default.createFile(
                atPath: file, contents: Data("another".utf8), attributes: [.posixPermissions: 0o600]))
        for command in [["replicas"], ["restore", folder.path("b.db"), "--from"]] {
            try await Tool.runAside(command + [store, "--key-file", file]).expectFailure(3, "the key does not open the replica")
        }
        #expect(try !folder.names().contains { $0.hasPrefix("b.db") || $0 == "missing" })
        let elsewhere = try await Tool.runAside(["restore", missing + "/b.db", "--from", store] + Tool.key)
        elsewhere.expectFailure(1, "the folder \(missing) does not exist")
    }

    /// Not waited for without end and without a word.
    @Test func failingStoreEndsReplicateOnce() async throws {
        try FileManager.default.createDirectory(atPath: store + "/head", withIntermediateDirectories: true)
        let outcome = try await Tool.runAside(["replicate", database, store, "--once", "--timeout", "0"] + Tool.key)
        outcome.expectFailure(1, "head")
        #expect(!outcome.errors.contains("unavailable("))
    }

    @Test func killedReplicationResumes() async throws {
        for round in 0..<3 {
            let command = try Tool.start(["replicate", database, store, "--interval", "10"] + Tool.key)
            try write("INSERT INTO t VALUES (\(round))")
            try TemporaryFolder.waitForFile(store + "/head")
            kill(command.process.processIdentifier, SIGKILL)
            _ = try command.end()
        }
        try await Tool.runAside(["replicate", database, store, "--once"] + Tool.key).expectSuccess()
        try await Tool.runAside(["restore", folder.path("b.db"), "--from", store] + Tool.key).expectSuccess()
        #expect(try count("b.db") == "n\n3\n")
    }

    @Test func formerKeysAreRemoved() async throws {
        try await Tool.runAside(["replicate", database, store, "--once"] + Tool.key).expectSuccess()
        let file = folder.path("key"), key = ["--key-file", file]
        #expect(
            FileManager.default.createFile(
                atPath: file, contents: Data("another".utf8), attributes: [.posixPermissions: 0o600]))
        try Tool.run(["rekey", database, "--new-key", "file:" + file] + Tool.key).expectSuccess()
        try await Tool.runAside(["replicate", database, store, "--once"] + key).expectSuccess()
        try await Tool.runAside(["replicas", store] + Tool.key).expectSuccess()
        try await Tool.runAside(["replicas", store, "--remove-former-keys"] + Tool.key).expectFailure(3, "newest key")
        let removal = try await Tool.runAside(["replicas", store, "--remove-former-keys"] + key)
        removal.expectSuccess()
        // The snapshot, and the links of the term.
        #expect(removal.output.hasPrefix("removed 5 objects of former keys\ngeneration  first  last"), "\(removal.output)")
        try await Tool.runAside(["replicas", store] + Tool.key).expectFailure(3, "key")
        try await Tool.runAside(["restore", folder.path("b.db"), "--from", store] + key).expectSuccess()
    }

    /// A database that lacks what another machine has stored is not replicated over it.
    @Test func divergedHistoryExitsWithStatus5() async throws {
        try await Tool.runAside(["replicate", database, store, "--once"] + Tool.key).expectSuccess()
        let other = folder.path("b.db")
        try await Tool.runAside(["restore", other, "--from", store] + Tool.key).expectSuccess()
        try Tool.run(["query", other, "INSERT INTO t VALUES (2)", "--write"] + Tool.key).expectSuccess()
        try await Tool.runAside(["replicate", other, store, "--once"] + Tool.key).expectSuccess()
        try write("INSERT INTO t VALUES (1)")
        try await Tool.runAside(["replicate", database, store, "--once"] + Tool.key).expectFailure(5, "it has commits that this database lacks")
        try await Tool.runAside(["restore", folder.path("c.db"), "--from", store] + Tool.key).expectSuccess()
        #expect(try count("c.db") == "n\n1\n")
    }

    /// An interrupted restore goes on with a store that was put back from a copy of itself.
    @Test func rolledBackStoreExitsWithStatus5() async throws {
        let target = folder.path("b.db"), files = FileManager.default, folderStore = try FolderStore(store)
        let bytes: [UInt8] = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef]
        let key = try DatabaseKey.raw(bytes + bytes + bytes + bytes), pool = try DatabasePool(.file(database), key: key)
        var options = Replicator.Options()
        options.fanOut = 1
        let replica = try await Replicator(of: pool, in: folderStore, options: options)
        try await replica.waitUntilStored()
        try files.copyItem(atPath: store, toPath: folder.path("copy"))
        try write("INSERT INTO t VALUES (1)")
        try await replica.waitUntilStored()
        await replica.stop()
        // A missing log interrupts the restore when it gets there.
        for object in try await folderStore.list(prefix: "") where object.name.contains("/log-") && !object.name.hasSuffix("-0") {
            try await folderStore.delete(object.name)
        }
        await #expect(throws: DatabaseError.self) {
            try await Replicator.restore(to: target, from: folderStore, key: key, at: .newest, replacing: false, recordEvery: .zero)
        }
        try files.removeItem(atPath: store)
        try files.moveItem(atPath: folder.path("copy"), toPath: store)
        try await Tool.runAside(["restore", target, "--from", store] + Tool.key).expectFailure(5, "the store is in an earlier state")
        try files.removeItem(atPath: target + "-restoring-state")
        try await Tool.runAside(["restore", target, "--from", store] + Tool.key).expectSuccess()
        #expect(try count("b.db") == "n\n0\n")
    }

    @Test func replicateInterruptedBySIGTERMEndsCleanly() async throws {
        let command = try Tool.start(["replicate", database, store, "--interval", "10"] + Tool.key)
        for number in 0..<5 { try write("INSERT INTO t VALUES (\(number))") }
        try TemporaryFolder.waitForFile(store + "/head")
        try write("INSERT INTO t VALUES (5)")
        kill(command.process.processIdentifier, SIGTERM)
        try command.end().expectSuccess()
        try await Tool.runAside(["restore", folder.path("b.db"), "--from", store] + Tool.key).expectSuccess()
        #expect(try count("b.db") == "n\n6\n")
    }
}
