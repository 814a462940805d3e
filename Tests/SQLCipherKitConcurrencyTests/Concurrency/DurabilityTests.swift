import SQLCipherKitConcurrency
import SQLCipherKitCore
import Synchronization
import Testing
import TestSupport

/// What `DatabaseConfiguration.durability` makes of `PRAGMA synchronous`: on each connection, in each journal mode, and for each
/// database that is attached.
@Suite struct DurabilityTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func expected(_ durability: DatabaseConfiguration.Durability, _ mode: DatabaseConfiguration.JournalMode) -> Int {
        switch durability {
        case .everyCommit: 3
        case .wholeFile: mode == .wal ? 1 : 2
        case .nothing: 0
        }
    }

    private func found(_ db: Connection, _ schema: String = "main") throws -> Int? {
        try db.fetchOne(Int.self, SQL(raw: "PRAGMA \(schema).synchronous"))
    }

    @Test(arguments: DatabaseConfiguration.Durability.allCases)
    func aConnectionAndWhatItAttaches(durability: DatabaseConfiguration.Durability) throws {
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
            #expect(try found(db, "other") == expected(durability, .wal))
            try other.setJournalMode(.delete)
            #expect(try found(db, "other") == expected(durability, .delete))
            try db.transaction { db in
                try db.attach(.file(folder.path("late.db")), as: "late", key: nil)
                #expect(try found(db, "late") == 3)
            }
        }
    }

    @Test(arguments: DatabaseConfiguration.Durability.allCases)
    func eachConnectionOfAPoolAndAQueue(durability: DatabaseConfiguration.Durability) throws {
        let seen = Mutex<[Int?]>([])
        var configuration = DatabaseConfiguration()
        configuration.durability = durability
        configuration.prepare = { db in
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
        #expect(try pool.withWriter { db in [try found(db), try found(db, "archive")] } == [wanted, wanted])
        #expect(try pool.read { db in [try found(db), try found(db, "archive")] } == [wanted, wanted])
        let connections = seen.withLock { $0 }
        #expect(connections.count >= 4 && connections.allSatisfy { $0 == wanted }, "\(connections)")

        let queue = try DatabaseQueue(.file(folder.path("queue.db")), configuration: configuration)
        try queue.attach(.file(folder.path("attached.db")), as: "attached", key: nil)
        let delete = expected(durability, .delete)
        #expect(try queue.write { db in [try found(db), try found(db, "attached")] } == [delete, delete])
        // What a closure sets ends with it.
        try queue.withWriter { db in try db.execute("PRAGMA synchronous = EXTRA") }
        #expect(try queue.read { db in try found(db) } == delete)
    }
}
