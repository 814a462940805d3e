import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

/// The files after a kill at each change to the file system, in everything that writes whole files: the next opening finds one
/// whole database, the old or the new one, and leaves no other file.
@Suite struct KillSweepTests {
    private static let actions = [
        "key-in-place", "key-by-file", "convert", "encrypt", "encrypt-once", "decrypt", "erase", "backup", "backup-over-another",
        "backup-by-rows", "backup-by-link", "backup-without-links", "export", "restore", "restore-by-rows",
        "open-salvaging", "salvage",
        "restore-pages", "restore-pages-on", "restore-pages-instead",
        "slots-for-a-passphrase", "slots-for-a-raw-key", "slots-add", "slots-remove", "slots-change", "slots-upgrade",
        "slots-rotate-in-place", "slots-rotate-by-file", "import", "import-new", "import-mirror",
    ]

    /// Also rows that move between two files, which with logs are committed one after the other: each row is in one of them; and
    /// tables that are copied, which are there or not, those of one call together.
    @Test(arguments: LongTests.sample(6, of: actions) + ["moves", "copies"]) func killAtEachFileChangeLeavesOneDatabase(action: String) throws {
        let sample = LongTests.areOn ? [] : ["--sample", "25", "--seed", "\(Seed.value)"]
        try check(["--scenario", action, "--model", "kept"] + sample, least: 6)
    }

    /// One failed write, sync, rename or removal leaves the old database or the new one as well, in the journal mode that it had,
    /// and no other file after the next opening.
    @Test(
        arguments: LongTests.sample(1, of: [
            "key-in-place", "key-by-file", "encrypt", "encrypt-once", "decrypt", "erase", "backup", "restore-by-rows",
            "slots-for-a-raw-key", "slots-add", "slots-remove", "slots-rotate-in-place", "slots-rotate-by-file", "slots-upgrade",
            "restore-pages-on",
        ]))
    func failedFileCallLeavesOneDatabase(action: String) throws {
        try check(["--scenario", action, "--mode", "wal", "--durability", "everyCommit", "--failing"], least: 20)
    }

    private func check(_ arguments: [String], least: Int) throws {
        let outcome = try Command.run(try BuildProducts.executable("CrashStates"), arguments)
        // Where the C library's calls cannot be replaced, there is nothing to see.
        if outcome.status == 77 { return }
        #expect(outcome.status == 0 && outcome.output.contains(" 0 problems"), "\(outcome.output)\(outcome.errors)")
        let states = try #require(outcome.output.firstMatch(of: #/crash states: (\d+) states/#)?.1)
        #expect(Int(states) ?? 0 >= least)
    }
}
