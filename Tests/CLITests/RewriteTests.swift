import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// Commands that make databases, look at them and rewrite them.
@Suite struct RewriteTests {
    let folder: TemporaryFolder
    let database: String
    private static let other = String(repeating: "77", count: 32)

    init() throws {
        folder = try TemporaryFolder()
        database = folder.path("a.db")
    }

    private func run(_ arguments: [String]) throws -> Command.Outcome {
        try Tool.run(arguments, environment: ["OTHER": Self.other, "PASS": "correct horse"])
    }

    private func make() throws {
        let script = folder.path("s.sql")
        try Data("CREATE TABLE t(x); INSERT INTO t VALUES (42); CREATE VIEW v AS SELECT x FROM t;".utf8).write(to: URL(fileURLWithPath: script))
        try run(["create", database, "--script", script] + Tool.key).expectSuccess()
        try FileManager.default.removeItem(atPath: script)
    }

    private func answer(_ key: [String]) throws -> String {
        let outcome = try run(["query", database, "SELECT x FROM t", "--format", "csv"] + key)
        return outcome.status == 0 ? outcome.output : "status \(outcome.status)"
    }

    @Test func createMakesDatabaseFromScript() throws {
        try make()
        #expect(try answer(Tool.key) == "x\n42\n")
        #expect(try FileManager.default.attributesOfItem(atPath: database)[.posixPermissions] as? Int == 0o600)
        try run(["create", database] + Tool.key).expectFailure(1, "already exists")
        let script = folder.path("bad.sql")
        try Data("CREATE TABLE t(x);\nCREATE TABLE u(;".utf8).write(to: URL(fileURLWithPath: script))
        try run(["create", folder.path("b.db"), "--script", script] + Tool.key).expectFailure(1, "bad.sql, line 2")
        #expect(try folder.names() == ["a.db", "bad.sql"])
        try run(["create", folder.path("plain.db"), "--no-key"]).expectSuccess()
        #expect(try run(["query", folder.path("plain.db"), "SELECT 1 AS a", "--no-key", "--format", "csv"]).output == "a\n1\n")
    }

    @Test func schemaAndInfoDescribeDatabase() throws {
        try make()
        #expect(try run(["schema", database] + Tool.key).output == "CREATE TABLE t(x);\nCREATE VIEW v AS SELECT x FROM t;\n")
        #expect(try run(["schema", database, "V"] + Tool.key).output == "CREATE VIEW v AS SELECT x FROM t;\n")
        try run(["schema", database, "w"] + Tool.key).expectFailure(1, "no table", "w")
        let info = try run(["info", database] + Tool.key).output
        for line in ["cipher aes-256-cbc", "key_derivation PBKDF2-HMAC-SHA512, 256,000 rounds", "page_authentication HMAC-SHA512", "key_slots none", "tables t, v"] {
            #expect(info.split(separator: "\n").contains { $0.split(separator: " ").joined(separator: " ") == line }, "\(info)")
        }
        let json = try JSONValue(text: run(["info", database, "--format", "jsonl"] + Tool.key).output.trimmingCharacters(in: .newlines))
        #expect(json["page_size"] == 4096)
        guard case .integer(let bytes)? = json["bytes"] else { throw CocoaError(.coderInvalidValue) }
        #expect(try FileManager.default.attributesOfItem(atPath: database)[.size] as? Int64 == bytes)
    }

    @Test(arguments: [[], ["--in-place"]])
    func rekeyReplacesTheKey(options: [String]) throws {
        try make()
        try run(["rekey", database, "--new-key", "raw:env:OTHER"] + options + Tool.key).expectSuccess()
        #expect(try answer(["--raw-key", "--key-env", "OTHER"]) == "x\n42\n")
        #expect(try answer(Tool.key) == "status 3")
        try run(["rekey", database, "--new-key", "raw:env:OTHER"] + Tool.key).expectFailure(3, "wrong")
        #expect(try folder.names() == ["a.db"])
    }

    @Test func rekeyAsksForTheNewKeyTwice() throws {
        try make()
        let session = try Typist.run(
            ["rekey", database] + Tool.key, conversation: [("Passphrase for \(database) (new): ", "tulip\n"), ("The same again: ", "tulip\n")])
        #expect(session.status == 0, "\(session.screen)")
        #expect(!session.screen.contains("tulip"))
        #expect(try Connection(.file(database), key: .passphrase("tulip")).fetchOne(Int.self, "SELECT x FROM t") == 42)
    }

    @Test func encryptAndDecryptRoundTrip() throws {
        do {
            // A page size that SQLCipher would not expect.
            let db = try Connection(.file(database))
            try db.execute("PRAGMA page_size = 8192")
            try db.execute("VACUUM")
            try db.execute("CREATE TABLE t(x)")
            try db.execute("INSERT INTO t VALUES (42)")
        }
        try run(["query", database, "SELECT 1"] + Tool.key).expectFailure(3, "plaintext", "--no-key")
        let key = Tool.key + ["--cipher-page-size", "8192"]
        #expect(try run(["encrypt", database] + Tool.key).output.contains("open it with --cipher-page-size 8192"))
        #expect(try answer(key) == "x\n42\n")
        #expect(try !Data(contentsOf: URL(fileURLWithPath: database)).starts(with: Data("SQLite".utf8)))
        try run(["encrypt", database] + Tool.key).expectFailure(3, "it is encrypted already")
        try run(["decrypt", database] + key).expectSuccess()
        #expect(try answer(["--no-key"]) == "x\n42\n")
        #expect(try Data(contentsOf: URL(fileURLWithPath: database)).starts(with: Data("SQLite format 3\0".utf8)))
        #expect(try folder.names() == ["a.db"])
    }

    @Test func migrateConvertsSQLCipher3File() throws {
        do {
            let db = try Connection(.file(database), key: .passphrase("correct horse", cipher: .sqlCipher3))
            try db.execute("CREATE TABLE t(x)")
            try db.execute("INSERT INTO t VALUES (42)")
        }
        #expect(try run(["migrate", database, "--key-env", "PASS"]).output.contains("converted from SQLCipher 3"))
        #expect(try answer(["--key-env", "PASS"]) == "x\n42\n")
    }

    @Test func verifyReportsDamagedPage() throws {
        try make()
        #expect(try run(["verify", database] + Tool.key).output == "no problems: 2 pages checked\n")
        #expect(try run(["verify", database, "--format", "csv"] + Tool.key).output == "database,problem\n")
        var bytes = try Data(contentsOf: URL(fileURLWithPath: database))
        bytes[5000] ^= 1
        try bytes.write(to: URL(fileURLWithPath: database))
        let outcome = try run(["verify", database, "--format", "csv"] + Tool.key)
        #expect(outcome.status == 4)
        #expect(outcome.output == "database,problem\nmain,\"page 2 is damaged, or was written with another key\"\n")
        #expect(outcome.errors.contains("1 problem found"))
    }

    @Test func keyCredentialOptionReadsSystemdCredential() throws {
        let key = folder.path("notes-key")
        try Data(Tool.rawKey.utf8).write(to: URL(fileURLWithPath: key))
        try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: key)
        try make()
        let arguments = ["query", database, "SELECT x FROM t", "--format", "csv", "--raw-key", "--key-credential"]
        let folder = ["CREDENTIALS_DIRECTORY": folder.url.path]
        #expect(try Tool.runProgram(arguments + ["notes-key"], environment: folder).output == "x\n42\n")
        try Tool.runProgram(arguments + ["missing"], environment: folder).expectFailure(3, "no credential missing", "LoadCredential")
    }
}
