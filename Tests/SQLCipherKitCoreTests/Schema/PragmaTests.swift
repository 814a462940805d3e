import KitSupport
import SQLCipherKitCore
import Testing
import TestSupport

/// Settings: the setter gives back what took effect.
@Suite struct PragmaTests {
    let db: Connection

    init() throws { db = try Connection(.memory) }

    @Test func applicationIDAndUserVersionPersist() throws {
        let folder = try TemporaryFolder()
        let file = try Connection(.file(folder.path("a.db")), key: .passphrase("k").quick)
        #expect(try file.main.applicationID == 0)
        #expect(try file.main.setApplicationID(0x4e6f_7465) == 0x4e6f_7465)
        #expect(try file.main.setUserVersion(-7) == -7)
        file.close()
        let again = try Connection(.file(folder.path("a.db")), key: .passphrase("k").quick)
        #expect(try again.main.applicationID == 0x4e6f_7465)
        #expect(try again.main.userVersion == -7)
        #expect(try again.main.setUserVersion(.max) == .max)
        #expect(throws: DatabaseError.self) { try again.transaction { db in try db.main.setUserVersion(1); throw DatabaseError(message: "no") } }
        #expect(try again.main.userVersion == .max)
    }

    @Test func foreignKeysSettingReturnsTheValueInEffect() throws {
        #expect(try db.settings.isEnabled(.foreignKeys))
        #expect(try db.settings.setEnabled(.foreignKeys, to: false) == false)
        #expect(try db.settings.setEnabled(.foreignKeys, to: true))
        try db.transaction { db in
            // SQLite ignores it inside of a transaction: what is given back is the truth.
            let isOn = try db.settings.setEnabled(.foreignKeys, to: false)
            #expect(isOn)
        }
        #expect(try db.settings.isEnabled(.foreignKeys))
    }

    @Test func setJournalModeReturnsTheModeInEffect() throws {
        let folder = try TemporaryFolder()
        let file = try Connection(.file(folder.path("a.db")))
        #expect(try file.main.journalMode == .delete)
        for mode in [DatabaseConfiguration.JournalMode.wal, .truncate, .persist, .memory, .off, .delete] {
            #expect(try file.main.setJournalMode(mode) == mode)
            #expect(try file.main.journalMode == mode)
        }
        #expect(try db.main.setJournalMode(.wal) == .memory)
        _ = try file.main.setJournalMode(.wal)
        try file.transaction { db in
            // Either an error or the old mode; never a pretended success.
            let mode = try? db.main.setJournalMode(.delete)
            #expect(mode == nil || mode == .wal)
        }
        #expect(try file.main.journalMode == .wal)
    }

    @Test func synchronousAndCacheSizeReadBack() throws {
        #expect(try db.main.synchronous == .extra)
        for level in Synchronous.allCases {
            try db.main.setSynchronous(level)
            #expect(try db.main.synchronous == level)
        }
        let error = #expect(throws: DatabaseError.self) { try db.transaction { try $0.main.setSynchronous(.off) } }
        #expect(error?.message.contains("inside a transaction") == true)
        #expect(try db.main.setCacheSize(-4000) == -4000)
        #expect(try db.main.cacheSize == -4000)
        #expect(try db.main.pageSize == 4096)
        try db.execute("CREATE TABLE t(x)")
        #expect(try db.main.pageCount == 2)
        try db.execute("DROP TABLE t")
        #expect(try db.main.freePageCount == 1)
    }

    /// DO5: Apple's fsync alone promises nothing about a power cut.
    @Test(arguments: DatabaseConfiguration.Durability.allCases)
    func durabilityAsksTheDriveToEmptyItsCache(durability: DatabaseConfiguration.Durability) throws {
        var configuration = DatabaseConfiguration()
        configuration.durability = durability
        let db = try Connection(.memory, configuration: configuration)
        #expect(try db.fetchOne(Int.self, "PRAGMA fullfsync") == (durability == .off ? 0 : 1))
    }

    @Test func pragmasAreReadAndSetByName() throws {
        #expect(try db.main.pragma("cache_size", as: Int.self) != nil)
        #expect(try db.main.setPragma("cache_size", to: 123) == 123)
        #expect(try db.main.setPragma("recursive_triggers", to: true) == true)
        #expect(try db.main.pragma("recursive_triggers", as: Bool.self) == true)
        #expect(try db.main.setPragma("journal_mode", to: "off", as: String.self) == "off")
        #expect(try db.main.pragma("encoding", as: String.self) == "UTF-8")
        #expect(try db.main.setPragma("secure_delete", to: "fast", as: Int.self) == 2)
        #expect(try db.schema("MAIN").pragma("CACHE_SIZE", as: Int.self) == 123)
        #expect(try db.main.pragma("cipher_version", as: String.self)?.contains("community") == true)
        let text: String? = try db.main.pragma("compile_options")
        #expect(text != nil)
        #expect(throws: DatabaseError.self) { try db.main.pragma("encoding", as: Int.self) }
        #expect(throws: DatabaseError.self) { try db.main.setPragma("cache_size", to: Double.infinity) }
        #expect(try db.temp.pragma("page_count", as: Int.self) == 0)
    }

    /// Every pragma of the engine, with values and types of every kind: one that throws has set nothing.
    @Test func setPragmaThatThrowsChangesNothing() throws {
        let folder = try TemporaryFolder()
        let file = try Connection(.file(folder.path("a.db")))
        try file.execute("CREATE TABLE t(x)")
        let processWide: Set<String> = ["hard_heap_limit", "soft_heap_limit", "temp_store_directory"]
        var refused = 0
        func expect<T: SQLValueConvertible>(_ name: String, _ value: some SQLValueConvertible, _ type: T.Type) throws {
            let before = try file.main.pragma(name, as: SQLValue.self)
            do { try file.main.setPragma(name, to: value, as: type) } catch {
                refused += 1
                #expect(try file.main.pragma(name, as: SQLValue.self) == before, "\(name) = \(value) as \(type)")
            }
        }
        for name in try file.fetchAll(String.self, "SELECT name FROM pragma_pragma_list") where !processWide.contains(name) {
            guard (try? file.main.pragma(name, as: SQLValue.self)) != nil else { continue }
            for value in ["0", "1", "2", "MEMORY", "normal"] {
                try expect(name, value, String.self)
                try expect(name, value, Int.self)
            }
            for value in [0, 1, 2, 3] {
                try expect(name, value, String.self)
                try expect(name, value, Bool.self)
            }
        }
        #expect(refused > 100)
        #expect(throws: DatabaseError.self) { try file.main.setPragma("foreign_keys", to: "OFF") }
        #expect(try file.settings.isEnabled(.foreignKeys))
        #expect(try file.main.setPragma("foreign_keys", to: "OFF", as: Bool.self) == false)
    }

    @Test(arguments: ["foreign_key", "cache_size; DROP TABLE t", "", "cipher_pagesize"]) func misspelledPragmaThrows(_ name: String) throws {
        let error = #expect(throws: DatabaseError.self) { try db.main.pragma(name, as: Int.self) }
        #expect(error?.reason == .invalidArgument)
        #expect(throws: DatabaseError.self) { try db.main.setPragma(name, to: 1) }
    }

    @Test(arguments: ["key", "rekey", "HexKey", "textrekey"]) func setPragmaRefusesKeys(_ name: String) throws {
        let error = #expect(throws: DatabaseError.self) { try db.main.setPragma(name, to: "secret words") }
        #expect(error?.reason == .refusedSQL)
        #expect(error?.description.contains("secret") == false && error?.message.contains(" is refused: ") == true)
    }

    /// To read the answer, an action must not be run a second time.
    @Test func actionPragmaRunsOnce() throws {
        let folder = try TemporaryFolder()
        let file = try Connection(.file(folder.path("a.db")))
        try file.execute("PRAGMA auto_vacuum = INCREMENTAL")
        try file.execute("VACUUM")
        try file.execute("CREATE TABLE t(x)")
        try file.execute("WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 20) INSERT INTO t SELECT randomblob(4000) FROM n")
        try file.execute("DELETE FROM t")
        let free = try file.main.freePageCount
        #expect(free > 10)
        #expect(try file.main.setPragma("incremental_vacuum", to: 5) == nil)
        #expect(try file.main.freePageCount == free - 5)
    }

    @Test func tablePragmasReturnTypedRows() throws {
        try db.settings.setEnabled(.foreignKeys, to: false)
        try db.execute(SQLScript("""
            CREATE TABLE parent(a, b UNIQUE, PRIMARY KEY(a, b));
            CREATE TABLE owner(id PRIMARY KEY);
            CREATE TABLE child(id INTEGER PRIMARY KEY, a TEXT NOT NULL DEFAULT 'x', b, twice AS (b * 2), kept AS (b) STORED,
                FOREIGN KEY(a, b) REFERENCES parent(a, b) ON DELETE CASCADE, FOREIGN KEY(b) REFERENCES owner);
            INSERT INTO child(id, a, b) VALUES (7, 'no', 5);
            CREATE TABLE bare(p PRIMARY KEY REFERENCES parent(b)) WITHOUT ROWID;
            """))
        let violations = try db.main.foreignKeyViolations(in: "child").filter { $0.foreignKey == 1 }
        #expect(violations.map(\.rowID) == [7])
        #expect(violations.map(\.parent) == ["parent"])
        try db.execute("INSERT INTO bare VALUES ('lost')")
        #expect(try db.main.foreignKeyViolations().contains { $0.table == "bare" && $0.rowID == nil })
        let keys = try db.main.foreignKeys(of: "child")
        #expect(keys.map(\.columns) == [["a", "b"], ["b"]])
        #expect(keys.first?.onDelete == .cascade)
        #expect(keys.first?.parentColumns == ["a", "b"] && keys.last?.parentColumns == [])
        let columns = try db.main.columns(of: "child")
        #expect(columns.map(\.name) == ["id", "a", "b", "twice", "kept"])
        #expect(columns.map(\.kind) == [.normal, .normal, .normal, .generatedVirtual, .generatedStored])
        #expect(columns[0].primaryKeyPosition == 1)
        #expect(columns[1].isNotNull && columns[1].defaultValue == "'x'" && columns[1].type == "TEXT")
        #expect(try db.main.columns(of: "o'brien") == [])
        #expect(throws: DatabaseError.self) { try db.main.foreignKeyViolations(in: "nowhere") }
        #expect(throws: DatabaseError.self) { try db.main.columns(of: "a\0b") }
    }

    @Test func integrityCheckReportsCorruptIndex() throws {
        try db.execute(SQLScript("CREATE TABLE t(x, y); CREATE INDEX i ON t(x); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)"))
        #expect(try db.main.integrityCheck() == [])
        #expect(try db.main.integrityCheck(quick: true) == [])
        #expect(throws: DatabaseError.self) { try db.main.integrityCheck(limit: 0) }
        // An index that claims to be on another column does not fit its table.
        try db.execute("PRAGMA writable_schema = ON")
        try db.execute("UPDATE sqlite_schema SET sql = 'CREATE INDEX i ON t(y) WHERE y > 1' WHERE name = 'i'")
        try db.execute("UPDATE t SET y = y + 10")
        try db.execute("PRAGMA writable_schema = RESET")
        let messages = try db.main.integrityCheck()
        #expect(!messages.isEmpty)
        #expect(try db.main.integrityCheck(limit: 1).count == 1)
    }
}
