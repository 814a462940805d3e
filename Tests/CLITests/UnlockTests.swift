import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// Keys that the kernel keeps for a while. Where it forbids that, as in many containers, `unlock` says so and these pass.
@Suite struct UnlockTests {
    let folder: TemporaryFolder
    let database: String
    private let keyFile: String

    init() throws {
        folder = try TemporaryFolder()
        (database, keyFile) = (folder.path("a.db"), folder.path("key"))
        let db = try Connection(.file(database), key: .passphrase("horse battery"))
        try db.execute("CREATE TABLE t(x)")
        try db.execute("INSERT INTO t VALUES (4242)")
        try #require(FileManager.default.createFile(atPath: keyFile, contents: Data("horse battery".utf8), attributes: [.posixPermissions: 0o600]))
    }

    private func unlock(_ time: String) throws -> Bool {
        let outcome = try Tool.run("unlock", database, "--for", time, "--key-file", keyFile)
        if outcome.status != 0, ["keyring", "Linux"].contains(where: { outcome.errors.contains($0) }) { return false }
        outcome.expectSuccess()
        #expect(outcome.output.contains("is unlocked until"))
        return true
    }

    private func query(_ options: String...) throws -> Command.Outcome {
        try Tool.run(["query", database, "SELECT x FROM t", "--format", "csv"] + options)
    }

    @Test func unlockedDatabaseOpensUntilLocked() throws {
        guard try unlock("10m") else { return }
        #expect(try query().output == "x\n4242\n")
        // A key that is given counts, and not the one that is kept.
        try query("--raw-key", "--key-file", keyFile).expectFailure(3)
        try Tool.run("lock", database).expectSuccess()
        try query().expectFailure(3, "no key")
        try Tool.run("lock", database).expectFailure(1, "is not unlocked")
    }

    @Test func unlockExpiresByItself() throws {
        guard try unlock("1s") else { return }
        try waitUntil("the kernel has forgotten the key") { try query().status != 0 }
        try query().expectFailure(3, "no key")
    }

    @Test func unlockDoesNotOpenReplacedFile() throws {
        guard try unlock("10m") else { return }
        try Tool.run("rekey", database, "--key-file", keyFile, "--new-key", "raw:env:TEST_KEY").expectSuccess()
        try query().expectFailure(3, "no key")
        #expect(try Tool.run("query", database, "SELECT x FROM t", "--raw-key", "--key-env", "TEST_KEY").status == 0)
    }

    /// The kernel's listing has no key in it, and another user has nothing at all.
    @Test func unlockedKeyIsHiddenFromOtherUsers() throws {
        guard geteuid() == 0, try unlock("10m") else { return }
        defer { _ = try? Tool.run("lock", database) }
        let copy = folder.path("copy.db")
        try FileManager.default.copyItem(atPath: database, toPath: copy)
        for path in [folder.path(""), copy, database] {
            #expect(chmod(path, path.hasSuffix(".db") ? 0o644 : 0o755) == 0)
        }
        let outcome = try Tool.runUnprivileged(["query", database, "SELECT x FROM t"], in: folder)
        #expect(outcome.status != 0 && !outcome.output.contains("4242"), "\(outcome.output)\(outcome.errors)")
        #expect(outcome.errors.contains("no key"), "\(outcome.errors)")
    }

    /// The environment names the file, and holds no key.
    @Test func environmentNamesKeyFile() throws {
        let environment = ["SQLCIPHERKIT_KEY_FILE": keyFile]
        #expect(try Tool.run(["query", database, "SELECT x FROM t", "--format", "csv"], environment: environment).output == "x\n4242\n")
        try Tool.run(["query", database, "SELECT x FROM t", "--raw-key"], environment: environment).expectFailure(3)
        try Tool.run(["query", database, "SELECT x FROM t", "--key-env", "TEST_KEY"], environment: environment).expectFailure(3)
    }

    @Test func invalidUnlockIsRefused() throws {
        try Tool.run("unlock", database, "--for", "8d", "--key-file", keyFile).expectFailure(64, "at most 7d")
        try Tool.run("unlock", database, "--for", "soon", "--key-file", keyFile).expectFailure(64)
        try Tool.run("unlock", database, "--no-key").expectFailure(64, "needs no unlocking")
        let wrong = folder.path("wrong")
        try #require(FileManager.default.createFile(atPath: wrong, contents: Data("mule".utf8), attributes: [.posixPermissions: 0o600]))
        try Tool.run("unlock", database, "--key-file", wrong).expectFailure(3, "key")
    }

    @Test func mistypedPassphraseCanBeRetried() throws {
        let session = try Typist.run(["query", database, "SELECT x FROM t"], typing: ["house\n", "horse\n", "horse battery\n"])
        #expect(session.status == 0 && session.screen.contains("4242"), "\(session.screen)")
        #expect(session.screen.components(separatedBy: "try again").count == 3)
        let never = try Typist.run(["rekey", database], typing: ["a\n", "b\n", "c\n"])
        #expect(never.status == 3 && never.screen.components(separatedBy: "Passphrase for").count == 4, "\(never.screen)")
    }
}
