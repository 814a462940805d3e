import Foundation
import Testing
import TestSupport

/// Mistakes in the command line: one line, status 64.
@Suite struct UsageTests {
    @Test func unknownThings() throws {
        try Tool.run("frobnicate").expectFailure(64, "frobnicate", "--help")
        try Tool.run("query", "a.db", "SELECT 1", "--frob").expectFailure(64, "--frob")
        try Tool.run("search", "a.db").expectFailure(64, "words")
        try Tool.run("query", "a.db", "SELECT 1", "--format", "xml").expectFailure(64, "xml")
        try Tool.run("search", "a.db", "x", "--limit", "0").expectFailure(64, "--limit")
        try Tool.run("index", "a", "b", "--max-size", "0").expectFailure(64, "--max-size")
        try Tool.run("query", "a.db", "SELECT 1", "--key-env", "A", "--key-fd", "3").expectFailure(64, "only one of")
    }

    @Test func aKeyAsAnArgumentIsRefusedAndNotRepeated() throws {
        let outcome = try Tool.run("query", "a.db", "SELECT 1", "--key=topsecret")
        outcome.expectFailure(64, "--key")
        #expect(!outcome.errors.contains("topsecret"))
        let second = try Tool.run("query", "a.db", "SELECT 1", "--passphrase", "topsecret")
        #expect(second.status == 64)
        #expect(!second.errors.contains("topsecret"))
    }

    @Test func helpNamesTheStatuses() throws {
        let help = try Tool.output("--help")
        for part in ["0 done", "1 failed", "3 wrong", "64 wrong usage", "130 interrupted", "never an argument"] {
            #expect(help.replacingOccurrences(of: "\n", with: " ").contains(part))
        }
        for command in ["index", "search", "query", "tour", "version"] { #expect(help.contains("  \(command) ")) }
    }

    @Test func aFullDiskBehindStandardOutputIsAnError() throws {
        let outcome = try Command.run("bash", ["-c", "exec \"$0\" version > /dev/full", try Tool.path])
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("cannot be written"))
    }
}
