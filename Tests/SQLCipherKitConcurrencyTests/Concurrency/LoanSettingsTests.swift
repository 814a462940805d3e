import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

/// A closure's settings for its connection end with the closure.
@Suite struct ConcurrencyLoanSettingsTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }

    init() throws {
        folder = try TemporaryFolder()
        try Connection(.file(path)).execute("CREATE TABLE t(x)")
    }

    @Test func settingsOfClosureAreRestored() throws {
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .milliseconds(1234)
        let queue = try DatabaseQueue(.file(path), configuration: configuration)
        func values() throws -> [String] {
            try queue.barrierWriteWithoutTransaction { db in
                ["\(try db.settings.busyTimeout)", "\(try db.settings.isEnabled(.foreignKeys))", "\(try db.settings.limit(.columns))"]
            }
        }
        let before = try values()
        #expect(before[0] == "\(Duration.milliseconds(1234))")
        nonisolated(unsafe) var calls = 0
        try queue.barrierWriteWithoutTransaction { db in
            let timeout = try db.settings.setBusyTimeout(.milliseconds(7))
            #expect(timeout == .milliseconds(7))
            try db.settings.setBusyTimeout(.milliseconds(8))
            let isOn = try db.settings.isEnabled(.foreignKeys)
            try db.settings.setEnabled(.foreignKeys, to: !isOn)
            try db.settings.setLimit(.columns, to: 50)
            try db.settings.setProgressHandler(every: 1) {
                calls += 1
                return true
            }
            _ = try db.fetchAll(Int.self, "SELECT x FROM t")
            try db.settings.setAuthorizer { $0.action == .read ? .deny : .allow }
            let limit = try db.settings.limit(.columns)
            #expect(limit == 50)
            #expect(throws: DatabaseError.self) { try db.fetchOne(Int.self, "SELECT x FROM t") }
        }
        #expect(calls > 0)
        calls = 0
        #expect(try values() == before)
        #expect(try queue.read { db in try db.fetchAll(Int.self, "SELECT x FROM t") } == [])
        #expect(calls == 0)
    }

    /// Every pragma of the engine that has a value, given as SQL with whatever changes it: the next call finds it as it was.
    @Test(arguments: [false, true]) func pragmasSetBySQLInClosureAreRestored(isPool: Bool) throws {
        let database = try isPool ? DatabasePool(.file(path)) : DatabaseQueue(.file(path))
        let other = folder.path("other.db")
        try Connection(.file(other)).execute("CREATE TABLE u(x)")
        try database.attach(.file(other), as: "other", key: nil)
        let names = Set(try database.read { db in try db.fetchAll(String.self, "SELECT name FROM pragma_pragma_list") })
        func value(_ db: Connection, _ name: String, _ schema: String) -> SQLValue? {
            try? db.fetchOne(SQLValue.self, SQL(raw: "PRAGMA \(schema).\(name)"))
        }
        var found: Set<String> = [], unchanged: Set<String> = []
        for schema in ["main", "other", "temp"] {
            for name in names.subtracting(Self.notOfTheConnection.keys).sorted() {
                guard let before = try database.writeWithoutTransaction({ db in value(db, name, schema) }) else { continue }
                var isChanged = false
                for candidate in Self.candidates {
                    try database.writeWithoutTransaction { db in
                        if (try? db.execute(SQL(raw: "PRAGMA \(schema).\(name) = \(candidate)"))) != nil {
                            isChanged = isChanged || value(db, name, schema) != before
                        }
                    }
                    let after = try database.writeWithoutTransaction { db in value(db, name, schema) }
                    #expect(after == before, "PRAGMA \(schema).\(name) = \(candidate)")
                }
                if isChanged { found.insert(name) } else if schema != "temp" { unchanged.insert(name) }
            }
        }
        for name in ["synchronous", "cache_size", "secure_delete", "foreign_keys", "busy_timeout", "temp_store", "analysis_limit"] {
            #expect(found.contains(name), "\(name) was not changed")
        }
        #expect(found.count > 25, "only these were changed: \(found.sorted())")
        if isPool { unchanged.remove("locking_mode") }
        #expect(unchanged.isSubset(of: Self.fixed), "\(unchanged.subtracting(Self.fixed).sorted())")

        // A setting without a value.
        func distinguishesCase() throws -> Bool {
            try database.writeWithoutTransaction { db in try db.fetchOne(Bool.self, "SELECT 'a' NOT LIKE 'A'") } == true
        }
        try database.writeWithoutTransaction { db in
            try db.execute("PRAGMA case_sensitive_like = ON")
            let distinguishes = try db.fetchOne(Bool.self, "SELECT 'a' NOT LIKE 'A'")
            #expect(distinguishes == true)
        }
        #expect(try !distinguishesCase())

        guard isPool else { return }
        let error = #expect(throws: DatabaseError.self) {
            try database.writeWithoutTransaction { db in try db.execute("PRAGMA locking_mode = EXCLUSIVE") }
        }
        #expect(error?.reason == .misuse)
        try database.write { db in try db.execute("INSERT INTO t VALUES (1)") }
        #expect(try database.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 1)
    }

    /// The first statement that needs it opens the temporary database.
    @Test(arguments: [false, true]) func settingsOfNewTemporaryDatabaseAreRestored(isPool: Bool) throws {
        for (name, value) in [("cache_size", "123"), ("cache_spill", "123"), ("max_page_count", "5000"), ("journal_size_limit", "4096")] {
            let database = try isPool ? DatabasePool(.file(path)) : DatabaseQueue(.file(path))
            let other = try DatabaseQueue(.file(path))
            let ask = SQL(raw: "PRAGMA temp.\(name)"), set = SQL(raw: "PRAGMA temp.\(name) = \(value)")
            let usual = try other.read { db in try db.fetchOne(Int.self, ask) }
            try database.barrierWriteWithoutTransaction { db in _ = try db.fetchAll(SQLValue.self, set) }
            _ = try database.read { db in try db.fetchAll(SQLValue.self, set) }
            #expect(try database.writeWithoutTransaction { db in try db.fetchOne(Int.self, ask) } == usual, "\(name)")
            #expect(try database.read { db in try db.fetchOne(Int.self, ask) } == usual, "\(name)")
        }
    }

    private static let candidates = ["0", "1", "2", "7", "100", "-100", "40000", "FAST", "MEMORY", "TRUNCATE", "EXCLUSIVE"]

    /// Pragmas that set nothing of the connection, and the settings that they change instead.
    private static let notOfTheConnection = [
        "application_id": "the file", "auto_vacuum": "the file", "default_cache_size": "the file", "encoding": "the file",
        "journal_mode": "the file, where there is a write-ahead log", "page_size": "the file", "schema_version": "the file",
        "user_version": "the file", "hard_heap_limit": "the process", "soft_heap_limit": "the process",
        "temp_store_directory": "the process", "incremental_vacuum": "nothing: an action", "integrity_check": "nothing: an action",
        "optimize": "nothing: an action", "quick_check": "nothing: an action", "wal_checkpoint": "nothing: an action",
    ]

    /// Pragmas that only tell something, or that are compiled to have one value.
    private static let fixed: Set<String> = [
        "collation_list", "compile_options", "data_version", "database_list", "foreign_key_check", "freelist_count", "function_list", "mmap_size",
        "module_list", "page_count", "pragma_list", "stats", "table_list", "threads",
    ]

    /// The kind of rollback journal is of the connection.
    @Test func journalModeOfClosureIsRestored() throws {
        let queue = try DatabaseQueue(.file(path))
        try queue.writeWithoutTransaction { db in _ = try db.main.setJournalMode(.delete) }
        for mode in [DatabaseConfiguration.JournalMode.memory, .off, .truncate, .persist] {
            try queue.writeWithoutTransaction { db in
                let now = try db.main.setJournalMode(mode)
                #expect(now == mode)
            }
            #expect(try queue.read { db in try db.main.journalMode } == .delete)
        }
    }

    @Test func settingsOfPrepareClosureAreKept() throws {
        var configuration = DatabaseConfiguration()
        nonisolated(unsafe) var calls = 0
        configuration.prepareDatabase = { db in
            try db.settings.setLimit(.columns, to: 60)
            try db.settings.setProgressHandler(every: 1) {
                calls += 1
                return true
            }
        }
        let queue = try DatabaseQueue(.file(path), configuration: configuration)
        try queue.barrierWriteWithoutTransaction { db in
            try db.settings.setLimit(.columns, to: 50)
            try db.settings.setProgressHandler(nil)
        }
        calls = 0
        #expect(try queue.read { db in try db.settings.limit(.columns) } == 60)
        #expect(try queue.read { db in try db.fetchAll(Int.self, "SELECT x FROM t") } == [])
        #expect(calls > 0)
    }

    /// A wait for a lock ends with its call, whatever the closure has set.
    @Test func busyWaitsOfClosureStayCancellable() async throws {
        let queue = try DatabaseQueue(.file(path))
        let other = try Connection(.file(path))
        try other.begin(.immediate)
        for sets in [
            { db in try db.settings.setBusyTimeout(.seconds(3600)) },
            { db in
                try db.settings.setBusyHandler { _ in
                    usleep(1000)
                    return true
                }
            },
        ] as [@Sendable (Connection) throws -> Void] {
            let error = await #expect(throws: DatabaseError.self) {
                try await queue.barrierWriteWithoutTransaction(timeout: .milliseconds(100)) { db in
                    try sets(db)
                    try db.execute("INSERT INTO t VALUES (1)")
                }
            }
            #expect(error?.reason == .timeout)
            let entered = Latch()
            let task = Task {
                try await queue.barrierWriteWithoutTransaction { db in
                    try sets(db)
                    entered.open()
                    try db.execute("INSERT INTO t VALUES (1)")
                }
            }
            try await entered.opened()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        try other.rollback()
        try await queue.write { db in try db.execute("INSERT INTO t VALUES (1)") }
    }
}
