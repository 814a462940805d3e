import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

@Suite struct ChangeKeyTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }

    init() throws { folder = try TemporaryFolder() }

    private func make(_ mode: DatabaseConfiguration.JournalMode = .delete, rows: Int = 200) throws -> Connection {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = mode
        configuration.busyTimeout = .milliseconds(50)
        let db = try Connection(.file(path), key: .passphrase("old").quick, configuration: configuration)
        try db.transaction { db in
            try db.execute("CREATE TABLE t(x)")
            for number in 0..<rows { try db.execute("INSERT INTO t VALUES (\("row \(number) " + String(repeating: "x", count: 300)))") }
        }
        return db
    }

    private func count(_ key: DatabaseKey, at path: String? = nil) -> Int? {
        guard let db = try? Connection(.file(path ?? self.path), key: key.quick),
            (try? db.fetchOne(String.self, "PRAGMA integrity_check")) == "ok",
            (try? db.fetchAll(String.self, "PRAGMA cipher_integrity_check")) == []
        else { return nil }
        return try? db.fetchOne(Int.self, "SELECT count(*) FROM t")
    }

    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .wal]) func changeKeyConvertsBetweenPassphrasesAndRawKeys(mode: DatabaseConfiguration.JournalMode) throws {
        let db = try make(mode)
        let salt = [UInt8](repeating: 9, count: 16)
        let keys = [
            try DatabaseKey.raw([UInt8](repeating: 1, count: 32)), try .raw([UInt8](repeating: 2, count: 32), salt: salt),
            try .passphrase("x'" + String(repeating: "2d", count: 32) + "'"), try .passphrase("new"),
        ]
        var old = try DatabaseKey.passphrase("old")
        var rows = 200
        for key in keys {
            try db.changeKey(to: key)
            #expect(try db.fetchOne(String.self, "PRAGMA journal_mode") == mode.rawValue)
            try db.execute("INSERT INTO t VALUES ('after')")
            rows += 1
            #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == rows)
            #expect(count(key) == rows, "\(key)")
            #expect(count(old) == nil)
            old = key
        }
    }

    /// While a key is changed or content erased, each commit waits for the disk; then commits wait as before.
    @Test(arguments: DatabaseConfiguration.Durability.allCases, [DatabaseConfiguration.JournalMode.delete, .wal, .off])
    func changeKeyAndEraseKeepDurability(_ durability: DatabaseConfiguration.Durability, _ mode: DatabaseConfiguration.JournalMode) throws {
        var configuration = DatabaseConfiguration()
        (configuration.durability, configuration.journalMode) = (durability, mode)
        let db = try Connection(.file(path), key: .passphrase("old").quick, configuration: configuration)
        try db.execute("CREATE TABLE t(x)")
        let before = try db.main.synchronous
        try db.changeKey(to: .passphrase("new").quick)
        #expect(try db.main.synchronous == before)
        try db.main.eraseDeletedContent()
        #expect(try db.main.synchronous == before)
    }

    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .wal]) func changeKeyByNewFileReplacesTheSalt(mode: DatabaseConfiguration.JournalMode) throws {
        try make(mode).close()
        let salt = [UInt8](repeating: 9, count: 16)
        var old = try DatabaseKey.passphrase("old")
        let before = try Data(contentsOf: URL(fileURLWithPath: path)).prefix(16)
        for key in [try DatabaseKey.passphrase("new"), try .raw([UInt8](repeating: 1, count: 32), salt: salt), try .passphrase("x'2d'")] {
            let db = try Connection(.file(path), key: old.quick)
            try db.changeKey(to: key, mode: .newFile)
            #expect(!db.isOpen)
            #expect(count(key) == 200, "\(key)")
            #expect(count(old) == nil)
            #expect(try folder.names() == ["a.db"])
            #expect(try Connection(.file(path), key: key.quick).fetchOne(String.self, "PRAGMA journal_mode") == mode.rawValue)
            old = key
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).prefix(16) != before)
    }

    @Test func changeKeyByNewFileWorksOnAttachedDatabase() throws {
        let db = try make()
        let other = folder.path("b.db")
        try db.attach(.file(other), as: "b", key: .passphrase("b", cipher: .quick))
        try db.execute("CREATE TABLE b.t(x)")
        try db.schema("b").changeKey(to: .passphrase("new"), mode: .newFile)
        try db.execute("INSERT INTO b.t VALUES (1)")
        #expect(count(try .passphrase("new"), at: other) == 1)
        #expect(count(try .passphrase("old")) == 200)
    }

    /// No file beside the database keeps pages under the former key, and the mode is the one that was chosen.
    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .truncate, .persist], Schema.KeyChangeMode.allCases)
    func changeKeyRemovesTheOldRollbackJournal(mode: DatabaseConfiguration.JournalMode, way: Schema.KeyChangeMode) throws {
        let db = try make(mode)
        try db.execute("UPDATE t SET x = x || '.'")
        let journal = path + "-journal"
        func size() -> Int { (try? FileManager.default.attributesOfItem(atPath: journal)[.size] as? Int) ?? 0 }
        #expect((size() > 0) == (mode == .persist))
        let newKey = try DatabaseKey.passphrase("new").quick
        try db.changeKey(to: newKey, mode: way)
        #expect(size() == 0)
        // A new file closes the connection.
        if db.isOpen { #expect(try db.fetchOne(String.self, "PRAGMA journal_mode") == mode.rawValue) }
        db.close()
        #expect(count(newKey) == 200)
    }

    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .wal, .off, .memory, .persist], Schema.KeyChangeMode.allCases)
    func changeKeyReportsProgressAndCancels(mode: DatabaseConfiguration.JournalMode, way: Schema.KeyChangeMode) throws {
        struct Cancelled: Error {}
        let db = try make(mode, rows: 3000)
        let newKey = try DatabaseKey.raw([UInt8](repeating: 1, count: 32), salt: [UInt8](repeating: 2, count: 16))
        for limit in [1, 3, Int.max] {
            var seen: [DatabaseProgress] = []
            #expect(throws: Cancelled.self) {
                try db.changeKey(to: newKey, mode: way) { progress in
                    seen.append(progress)
                    if seen.count == limit || progress.fractionCompleted == 1 { throw Cancelled() }
                }
            }
            if limit == .max { #expect(seen.count > 4 && seen.map(\.fractionCompleted) == seen.map(\.fractionCompleted).sorted() && seen.last?.fractionCompleted == 1) }
            // The connection goes on with the old key, and so does the file, which still has its salt.
            try db.execute("INSERT INTO t VALUES ('after')")
            #expect(try db.fetchOne(String.self, "PRAGMA journal_mode") == mode.rawValue)
        }
        #expect(count(try .passphrase("old")) == 3003)
        #expect(count(newKey) == nil)
        var last = 0.0
        try db.changeKey(to: newKey, mode: way) { last = $0.fractionCompleted }
        #expect(last == 1)
        #expect(count(newKey) == 3003)
    }

    @Test func changeKeyWorksOnNamedSchema() throws {
        let db = try make()
        let other = folder.path("b.db")
        try db.attach(.file(other), as: "b \"c\"", key: .passphrase("b", cipher: .quick))
        try db.execute("CREATE TABLE \(identifier: "b \"c\"").t(x)")
        try db.schema("b \"c\"").changeKey(to: .passphrase("new"))
        #expect(count(try .passphrase("new"), at: other) == 0)
        #expect(count(try .passphrase("old")) == 200)
        // A database with settings of its own.
        var cipher = CipherConfiguration.quick
        cipher.pageSize = 8192
        try db.attach(.file(folder.path("c.db")), as: "C", key: .passphrase("c", cipher: cipher))
        try db.schema("C").changeKey(to: .passphrase("new"))
        _ = try Connection(.file(folder.path("c.db")), key: .passphrase("new", cipher: cipher))
        let error = #expect(throws: DatabaseError.self) { try db.schema("nowhere").changeKey(to: .passphrase("new")) }
        #expect(error?.reason == .schemaName)
        #expect(count(try .passphrase("old")) == 200)
    }

    // MARK: Refused, with the old key still working

    @Test func changeKeyInTransactionThrows() throws {
        let db = try make()
        try db.begin()
        try db.execute("INSERT INTO t VALUES ('uncommitted')")
        let error = #expect(throws: DatabaseError.self) { try db.changeKey(to: .passphrase("new")) }
        #expect(error?.reason == .misuse)
        try db.rollback()
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 200)
        #expect(count(try .passphrase("old")) == 200)
    }

    @Test func changeKeyWithOpenCursorThrows() throws {
        let db = try make()
        let cursor = try db.cursor(String.self, "SELECT x FROM t")
        _ = try cursor.next()
        let error = #expect(throws: DatabaseError.self) { try db.changeKey(to: .passphrase("new")) }
        #expect(error?.reason == .misuse)
        #expect(try cursor.collect().count == 199)
        #expect(count(try .passphrase("old")) == 200)
    }

    @Test func changeKeyOfReadOnlyOrPlaintextDatabaseThrows() throws {
        _ = try make()
        var readOnly = DatabaseConfiguration()
        readOnly.access = .readOnly
        let db = try Connection(.file(path), key: .passphrase("old").quick, configuration: readOnly)
        let error = #expect(throws: DatabaseError.self) { try db.changeKey(to: .passphrase("new")) }
        #expect(error?.code == .readOnly)
        let plain = try Connection(.file(folder.path("p.db")))
        try plain.execute("CREATE TABLE t(x)")
        let other = #expect(throws: DatabaseError.self) { try plain.changeKey(to: .passphrase("new")) }
        #expect(other?.reason == .notEncrypted)
        #expect(try Connection(.file(folder.path("p.db"))).fetchOne(Int.self, "SELECT count(*) FROM t") == 0)
    }

    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .wal]) func changeKeyOfLockedDatabaseThrowsBusy(mode: DatabaseConfiguration.JournalMode) throws {
        let db = try make(mode)
        for lock in ["BEGIN; SELECT * FROM t", "BEGIN IMMEDIATE"] {
            let other = try Connection(.file(path), key: .passphrase("old").quick)
            try other.execute(SQLScript(lock))
            let error = #expect(throws: DatabaseError.self) { try db.changeKey(to: .passphrase("new")) }
            #expect(error?.reason == .busy, "\(lock)")
            other.close()
            // The connection is as good as before.
            #expect(db.isOpen)
            #expect(try db.fetchOne(String.self, "PRAGMA journal_mode") == mode.rawValue)
            try db.execute("INSERT INTO t VALUES ('more')")
        }
        #expect(count(try .passphrase("old")) == 202)
        #expect(count(try .passphrase("new")) == nil)
        try db.changeKey(to: .passphrase("new"))
        #expect(count(try .passphrase("new")) == 202)
    }

    // MARK: Faults in the middle

    /// The disk is full in the middle of the rewrite, at several points. The engine's own rekey would go on with the new key
    /// and destroy the database with the next write.
    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .wal]) func fullDiskDuringChangeKeyLeavesOneKey(mode: DatabaseConfiguration.JournalMode) throws {
        try make(mode, rows: 2000).close()
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        var failures = 0
        // The journal grows beside the file: a limit on file size stops it, and the program sees an error.
        for blocks in stride(from: 8, through: size / 512 - 8, by: max(1, size / 512 / 12)) {
            try whole.write(to: URL(fileURLWithPath: path))
            let outcome = try Command.run(
                "sh", ["-c", "trap '' XFSZ; ulimit -f \(blocks); exec \"$0\" rekey \"$1\" old new", try BuildProducts.executable("FaultDriver"), path])
            if outcome.status != 0 { failures += 1 }
            let old = count(try .passphrase("old")), new = count(try .passphrase("new"))
            #expect((old == 2000) != (new == 2000), "blocks \(blocks): old \(old ?? -1) new \(new ?? -1) \(outcome)")
            #expect((old == 2000) == (outcome.status != 0), "blocks \(blocks): \(outcome)")
            if outcome.output.contains("rekeyFailed") { #expect(outcome.output.contains("write refused") && outcome.output.contains("opens with the old key")) }
        }
        #expect(failures > 3)
    }

    /// A process that dies at any moment leaves a file that opens with exactly one of the two keys, whole.
    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .wal], ["inPlace", "newFile"])
    func killDuringChangeKeyLeavesOneKey(mode: DatabaseConfiguration.JournalMode, way: String) throws {
        try make(mode, rows: 3000).close()
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        let program = try BuildProducts.executable("FaultDriver")
        var opened: [String: Int] = [:]
        // The time that it takes here and now, for kills at moments all along the way.
        let clock = ContinuousClock()
        let probe = try Command(program, ["rekey", path, "old", "new", way])
        try probe.waitForOutput("ready")
        let duration = try clock.measure { _ = try probe.end() }
        for moment in LongTests.steps(4, of: 20) {
            try whole.write(to: URL(fileURLWithPath: path))
            for suffix in ["-journal", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
            // At other times with a key that brings a salt of its own, which must not be in what a journal restores.
            let salted = moment / 5 % 2 == 1
            let newKey = salted
                ? try DatabaseKey.raw([UInt8](repeating: 1, count: 32), salt: [UInt8](repeating: 2, count: 16)) : try .passphrase("new")
            let driver = try Command(program, ["rekey", path, "old", "new", way] + (salted ? ["salted"] : []))
            try driver.waitForOutput("ready")
            Thread.sleep(forTimeInterval: Double(moment) / 20 * Double(duration.components.attoseconds) / 1e18 * 1.2)
            kill(driver.process.processIdentifier, SIGKILL)
            _ = try driver.end()
            let old = count(try .passphrase("old")), new = count(newKey)
            #expect((old == 3000) != (new == 3000), "moment \(moment): old \(old ?? -1), new \(new ?? -1)")
            opened[old == 3000 ? "old" : "new", default: 0] += 1
        }
        #expect((opened["old"] ?? 0) > 0)
    }

    /// The journal must restore the old salt: with the engine's own rekey, a raw key with a salt of its own puts that one into
    /// the journal, and the passphrase is lost.
    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .wal, .off, .memory])
    func killHalfwayThroughRewriteKeepsTheOldKey(mode: DatabaseConfiguration.JournalMode) throws {
        try make(mode, rows: 3000).close()
        // The modes that keep no journal on the disk are the connection's, and are replaced for the while.
        let journal = mode == .off || mode == .memory ? ["journal-\(mode.rawValue)"] : []
        let outcome = try Command.run(
            try BuildProducts.executable("FaultDriver"), ["rekey", path, "old", "new", "salted", "die"] + journal)
        #expect(outcome.status == -SIGKILL)
        #expect(try folder.names() == ["a.db", "a.db-journal"])
        #expect(count(try .passphrase("old")) == 3000)
    }
}
