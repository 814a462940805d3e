import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

@Suite struct BackupTests {
    let folder: TemporaryFolder
    let key: DatabaseKey, otherKey: DatabaseKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .passphrase("one")
        otherKey = try .passphrase("two")
    }

    private func rich(
        _ change: (inout DatabaseConfiguration) -> Void = { _ in }, cipher: CipherConfiguration = .quick, key: DatabaseKey? = nil
    ) throws -> Connection {
        var configuration = DatabaseConfiguration()
        change(&configuration)
        let db = try Connection(.file(folder.path("a.db")), key: (key ?? self.key).with(cipher: cipher), configuration: configuration)
        try RichDatabase.fill(db)
        return db
    }

    private static let layouts: [(String, CipherConfiguration)] = {
        var pages = CipherConfiguration.quick, plainPages = pages, old = pages, header = pages
        pages.pageSize = 1024
        plainPages.usesHMAC = false
        old.hmacAlgorithm = .sha1
        header.plaintextHeaderSize = 32
        header.salt = Array(0..<16)
        return [("default", .quick), ("1024", pages), ("no HMAC", plainPages), ("SHA-1", old), ("header", header)]
    }()

    /// The same key and settings, from every kind of settings, with and without a log.
    @Test(arguments: LongTests.sample(4, of: (0..<5).flatMap { [($0, DatabaseConfiguration.JournalMode.delete), ($0, .wal)] }))
    func backupKeepsKeyAndSettings(layout: Int, mode: DatabaseConfiguration.JournalMode) throws {
        let cipher = Self.layouts[layout].1
        let db = try rich({ $0.journalMode = mode }, cipher: cipher)
        var options = Schema.BackupOptions()
        options.pagesPerStep = 7
        var reports: [DatabaseProgress] = []
        try db.main.backup(toFileAt: folder.path("b.db"), options: options) { reports.append($0) }
        #expect(reports.count > 5 && reports.last?.fractionCompleted == 1)
        #expect(zip(reports, reports.dropFirst()).allSatisfy { $0.completed <= $1.completed })
        #expect(try folder.names().filter { $0.hasPrefix("b.db") } == ["b.db"])
        #expect(try FileManager.default.attributesOfItem(atPath: folder.path("b.db"))[.posixPermissions] as? Int == 0o600)
        let copy = try Connection(.file(folder.path("b.db")), key: key.with(cipher: cipher))
        #expect(try RichDatabase.summary(copy) == RichDatabase.summary(db))
        #expect(try copy.main.journalMode == .delete)
        #expect(try copy.main.damage().isEmpty)
    }

    /// Any encryption to any other.
    @Test(arguments: LongTests.sample(5, of: [0, 1, 3, 5].flatMap { from in [0, 2, 4, 5].map { (from, $0) } }))
    func backupConvertsToAnotherKey(from: Int, to: Int) throws {
        func encryption(_ index: Int, _ key: DatabaseKey) -> DatabaseKey {
            index < 5 ? key.with(cipher: Self.layouts[index].1) : .plaintext
        }
        let path = folder.path("a.db"), target = folder.path("b.db")
        let db = try open(path, encryption(from, key))
        try RichDatabase.fill(db, rows: 40)
        try db.main.backup(toFileAt: target, key: encryption(to, otherKey))
        let copy = try open(target, encryption(to, otherKey))
        #expect(try RichDatabase.summary(copy) == RichDatabase.summary(db))
        if to < 5 {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: target))
            #expect(bytes.range(of: Data("title 1".utf8)) == nil)
            copy.close()
            #expect(throws: DatabaseError.self) { try open(target, encryption(to, key)) }
        }
        // And back, over what is there.
        try db.execute("DELETE FROM note")
        try db.main.restore(fromFileAt: target, key: encryption(to, otherKey))
        #expect(try RichDatabase.summary(db) == RichDatabase.summary(open(target, encryption(to, otherKey))))
        #expect(try db.main.verify().problems.isEmpty)
        // With its own key still.
        db.close()
        #expect(try open(path, encryption(from, key)).fetchOne(Int.self, "SELECT count(*) FROM note") == 30)
        #expect(try folder.names() == ["a.db", "b.db"])
    }

    private func open(_ path: String, _ encryption: DatabaseKey) throws -> Connection {
        try Connection(.file(path), key: encryption)
    }

    @Test func backupCopiesToMemoryAndBack() throws {
        let db = try rich()
        let dump = try RichDatabase.summary(db)
        for memory in [try Connection(.memory, key: otherKey.quick), try Connection(.memory)] {
            try db.main.backup(to: memory.main)
            #expect(try RichDatabase.summary(memory) == dump)
            try db.execute("DELETE FROM pair")
            try memory.main.backup(to: db.main)
            #expect(try RichDatabase.summary(db) == dump)
            #expect(try db.main.verify().problems.isEmpty)
        }
        var cipher = CipherConfiguration.quick
        cipher.pageSize = 8192
        let large = try Connection(.memory, key: otherKey.with(cipher: cipher))
        try db.main.backup(to: large.main)
        #expect(try RichDatabase.summary(large) == dump)
        try large.main.backup(to: db.main)
        #expect(try RichDatabase.summary(db) == dump)
        // From memory into a file, with the memory's own key.
        let memory = try Connection(.memory, key: otherKey.quick)
        try db.main.backup(to: memory.main)
        try memory.main.backup(toFileAt: folder.path("m.db"))
        #expect(try RichDatabase.summary(open(folder.path("m.db"), otherKey.with(cipher: .quick))) == dump)
    }

    /// Without free pages, over a file and over other databases, with the pages laid out as in the source or not.
    @Test func compactBackupHasNoFreePages() throws {
        let db = try rich()
        try db.execute("DELETE FROM note WHERE id > 50")
        #expect(try db.main.freePageCount > 0)
        let dump = try RichDatabase.summary(db), path = folder.path("b.db")
        var options = Schema.BackupOptions.compact
        options.replacesFile = true
        try Data("old".utf8).write(to: URL(fileURLWithPath: path))
        var last = 0.0
        try db.main.backup(toFileAt: path, options: options) { last = $0.fractionCompleted }
        let file = try open(path, key.with(cipher: .quick)), other = folder.path("c.db")
        let copies = [
            file, try Connection(.memory, key: otherKey.quick), try Connection(.memory), try open(other, .plaintext),
        ]
        for copy in copies.dropFirst() { try db.main.backup(to: copy.main, options: .compact) }
        for copy in copies { #expect(try RichDatabase.summary(copy) == dump && copy.main.freePageCount == 0) }
        #expect(last == 1)
        #expect(try folder.names() == ["a.db", "b.db", "c.db"])
    }

    @Test func attachedDatabaseIsBackedUpAndRestored() throws {
        let db = try rich()
        try db.attach(.file(folder.path("x.db")), as: "archive", key: otherKey.with(cipher: .quick))
        try db.execute("CREATE TABLE archive.t AS SELECT 5 AS x")
        try db.schema("archive").backup(toFileAt: folder.path("y.db"))
        #expect(try open(folder.path("y.db"), otherKey.with(cipher: .quick)).fetchAll(Int.self, "SELECT x FROM t") == [5])
        try db.execute("UPDATE archive.t SET x = 6")
        try db.schema("archive").restore(fromFileAt: folder.path("y.db"))
        #expect(try db.fetchAll(Int.self, "SELECT x FROM archive.t") == [5])
        #expect(throws: DatabaseError.noSuchSchema) { try db.schema("nowhere").backup(toFileAt: folder.path("z.db")) }
    }

    /// An independent build reads what was backed up and restored.
    @Test func anotherSQLCipherBuildReadsBackups() throws {
        let db = try rich(cipher: CipherConfiguration())
        try db.main.backup(toFileAt: folder.path("b.db"))
        try db.main.backup(toFileAt: folder.path("c.db"), key: otherKey)
        try db.execute("DELETE FROM no_key")
        try db.main.restore(fromFileAt: folder.path("c.db"), key: otherKey)
        db.close()
        for (name, key) in [("a.db", "one"), ("b.db", "one"), ("c.db", "two")] {
            let found = try Python.run(
                """
                import sys
                from sqlcipher3 import dbapi2 as sqlite
                db = sqlite.connect(sys.argv[1])
                db.execute("PRAGMA key = '%s'" % sys.argv[2])
                print(db.execute('SELECT count(*), sum(rowid) FROM no_key').fetchone(), db.execute('PRAGMA integrity_check').fetchall(),
                      db.execute('PRAGMA cipher_integrity_check').fetchall(), db.execute("SELECT count(*) FROM own WHERE own MATCH 'common'").fetchone())
                """, folder.path(name), key)
            #expect(found == "(270, 202260) [('ok',)] [] (300,)")
        }
    }

    @Test func invalidBackupAndRestoreCallsThrow() throws {
        let db = try rich()
        let path = folder.path("b.db")
        func reason(_ body: () throws -> Void) -> DatabaseError.Reason? {
            do { try body() } catch { return (error as? DatabaseError)?.reason }
            return nil
        }
        try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
        #expect(reason { try db.main.backup(toFileAt: path) } == .cannotOpen)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("mine".utf8))
        var options = Schema.BackupOptions()
        options.replacesFile = true
        try Data().write(to: URL(fileURLWithPath: path + "-journal"))
        #expect(reason { try db.main.backup(toFileAt: path, options: options) } == .cannotOpen)
        try FileManager.default.removeItem(atPath: path + "-journal")
        try db.main.backup(toFileAt: path, options: options)
        #expect(try open(path, key.with(cipher: .quick)).fetchOne(Int.self, "SELECT count(*) FROM pair") == 300)
        // Itself, by any name.
        try FileManager.default.linkItem(atPath: folder.path("a.db"), toPath: folder.path("same.db"))
        #expect(reason { try db.main.backup(toFileAt: folder.path("same.db"), options: options) } == .cannotOpen)
        try FileManager.default.removeItem(atPath: folder.path("same.db"))
        #expect(reason { try db.main.backup(toFileAt: folder.path("a.db"), options: options) } == .cannotOpen)
        #expect(reason { try db.main.backup(to: db.main) } == .misuse)
        options.pagesPerStep = 0
        #expect(reason { try db.main.backup(toFileAt: folder.path("z.db"), options: options) } == .invalidArgument)
        #expect(reason { try db.main.backup(toFileAt: "") } == .invalidArgument)
        #expect(reason { try db.main.backup(toFileAt: folder.path("none/b.db")) } == .cannotOpen)
        #expect(reason { try db.main.backup(toFileAt: folder.url.path) } == .cannotOpen)
        // Uncommitted changes, and a target in use.
        try db.begin()
        try db.execute("DELETE FROM pair")
        #expect(reason { try db.main.backup(toFileAt: folder.path("z.db")) } == .misuse)
        #expect(reason { try db.main.restore(fromFileAt: path) } == .misuse)
        try db.rollback()
        // A wrong key, no backup, a damaged one.
        #expect(reason { try db.main.restore(fromFileAt: path, key: otherKey.with(cipher: .quick)) } == .wrongKeyOrNotADatabase)
        #expect(reason { try db.main.restore(fromFileAt: folder.path("none")) } == .cannotOpen)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        #expect(reason { try db.main.restore(fromFileAt: path) } == .conversionFailed)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM pair") == 300)
        try db.main.setJournalMode(.off)
        #expect(reason { try db.main.restore(fromFileAt: path) } == .conversionFailed)
        #expect(try db.main.journalMode == .off)
        db.close()
        #expect(reason { try db.main.backup(toFileAt: path) } == .closed)
        #expect(reason { try db.main.restore(fromFileAt: path) } == .closed)
        #expect(try folder.names() == ["a.db", "b.db"])
    }

    @Test func backupToUnwritableFolderThrows() throws {
        // Nothing is forbidden to root but what the system has no place for.
        let db = try rich()
        let place = "/proc/sqlcipherkit/b.db"
        let error = #expect(throws: DatabaseError.self) { try db.main.backup(toFileAt: place) }
        #expect(error?.reason == .cannotOpen && error?.path?.hasPrefix(place) == true)
    }

    @Test func cancelledBackupLeavesNoFile() async throws {
        struct Enough: Error {}
        let db = try rich()
        var options = Schema.BackupOptions()
        options.pagesPerStep = 5
        #expect(throws: Enough.self) { try db.main.backup(toFileAt: folder.path("b.db"), options: options) { if $0.fractionCompleted > 0.5 { throw Enough() } } }
        #expect(throws: Enough.self) { try db.main.backup(toFileAt: folder.path("b.db"), options: options) { if $0.fractionCompleted == 1 { throw Enough() } } }
        let handle = try db.interruptHandle
        let interrupted = #expect(throws: DatabaseError.self) {
            try db.main.backup(toFileAt: folder.path("b.db"), options: options) { if $0.fractionCompleted > 0.5 { handle.interrupt() } }
        }
        #expect(interrupted?.code.primary == .interrupted)
        let closed = #expect(throws: DatabaseError.self) {
            let other = try open(folder.path("a.db"), key.with(cipher: .quick))
            try other.main.backup(toFileAt: folder.path("b.db"), options: options) { _ in other.close() }
        }
        #expect(closed?.reason == .misuse)
        #expect(try folder.names() == ["a.db"])
        // A half-done restore is undone.
        try db.main.backup(toFileAt: folder.path("b.db"))
        try db.execute("DELETE FROM pair WHERE c > 100")
        let dump = try RichDatabase.summary(db)
        try db.execute("PRAGMA cache_size = 10")
        #expect(throws: Enough.self) { try db.main.restore(fromFileAt: folder.path("b.db"), options: options) { if $0.fractionCompleted > 0.5 { throw Enough() } } }
        #expect(try RichDatabase.summary(db) == dump)
        #expect(try db.main.verify().problems.isEmpty)
        // Also where the connection itself keeps no journal that could undo it: that is replaced for the while.
        for mode in [DatabaseConfiguration.JournalMode.off, .memory] {
            try db.main.setJournalMode(mode)
            #expect(throws: Enough.self) {
                try db.main.restore(fromFileAt: folder.path("b.db"), options: options) {
                    #expect(FileManager.default.fileExists(atPath: folder.path("a.db-journal")))
                    if $0.fractionCompleted > 0.5 { throw Enough() }
                }
            }
            #expect(try RichDatabase.summary(db) == dump)
            #expect(try db.main.journalMode == mode)
        }
        try db.main.vacuum()
        #expect(try db.main.journalMode == .memory)
        #expect(try db.main.verify().problems.isEmpty)
        db.close()
        let path = folder.path("a.db"), target = folder.path("c.db"), ownKey = self.key
        let task = Task.detached {
            withUnsafeCurrentTask { $0?.cancel() }
            try Connection(.file(path), key: ownKey.quick).main.backup(toFileAt: target)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try folder.names() == ["a.db", "b.db"])
    }
}

extension DatabaseError {
    fileprivate static var noSuchSchema: DatabaseError {
        DatabaseError(code: .error, reason: .schemaName, message: "no database is attached as nowhere")
    }
}
