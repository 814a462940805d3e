import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

/// What a closure sets for its connection ends with the closure.
@Suite struct ConcurrencyLoanSettingsTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }

    init() throws {
        folder = try TemporaryFolder()
        try Connection(.file(path)).execute("CREATE TABLE t(x)")
    }

    @Test func theNextCallFindsThemAsTheyWere() throws {
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .milliseconds(1234)
        let queue = try DatabaseQueue(.file(path), configuration: configuration)
        func values() throws -> [String] {
            try queue.barrier { db in
                ["\(try db.settings.busyTimeout)", "\(try db.settings.isEnabled(.foreignKeys))", "\(try db.settings.limit(.columns))"]
            }
        }
        let before = try values()
        #expect(before[0] == "\(Duration.milliseconds(1234))")
        nonisolated(unsafe) var calls = 0
        try queue.barrier { db in
            let timeout = try db.settings.setBusyTimeout(.milliseconds(7))
            #expect(timeout == .milliseconds(7))
            try db.settings.setBusyTimeout(.milliseconds(8))
            let isOn = try db.settings.isEnabled(.foreignKeys)
            try db.settings.setEnabled(.foreignKeys, to: !isOn)
            try db.settings.setLimit(.columns, to: 50)
            try db.setProgressHandler(every: 1) {
                calls += 1
                return true
            }
            _ = try db.fetchAll(Int.self, "SELECT x FROM t")
            try db.setAuthorizer { $0.action == .read ? .deny : .allow }
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

    /// Every switch that is a pragma, and what waits for locks, given as SQL: the next call finds it as it was.
    @Test(arguments: [false, true]) func whatSQLSetsEndsToo(isPool: Bool) throws {
        let database = try isPool ? DatabasePool(.file(path)) : DatabaseQueue(.file(path))
        let names = try database.read { db in try db.fetchAll(String.self, "SELECT name FROM pragma_pragma_list") }
        func values() throws -> [String: Int] {
            try database.withWriter { db in
                var values: [String: Int] = [:]
                for name in names where Self.switches.contains(name) || name == "busy_timeout" {
                    values[name] = try db.fetchOne(Int.self, SQL(raw: "PRAGMA \(name)"))
                }
                return values
            }
        }
        let before = try values()
        #expect(before.count > 15)
        for (name, value) in before {
            try database.withWriter { db in
                try db.execute(SQL(raw: "PRAGMA \(name) = \(value == 0 ? 1 : 0)"))
                let now = try db.fetchOne(Int.self, SQL(raw: "PRAGMA \(name)"))
                #expect(now == (value == 0 ? 1 : 0), "\(name)")
            }
            #expect(try values() == before, "\(name)")
        }
        guard isPool else { return }
        let error = #expect(throws: DatabaseError.self) {
            try database.withWriter { db in try db.execute("PRAGMA locking_mode = EXCLUSIVE") }
        }
        #expect(error?.reason == .misuse)
        try database.write { db in try db.execute("INSERT INTO t VALUES (1)") }
        #expect(try database.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 1)
    }

    private static let switches: Set<String> = [
        "automatic_index", "cell_size_check", "checkpoint_fullfsync", "count_changes", "defer_foreign_keys",
        "empty_result_callbacks", "foreign_keys", "full_column_names", "fullfsync", "ignore_check_constraints", "legacy_alter_table",
        "query_only", "read_uncommitted", "recursive_triggers", "reverse_unordered_selects", "short_column_names", "trusted_schema",
        "writable_schema",
    ]

    @Test func whatPrepareSetsStays() throws {
        var configuration = DatabaseConfiguration()
        nonisolated(unsafe) var calls = 0
        configuration.prepare = { db in
            try db.settings.setLimit(.columns, to: 60)
            try db.setProgressHandler(every: 1) {
                calls += 1
                return true
            }
        }
        let queue = try DatabaseQueue(.file(path), configuration: configuration)
        try queue.barrier { db in
            try db.settings.setLimit(.columns, to: 50)
            try db.setProgressHandler(nil)
        }
        calls = 0
        #expect(try queue.read { db in try db.settings.limit(.columns) } == 60)
        #expect(try queue.read { db in try db.fetchAll(Int.self, "SELECT x FROM t") } == [])
        #expect(calls > 0)
    }

    /// A wait for a lock ends with its call, whatever the closure has set.
    @Test func waitsStayInterruptible() async throws {
        let queue = try DatabaseQueue(.file(path))
        let other = try Connection(.file(path))
        try other.begin(.immediate)
        for sets in [
            { db in try db.settings.setBusyTimeout(.seconds(3600)) },
            { db in
                try db.setBusyHandler { _ in
                    usleep(1000)
                    return true
                }
            },
        ] as [@Sendable (Connection) throws -> Void] {
            let error = await #expect(throws: DatabaseError.self) {
                try await queue.barrier(timeout: .milliseconds(100)) { db in
                    try sets(db)
                    try db.execute("INSERT INTO t VALUES (1)")
                }
            }
            #expect(error?.reason == .timeout)
            let entered = Latch()
            let task = Task {
                try await queue.barrier { db in
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
