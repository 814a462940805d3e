import Foundation
import Testing
import TestSupport

/// Mistakes in the command line: one line, status 64.
@Suite struct UsageTests {
    static let commands = [
        "create", "dump", "import", "search", "query", "shell", "schema", "vectors", "key", "rekey", "encrypt", "decrypt", "migrate", "info",
        "verify", "backup", "restore", "vacuum", "erase", "space", "diff", "replicate", "replicas", "sync",
        "tour", "version",
    ]

    @Test func unknownCommandsAndOptionsAreRefused() throws {
        try Tool.run("frobnicate").expectFailure(64, "no command 'frobnicate' (", "--help")
        try Tool.runProgram(["frobnicate"]).expectFailure(64, "no command 'frobnicate' (", "--help")
        try Tool.run("serch", "a.db", "words").expectFailure(64, "no command 'serch': did you mean 'search'?")
        try Tool.run("vacum", "a.db").expectFailure(64, "'vacuum'")
        try Tool.run("query", "a.db", "SELECT 1", "--frob").expectFailure(64, "--frob")
        try Tool.run("search", "a.db").expectFailure(64, "words")
        try Tool.run("query", "a.db", "SELECT 1", "--format", "xml").expectFailure(64, "xml")
        try Tool.run("search", "a.db", "x", "--limit", "0").expectFailure(64, "--limit")
        try Tool.run("import", "a", "b", "--max-size", "0").expectFailure(64, "--max-size")
        try Tool.run("query", "a.db", "SELECT 1", "--key-env", "A", "--key-fd", "3").expectFailure(64, "only one of")
    }

    @Test func keyAsArgumentIsRefusedWithoutEcho() throws {
        let outcome = try Tool.run("query", "a.db", "SELECT 1", "--key=topsecret")
        outcome.expectFailure(64, "--key")
        #expect(!outcome.errors.contains("topsecret"))
        let second = try Tool.run("query", "a.db", "SELECT 1", "--passphrase", "topsecret")
        #expect(second.status == 64)
        #expect(!second.errors.contains("topsecret"))
        // Nor where the source of a key is expected.
        for option in ["--new-key", "--attach-key"] {
            let arguments = option == "--new-key" ? ["rekey", "a.db"] : ["query", "a.db", "SELECT 1", "--attach", "x=b.db"]
            for text in ["topsecret", "topsecret:topsecret", "fd:topsecret"] {
                let outcome = try Tool.run(arguments + [option, option == "--new-key" ? text : "x=" + text])
                outcome.expectFailure(64, "key")
                #expect(!outcome.errors.contains("topsecret"))
            }
        }
    }

    @Test func helpListsExitStatuses() throws {
        let help = try Tool.output("--help")
        for part in ["0 success", "1 failure", "3 wrong", "4 verify", "64 wrong usage", "130 interrupted", "never an argument"] {
            #expect(help.replacingOccurrences(of: "  ", with: " ").replacingOccurrences(of: "\n", with: " ").contains(part), "\(part)")
        }
        for command in Self.commands { #expect(help.contains("  \(command) "), "\(command)") }
    }

    @Test func unwritableStandardOutputFails() throws {
        let outcome = try Command.run("bash", ["-c", "exec \"$0\" version > /dev/full", try Tool.path])
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("cannot be written"))
    }

    /// A stream that is closed is no place for the database's file.
    @Test func closedStandardStreamsHarmNoDatabase() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("a.db")
        try Tool.run("create", path, "--no-key").expectSuccess()
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        for closing in [">&-", "<&-", ">&- 2>&- <&-", "2>&-"] {
            let outcome = try Command.run("bash", ["-c", "exec \"$0\" query \"$1\" 'SELECT 1' --no-key \(closing)", Tool.path, path])
            #expect(outcome.status == (closing.hasPrefix(">&-") ? 1 : 0), "\(closing) \(outcome)")
            if closing == ">&-" { #expect(outcome.errors.contains("the output cannot be written"), "\(outcome.errors)") }
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        }
    }
}
