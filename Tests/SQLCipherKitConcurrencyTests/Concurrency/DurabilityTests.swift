import SQLCipherKitConcurrency
import SQLCipherKitCore
import Synchronization
import Testing
import TestSupport

/// The `PRAGMA synchronous` that `DatabaseConfiguration.durability` sets: on each connection, in each journal mode, and for each
/// database that is attached.
@Suite struct DurabilityTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func expected(_ durability: DatabaseConfiguration.Durability, _ mode: DatabaseConfiguration.JournalMode) -> Int {
        switch durability {
        case .everyCommit: 3
        case .wholeFile: mode == .wal ? 1 : 3
        case .off: 0
        }
    }

    private func found(_ db: Connection, _ schema: String = "main") throws -> Int? {
        try db.fetchOne(Int.self, SQL(raw: "PRAGMA \(schema).synchronous"))
    }

    @Test(arguments: DatabaseConfiguration.Durability.allCases)
    func durabilityAppliesToConnectionAndAttachments(durability: DatabaseConfiguration.Durability) throws {
        for mode in [DatabaseConfiguration.JournalMode.delete, .truncate, .persist, .wal] {
            var configuration = DatabaseConfiguration()
            (configuration.durability, configuration.journalMode) = (durability, mode)
            let path = folder.path("\(mode.rawValue).db")
            #expect(try found(Connection(.file(path), configuration: configuration)) == expected(durability, mode))
            // A file that has the mode already.
            configuration.journalMode = nil
            let db = try Connection(.file(path), configuration: configuration)
            #expect(try found(db) == expected(durability, mode), "\(mode)")
            // The journal mode of the attached file counts for it.
            let other = try db.attach(.file(folder.path("other.db")), as: "other", key: nil)
            #expect(try found(db, "other") == expected(durability, .delete))
            #expect(try found(db) == expected(durability, mode))
            try other.setJournalMode(.wal)
            try db.execute("CREATE TABLE other.\(identifier: mode.rawValue)(x)")
            #expect(try found(db, "other") == expected(durability, .wal))
            try other.setJournalMode(.delete)
            let late = folder.path("\(mode.rawValue)-late.db")
            try db.transaction { db in try db.attach(.file(late), as: "late", key: nil) }
            try db.execute("CREATE TABLE late.t(x)")
            #expect(try found(db, "late") == (durability == .off ? 3 : expected(durability, .delete)))
        }
    }

    /// The ways to change a file's journal mode.
    private static let changes: [String: @Sendable (Connection, DatabaseConfiguration.JournalMode) throws -> Void] = [
        "a call": { db, mode in try db.main.setJournalMode(mode) },
        "a pragma": { db, mode in try db.main.setPragma("journal_mode", to: mode.rawValue) },
        "SQL": { db, mode in try db.execute(SQL(raw: "PRAGMA journal_mode = \(mode.rawValue)")) },
    ]

    /// With each of them, on a connection and in a closure of a queue, the next commit waits as the mode needs.
    @Test(arguments: changes.keys.sorted(), DatabaseConfiguration.Durability.allCases)
    func journalModeChangeReappliesDurability(change: String, durability: DatabaseConfiguration.Durability) throws {
        let change = try #require(Self.changes[change])
        var configuration = DatabaseConfiguration()
        configuration.durability = durability
        let db = try Connection(.file(folder.path("own.db")), configuration: configuration)
        let queue = try DatabaseQueue(.file(folder.path("queue.db")), configuration: configuration)
        try db.execute("CREATE TABLE t(x)")
        try queue.write { db in try db.execute("CREATE TABLE t(x)") }
        for mode in [DatabaseConfiguration.JournalMode.wal, .delete, .wal, .truncate, .persist, .wal, .delete] {
            try change(db, mode)
            try db.execute("INSERT INTO t VALUES (1)")
            #expect(try (db.main.journalMode == .wal) == (mode == .wal))
            #expect(try found(db) == expected(durability, mode), "\(mode)")

            try queue.writeWithoutTransaction { db in
                try change(db, mode)
                try db.execute("INSERT INTO t VALUES (1)")
                #expect(try found(db) == expected(durability, mode), "\(mode), in the closure")
            }
            try queue.write { db in
                try db.execute("INSERT INTO t VALUES (1)")
                #expect(try (db.main.journalMode == .wal) == (mode == .wal))
                #expect(try found(db) == expected(durability, mode), "\(mode), after the closure")
            }
        }
        // Another connection can begin a log.
        try Connection(db.location).execute("PRAGMA journal_mode = WAL")
        try db.execute("INSERT INTO t VALUES (1)")
        #expect(try found(db) == expected(durability, .wal))
        // A caller's setting stays, in any mode.
        try db.execute("PRAGMA synchronous = OFF")
        try change(db, .delete)
        try db.execute("INSERT INTO t VALUES (1)")
        #expect(try found(db) == 0)
    }

    @Test(arguments: DatabaseConfiguration.Durability.allCases)
    func durabilityAppliesToPoolAndQueueConnections(durability: DatabaseConfiguration.Durability) throws {
        let seen = Mutex<[Int?]>([])
        var configuration = DatabaseConfiguration()
        configuration.durability = durability
        configuration.prepareDatabase = { db in
            let value = try db.fetchOne(Int.self, "PRAGMA synchronous")
            seen.withLock { $0.append(value) }
        }
        let pool = try DatabasePool(.file(folder.path("pool.db")), configuration: configuration)
        let wanted = expected(durability, .wal)
        try pool.write { db in try db.execute("CREATE TABLE t(x)") }
        // A snapshot opens connections too.
        let snapshot = try pool.snapshot()
        #expect(try snapshot.read { db in try found(db) } == wanted)
        try snapshot.close()
        try pool.attach(.file(folder.path("archive.db")), as: "archive", key: nil)
        try pool.write { db in try db.execute("CREATE TABLE archive.t(x)") }
        #expect(try pool.writeWithoutTransaction { db in [try found(db), try found(db, "archive")] } == [wanted, wanted])
        #expect(try pool.read { db in [try found(db), try found(db, "archive")] } == [wanted, wanted])
        let connections = seen.withLock { $0 }
        #expect(connections.count >= 4 && connections.allSatisfy { $0 == wanted }, "\(connections)")

        let queue = try DatabaseQueue(.file(folder.path("queue.db")), configuration: configuration)
        try queue.attach(.file(folder.path("attached.db")), as: "attached", key: nil)
        let delete = expected(durability, .delete)
        #expect(try queue.write { db in [try found(db), try found(db, "attached")] } == [delete, delete])
        // A closure's setting ends with the closure.
        try queue.writeWithoutTransaction { db in try db.execute("PRAGMA synchronous = EXTRA") }
        #expect(try queue.read { db in try found(db) } == delete)
    }
}
