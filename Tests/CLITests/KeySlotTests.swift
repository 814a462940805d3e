import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// `key` and its subcommands.
@Suite struct KeySlotTests {
    let folder: TemporaryFolder
    let database: String
    private static let quick = ["--derivation", "pbkdf2:1000"]

    init() throws {
        folder = try TemporaryFolder()
        database = folder.path("a.db")
        let db = try Connection(.file(database), key: .raw([UInt8](repeating: 0xab, count: 32)))
        try db.execute("CREATE TABLE t(x)")
        try db.execute("INSERT INTO t VALUES (42)")
        db.close()
        try run(["init", "--label", "laptop", "--new-key", "env:ONE", "--raw-key", "--key-env", "RAW"] + Self.quick).expectSuccess()
    }

    private func run(_ arguments: [String], _ more: [String: String] = [:]) throws -> Command.Outcome {
        let environment = ["RAW": String(repeating: "ab", count: 32), "ONE": "correct horse", "TWO": "battery staple", "THREE": "third"]
        let words = arguments.first == "query" ? arguments : ["key", arguments[0], database] + arguments.dropFirst()
        return try Tool.run(words, environment: environment.merging(more) { $1 })
    }

    private func opens(_ key: [String], _ more: [String: String] = [:]) throws -> Bool {
        let outcome = try run(["query", database, "SELECT x FROM t", "--format", "csv"] + key, more)
        if outcome.status == 0 { #expect(outcome.output == "x\n42\n") } else { #expect(outcome.status == 3, "\(outcome.errors)") }
        return outcome.status == 0
    }

    @Test func keySlotsAcceptSeveralPassphrases() throws {
        #expect(try opens(["--key-env", "ONE"]))
        #expect(try !opens(["--key-env", "TWO"]))
        // The raw key passes the slots by.
        #expect(try opens(["--raw-key", "--key-env", "RAW"]))
        try run(["add", "--label", "desktop", "--new-key", "env:TWO", "--key-env", "ONE"] + Self.quick).expectSuccess()
        #expect(try opens(["--key-env", "TWO"]))
        let list = try run(["list", "--format", "csv"]).output.split(separator: "\n")
        #expect(list.count == 3 && list[1].hasPrefix("laptop,passphrase,\"PBKDF2, 1000 rounds\",20"))
        #expect(list[2].hasPrefix("desktop,passphrase,\"PBKDF2, 1000 rounds\","))
        try run(["change", "desktop", "--new-key", "env:THREE", "--key-env", "TWO"]).expectSuccess()
        #expect(try opens(["--key-env", "THREE"]))
        try run(["change", "desktop", "--new-key", "env:TWO", "--key-env", "ONE"]).expectFailure(3, "desktop")
        try run(["revoke", "laptop", "--key-env", "THREE"]).expectSuccess()
        #expect(try !opens(["--key-env", "ONE"]))
        try run(["revoke", "desktop", "--key-env", "THREE"]).expectFailure(1, "last slot")
        try run(["revoke", "nope", "--key-env", "THREE"]).expectFailure(1, "nope")
        let info = try Tool.run(["info", database, "--key-env", "THREE"], environment: ["THREE": "third"])
        #expect(info.output.contains("desktop (passphrase)"), "\(info.errors)")
    }

    @Test func recoveryKeyOpensDatabase() throws {
        let outcome = try run(["recovery", "--label", "safe", "--key-env", "ONE"] + Self.quick)
        outcome.expectSuccess()
        let text = outcome.output.trimmingCharacters(in: .newlines)
        #expect(text.count == 44 && !outcome.errors.contains(text))
        #expect(try opens(["--recovery-key", "--key-env", "REC"], ["REC": text.lowercased()]))
        #expect(try !opens(["--recovery-key", "--key-env", "ONE"]))
        // For the day on which the passphrase is forgotten.
        try run(["add", "--label", "new", "--new-key", "env:THREE", "--recovery-key", "--key-env", "REC"] + Self.quick, ["REC": text]).expectSuccess()
        #expect(try opens(["--key-env", "THREE"]))
    }

    /// A slot file that was put back says what comes back with it, and is gone on with where that is wanted.
    @Test func rolledBackSlotFileIsReported() throws {
        let file = URL(fileURLWithPath: database + ".keys")
        try run(["add", "--label", "desktop", "--new-key", "env:TWO", "--key-env", "ONE"] + Self.quick).expectSuccess()
        let before = try Data(contentsOf: file)
        try run(["revoke", "desktop", "--key-env", "ONE"]).expectSuccess()
        try before.write(to: file)
        try run(["query", database, "SELECT x FROM t", "--key-env", "TWO"]).expectFailure(3, "revoked slots", "desktop",
            "--accept-rollback")
        let outcome = try run(["revoke", "desktop", "--key-env", "ONE", "--accept-rollback"])
        outcome.expectSuccess()
        #expect(outcome.errors.contains("accepted") && outcome.errors.contains("desktop"))
        #expect(try opens(["--key-env", "ONE"]))
        #expect(try !opens(["--key-env", "TWO"]))
    }

    @Test func keyRotationRemovesOtherSlots() throws {
        try run(["add", "--label", "desktop", "--new-key", "env:TWO", "--key-env", "ONE"] + Self.quick).expectSuccess()
        #expect(try run(["rotate", "desktop", "--key-env", "TWO"]).output.contains("other slots removed: 1"))
        #expect(try opens(["--key-env", "TWO"]))
        #expect(try !opens(["--key-env", "ONE"]))
        #expect(try !opens(["--raw-key", "--key-env", "RAW"]))
    }

    @Test func invalidKeySlotCommandsAreRefused() throws {
        try run(["init", "--label", "again", "--new-key", "env:TWO", "--key-env", "ONE"]).expectFailure(1, "already", "key add")
        try Tool.run(["rekey", database, "--key-env", "ONE"], environment: ["ONE": "correct horse"]).expectFailure(1, "key rotate")
        try run(["add", "--label", "raw", "--new-key", "raw:env:RAW", "--key-env", "ONE"]).expectFailure(3, "not with a raw key")
        let plain = folder.path("b.db")
        try Tool.run(["create", plain] + Tool.key).expectSuccess()
        try Tool.run(["key", "add", plain, "--label", "x"] + Tool.key).expectFailure(1, "no key slots", "key init")
        try Tool.run(["query", plain, "SELECT 1", "--recovery-key", "--key-env", "K"], environment: ["K": "x"]).expectFailure(3, "no recovery key")
    }
}
