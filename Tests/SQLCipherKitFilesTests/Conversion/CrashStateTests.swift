#if os(Linux)
import Foundation
import Testing
import TestSupport

/// Power cuts and full disks in the midst of what writes files: a sample of the states that `Tests/Proofs/CrashStates` builds; all
/// of them with SQLCIPHERKIT_LONG_TESTS.
@Suite struct CrashStateTests {
    /// The scenarios of each test case. They run side by side, so that the longest come first.
    static let scenarios = [
        "exchange", "messages", "synchronize", "import", "follow-key", "follow", "import-mirror", "import-new", "moves",
        "take-over", "restore-earlier", "replicate", "create,attached", "commits", "migrations,vacuum", "copies", "key-in-place",
        "key-by-file,key-by-file-after-a-commit,convert,encrypt,encrypt-once,decrypt", "erase,restore,restore-by-rows",
        "backup,backup-over-another,export", "backup-by-rows,backup-by-link,backup-without-links",
        "restore-pages,restore-pages-on,restore-pages-instead", "change-store", "salvage,open-salvaging",
        "slots-for-a-raw-key,slots-add,slots-rotate-by-file", "slots-for-a-passphrase,slots-remove,slots-change,slots-upgrade",
        "slots-rotate-in-place",
    ]

    @Test func everyCrashScenarioIsTried() throws {
        // The name of each scenario, and its promises for a power cut with `everyCommit`, `wholeFile` and `off`.
        let list = try Command.run(BuildProducts.executable("CrashStates"), ["--list"]).output
        let promises = list.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        let tried = Self.scenarios.flatMap { $0.split(separator: ",").map(String.init) }
        #expect(promises.map(\.[0]).sorted() == tried.sorted())
        // Each of the article's statements about a call was tried, and all that is tried is there.
        let path = "Sources/SQLCipherKit/Documentation.docc/WhatSurvives.md"
        let article = try String(contentsOf: Repository.file(path), encoding: .utf8)
        let rows = article.split(separator: "\n").map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
        let stated = rows.filter { $0.count == 7 }.flatMap { row in
            row[6].matches(of: #/`([a-z-]+)`/#).map { [String($0.1)] + row[2...4] }
        }
        #expect(stated.sorted { $0[0] < $1[0] } == promises.sorted { $0[0] < $1[0] })
    }

    /// The disk is full from one write on: the error says so, what had returned is there, and the next opening finds what a kill
    /// leaves.
    @Test(arguments: LongTests.sample(2, of: scenarios)) func fullDiskLeavesWholeDatabases(scenarios: String) throws {
        let outcome = try Command.run(
            BuildProducts.executable("CrashStates"),
            ["--scenario", scenarios, "--full"] + (LongTests.areOn ? [] : ["--sample", "3", "--seed", "\(Seed.value)"]))
        #expect(outcome.status == 0 && outcome.output.contains(" 0 problems"), "\(outcome.output)\(outcome.errors)")
    }

    @Test(arguments: scenarios) func crashStatesLeaveWholeDatabases(scenarios: String) throws {
        let outcome = try Command.run(
            BuildProducts.executable("CrashStates"),
            ["--scenario", scenarios] + (LongTests.areOn ? [] : ["--sample", "6", "--seed", "\(Seed.value)"]))
        #expect(outcome.status == 0 && outcome.output.contains(" 0 problems"), "\(outcome.output)\(outcome.errors)")
    }
}
#endif
