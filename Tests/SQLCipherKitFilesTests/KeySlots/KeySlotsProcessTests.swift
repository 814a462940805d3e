import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

/// Several processes at one set of slots, and processes that die.
@Suite struct KeySlotsProcessTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }
    var location: DatabaseLocation { .file(path) }
    let driver: String

    init() throws {
        folder = try TemporaryFolder()
        driver = try BuildProducts.executable("FaultDriver")
    }

    private func make(rows: Int = 1) throws -> KeySlots {
        let slots = try KeySlots.create(.passphrase("one"), label: "first", for: location, derivation: .quick)
        let db = try Connection(location, key: .slots(slots))
        try db.execute("CREATE TABLE t(x)")
        try db.transaction { db in
            for number in 0..<rows { try db.execute("INSERT INTO t VALUES (\("row \(number) " + String(repeating: "x", count: 300)))") }
        }
        return slots
    }

    private func count(_ passphrase: String = "one") throws -> Int? {
        let db = try Connection(location, key: .slots(secret: .passphrase(passphrase)))
        #expect(try db.fetchOne(String.self, "PRAGMA integrity_check") == "ok")
        return try db.fetchOne(Int.self, "SELECT count(*) FROM t")
    }

    @Test func concurrentProcessesLoseNoKeySlot() throws {
        let slots = try make()
        let processes = try ["a", "b", "c", "d"].map { try Command(driver, ["slots-add", path, "one", $0, "5"]) }
        for number in 0..<5 { try slots.add(.passphrase("here"), label: "here \(number)", derivation: .quick) }
        for process in processes {
            let outcome = try process.end()
            #expect(outcome.status == 0, "\(outcome)")
        }
        let expected = ["first"] + ["a", "b", "c", "d", "here"].flatMap { name in (0..<5).map { "\(name) \($0)" } }
        #expect(try Set(slots.slots().map(\.label)) == Set(expected))
        #expect(try slots.slots().count == 26)
        for passphrase in ["one", "a", "b", "c", "d", "here"] { #expect(try count(passphrase) == 1) }
    }

    @Test func concurrentThreadsLoseNoKeySlot() throws {
        let slots = try make()
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for number in 0..<3 {
                #expect(throws: Never.self) { try slots.add(.passphrase("x"), label: "\(thread) \(number)", derivation: .quick) }
            }
        }
        #expect(try slots.slots().count == 25)
    }

    @Test func killLeavesOldOrNewKeySlots() throws {
        let slots = try make()
        var seen: Set<Int> = []
        for moment in LongTests.steps(5, of: 20) {
            let process = try Command(driver, ["slots-churn", path, "one"])
            try process.waitForOutput("ready")
            Thread.sleep(forTimeInterval: 0.01 + Double(moment) * 0.007)
            kill(process.process.processIdentifier, SIGKILL)
            _ = try process.end()
            let list = try slots.slots()
            #expect(list.count == 1 || list.count == 2)
            seen.insert(list.count)
            #expect(try count() == 1)
            if list.count == 2 {
                #expect(try count("churn") == 1)
                try slots.revoke("churn")
            }
        }
        #expect(try slots.slots().count == 1)
    }

    @Test(arguments: ["in-place", "new-file"]) func killDuringKeyRotationLeavesOpenableDatabase(mode: String) throws {
        try make(rows: 3000).add(.passphrase("two"), label: "second", derivation: .quick)
        let names = ["a.db", "a.db.keys"]
        let saved = try names.map { try Data(contentsOf: URL(fileURLWithPath: folder.path($0))) }
        let old = try KeySlots.unlock(.passphrase("one"), of: location).key
        func restore() throws {
            for name in try folder.names() { try FileManager.default.removeItem(atPath: folder.path(name)) }
            for (name, bytes) in zip(names, saved) { try bytes.write(to: URL(fileURLWithPath: folder.path(name))) }
        }
        let probe = try Command(driver, ["slots-rotate", path, "one", mode])
        try probe.waitForOutput("ready")
        let duration = try ContinuousClock().measure { _ = try probe.end() }
        var outcomes: [String: Int] = [:]
        // The last one comes to its end: when the others are struck depends on what else the machine does.
        for moment in LongTests.steps(4, of: 20) + [20] {
            try restore()
            let process = try Command(driver, ["slots-rotate", path, "one", mode])
            try process.waitForOutput("ready")
            if moment < 20 {
                Thread.sleep(forTimeInterval: Double(moment) / 20 * Double(duration.components.attoseconds) / 1e18 * 1.1)
                kill(process.process.processIdentifier, SIGKILL)
            }
            _ = try process.end()
            #expect(try count() == 3000, "moment \(moment)")
            let slots = try KeySlots.unlock(.passphrase("one"), of: location)
            let isOld = (try? Connection(location, key: old)) != nil
            // The first opening has completed the change that was cut off.
            outcomes[isOld ? "before" : "after", default: 0] += 1
            #expect(!slots.isRotationUnfinished)
            #expect(try slots.slots().count == (isOld ? 2 : 1))
            // Whatever has happened, the slots can be gone on with.
            try slots.add(.passphrase("three"), label: "third", derivation: .quick)
            #expect(try count("three") == 3000)
        }
        print("kills during a rotation, \(mode): \(outcomes)")
        #expect((outcomes["after"] ?? 0) > 0)
    }

    @Test func fullDiskKeepsTheOldKeySlots() throws {
        let slots = try make()
        let before = try Data(contentsOf: URL(fileURLWithPath: path + ".keys"))
        // No file may grow beyond nothing: neither the slots nor the database's journal.
        let outcome = try Command.run("sh", ["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" slots-add \"$1\" one x 1", driver, path])
        #expect(outcome.status != 0)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".keys")) == before)
        #expect(try !folder.names().contains("a.db.keys.tmp"))
        #expect(try count() == 1)
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        #expect(try count("two") == 1)
    }

    /// The remains of a process that died are in no other's way.
    @Test func leftoverKeySlotFileIsOverwritten() throws {
        let slots = try make()
        try Data("left".utf8).write(to: URL(fileURLWithPath: path + ".keys.tmp"))
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        #expect(try count("two") == 1)
        #expect(try !folder.names().contains("a.db.keys.tmp"))
    }

    @Test func heldKeySlotLockThrowsBusy() throws {
        let slots = try make()
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .milliseconds(100)
        let impatient = try KeySlots.unlock(.passphrase("one"), of: location, configuration: configuration)
        let lock = open(path + ".keys.lock", O_RDWR)
        defer { close(lock) }
        #expect(flock(lock, LOCK_EX) == 0)
        let error = #expect(throws: DatabaseError.self) {
            try impatient.add(.passphrase("two"), label: "second", derivation: .quick)
        }
        #expect(error?.reason == .busy)
        // Opening needs no lock.
        #expect(try count() == 1)
        #expect(flock(lock, LOCK_UN) == 0)
        // A writer in the database is a reason to wait as well, and nothing has changed meanwhile.
        let db = try Connection(location, key: .slots(slots))
        try db.begin(.immediate)
        let second = #expect(throws: DatabaseError.self) {
            try impatient.add(.passphrase("two"), label: "second", derivation: .quick)
        }
        #expect(second?.reason == .busy)
        #expect(try slots.slots().count == 1)
    }

    /// A rotation that cannot be finished is an error of whoever would write, until it can.
    @Test func unfinishedKeyRotationThrowsUntilFinished() throws {
        // As a process left it that was killed in the midst.
        for (bytes, suffix) in [(FormerSlots.database, ""), (FormerSlots.midRotation, ".keys")] {
            try bytes.write(to: URL(fileURLWithPath: path + suffix))
        }
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .milliseconds(100)
        let other = try Connection(location, key: .raw([UInt8](repeating: 7, count: 32)))
        try other.begin(.immediate)
        let error = #expect(throws: DatabaseError.self) {
            try Connection(location, key: .slots(secret: .passphrase("one")), configuration: configuration)
        }
        #expect(error?.reason == .keyRotationUnfinished)
        // Reading harms nothing, and whoever asks for the slots is told by them.
        configuration.access = .readOnly
        _ = try Connection(location, key: .slots(secret: .passphrase("one")), configuration: configuration)
        configuration.access = .readWrite
        let unfinished = try KeySlots.unlock(.passphrase("one"), of: location, configuration: configuration)
        #expect(unfinished.isRotationUnfinished)
        _ = try Connection(location, key: .slots(unfinished), configuration: configuration)
        other.close()
        #expect(try Connection(location, key: .slots(secret: .passphrase("one"))).fetchOne(String.self, "SELECT x FROM t")
            == "kept")
        #expect(try !KeySlots.unlock(.passphrase("one"), of: location).isRotationUnfinished)
        #expect(throws: DatabaseError.self) { try Connection(location, key: .raw([UInt8](repeating: 7, count: 32))) }
    }
}
