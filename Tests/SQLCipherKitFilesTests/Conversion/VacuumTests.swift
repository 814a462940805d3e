import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSearch
import Testing
import TestSupport

@Suite struct VacuumTests {
    let folder: TemporaryFolder
    let key: DatabaseKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .passphrase("one")
    }

    private static func cipher(_ index: Int) -> CipherConfiguration {
        var cipher = CipherConfiguration.quick
        switch index {
        case 1: cipher.pageSize = 1024
        case 2: cipher.usesHMAC = false
        case 3: cipher.hmacAlgorithm = .sha1
        case 4: cipher.pageSize = 8192
        case 5:
            cipher.plaintextHeaderSize = 32
            cipher.salt = Array(0..<16)
        default: break
        }
        return cipher
    }

    /// With all settings but the default's, SQLite's VACUUM INTO writes a file that does not open.
    @Test(arguments: 0..<6, [DatabaseConfiguration.JournalMode.delete, .wal])
    func vacuumWorksWithEveryCipherSetting(index: Int, mode: DatabaseConfiguration.JournalMode) throws {
        let key = key.with(cipher: Self.cipher(index))
        var configuration = DatabaseConfiguration()
        configuration.journalMode = mode
        let db = try Connection(.file(folder.path("a.db")), key: key, configuration: configuration)
        try RichDatabase.fill(db)
        try db.execute("DELETE FROM note WHERE id % 3 = 0")
        let summary = try RichDatabase.summary(db)
        let before = try db.main.pageCount
        try db.main.vacuum()
        #expect(try db.main.pageCount < before && db.main.freePageCount == 0)
        #expect(try RichDatabase.summary(db) == summary)
        #expect(try db.main.damage().isEmpty)

        try db.execute("DELETE FROM own")
        let smaller = try RichDatabase.summary(db)
        try db.main.backup(toFileAt: folder.path("b.db"), options: .compact)
        db.close()
        configuration.journalMode = nil
        // With the same passphrase.
        let copy = try Connection(.file(folder.path("b.db")), key: key, configuration: configuration)
        #expect(try RichDatabase.summary(copy) == smaller && copy.main.freePageCount == 0)
        let again = try Connection(.file(folder.path("a.db")), key: key, configuration: configuration)
        #expect(try RichDatabase.summary(again) == smaller)
    }

    /// Also while the new content is copied back, and then the journal brings the former content back. SQLite does not ask there.
    @Test(arguments: [(true, .delete), (false, .delete), (true, .wal)] as [(Bool, DatabaseConfiguration.JournalMode)])
    func vacuumEndsWhenInterruptedWhileCopyingBack(byCall: Bool, mode: DatabaseConfiguration.JournalMode) throws {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = mode
        let path = folder.path("a.db")
        let db = try Connection(.file(path), key: key.quick, configuration: configuration)
        try RichDatabase.fill(db)
        try db.execute("CREATE TABLE large AS SELECT randomblob(3000) AS x FROM pragma_function_list, (VALUES (1), (2), (3), (4), (5))")
        try db.execute("DELETE FROM large WHERE rowid % 2")
        let summary = try RichDatabase.summary(db), pages = try db.main.pageCount
        if mode == .wal { _ = try db.main.checkpoint(.truncate) }
        try db.execute("PRAGMA cache_size = 50")
        var asked = 0
        // Before that, a vacuum writes nothing to the log or the journal of its database.
        func isCopying() throws -> Bool {
            let log = path + (mode == .wal ? "-wal" : "-journal")
            return try FileManager.default.fileExists(atPath: log) && Data(contentsOf: URL(fileURLWithPath: log)).count > 4096
        }
        let handle = try db.interruptHandle
        try db.settings.setProgressHandler {
            guard try isCopying() else { return true }
            asked += 1
            if byCall { handle.interrupt() }
            return byCall || asked < 3
        }
        let error = #expect(throws: DatabaseError.self) {
            if byCall { try db.execute("VACUUM") } else { try db.main.vacuum() }
        }
        #expect(error?.code == .interrupted && asked == (byCall ? 1 : 3), "\(asked) \(String(describing: error))")
        try db.settings.setProgressHandler(nil)
        #expect(try RichDatabase.summary(db) == summary && db.main.pageCount == pages)
        #expect(try db.main.damage().isEmpty && db.main.verify().problems == [])
        try db.main.vacuum()
        #expect(try RichDatabase.summary(db) == summary && db.main.pageCount < pages)
    }

    @Test func vacuumTracesOnlyTheCallersStatement() throws {
        let db = try Connection(.file(folder.path("a.db")), key: key.quick)
        try db.execute("CREATE TABLE t(x)")
        var seen: [String] = []
        try db.addTraceHook { event in if event.kind == .started { seen.append(event.sql) } }
        try db.execute("VACUUM")
        #expect(seen == ["VACUUM"])
    }

    @Test func vacuumOfAttachedDatabaseKeepsItsKey() throws {
        let other = try DatabaseKey.passphrase("two")
        for (name, main) in [("plain.db", nil), ("keyed.db", key)] as [(String, DatabaseKey?)] {
            let db = try Connection(.file(folder.path(name)), key: main.quick)
            try db.attach(.file(folder.path("x\(name)")), as: "a b", key: other.with(cipher: Self.cipher(1)))
            try db.execute(SQLScript("CREATE TABLE \"a b\".t(x); INSERT INTO \"a b\".t SELECT randomblob(500) FROM pragma_function_list; DELETE FROM \"a b\".t WHERE rowid % 2"))
            let sum = try db.fetchAll(Data.self, "SELECT x FROM \"a b\".t")
            try db.schema("a b").vacuum()
            try db.schema("a b").backup(toFileAt: folder.path("y\(name)"), options: .compact)
            try db.schema("a b").backup(toFileAt: folder.path("z\(name)"), key: key.with(cipher: .quick), options: .compact)
            #expect(try db.fetchAll(Data.self, "SELECT x FROM \"a b\".t") == sum)
            for file in ["x\(name)", "y\(name)"] {
                let db = try Connection(.file(folder.path(file)), key: other.with(cipher: Self.cipher(1)))
                #expect(try db.fetchAll(Data.self, "SELECT x FROM t") == sum && db.main.freePageCount == 0)
            }
            let copy = try Connection(.file(folder.path("z\(name)")), key: key.quick)
            #expect(try copy.fetchAll(Data.self, "SELECT x FROM t") == sum)
        }
    }

    private static func layout(_ db: Connection) throws -> [Int] {
        try [db.main, db.schema("other")].flatMap { schema in
            let report = try schema.spaceReport()
            return [report.pageSize, report.reservedBytesPerPage]
        }
    }

    private static let settings: [CipherConfiguration?] = [nil] + (0..<6).map { cipher($0) }

    /// A database keeps its page size and its reserved bytes, whatever it is beside: VACUUM's copy has the main database's key.
    @Test(arguments: 0..<7, [DatabaseConfiguration.JournalMode.delete, .wal])
    func vacuumKeepsPageSizeBesideOtherDatabases(main: Int, mode: DatabaseConfiguration.JournalMode) throws {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = mode
        func encryption(_ index: Int, _ text: String) throws -> DatabaseKey {
            try Self.settings[index].map { try DatabaseKey.passphrase(text).with(cipher: $0) } ?? .plaintext
        }
        let others = [(0, 4096), (0, 512), (0, 16384)] + (1..<7).map { ($0, 0) }
        // Every sixth pair; all of them with SQLCIPHERKIT_LONG_TESTS.
        for (number, (other, pageSize)) in others.enumerated() {
            guard LongTests.areOn || (main + number) % 6 == (mode == .wal ? 0 : 3) else { continue }
            let path = folder.path("other\(other)-\(pageSize)"), key = try encryption(other, "two")
            let made = try Connection(.file(path), key: key)
            if pageSize != 0 { try made.execute(SQL(raw: "PRAGMA page_size = \(pageSize)")) }
            try made.execute("PRAGMA journal_mode = \(raw: mode == .wal ? "wal" : "delete")")
            try made.execute("CREATE TABLE t(x)")
            made.close()
            let db = try Connection(
                .file(folder.path("main\(other)-\(pageSize)")), key: encryption(main, "one"), configuration: configuration)
            try RichDatabase.fill(db)
            try db.attach(.file(path), as: "other", key: key)
            try db.execute("INSERT INTO other.t SELECT randomblob(100) FROM note")
            let layout = try Self.layout(db)
            let rows = try db.fetchAll(Data.self, "SELECT x FROM other.t")
            for run in 0..<6 {
                let schema = run % 2 == 0 ? db.main : try db.schema("other")
                switch run / 2 {
                case 0: try schema.vacuum()
                case 1: try db.execute("VACUUM \(identifier: schema.name)")
                default: try schema.eraseDeletedContent()
                }
                let now = try Self.layout(db)
                #expect(now == layout, "\(main) beside \(other), \(pageSize), run \(run)")
                #expect(try db.fetchAll(Data.self, "SELECT x FROM other.t") == rows)
            }
            #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM note") == rows.count)
            for schema in try [db.main, db.schema("other")] { #expect(try schema.damage().isEmpty) }
            db.close()
            let again = try Connection(.file(path), key: key)
            #expect(try again.fetchAll(Data.self, "SELECT x FROM t") == rows && again.main.damage().isEmpty)
        }
    }

    #if os(Linux)
    /// SQLite's open temporary files in this process. Until 3.53 their names begin with `etilqs_`, and are gone once they are open;
    /// later ones have none, which Linux shows as `#` and a number.
    private static func temporaryFiles() throws -> [Data] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { name in
            let path = "/proc/self/fd/" + name
            let link = (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) ?? ""
            guard link.contains("/etilqs_") || link.contains("/#"), link.hasSuffix(" (deleted)") else { return nil }
            return try? Data(contentsOf: URL(fileURLWithPath: path))
        }
    }

    /// Nor does the content of a database in memory go to the disk, nor that of a database with a key without one, nor that of a
    /// plaintext database beside one with a key.
    @Test(arguments: ["memory", "plain beside keyed", "keyed beside plain"]) func vacuumKeepsUnencryptedContentInMemory(_ form: String) throws {
        let isKeyed = form == "plain beside keyed", marker = "marked: \(form)"
        let location = form == "memory" ? DatabaseLocation.memory : .file(folder.path("a.db"))
        let db = try Connection(location, key: isKeyed ? key.quick : nil)
        let other = try form == "memory"
            ? db.main : db.attach(.file(folder.path("b.db")), as: "other", key: isKeyed ? .plaintext : key.quick)
        try db.execute("""
            CREATE TABLE \(identifier: other.name).t AS WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 15000)
                SELECT printf('%s%0*d', \(marker), 1000, i) FROM n
            """)
        var isOnDisk = false, calls = 0
        try db.settings.setProgressHandler(every: 2000) {
            calls += 1
            for bytes in try Self.temporaryFiles() where bytes.range(of: Data(marker.utf8)) != nil { isOnDisk = true }
            return true
        }
        try other.vacuum()
        try db.execute("VACUUM \(identifier: other.name)")
        #expect(calls > 10 && !isOnDisk)
    }

    /// The new content goes through an encrypted file without a name, and not through memory.
    @Test func vacuumCopyIsEncryptedFile() throws {
        let db = try Connection(.file(folder.path("a.db")), key: key.with(cipher: Self.cipher(4)))
        try db.execute("PRAGMA cache_size = -200")
        try db.execute("CREATE TABLE t(x)")
        try db.transaction { db -> Void in
            for number in 0..<3000 {
                try db.execute("INSERT INTO t VALUES (\(String(repeating: "VACUUMED", count: 1000) + "\(number)"))")
            }
        }
        try db.execute("DELETE FROM t WHERE rowid % 3 = 0")
        var largest = 0, isPlain = false
        try db.settings.setProgressHandler(every: 2000) {
            guard largest < 1_000_000 else { return true }
            for bytes in try Self.temporaryFiles() {
                largest = max(largest, bytes.count)
                if bytes.range(of: Data("VACUUMED".utf8)) != nil { isPlain = true }
            }
            return true
        }
        try db.main.vacuum()
        #expect(largest > 500_000 && !isPlain)
        try db.settings.setProgressHandler(nil)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t WHERE x LIKE 'VACUUMED%'") == 2000)
        #expect(try db.main.verify().isIntact && db.main.freePageCount == 0)
        // A sorter's spilled rows stay in memory, also while VACUUM's copy is attached.
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM (SELECT x FROM t ORDER BY x || 'z')") == 2000)
    }
    #endif

    /// Row ids of tables without a key of their own as well, to which VACUUM in SQL gives new ones; for what refers to them.
    @Test(arguments: [true, false]) func vacuumCallKeepsRowIDs(isEncrypted: Bool) throws {
        let db = try Connection(.file(folder.path("a.db")), key: isEncrypted ? key.quick : nil)
        try db.execute(SQLScript("""
            CREATE TABLE t(x);
            CREATE VIRTUAL TABLE f USING fts5(x, content='t');
            INSERT INTO t(rowid, x) VALUES (3, 'three'), (7, 'seven'), (500, 'many');
            INSERT INTO f(f) VALUES ('rebuild');
            """))
        // Encrypted and plaintext side by side.
        let other = try db.attach(.file(folder.path("b.db")), as: "other", key: isEncrypted ? .plaintext : key.quick)
        try db.execute(SQLScript("CREATE TABLE other.t(x); INSERT INTO other.t(rowid, x) SELECT rowid, x FROM main.t"))
        for schema in [db.main, other] {
            try schema.vacuum()
            #expect(try db.fetchAll(Int.self, "SELECT rowid FROM \(identifier: schema.name).t") == [3, 7, 500])
        }
        #expect(try db.fullText("f").passesIntegrityCheck())
        // And nothing is left of the way to it.
        try db.execute("VACUUM")
        #expect(try db.fetchAll(Int.self, "SELECT rowid FROM t") == [1, 2, 3])
    }

    /// A file of unknown origin may have any text in its schema; VACUUM would run it.
    @Test(arguments: [
        "CREATE TEMP TABLE kept(a)", "CREATE TABLE temp.kept(a)", "CREATE TABLE kept(a); PRAGMA user_version = 7",
        "CREATE TRIGGER kept AFTER INSERT ON other BEGIN SELECT 1; END",
    ]) func vacuumRunsNoOtherStatementsInSchemaText(text: String) throws {
        let location = DatabaseLocation.file(folder.path("theirs.db"))
        do {
            let db = try Connection(location, key: key)
            try db.execute(SQLScript("CREATE TABLE kept(a); CREATE TABLE other(b); INSERT INTO kept VALUES (1); PRAGMA writable_schema = ON"))
            try db.execute("UPDATE sqlite_schema SET sql = \(text) WHERE name = 'kept'")
        }
        // Some of these texts SQLite does not read at all.
        guard let db = try? Connection(location, key: key) else { return }
        for run in [{ try $0.main.vacuum() }, { _ = try $0.main.eraseDeletedContent() }] as [(Connection) throws -> Void] {
            let error = #expect(throws: DatabaseError.self) { try run(db) }
            #expect(error?.code.primary == .corrupt, "\(String(describing: error))")
        }
        #expect(throws: DatabaseError.self) { try db.execute("VACUUM") }
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM main.sqlite_schema WHERE name = 'kept'") == 1)
        #expect(try db.main.userVersion == 0 && db.fetchOne(Int.self, "SELECT count(*) FROM temp.sqlite_schema") == 0)
        #expect(throws: Never.self) { try Connection(location, key: key) }
    }

    @Test(arguments: ["O'Brien", "a'b''c", "\"'\"", "it's \"x\""]) func vacuumAcceptsQuotesInSchemaNames(name: String) throws {
        let db = try Connection(.file(folder.path("a.db")), key: key.quick)
        let other = try db.attach(.file(folder.path("b.db")), as: name, key: key.quick)
        try db.execute("CREATE TABLE \(identifier: name).t(x UNIQUE)")
        try db.execute("WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO \(identifier: name).t SELECT hex(zeroblob(200)) || i FROM n")
        try db.execute("DELETE FROM \(identifier: name).t WHERE rowid > 7")
        let before = try Contents.of(db, schema: name), pages = try other.pageCount
        try other.vacuum()
        #expect(try Contents.of(db, schema: name) == before && other.pageCount < pages)
        #expect(try other.eraseDeletedContent().isComplete && other.verify().problems.isEmpty)
        try db.execute("VACUUM \(identifier: name)")
        #expect(try Contents.of(db, schema: name) == before && db.schemas().map(\.name).contains(name))
        try other.detach()
        let alone = try Connection(.file(folder.path("b.db")), key: key.quick)
        #expect(try Contents.of(alone) == before)
    }

    @Test func invalidVacuumCallsThrow() throws {
        let db = try Connection(.file(folder.path("a.db")), key: key.quick)
        try db.execute("CREATE TABLE t AS SELECT 1 AS x")
        func reason(_ body: () throws -> Void) -> DatabaseError.Reason? {
            do { try body() } catch { return (error as? DatabaseError)?.reason }
            return nil
        }
        #expect(reason { try db.schema("nowhere").vacuum() } == .schemaName)
        #expect(reason { try db.schema("nowhere").backup(toFileAt: folder.path("b.db"), options: .compact) } == .schemaName)
        #expect(reason { try db.transaction { try $0.main.vacuum() } } == .misuse)
        try Data("mine".utf8).write(to: URL(fileURLWithPath: folder.path("b.db")))
        #expect(reason { try db.main.backup(toFileAt: folder.path("b.db"), options: .compact) } == .cannotOpen)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path("b.db"))) == Data("mine".utf8))
        db.close()
        #expect(reason { try db.main.vacuum() } == .closed)
        #expect(reason { try db.main.backup(toFileAt: folder.path("c.db"), options: .compact) } == .closed)
    }
}
