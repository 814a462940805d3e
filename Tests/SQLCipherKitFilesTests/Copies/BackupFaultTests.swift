import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

/// Backups and restores that a full disk, a kill or a busy writer gets in the way of.
@Suite struct BackupFaultTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }
    var copyPath: String { folder.path("b.db") }

    init() throws { folder = try TemporaryFolder() }

    private func make(_ path: String, _ key: String, _ mode: DatabaseConfiguration.JournalMode = .delete, rows: Int) throws {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = mode
        let db = try Connection(.file(path), key: .passphrase(key).quick, configuration: configuration)
        try db.transaction { db in
            try db.execute("CREATE TABLE t(x)")
            for number in 0..<rows { try db.execute("INSERT INTO t VALUES (\("MARKER \(number) " + String(repeating: "x", count: 300)))") }
        }
    }

    private func count(_ path: String, _ key: String) -> Int? {
        guard let db = try? Connection(.file(path), key: .passphrase(key).quick),
            (try? db.main.verify().problems.isEmpty) == true
        else { return nil }
        return try? db.fetchOne(Int.self, "SELECT count(*) FROM t")
    }

    private func write(_ data: Data, _ path: String) throws {
        for suffix in ["-journal", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        try data.write(to: URL(fileURLWithPath: path))
    }

    @Test(arguments: ["backup-write", "backup-restore"], [DatabaseConfiguration.JournalMode.delete, .wal])
    func fullDiskDuringBackupLeavesWholeFiles(action: String, mode: DatabaseConfiguration.JournalMode) throws {
        try make(path, "one", mode, rows: 1500)
        try make(copyPath, "two", rows: 700)
        let database = try Data(contentsOf: URL(fileURLWithPath: path)), backup = try Data(contentsOf: URL(fileURLWithPath: copyPath))
        var failures = 0, successes = 0
        for blocks in stride(from: 0, through: database.count / 512 + 400, by: database.count / 512 / 5) {
            try write(database, path)
            try write(backup, copyPath)
            let outcome = try Command.run(
                "sh", ["-c", "trap '' XFSZ; ulimit -f \(blocks); exec \"$0\" \"$1\" \"$2\" one \"$3\" two 2>&1 | cat",
                       try BuildProducts.executable("FaultDriver"), action, path, copyPath])
            let succeeded = outcome.output.contains("done")
            if succeeded { successes += 1 } else { failures += 1 }
            #expect(count(path, "one") == (succeeded && action == "backup-restore" ? 700 : 1500), "blocks \(blocks): \(outcome)")
            #expect(count(copyPath, "two") == (succeeded && action == "backup-write" ? 1500 : 700), "blocks \(blocks): \(outcome)")
            #expect(try folder.names() == ["a.db", "b.db"], "blocks \(blocks)")
        }
        #expect(failures > 2 && successes > 0)
    }

    @Test(arguments: ["backup-write", "backup-restore"], [DatabaseConfiguration.JournalMode.delete, .wal])
    func killDuringBackupLeavesWholeFiles(action: String, mode: DatabaseConfiguration.JournalMode) throws {
        try make(path, "one", mode, rows: 2000)
        try make(copyPath, "two", rows: 1000)
        let database = try Data(contentsOf: URL(fileURLWithPath: path)), backup = try Data(contentsOf: URL(fileURLWithPath: copyPath))
        let program = try BuildProducts.executable("FaultDriver")
        let probe = try Command(program, [action, path, "one", copyPath, "two"])
        try probe.waitForOutput("ready")
        let duration = try ContinuousClock().measure { _ = try probe.end() }
        var cut = 0
        for moment in LongTests.steps(3, of: 12) {
            try write(database, path)
            try write(backup, copyPath)
            let driver = try Command(program, [action, path, "one", copyPath, "two"])
            try driver.waitForOutput("ready")
            Thread.sleep(forTimeInterval: Double(moment) / 12 * Double(duration.components.attoseconds) / 1e18)
            kill(driver.process.processIdentifier, SIGKILL)
            _ = try driver.end()
            for name in try folder.names() {
                #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path(name))).range(of: Data("MARKER".utf8)) == nil)
            }
            let old = action == "backup-write" ? (copyPath, "two", 1000, 2000) : (path, "one", 2000, 1000)
            let found = count(old.0, old.1)
            #expect(found == old.2 || found == old.3, "moment \(moment): \(String(describing: found))")
            if found == old.2 { cut += 1 }
            #expect(count(action == "backup-write" ? path : copyPath, action == "backup-write" ? "one" : "two") == (action == "backup-write" ? 2000 : 1000))
        }
        #expect(cut > 0)
        // The remains of the killed backups go with the next backup.
        #expect(try Command.run(program, ["backup-write", path, "one", copyPath, "two"]).status == 0)
        // A journal that was made, and in which nothing stood yet, is no matter to readers: the next write takes it.
        try Connection(.file(path), key: .passphrase("one").quick).execute("PRAGMA user_version = 1")
        let names = try folder.names()
        #expect(names == ["a.db", "b.db"])
    }

    /// Another process commits all the while: the backup is one moment of it, and the process is never refused for long.
    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .wal])
    func backupIsConsistentWhileAnotherProcessWrites(mode: DatabaseConfiguration.JournalMode) throws {
        try make(path, "one", mode, rows: 1500)
        let writer = try Command(try BuildProducts.executable("FaultDriver"), ["append", path, "one"])
        try writer.waitForOutput("20\n")
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .seconds(20)
        let db = try Connection(.file(path), key: .passphrase("one").quick, configuration: configuration)
        var options = Schema.BackupOptions()
        options.pagesPerStep = 10
        options.pause = .milliseconds(2)
        try db.main.backup(toFileAt: copyPath, key: .passphrase("two", cipher: .quick), options: options)
        kill(writer.process.processIdentifier, SIGKILL)
        let outcome = try writer.end()
        #expect(!outcome.output.contains("error"))
        let copy = try Connection(.file(copyPath), key: .passphrase("two").quick)
        let numbers = try copy.fetchAll(Int.self, "SELECT x FROM t WHERE typeof(x) = 'integer' ORDER BY rowid")
        #expect(numbers.count >= 20 && numbers == Array(0..<numbers.count))
        #expect(count(copyPath, "two") == 1500 + numbers.count)
    }

    /// A second connection of this process commits between the steps.
    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .wal])
    func backupIsConsistentWhileAnotherConnectionWrites(mode: DatabaseConfiguration.JournalMode) throws {
        try make(path, "one", mode, rows: 1000)
        let db = try Connection(.file(path), key: .passphrase("one").quick)
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .zero
        let writer = try Connection(.file(path), key: .passphrase("one").quick, configuration: configuration)
        var options = Schema.BackupOptions()
        options.pagesPerStep = 10
        var written = 0, refused = 0
        try db.main.backup(toFileAt: copyPath, key: .passphrase("two", cipher: .quick), options: options) { progress in
            if progress.fractionCompleted == 1 { return }
            do {
                // Two rows each, so that half a commit would show.
                try writer.transaction { try $0.execute("INSERT INTO t VALUES (1), (2)") }
                written += 1
            } catch let error as DatabaseError where error.reason == .busy { refused += 1 }
        }
        #expect(written > 2)
        #expect((refused > 0) == (mode == .delete))
        let there = try #require(count(copyPath, "two")) - 1000
        #expect(there % 2 == 0 && there <= written * 2)
        if mode == .wal { #expect(there == 0) }
        #expect(count(path, "one") == 1000 + written * 2)
    }

    /// A lock that does not go is an error, and leaves nothing.
    @Test func backupOfLockedDatabaseThrowsBusy() throws {
        try make(path, "one", rows: 100)
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .milliseconds(50)
        let db = try Connection(.file(path), key: .passphrase("one").quick, configuration: configuration)
        let other = try Connection(.file(path), key: .passphrase("one").quick)
        try other.begin(.exclusive)
        let busy = #expect(throws: DatabaseError.self) { try db.main.backup(toFileAt: copyPath) }
        #expect(busy?.reason == .busy)
        try other.rollback()
        try db.main.backup(toFileAt: copyPath)
        // A reader keeps a restore out, without a log.
        try other.begin(.deferred)
        _ = try other.fetchOne(Int.self, "SELECT count(*) FROM t")
        let refused = #expect(throws: DatabaseError.self) { try db.main.restore(fromFileAt: copyPath) }
        #expect(refused?.reason == .busy)
        try other.commit()
        try db.execute("DELETE FROM t")
        try db.main.restore(fromFileAt: copyPath)
        // The other connection sees it, through statements that it had prepared before.
        #expect(try other.fetchOne(Int.self, "SELECT count(*) FROM t") == 100)
    }

    /// With a log, readers go on with what was there.
    @Test func restoreInWALModeDoesNotDisturbReaders() throws {
        try make(path, "one", .wal, rows: 100)
        let db = try Connection(.file(path), key: .passphrase("one").quick)
        let reader = try Connection(.file(path), key: .passphrase("one").quick)
        try db.main.backup(toFileAt: copyPath)
        try db.execute("DELETE FROM t WHERE rowid > 10")
        try reader.begin(.deferred)
        #expect(try reader.fetchOne(Int.self, "SELECT count(*) FROM t") == 10)
        try db.main.restore(fromFileAt: copyPath)
        #expect(try reader.fetchOne(Int.self, "SELECT count(*) FROM t") == 10)
        try reader.commit()
        #expect(try reader.fetchOne(Int.self, "SELECT count(*) FROM t") == 100)
        #expect(try db.main.journalMode == .wal)
        #expect(count(path, "one") == 100)
    }

    @Test func concurrentBackupToSameFileThrowsBusy() throws {
        try make(path, "one", rows: 300)
        let db = try Connection(.file(path), key: .passphrase("one").quick)
        let other = try Connection(.file(path), key: .passphrase("one").quick)
        var options = Schema.BackupOptions()
        options.pagesPerStep = 5
        var tried = false
        try db.main.backup(toFileAt: copyPath, options: options) { progress in
            if tried { return }
            tried = true
            let error = #expect(throws: DatabaseError.self) { try other.main.backup(toFileAt: copyPath) }
            #expect(error?.reason == .busy)
        }
        #expect(count(copyPath, "one") == 300)
        #expect(try folder.names() == ["a.db", "b.db"])
    }
}
