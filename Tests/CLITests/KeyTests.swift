import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// Where keys come from.
@Suite struct KeyTests {
    let folder: TemporaryFolder
    let database: String
    private static let passphrase = "correct horse ü"

    init() throws {
        folder = try TemporaryFolder()
        database = folder.path("a.db")
        let db = try Connection(.file(database), key: .passphrase(Self.passphrase))
        try db.execute("CREATE TABLE t(x)")
        try db.execute("INSERT INTO t VALUES (42)")
    }

    private func keyFile(_ content: String, _ permissions: Int = 0o600) throws -> String {
        let path = folder.path("key \(UUID().uuidString)")
        try Data(content.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
        return path
    }

    private func query(_ key: String...) throws -> Command.Outcome {
        try Tool.run(["query", database, "SELECT x FROM t", "--format", "csv"] + key, environment: ["PASS": Self.passphrase, "EMPTY": ""])
    }

    @Test func keyFileOptionReadsPassphrase() throws {
        for ending in ["", "\n", "\r\n"] {
            #expect(try query("--key-file", keyFile(Self.passphrase + ending)).output == "x\n42\n")
        }
        try query("--key-file", keyFile(Self.passphrase + "\n\n")).expectFailure(3, "the key or the cipher settings are wrong", database)
        #expect(try query("--key-file", keyFile(Self.passphrase, 0o400)).output == "x\n42\n")
        for permissions in [0o640, 0o604, 0o602, 0o620] {
            try query("--key-file", keyFile(Self.passphrase, permissions)).expectFailure(3, "other users", "600")
        }
        let link = folder.path("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: keyFile(Self.passphrase))
        try query("--key-file", link).expectFailure(3, "symbolic link")
        try query("--key-file", folder.path("missing")).expectFailure(3, "there is no key file", "missing")
        try query("--key-file", folder.url.path).expectFailure(3, "not a regular file")
        try query("--key-file", keyFile("")).expectFailure(3, "the key is empty")
        try query("--key-file", keyFile("\n")).expectFailure(3, "the key is empty")
        try query("--key-file", keyFile(String(repeating: "a", count: 70_000))).expectFailure(3, "65536")
    }

    @Test func keyEnvOptionReadsPassphrase() throws {
        let program = try Tool.runProgram(["query", database, "SELECT x FROM t", "--key-env", "PASS"], environment: ["PASS": Self.passphrase])
        #expect(program.output.hasSuffix("42\n"), "\(program.errors)")
        #expect(try query("--key-env", "PASS").output == "x\n42\n")
        try query("--key-env", "UNSET_VARIABLE").expectFailure(3, "UNSET_VARIABLE")
        try query("--key-env", "EMPTY").expectFailure(3, "the key is empty")
    }

    /// The first reading removes the variable.
    @Test func oneVariableServesTwoKeys() throws {
        let variable = ["PASS": Self.passphrase]
        let arguments = ["rekey", database, "--key-env", "PASS", "--new-key", "env:PASS"]
        try Tool.run(arguments, environment: variable).expectSuccess()
        try Tool.runProgram(arguments, environment: variable).expectSuccess()
        #expect(try query("--key-env", "PASS").output == "x\n42\n")
        try Tool.run(["rekey", database, "--key-env", "PASS", "--new-key", "raw:env:PASS"], environment: variable)
            .expectFailure(3, "PASS was read as the other kind of key")
    }

    @Test func keyFDOptionReadsPassphrase() throws {
        let script = "\"$0\" query \"$1\" 'SELECT x FROM t' --format csv --key-fd 7 7< <(printf '%s\\n' \"$PASS\")"
        let outcome = try Command.run("bash", ["-c", script, try Tool.path, database], environment: ["PASS": Self.passphrase])
        #expect(outcome.output == "x\n42\n")
        #expect(outcome.errors == "")
        // A program of its own: in this process another test may have opened a descriptor of that number.
        try Tool.runProgram(["query", database, "SELECT x FROM t", "--key-fd", "99"])
            .expectFailure(3, "descriptor 99", "Bad file descriptor")
        try query("--key-fd=-1").expectFailure(64, "--key-fd")
    }

    @Test func rawKeyOptionReadsHexadecimalDigits() throws {
        let raw = folder.path("raw.db"), salted = folder.path("salted.db")
        let key = (0..<32).map { UInt8($0 * 7) }, salt = (0..<16).map { UInt8($0 + 200) }
        func hex(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02X", $0) }.joined() }
        do {
            try Connection(.file(raw), key: .raw(key)).execute("CREATE TABLE t(x)")
            try Connection(.file(salted), key: .raw(key, salt: salt)).execute("CREATE TABLE t(x)")
        }
        func run(_ path: String, _ key: String) throws -> Command.Outcome {
            try Tool.run(["query", path, "SELECT count(*) AS n FROM t", "--format", "csv", "--raw-key", "--key-env", "K"], environment: ["K": key])
        }
        #expect(try run(raw, hex(key)).output == "n\n0\n")
        #expect(try run(raw, hex(key).lowercased()).output == "n\n0\n")
        #expect(try run(salted, hex(key + salt)).output == "n\n0\n")
        for wrong in [String(hex(key).dropLast()), hex(key) + "00", String(repeating: "g", count: 64)] {
            let outcome = try run(raw, wrong)
            outcome.expectFailure(3, "raw key", "hexadecimal digit")
            #expect(!outcome.errors.contains(wrong))
        }
        try run(raw, "").expectFailure(3, "the key is empty")
        // Without --raw-key the digits are a passphrase.
        try Tool.run(["query", raw, "SELECT 1", "--key-env", "K"], environment: ["K": hex(key)]).expectFailure(3, "wrong")
    }

    @Test func missingKeyWithoutTerminalNamesOptions() throws {
        // A session of its own has no terminal to ask on.
        let outcome = try Command.run("setsid", ["--wait", try Tool.path, "query", database, "SELECT 1"])
        outcome.expectFailure(3, "no key", "--key-file", "--key-env", "--key-fd")
    }

    @Test func keyForPlaintextDatabaseIsRefused() throws {
        let path = folder.path("plain.db")
        try Connection(.file(path)).execute("CREATE TABLE t(x)")
        try Tool.run(["query", path, "SELECT 1"] + Tool.key).expectFailure(3, "plaintext", path)
    }
}
