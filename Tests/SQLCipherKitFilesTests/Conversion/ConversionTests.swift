import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

@Suite struct ConversionTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }

    init() throws { folder = try TemporaryFolder() }

    private func open(_ encryption: DatabaseKey) throws -> Connection {
        var configuration = DatabaseConfiguration()
        configuration.enforcesForeignKeys = false
        return try Connection(.file(path), key: encryption, configuration: configuration)
    }

    private static func encryptions() throws -> [DatabaseKey] {
        var wide = CipherConfiguration.quick
        wide.pageSize = 16384
        wide.hmacAlgorithm = .sha256
        wide.kdfAlgorithm = .sha256
        var header = CipherConfiguration.quick
        header.plaintextHeaderSize = 32
        header.salt = [UInt8](repeating: 0xab, count: 16)
        let raw = [UInt8](repeating: 3, count: 32)
        return [
            .plaintext, try .passphrase("one", cipher: .quick), try .passphrase("two", cipher: wide), .plaintext,
            try .raw(raw, cipher: .sqlCipher1), try .raw(raw, salt: [UInt8](repeating: 4, count: 16)),
            try .passphrase("three", cipher: header), try .passphrase("x'" + String(repeating: "0a", count: 32) + "'", cipher: .quick),
            .plaintext,
        ]
    }

    /// From each to the next; the content never changes.
    @Test(arguments: LongTests.sample(2, of: (0...2).flatMap { [(DatabaseConfiguration.JournalMode.delete, $0), (.wal, $0)] }))
    func conversionKeepsContentSchemaAndSettings(mode: DatabaseConfiguration.JournalMode, autoVacuum: Int) throws {
        let encryptions = try Self.encryptions()
        var summary: [String] = []
        do {
            // With autoVacuum 2, another encoding as well.
            _ = try Python.run(
                """
                import sys, sqlite3
                db = sqlite3.connect(sys.argv[1], isolation_level=None)
                db.execute("PRAGMA encoding = '%s'" % ('UTF-16le' if sys.argv[2] == '2' else 'UTF-8'))
                db.execute('PRAGMA auto_vacuum = ' + sys.argv[2])
                db.executescript('CREATE TABLE x(y); DROP TABLE x')
                """, path, "\(autoVacuum)")
            let db = try open(encryptions[0])
            try db.execute(SQL(raw: "PRAGMA journal_mode = \(mode.rawValue)"))
            try RichDatabase.fill(db)
            summary = try RichDatabase.summary(db)
        }
        #expect(summary.contains { $0.contains("auto_vacuum") && $0.contains("(\(autoVacuum))") })
        #expect(summary.contains { $0.contains("encoding") && $0.contains(autoVacuum == 2 ? "UTF-16le" : "UTF-8") })
        #expect(summary.count > 1400)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        for (from, to) in zip(encryptions, encryptions.dropFirst()) {
            try DatabaseConverter.convert(fileAt: path, from: from, to: to)
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o640)
            #expect(try folder.names() == ["a.db"], "\(to)")
            let head = try Array(Data(contentsOf: URL(fileURLWithPath: path)).prefix(16))
            let begins = to.isPlaintext || (to.cipher?.plaintextHeaderSize ?? 0) > 0
            #expect((head == Array("SQLite format 3\0".utf8)) == begins)
            let db = try open(to)
            #expect(try db.fetchOne(String.self, "PRAGMA journal_mode") == mode.rawValue)
            #expect(try RichDatabase.summary(db) == summary, "\(from) to \(to)")
            // The database goes on as before: the sequence, the triggers, the index kept by FTS5.
            try db.savepoint { db in
                try db.execute("INSERT INTO note(title) VALUES ('next')")
                #expect(db.lastInsertedRowID == 301)
                #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM log") == 301)
                return TransactionEnd.rollback(())
            }
        }
    }

    @Test func conversionKeepsThePageSizeByDefault() throws {
        let key = try DatabaseKey.raw([UInt8](repeating: 1, count: 32))
        let db = try Connection(.file(path))
        try db.execute(SQLScript("PRAGMA page_size = 8192; VACUUM; CREATE TABLE t(x)"))
        db.close()
        let settings = try DatabaseConverter.encrypt(fileAt: path, key: key)
        #expect(settings.pageSize == 8192)
        #expect(try Connection(.file(path), key: key.with(cipher: settings)).main.cipher?.settings == settings)
        try DatabaseConverter.decrypt(fileAt: path, key: key.with(cipher: settings))
        #expect(try Connection(.file(path)).fetchOne(Int.self, "PRAGMA page_size") == 8192)
        #expect(try DatabaseConverter.encrypt(fileAt: path, key: key.with(cipher: .sqlCipher4)) == CipherConfiguration())
        try DatabaseConverter.convert(fileAt: path, from: key, to: .plaintext, pageSize: 512)
        #expect(try Connection(.file(path)).fetchOne(Int.self, "PRAGMA page_size") == 512)
        // The smallest that SQLCipher has.
        #expect(try DatabaseConverter.encrypt(fileAt: path, key: key).pageSize == 4096)
        for pageSize in [256, 1000, 131_072] {
            let error = #expect(throws: DatabaseError.self) {
                try DatabaseConverter.convert(fileAt: path, from: key, to: .plaintext, pageSize: pageSize)
            }
            #expect(error?.reason == .invalidArgument)
        }
    }

    @Test(arguments: [1, 2, 3, 4], [1024, 4096, 8192]) func migrationUpgradesEverySQLCipherVersion(version: Int, pageSize: Int) throws {
        let ciphers = [CipherConfiguration.sqlCipher1, .sqlCipher2, .sqlCipher3, .sqlCipher4]
        var cipher = ciphers[version - 1]
        cipher.pageSize = pageSize
        let key = try DatabaseKey.passphrase("old")
        try RichDatabase.fill(Connection(.file(path), key: key.with(cipher: cipher)), rows: 50)
        let refused = #expect(throws: DatabaseError.self) { try DatabaseConverter.migrate(fileAt: path, key: .passphrase("other")) }
        #expect(refused?.reason == .wrongKeyOrNotADatabase)
        if version == 1 {
            let bare = #expect(throws: DatabaseError.self) { try DatabaseConverter.migrate(fileAt: path, key: key) }
            #expect(bare?.reason == .missingHMAC)
            #expect(try DatabaseConverter.migrate(fileAt: path, key: key, acceptingUnauthenticated: true) == nil)
        } else {
            #expect(try DatabaseConverter.migrate(fileAt: path, key: key) == version)
        }
        let db = try Connection(.file(path), key: key)
        #expect(try db.fetchOne(Int.self, "PRAGMA application_id") == 1_234_567)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM pair") == 50)
    }

    @Test func conversionReportsProgressAndCancels() throws {
        struct Cancelled: Error {}
        do {
            let db = try Connection(.file(path))
            try db.execute("CREATE TABLE t AS WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 30000) SELECT i, hex(randomblob(100)) AS x FROM n")
        }
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        let key = try DatabaseKey.raw([UInt8](repeating: 1, count: 32))
        for limit in [1, 5, Int.max] {
            var seen: [DatabaseProgress] = []
            do {
                try DatabaseConverter.encrypt(fileAt: path, key: key) { progress in
                    seen.append(progress)
                    if seen.count == limit || (limit == .max && progress.fractionCompleted == 1) { throw Cancelled() }
                }
                Issue.record("not cancelled")
            } catch is Cancelled {}
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
            #expect(try folder.names() == ["a.db"])
            if limit == .max {
                #expect(seen.count > 10 && seen.dropLast().map(\.completed) == seen.dropLast().map(\.completed).sorted())
                #expect(seen.contains { $0.fractionCompleted > 0.2 && $0.fractionCompleted < 0.8 })
            }
        }
        var last = 0.0
        try DatabaseConverter.encrypt(fileAt: path, key: key) { last = $0.fractionCompleted }
        #expect(last == 1)
        #expect(try Connection(.file(path), key: key).fetchOne(Int.self, "SELECT count(*) FROM t") == 30000)
    }

    @Test func conversionUsesCollationsOfPrepareClosure() throws {
        var configuration = DatabaseConfiguration()
        configuration.prepareDatabase = { db in
            try db.register(.collation("REVERSED") { a, b in
                a == b ? .orderedSame : a < b ? .orderedDescending : .orderedAscending
            })
            // A program may well do this here; it is no part of a copy.
            try db.execute("CREATE TABLE IF NOT EXISTS made_by_prepare(x)")
        }
        do {
            let db = try Connection(.file(path), configuration: configuration)
            try db.execute(SQLScript("CREATE TABLE t(x TEXT PRIMARY KEY COLLATE reversed) WITHOUT ROWID; INSERT INTO t VALUES ('a'), ('c'), ('b')"))
        }
        let key = try DatabaseKey.raw([UInt8](repeating: 1, count: 32))
        try DatabaseConverter.encrypt(fileAt: path, key: key, configuration: configuration)
        #expect(try folder.names() == ["a.db"])
        let db = try Connection(.file(path), key: key, configuration: configuration)
        #expect(try db.fetchAll(String.self, "SELECT x FROM t") == ["c", "b", "a"])
        try db.changeKey(to: .raw([UInt8](repeating: 2, count: 32)), mode: .newFile)
        #expect(try Connection(.file(path), key: .raw([UInt8](repeating: 2, count: 32)), configuration: configuration).main.verify().isIntact)
    }

    /// A journal that an older connection kept, an unfinished new file and even a planted link are no obstacle.
    @Test func conversionIgnoresLeftoverFilesAndLinks() throws {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = .persist
        do {
            let db = try Connection(.file(path), configuration: configuration)
            try db.execute(SQLScript("CREATE TABLE t(x); INSERT INTO t VALUES (1)"))
        }
        #expect(try folder.names() == ["a.db", "a.db-journal"])
        let other = folder.path("other"), new = path + "-sqlcipherkit-new"
        try Data("precious".utf8).write(to: URL(fileURLWithPath: other))
        try FileManager.default.createSymbolicLink(atPath: new, withDestinationPath: other)
        let key = try DatabaseKey.raw([UInt8](repeating: 1, count: 32))
        try DatabaseConverter.encrypt(fileAt: path, key: key)
        #expect(try Data(contentsOf: URL(fileURLWithPath: other)) == Data("precious".utf8))
        #expect(try folder.names() == ["a.db", "other"])
        try Data(repeating: 7, count: 100_000).write(to: URL(fileURLWithPath: new))
        try DatabaseConverter.decrypt(fileAt: path, key: key)
        #expect(try Connection(.file(path)).fetchAll(Int.self, "SELECT x FROM t") == [1])
        #expect(try folder.names() == ["a.db", "other"])
    }

    /// Another process commits all the while: what it was told is committed is in the new file.
    @Test func conversionLosesNoCommitOfAnotherProcess() throws {
        let key = try DatabaseKey.passphrase("k")
        try Connection(.file(path), key: key.quick).execute("CREATE TABLE t(x INTEGER)")
        let writer = try Command(try BuildProducts.executable("FaultDriver"), ["append", path, "k"])
        try writer.waitForOutput("20\n")
        // The engine's locks are not fair: beside a busy machine's writer the five seconds of the default may not be enough.
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .seconds(100)
        try DatabaseConverter.decrypt(fileAt: path, key: key.quick, configuration: configuration)
        let outcome = try writer.end()
        #expect(outcome.output.contains("error"))
        let committed = outcome.output.split(separator: "\n").compactMap { Int($0) }
        #expect(committed.count > 20)
        let there = Set(try Connection(.file(path)).fetchAll(Int.self, "SELECT x FROM t"))
        #expect(committed.allSatisfy { there.contains($0) }, "\(committed.count) committed, \(there.count) there")
    }

    @Test func conversionFollowsSymbolicLinks() throws {
        try Connection(.file(path)).execute("CREATE TABLE t AS SELECT 1 AS x")
        let link = folder.path("link.db")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        let key = try DatabaseKey.raw([UInt8](repeating: 1, count: 32))
        try DatabaseConverter.encrypt(fileAt: link, key: key)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
        #expect(try Connection(.file(path), key: key).fetchOne(Int.self, "SELECT x FROM t") == 1)
    }

    /// Constraints that were added to a table with rows, by `writable_schema` as SQLite's documentation of ALTER TABLE shows: what
    /// is there stays, in every kind of copy.
    @Test func copiesKeepRowsThatViolateConstraints() throws {
        let key = try DatabaseKey.passphrase("k", cipher: .quick), backup = folder.path("b.db")
        do {
            let db = try Connection(.file(path))
            try db.execute(SQLScript("""
                CREATE TABLE t(id INTEGER PRIMARY KEY, a, b TEXT);
                CREATE TABLE w(k TEXT PRIMARY KEY, v) WITHOUT ROWID;
                CREATE INDEX t_a ON t(a);
                INSERT INTO t(a, b) VALUES (NULL, 'x'), (-1, NULL), (2, 'y');
                INSERT INTO w VALUES ('one', NULL), ('two', -2);
                PRAGMA writable_schema = ON;
                UPDATE sqlite_schema SET sql = 'CREATE TABLE t(id INTEGER PRIMARY KEY, a NOT NULL ON CONFLICT REPLACE DEFAULT 7 CHECK (a > 0), b TEXT NOT NULL)' WHERE name = 't';
                UPDATE sqlite_schema SET sql = 'CREATE TABLE w(k TEXT PRIMARY KEY, v NOT NULL CHECK (v > 0)) WITHOUT ROWID' WHERE name = 'w';
                """))
        }
        func contents(_ key: DatabaseKey, _ path: String? = nil) throws -> [[SQLValue]] {
            let db = try Connection(.file(path ?? self.path), key: key)
            let rows: [(SQLValue, SQLValue, SQLValue)] = try db.fetchAll("SELECT id, a, b FROM t UNION ALL SELECT 0, k, v FROM w")
            #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO t(a, b) VALUES (-1, 'z')") }
            #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO t(a, b) VALUES (1, NULL)") }
            return rows.map { [$0.0, $0.1, $0.2] }
        }
        let expected: [[SQLValue]] = [
            [.integer(1), .null, .text("x")], [.integer(2), .integer(-1), .null], [.integer(3), .integer(2), .text("y")],
            [.integer(0), .text("one"), .null], [.integer(0), .text("two"), .integer(-2)],
        ]
        #expect(try contents(.plaintext) == expected)
        try DatabaseConverter.encrypt(fileAt: path, key: key)
        #expect(try contents(key) == expected)
        let new = try DatabaseKey.passphrase("new", cipher: .quick)
        try Connection(.file(path), key: key).changeKey(to: new, mode: .newFile)
        #expect(try contents(new) == expected)
        for options in [Schema.BackupOptions(), .compact] {
            let db = try Connection(.file(path), key: new)
            try db.main.backup(toFileAt: backup, options: options)
            #expect(try contents(new, backup) == expected)
            try db.execute("DELETE FROM t")
            try db.main.restore(fromFileAt: backup)
            db.close()
            #expect(try contents(new) == expected)
            try FileManager.default.removeItem(atPath: backup)
        }
        try DatabaseConverter.decrypt(fileAt: path, key: new)
        #expect(try contents(.plaintext) == expected)
        #expect(try !Connection(.file(path)).main.verify().isIntact)
    }

    // MARK: Refused, the file as it was

    @Test func failedConversionKeepsTheFile() throws {
        let key = try DatabaseKey.passphrase("k")
        try Connection(.file(path), key: key.quick).execute("CREATE TABLE t(x)")
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        var impossible = CipherConfiguration()
        impossible.pageSize = 100
        let attempts: [(DatabaseError.Reason, () throws -> Void)] = [
            (.wrongKeyOrNotADatabase, { try DatabaseConverter.encrypt(fileAt: path, key: key) }),
            (.wrongKeyOrNotADatabase, { try DatabaseConverter.decrypt(fileAt: path, key: .passphrase("wrong").quick) }),
            (.invalidKey, { try DatabaseConverter.convert(fileAt: path, from: key.with(cipher: .quick), to: key.with(cipher: impossible)) }),
            (.cannotOpen, { try DatabaseConverter.decrypt(fileAt: folder.path("none.db"), key: key) }),
        ]
        for (reason, attempt) in attempts {
            let error = #expect(throws: DatabaseError.self) { try attempt() }
            #expect(error?.reason == reason, "\(String(describing: error))")
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: path)
        let error = #expect(throws: DatabaseError.self) { try DatabaseConverter.decrypt(fileAt: path, key: key.quick) }
        #expect(error?.code == .readOnly)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        #expect(try folder.names() == ["a.db"])
    }

    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .wal], ["BEGIN; SELECT * FROM t", "BEGIN IMMEDIATE; INSERT INTO t VALUES (2)"])
    func conversionOfLockedDatabaseThrowsBusy(mode: DatabaseConfiguration.JournalMode, lock: String) throws {
        let key = try DatabaseKey.passphrase("k")
        var configuration = DatabaseConfiguration()
        configuration.journalMode = mode
        configuration.busyTimeout = .milliseconds(50)
        let other = try Connection(.file(path), key: key.quick, configuration: configuration)
        try other.execute(SQLScript("CREATE TABLE t(x); INSERT INTO t VALUES (1); \(lock)"))
        let error = #expect(throws: DatabaseError.self) {
            try DatabaseConverter.decrypt(fileAt: path, key: key.quick, configuration: configuration)
        }
        #expect(error?.reason == .busy)
        try other.commit()
        try other.execute("INSERT INTO t VALUES (3)")
        #expect(try other.fetchOne(String.self, "PRAGMA journal_mode") == mode.rawValue)
        other.close()
        try DatabaseConverter.decrypt(fileAt: path, key: key.quick, configuration: configuration)
        let rows = lock.contains("INSERT") ? [1, 2, 3] : [1, 3]
        #expect(try Connection(.file(path)).fetchAll(Int.self, "SELECT x FROM t") == rows)
    }

    /// A connection that only waited must not bring the old file's world into the new one.
    @Test func writeAfterConversionThrowsDatabaseReplaced() throws {
        let other = try Connection(.file(path))
        try other.execute("CREATE TABLE t(x)")
        try DatabaseConverter.encrypt(fileAt: path, key: .raw([UInt8](repeating: 1, count: 32)))
        let error = #expect(throws: DatabaseError.self) { try other.execute("INSERT INTO t VALUES (1)") }
        #expect(error?.code == .readOnlyMoved && error?.reason == .databaseReplaced, "\(String(describing: error))")
        #expect(error?.message.contains("open it again") == true)
        let late = #expect(throws: DatabaseError.self) { try other.attach(.memory, as: "m", key: .plaintext); try other.changeKey(to: .passphrase("k")) }
        #expect(late != nil)
    }

    @Test func compactBackupIncludesUncommittedRows() throws {
        struct Cancelled: Error {}
        let db = try Connection(.memory)
        try db.attach(.file(path), as: "a b", key: .passphrase("k", cipher: .quick))
        try db.execute("CREATE TABLE \(identifier: "a b").t(x)")
        let new = folder.path("new.db")
        let key = try DatabaseKey.raw([UInt8](repeating: 1, count: 32))
        try db.transaction { db in
            for number in 0..<2000 { try db.execute("INSERT INTO \(identifier: "a b").t(rowid, x) VALUES (\(number * 3), \("row \(number)"))") }
            #expect(throws: Cancelled.self) { try db.schema("a b").backup(toFileAt: new, key: .plaintext) { _ in throw Cancelled() } }
            #expect(try folder.names().filter { $0.hasPrefix("new") } == [])
            try db.schema("a b").backup(toFileAt: new, key: key, options: .compact)
        }
        #expect(try FileManager.default.attributesOfItem(atPath: new)[.posixPermissions] as? Int == 0o600)
        let copy = try Connection(.file(new), key: key)
        #expect(try copy.fetchOne(Int.self, "SELECT sum(rowid) FROM t") == 3 * 1999 * 1000)
        for (schema, reason) in [("a b", DatabaseError.Reason.cannotOpen), ("nowhere", .schemaName)] {
            let error = #expect(throws: DatabaseError.self) { try db.schema(schema).backup(toFileAt: new, key: .plaintext) }
            #expect(error?.reason == reason)
        }
        #expect(try folder.names() == ["a.db", "new.db"])
    }
}
