#if os(Linux)
import Foundation
import Testing
import TestSupport

/// Power cuts and full disks in the midst of what writes files: a sample of the states that `Tests/Proofs/CrashStates` builds; all
/// of them with SQLCIPHERKIT_LONG_TESTS.
@Suite struct CrashStateTests {
    static let scenarios = [
        "commits", "create,attached", "moves,moves-whole", "migrations,vacuum", "key-in-place,key-in-place-without-sync",
        "key-by-file,key-by-file-after-a-commit,convert,encrypt,encrypt-once,decrypt", "erase,restore,restore-by-rows",
        "backup,backup-over-another,export", "backup-by-rows,backup-by-link,backup-without-links",
        "restore-pages,restore-pages-on,restore-pages-instead", "replicate,replicate-whole", "follow,follow-whole",
        "follow-key,take-over,restore-earlier", "messages,messages-whole", "synchronize,synchronize-whole",
        "salvage,salvage-whole,salvage-off,open-salvaging,open-salvaging-whole,open-salvaging-off", "copies,copies-whole",
        "slots-for-a-raw-key,slots-add,slots-rotate-by-file", "slots-for-a-passphrase,slots-remove,slots-change,slots-upgrade",
        "slots-rotate-in-place", "import,import-new,import-mirror",
    ]

    @Test func everyCrashScenarioIsTried() throws {
        let outcome = try Command.run(BuildProducts.executable("CrashStates"), ["--list"])
        let tried = Self.scenarios.flatMap { $0.split(separator: ",").map(String.init) }
        #expect(outcome.output.split(separator: "\n").map(String.init).sorted() == tried.sorted())
        // Each of the article's statements about a call was tried, and all that is tried is there.
        let article = try String(contentsOf: Repository.file("Sources/SQLCipherKit/Documentation.docc/WhatSurvives.md"), encoding: .utf8)
        let rows = article.split(separator: "\n").map { $0.split(separator: "|") }.filter { $0.count == 5 }
        let named = rows.flatMap { row in (row.last ?? "").matches(of: #/`([a-z-]+)`/#).map { String($0.1) } }
        #expect(named.sorted() == tried.sorted())
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
