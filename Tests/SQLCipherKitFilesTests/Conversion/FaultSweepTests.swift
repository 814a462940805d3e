#if os(Linux)
import Foundation
import Testing
import TestSupport

/// The n-th call of each kind fails, once or for good, in each operation: the files are whole, old or new, nothing remains, the
/// connection goes on to work, and the error is true. A few n of each in some of the
/// operations; all with SQLCIPHERKIT_LONG_TESTS.
@Suite struct FaultSweepTests {
    static let scenarios = [
        "open", "verify", "attach", "search", "identify", "vacuum", "erase", "residue", "pool", "backup", "compact backup",
        "restore", "salvage", "convert", "encrypt", "decrypt", "migrate", "new file", "rekey", "rekey with a log",
        "new file with a log", "write", "slots create", "slots add", "slots revoke", "slots rotate", "slots rotate by file",
        "records", "json", "key-value", "blob", "attach and write", "full-text rows", "full-text upkeep", "change log",
        "change log, receiving", "pool with tasks", "timeouts", "observation", "hooks", "migration",
        "shared store", "synchronising", "replica", "replica, restoring",
    ]

    @Test(arguments: LongTests.sample(2, of: scenarios)) func injectedFaultsLeaveWholeFiles(scenario: String) throws {
        let kinds: [(String, Int)] = [
            ("memory", 10), ("open", 2), ("read", 5), ("write", 4), ("sync", 2), ("truncate", 1), ("rename", 2), ("unlink", 2),
            ("stat", 2), ("full", 3), ("descriptors", 2),
            ("thread", 2), ("random", 5), ("map", 3), ("pin", 1), ("lock", 3),
        ]
        // A replica tries again by itself what its store and the disk refuse, for a second in each case.
        let isSlow = scenario == "replica" && !LongTests.areOn
        for (kind, few) in isSlow ? LongTests.sample(2, of: kinds) : kinds {
            let few = isSlow ? 1 : few
            for length in LongTests.areOn || few > 2 || kind == "stat" ? ["once", "forGood"] : ["once"] {
                let folder = try TemporaryFolder()
                let outcome = try Command.run(
                    BuildProducts.executable("FaultDriver"),
                    ["faults", folder.url.path, scenario, kind, length, LongTests.areOn ? "100000" : "\(few)"],
                    environment: ["LD_PRELOAD": kind == "memory" ? "" : FaultLibrary.path()])
                #expect(outcome.status == 0 && !outcome.output.contains("FAILED"),
                    "\(scenario), \(kind), \(length):\n\(outcome.output)\(outcome.errors)")
            }
        }
    }

    /// The purpose of Engine/files.h: a lock that is refused once is asked for again, and one that cannot be lowered, or a folder
    /// that cannot be flushed, does not undo a commit.
    @Test(arguments: [("lock", "once"), ("lock", "forGood"), ("sync", "once"), ("read", "once")])
    func lockAndSyncFaultsDoNotUndoCommits(kind: String, length: String) throws {
        let folder = try TemporaryFolder()
        let outcome = try Command.run(
            BuildProducts.executable("FaultDriver"), ["faults", folder.url.path, "write", kind, length, "100"],
            environment: ["LD_PRELOAD": FaultLibrary.path()])
        #expect(outcome.status == 0 && !outcome.output.contains("FAILED") && outcome.output.contains(" errors"), "\(outcome)")
        if kind == "lock", length == "once" { #expect(outcome.output.contains(" 0 errors"), "\(outcome)") }
    }

    /// A lock that the system refuses for good is an error of each call at once, and not a wait: nothing else has it.
    @Test(arguments: LongTests.areOn ? ["shared store", "replica", "replica, restoring"] : ["shared store"])
    func permanentLockRefusalThrowsAtOnce(scenario: String) throws {
        let folder = try TemporaryFolder()
        let outcome = try Command.run(
            BuildProducts.executable("FaultDriver"),
            ["faults", folder.url.path, scenario, "lock", "forGood", LongTests.areOn ? "100000" : "6"],
            environment: ["LD_PRELOAD": FaultLibrary.path()])
        #expect(outcome.status == 0 && !outcome.output.contains("FAILED") && outcome.output.contains(" errors"), "\(outcome)")
        #expect(!outcome.output.contains(" 0 errors"), "\(outcome)")
    }

    /// The engine's start needs random bytes. A refusal is an error, and the next opening succeeds.
    @Test func missingRandomBytesAtStartThrow() throws {
        for number in 1...8 {
            for length in ["once", "forGood"] {
                let folder = try TemporaryFolder()
                let outcome = try Command.run(
                    BuildProducts.executable("FaultDriver"), ["start", folder.path("a.db"), "\(number)", length],
                    environment: ["LD_PRELOAD": FaultLibrary.path()])
                let expected = number > 5 ? ["done\n", "noRandomBytes\ndone\n"] : ["noRandomBytes\ndone\n"]
                #expect(expected.contains(outcome.output), "\(number) \(length): \(outcome)")
            }
        }
    }
}
#endif
