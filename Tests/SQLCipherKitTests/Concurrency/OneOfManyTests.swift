import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// Changes of one connection only are refused to the closures of a pool, or done on all connections.
@Suite struct OneOfManyTests {
    let folder: TemporaryFolder
    let pool: DatabasePool

    init() throws {
        folder = try TemporaryFolder()
        pool = try DatabasePool(.file(folder.path("a.db")), key: .passphrase("one").quick)
        try pool.write { db in try db.execute("CREATE TABLE t(x)") }
    }

    static let changes: [(String, @Sendable (Connection) throws -> Void)] = [
        ("attach", { db in try db.attach(.memory, as: "m", key: nil) }),
        ("ATTACH", { db in try db.execute("ATTACH ':memory:' AS m") }),
        ("ATTACH of a parameter", { db in try db.execute("ATTACH ? AS m", [":memory:"]) }),
        ("detach", { db in try db.schema("b").detach() }),
        ("DETACH", { db in try db.execute("DETACH b") }),
        ("function", { db in try db.register(.function("half") { (x: Double) in x / 2 }) }),
        ("collation", { db in try db.register(.unicodeCollationIgnoringCase) }),
        ("unregister", { db in try db.unregister(.function("half", arguments: 1)) }),
        ("TEMP table", { db in try db.execute("CREATE TEMP TABLE u(x)") }),
        ("temp.table", { db in try db.execute("CREATE TABLE temp.u(x)") }),
        ("TEMP table of a query", { db in try db.execute("CREATE TEMPORARY TABLE u AS SELECT * FROM t") }),
        ("TEMP view", { db in try db.execute("CREATE TEMP VIEW u AS SELECT 1") }),
        ("temp.view", { db in try db.execute("CREATE VIEW temp.u AS SELECT 1") }),
        ("TEMP trigger", { db in try db.execute("CREATE TEMP TRIGGER u AFTER INSERT ON t BEGIN SELECT 1; END") }),
        ("temp.trigger", { db in try db.execute("CREATE TRIGGER temp.u AFTER INSERT ON main.t BEGIN SELECT 1; END") }),
        ("TEMP virtual table", { db in try db.execute("CREATE VIRTUAL TABLE temp.u USING fts5(x)") }),
    ]

    @Test func perConnectionChangesAreRefusedInPool() throws {
        try pool.attach(.file(folder.path("b.db")), as: "b", key: nil)
        let calls: [(String, ((Connection) throws -> Void) throws -> Void)] = [
            ("read", { body in try pool.read { db in try body(db) } }),
            ("write", { body in try pool.write { db in try body(db) } }),
            ("barrier", { body in try pool.barrierWriteWithoutTransaction { db in try body(db) } }),
            ("withWriter", { body in try pool.writeWithoutTransaction { db in try body(db) } }),
        ]
        for (call, run) in calls {
            for (what, change) in Self.changes {
                // There it is done for all connections.
                if call == "barrier", what.lowercased().contains("tach") { continue }
                let error = #expect(throws: DatabaseError.self, "\(what) in \(call)") { try run(change) }
                #expect(error?.reason == .misuse, "\(what) in \(call): \(String(describing: error))")
                #expect(error?.message.contains("one connection of the pool only") == true, "\(what) in \(call)")
            }
        }
        let names = try pool.write { db in try db.schemas().map(\.name).filter { $0 != "temp" } }
        #expect(names == ["main", "b"])
    }

    @Test func perConnectionChangesWorkOnQueueAndInPrepare() throws {
        let queue = try DatabaseQueue(.memory)
        try queue.write { db in try db.execute("CREATE TABLE t(x)") }
        for (_, change) in Self.changes {
            try queue.barrierWriteWithoutTransaction { db in
                if try !db.schemas().contains(where: { $0.name == "b" }) { try db.attach(.memory, as: "b", key: nil) }
                try change(db)
                if try db.schemas().contains(where: { $0.name == "m" }) { try db.schema("m").detach() }
                for kind in ["TABLE", "VIEW", "TRIGGER"] { _ = try? db.execute(SQL(raw: "DROP \(kind) IF EXISTS temp.u")) }
            }
        }
        var configuration = DatabaseConfiguration()
        configuration.prepareDatabase = { db in
            try db.register(.function("half") { (x: Double) in x / 2 })
            try db.execute("CREATE TEMP VIEW u AS SELECT half(x) AS x FROM main.t")
        }
        let other = try DatabasePool(.file(folder.path("c.db")), key: nil, configuration: configuration)
        try other.write { db in try db.execute("CREATE TABLE t(x)") }
        #expect(try other.read { db in try db.fetchAll(Double.self, "SELECT x FROM u") } == [])
    }

    /// GRDB's users attach there.
    @Test func databaseAttachedInPreparationIsOnEachConnection() throws {
        let (archive, key) = (folder.path("archive.db"), try DatabaseKey.passphrase("archive").quick)
        let made = try Connection(.file(archive), key: key)
        // A snapshot needs a log in each database.
        try made.main.setJournalMode(.wal)
        try made.execute("CREATE TABLE old(x)")
        made.close()
        var configuration = DatabaseConfiguration()
        configuration.prepareDatabase = { db in try db.attach(.file(archive), as: "Archive", key: key) }
        let queue = try DatabaseQueue(.file(folder.path("q.db")), key: key, configuration: configuration)
        let pool = try DatabasePool(.file(folder.path("p.db")), key: key, configuration: configuration)
        for database in [queue, pool] as [DatabaseWriter] {
            try database.write { db in try db.execute("INSERT INTO archive.old VALUES (1)") }
            for _ in 0..<3 { #expect(try database.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM archive.old") ?? 0 } > 0) }
        }
        try pool.attach(.file(folder.path("more.db")), as: "more", key: key)
        #expect(try pool.snapshot().read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM archive.old") } == 2)
        try pool.changeKey(to: .passphrase("new").quick)
        #expect(try pool.read { db in try db.schemas().map(\.name) }.contains("more"))
        // Another file on each connection is no pool.
        for each in 1...3 { try Connection(.file(folder.path("\(each).db")), key: key).execute("CREATE TABLE old(x)") }
        let number = Lock(0)
        configuration.prepareDatabase = { [folder] db in
            let path = folder.path("\(number.withLock { $0 += 1; return $0 }).db")
            try db.attach(.file(path), as: "archive", key: key)
        }
        let mixed = try DatabasePool(.file(folder.path("m.db")), key: key, configuration: configuration)
        let error = #expect(throws: DatabaseError.self) { try mixed.read { _ in } }
        #expect(error?.message.contains("archive") == true)
    }

    @Test func scopedAttachAndVacuumWorkInPool() throws {
        try pool.writeWithoutTransaction { db in
            try db.withAttached(.memory, as: "m", key: nil) { schema in try db.execute("CREATE TABLE m.u(x)") }
            try db.execute("VACUUM")
        }
        let error = #expect(throws: DatabaseError.self) {
            try pool.writeWithoutTransaction { db in try db.changeKey(to: .passphrase("two").quick) }
        }
        #expect(error?.reason == .misuse)
    }

    /// Objects that all connections see are created and altered as ever, and the package's own temporary tables are its own.
    @Test func sharedSchemaChangesWorkInPool() throws {
        try pool.write { db in
            for sql in [
                "CREATE TABLE shared(a, b)", "CREATE INDEX shared_a ON shared(a)", "CREATE VIEW both AS SELECT a, b FROM shared",
                "CREATE TRIGGER after_it AFTER INSERT ON shared BEGIN SELECT 1; END", "ALTER TABLE shared ADD COLUMN c",
                "ALTER TABLE shared RENAME COLUMN a TO d", "ALTER TABLE shared DROP COLUMN c", "ALTER TABLE shared RENAME TO common",
                "CREATE VIRTUAL TABLE words USING fts5(w)", "INSERT INTO words VALUES ('fox')", "DROP VIEW both",
            ] { try db.execute(SQL(raw: sql)) }
        }
        let suggestions: @Sendable (Connection) throws -> [String] = { db in try db.fullText("words").suggestions(for: "fo").map(\.term) }
        let (read, written) = (try pool.read(suggestions), try pool.write(suggestions))
        #expect(read == ["fox"] && written == ["fox"])
    }

    @Test func registeredFunctionReachesAllPoolConnections() throws {
        let pool = pool
        try pool.read { db in _ = try db.fetchOne(Int.self, "SELECT 1") }
        let snapshot = try pool.snapshot()
        try pool.register(.function("half") { (x: Double) in x / 2 })
        #expect(try pool.write { db in try db.fetchOne(Double.self, "SELECT half(3)") } == 1.5)
        try onThreads(8) { _ in
            for _ in 0..<20 {
                let half = try pool.read { db in try db.fetchOne(Double.self, "SELECT half(3)") }
                #expect(half == 1.5)
            }
        }
        #expect(try snapshot.read { db in try db.fetchOne(Double.self, "SELECT half(3)") } == 1.5)
        try pool.changeKey(to: .passphrase("two").quick)
        #expect(try pool.write { db in try db.fetchOne(Double.self, "SELECT half(3)") } == 1.5)
        try pool.unregister(.function("half", arguments: 1))
        for mode in 0..<2 {
            #expect(throws: DatabaseError.self) {
                if mode == 0 { try pool.read { db in try db.execute("SELECT half(3)") } }
                if mode == 1 { try pool.write { db in try db.execute("SELECT half(3)") } }
            }
        }
        let error = #expect(throws: DatabaseError.self) { try pool.unregister(.function("half", arguments: -1)) }
        #expect(error?.reason == .invalidArgument)
        try pool.read { _ in }
    }
}
