import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

/// A process that is killed at each of its changes to the file system, in everything that writes whole files: the next opening
/// finds one whole database, the old or the new one, and leaves no other file.
@Suite struct KillSweepTests {
    private static let actions = [
        "key-in-place", "key-by-file", "convert", "encrypt", "decrypt", "erase", "backup", "backup-over-another",
        "backup-by-rows", "backup-by-link", "backup-without-links", "export", "restore", "restore-by-rows", "open-salvaging",
        "restore-pages", "restore-pages-on", "restore-pages-instead",
        "slots-for-a-passphrase", "slots-for-a-raw-key", "slots-add", "slots-remove", "slots-change", "slots-upgrade",
        "slots-rotate-in-place", "slots-rotate-by-file", "import", "import-new", "import-mirror",
    ]

    /// Kills wherever a file is made, renamed or removed; with `SQLCIPHERKIT_LONG_TESTS` at each write too, and with a log.
    @Test(arguments: LongTests.sample(3, of: actions)) func aKillAtEachChange(action: String) throws {
        for mode in LongTests.areOn ? ["delete", "wal"] : ["delete"] {
            let folder = try TemporaryFolder()
            let outcome = try Command.run(
                try BuildProducts.executable("FaultDriver"),
                ["sweep", action, folder.url.path, mode, LongTests.areOn ? "all" : "names"])
            #expect(outcome.status == 0 && !outcome.output.contains("wrong"), "\(mode): \(outcome.output)")
            // Where the C library's calls cannot be replaced, there is nothing to see.
            if outcome.output.contains("unsupported") { return }
            let kills = outcome.output.split(separator: "\n").first { $0.hasPrefix("kills: ") }.flatMap { Int($0.dropFirst(7)) }
            #expect(try #require(kills) > 1)
        }
    }

    /// Rows that move between two files, which with logs are committed one after the other: a kill at any change leaves each row
    /// in one of them. Tables that are copied are there or not, those of one call together.
    @Test(arguments: ["moves", "copies"], ["delete", "wal"]) func aKillBetweenTwoFiles(action: String, mode: String) throws {
        let folder = try TemporaryFolder()
        let outcome = try Command.run(
            try BuildProducts.executable("FaultDriver"), ["sweep", action, folder.url.path, mode, LongTests.areOn ? "all" : "names"])
        #expect(outcome.status == 0 && !outcome.output.contains("wrong"), "\(outcome.output)")
    }

    /// One failed write, sync, rename or removal leaves the old database or the new one as well, in the journal mode that it had,
    /// and no other file after the next opening.
    @Test(
        arguments: LongTests.sample(1, of: [
            "key-by-file", "encrypt", "decrypt", "erase", "backup", "restore-by-rows", "slots-for-a-raw-key", "slots-add",
            "slots-remove", "slots-rotate-in-place", "slots-rotate-by-file", "slots-upgrade", "restore-pages-on",
        ]))
    func oneFailedCall(action: String) throws {
        let folder = try TemporaryFolder()
        let outcome = try Command.run(
            try BuildProducts.executable("FaultDriver"), ["sweep", action, folder.url.path, "wal", "fail"])
        #expect(outcome.status == 0 && !outcome.output.contains("wrong"), "\(outcome.output)")
        if outcome.output.contains("unsupported") { return }
        let strikes = outcome.output.split(separator: "\n").first { $0.hasPrefix("kills: ") }.flatMap { Int($0.dropFirst(7)) }
        #expect(try #require(strikes) > 20)
    }
}
