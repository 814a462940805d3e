import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

@Suite struct MigratorTests {
    let folder: TemporaryFolder
    let db: Connection

    init() throws {
        let made = try EncryptedDatabase()
        (folder, db) = (made.folder, made.db)
    }

    private var migrator: Migrator {
        var migrator = Migrator()
        migrator.add("authors") { db in
            try db.execute("CREATE TABLE author(id INTEGER PRIMARY KEY, name TEXT)")
            try db.execute("INSERT INTO author VALUES (1, 'Lem')")
        }
        migrator.add("books") { db in
            try db.execute("CREATE TABLE book(id INTEGER PRIMARY KEY, author INTEGER NOT NULL REFERENCES author(id) ON DELETE CASCADE)")
            try db.execute("INSERT INTO book VALUES (1, 1), (2, 1)")
        }
        return migrator
    }

    @Test func eachMigrationRunsOnce() throws {
        #expect(try migrator.applied(in: db) == [])
        #expect(try migrator.pending(in: db) == ["authors", "books"])
        #expect(try migrator.migrate(db, through: "authors") == ["authors"])
        #expect(try migrator.pending(in: db) == ["books"])
        #expect(try migrator.migrate(db, through: "authors") == [])
        #expect(try migrator.migrate(db) == ["books"])
        #expect(try migrator.migrate(db) == [])
        #expect(try migrator.applied(in: db) == ["authors", "books"])
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM book") == 2)
        var longer = migrator
        longer.add("stars") { db in try db.main.addColumn(SQLColumn("stars", .integer).notNull().default(0), to: "book") }
        #expect(try longer.migrate(db) == ["stars"])
        #expect(try db.fetchAll(Int.self, "SELECT stars FROM book") == [0, 0])
        let unknown = #expect(throws: DatabaseError.self) { try longer.migrate(db, through: "moons") }
        #expect(unknown?.reason == .invalidArgument)
        // With nothing to do nothing is written, not even by a connection that could not.
        var configuration = DatabaseConfiguration()
        configuration.access = .readOnly
        let reader = try Connection(.file(folder.path("a.db")), key: .passphrase("secret").quick, configuration: configuration)
        #expect(try longer.migrate(reader) == [])
    }

    @Test func failedMigrationRollsBack() throws {
        var failing = migrator
        failing.add("fails") { db in
            try db.execute("CREATE TABLE half(x)")
            try db.execute("DELETE FROM book")
            try db.execute("INSERT INTO nothing VALUES (1)")
        }
        failing.add("never") { db in try db.execute("CREATE TABLE never(x)") }
        #expect(throws: DatabaseError.self) { try failing.migrate(db) }
        #expect(try failing.applied(in: db) == ["authors", "books"])
        #expect(try !db.main.hasTable("half") && !db.main.hasTable("never"))
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM book") == 2)
        #expect(try db.settings.isEnabled(.foreignKeys))
        #expect(!db.isInTransaction)
    }

    @Test func aNewerDatabaseIsRefused() throws {
        var newer = migrator
        newer.add("later") { _ in }
        try newer.migrate(db)
        let error = #expect(throws: DatabaseError.self) { try migrator.migrate(db) }
        #expect(error?.reason == .migration)
        #expect(error?.message == "the database is newer than this program, which does not know its migration later")
        #expect(throws: DatabaseError.self) { try migrator.pending(in: db) }
        #expect(throws: DatabaseError.self) { try migrator.dryRun(db) }
        #expect(try newer.migrate(db) == [])
    }

    @Test func reorderedOrDuplicateMigrationsAreRefused() throws {
        try migrator.migrate(db)
        var other = Migrator()
        other.add("authors") { _ in }
        other.add("between") { db in try db.execute("CREATE TABLE between_(x)") }
        other.add("books") { _ in }
        let order = #expect(throws: DatabaseError.self) { try other.migrate(db) }
        #expect(order?.message == "the migration between comes before books, which is done already: add new ones at the end")
        #expect(try !db.main.hasTable("between_"))
        var twice = migrator
        twice.add("books") { _ in }
        let name = #expect(throws: DatabaseError.self) { try twice.migrate(db) }
        #expect(name?.reason == .invalidArgument)
        var empty = Migrator()
        empty.add("") { _ in }
        #expect(throws: DatabaseError.self) { try empty.migrate(db) }
    }

    /// Dropping a table with its foreign keys enforced would take the rows with it that refer to it.
    @Test func tableRebuildKeepsReferencingRows() throws {
        var rebuilding = migrator
        rebuilding.add("rebuild") { db in
            try db.execute("CREATE TABLE new(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)")
            try db.execute("INSERT INTO new SELECT * FROM author")
            try db.main.dropTable("author")
            try db.main.renameTable("new", to: "author")
        }
        try rebuilding.migrate(db)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM book") == 2)
        #expect(try db.settings.isEnabled(.foreignKeys))
        #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO book VALUES (3, 99)") }
        // The other way.
        var enforced = rebuilding
        enforced.add("enforced", foreignKeys: .enforced) { db in try db.execute("DELETE FROM author") }
        try enforced.migrate(db)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM book") == 0)
    }

    @Test func migrationThatBreaksForeignKeyRollsBack() throws {
        var breaking = migrator
        breaking.add("breaks") { db in try db.execute("DELETE FROM author") }
        let error = #expect(throws: DatabaseError.self) { try breaking.migrate(db) }
        #expect(error?.reason == .migration)
        #expect(error?.message == "after the migration breaks row 1 of book refers to a row of author that does not exist")
        #expect(try breaking.applied(in: db) == ["authors", "books"])
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM author") == 1)
        #expect(try db.settings.isEnabled(.foreignKeys))
    }

    @Test func aDryRunChangesNothing() throws {
        #expect(try migrator.dryRun(db) == ["authors", "books"])
        #expect(try db.main.tables().isEmpty)
        try migrator.migrate(db, through: "authors")
        let version = try db.fetchOne(Int.self, "PRAGMA schema_version")
        #expect(try migrator.dryRun(db) == ["books"])
        #expect(try db.fetchOne(Int.self, "PRAGMA schema_version") == version)
        var breaking = migrator
        breaking.add("breaks") { db in try db.execute("DELETE FROM author") }
        let error = #expect(throws: DatabaseError.self) { try breaking.dryRun(db) }
        #expect(error?.reason == .migration)
        #expect(try migrator.applied(in: db) == ["authors"])
        #expect(try db.settings.isEnabled(.foreignKeys))
    }

    @Test(arguments: ["COMMIT", "ROLLBACK", "END", "BEGIN"]) func aMigrationCannotEndItsTransaction(statement: String) throws {
        // A statement that was compiled before is refused as well.
        try db.execute("CREATE TABLE before(x)")
        try db.transaction { _ in }
        var ending = Migrator()
        ending.add("ends") { db in
            try db.execute("CREATE TABLE half(x)")
            try db.execute(SQL(raw: statement))
        }
        #expect(throws: DatabaseError.self) { try ending.migrate(db) }
        #expect(try !db.main.hasTable("half"))
        #expect(try ending.applied(in: db) == [])
        // Savepoints by their closures are free, and an authorizer is asked as ever.
        var asked = 0
        try db.settings.setAuthorizer { request in
            asked += 1
            return request.first == "forbidden" ? .deny : .allow
        }
        var nested = Migrator()
        nested.add("nested") { db in try db.transaction { db in try db.execute("CREATE TABLE whole(x)") } }
        try nested.migrate(db)
        #expect(try db.main.hasTable("whole"))
        var forbidden = nested
        forbidden.add("forbidden") { db in try db.execute("CREATE TABLE forbidden(x)") }
        #expect(throws: DatabaseError.self) { try forbidden.migrate(db) }
        asked = 0
        try db.execute("CREATE TABLE after(x)")
        #expect(asked > 0)
    }

    @Test func migratingInsideTransactionIsRefused() throws {
        let error = #expect(throws: DatabaseError.self) { try db.transaction { db in try migrator.migrate(db) } }
        #expect(error?.reason == .misuse)
        #expect(try db.main.tables().isEmpty)
    }

    @Test func migratorRunsOnQueueAndPool() async throws {
        let migrator = migrator
        var configuration = DatabaseConfiguration()
        configuration.journalMode = .wal
        for kind in ["queue", "pool"] {
            let location = DatabaseLocation.file(folder.path("\(kind).db"))
            let database: DatabaseWriter =
                kind == "queue"
                ? try DatabaseQueue(location, key: .passphrase("secret").quick, configuration: configuration)
                : try DatabasePool(location, key: .passphrase("secret").quick, configuration: configuration)
            #expect(try await migrator.migrate(database, through: "authors") == ["authors"])
            #expect(try await database.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM author") } == 1)
            #expect(try await migrator.migrate(database) == ["books"])
            let pending = try await database.read { db in try migrator.pending(in: db) }
            #expect(pending == [])
            #expect(try await database.write { db in try db.settings.isEnabled(.foreignKeys) })
            try await database.close()
        }
    }

    // MARK: Processes

    private func makeRows(_ count: Int) throws {
        try db.execute("CREATE TABLE t(x)")
        try db.transaction { db in
            for number in 0..<count { try db.execute("INSERT INTO t VALUES (\("MARKER \(number) " + String(repeating: "x", count: 200)))") }
        }
    }

    @Test func severalProcessesRunEachMigrationOnce() throws {
        try makeRows(100)
        let driver = try BuildProducts.executable("FaultDriver")
        let processes = try (0..<4).map { _ in try Command(driver, ["records-migrate", folder.path("a.db"), "secret", "6"]) }
        var done: [String] = []
        for process in processes {
            let outcome = try process.end()
            #expect(outcome.status == 0, "\(outcome)")
            done += outcome.output.split(separator: "\n").map(String.init).filter { $0.hasPrefix("rebuild") }
        }
        #expect(done.sorted() == (0..<6).map { "rebuild \($0)" })
        #expect(try db.fetchAll(Int.self, "SELECT DISTINCT version FROM t") == [5])
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 100)
    }

    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .wal])
    func killedMigrationLeavesOldOrNewSchema(mode: DatabaseConfiguration.JournalMode) throws {
        try makeRows(3000)
        try db.main.setJournalMode(mode)
        db.close()
        let path = folder.path("a.db")
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        let driver = try BuildProducts.executable("FaultDriver")
        let probe = try Command(driver, ["records-migrate", path, "secret", "5"])
        try probe.waitForOutput("ready")
        let duration = try ContinuousClock().measure { _ = try probe.end() }
        let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
        var outcomes: [Int: Int] = [:]
        for moment in LongTests.steps(4, of: 15) {
            for name in try folder.names() { try FileManager.default.removeItem(atPath: folder.path(name)) }
            try whole.write(to: URL(fileURLWithPath: path))
            let process = try Command(driver, ["records-migrate", path, "secret", "5"])
            try process.waitForOutput("ready")
            Thread.sleep(forTimeInterval: Double(moment) / 15 * seconds)
            kill(process.process.processIdentifier, SIGKILL)
            _ = try process.end()
            #expect(try folder.allBytes().range(of: Data("MARKER".utf8)) == nil)
            let db = try Connection(.file(path), key: .passphrase("secret").quick)
            #expect(try db.main.integrityCheck() == [])
            #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 3000)
            let done = try Migrator().applied(in: db)
            outcomes[done.count, default: 0] += 1
            #expect(done == (0..<done.count).map { "rebuild \($0)" })
            // The schema and the rows are as after the last migration that was noted.
            #expect(try db.main.columns(of: "t").map(\.name) == (done.isEmpty ? ["x"] : ["x", "version"]))
            if !done.isEmpty { #expect(try db.fetchAll(Int.self, "SELECT DISTINCT version FROM t") == [done.count - 1]) }
            #expect(try !db.main.hasTable("new"))
        }
        // Some were cut off.
        #expect(outcomes.filter { $0.key < 5 }.values.reduce(0, +) > 0)
    }

    @Test func migrationOnFullDiskLeavesOldSchema() throws {
        try makeRows(2000)
        db.close()
        let path = folder.path("a.db")
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        var failures = 0
        for blocks in [0, whole.count / 1024, whole.count / 512, whole.count / 512 + 200] {
            try whole.write(to: URL(fileURLWithPath: path))
            let outcome = try Command.run(
                "sh",
                ["-c", "trap '' XFSZ; ulimit -f \(blocks); exec \"$0\" records-migrate \"$1\" secret 3 2>&1 | cat",
                 try BuildProducts.executable("FaultDriver"), path])
            let again = try Connection(.file(path), key: .passphrase("secret").quick)
            #expect(try again.fetchOne(Int.self, "SELECT count(*) FROM t") == 2000)
            #expect(try again.main.integrityCheck() == [])
            let done = try Migrator().applied(in: again).count
            #expect((done == 3) == outcome.output.contains("done"), "\(blocks): \(outcome)")
            if done < 3 { failures += 1 }
        }
        #expect(failures > 0)
    }
}
