import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// Databases with a schema from before the migrator, such as databases of other libraries.
@Suite struct AdoptedSchemaTests {
    let folder: TemporaryFolder
    let db: Connection

    init() throws {
        let made = try EncryptedDatabase()
        (folder, db) = (made.folder, made.db)
    }

    private var migrator: Migrator {
        var migrator = Migrator()
        migrator.add("notes") { db in try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)") }
        migrator.add("stars") { db in try db.execute("ALTER TABLE note ADD COLUMN stars INTEGER") }
        migrator.add("tags") { db in try db.execute("CREATE TABLE tag(name TEXT)") }
        return migrator
    }

    /// The schema after the first migrations, with its count, as a program has made it that counts in `user_version`.
    private func make(_ count: Int) throws {
        let statements = [
            "CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)", "ALTER TABLE note ADD COLUMN stars INTEGER",
            "CREATE TABLE tag(name TEXT)",
        ]
        for sql in statements.prefix(count) { try db.execute(SQL(raw: sql)) }
        try db.main.setUserVersion(Int32(count))
        if count > 0 { try db.execute("INSERT INTO note(title) VALUES ('kept')") }
    }

    @Test(arguments: 0...3) func migratorAdoptsUserVersionCount(count: Int) throws {
        try make(count)
        var migrator = migrator
        migrator.adopt(userVersions: [1: "notes", 2: "stars", 3: "tags"])
        let names = ["notes", "stars", "tags"]
        #expect(try migrator.applied(in: db) == Array(names.prefix(count)))
        #expect(try migrator.pending(in: db) == Array(names.dropFirst(count)))
        #expect(try migrator.dryRun(db) == Array(names.dropFirst(count)))
        #expect(try db.main.table("sqlcipherkit_migration") == nil)
        #expect(try migrator.migrate(db) == Array(names.dropFirst(count)))
        #expect(try db.fetchAll(String.self, "SELECT name FROM sqlcipherkit_migration ORDER BY position") == names)
        #expect(try db.fetchAll(String.self, "SELECT title FROM note") == (count > 0 ? ["kept"] : []))
        #expect(try db.main.columns(of: "note").map(\.name) == ["id", "title", "stars"])
        // From then on, the recorded migrations count, and not the adopted schema.
        try db.main.setUserVersion(1)
        #expect(try migrator.migrate(db) == [])
        #expect(try self.migrator.pending(in: db) == [])
    }

    /// Each set of GRDB's records, in each order: the first migrations are adopted, all others are refused and record nothing.
    @Test func migratorAdoptsMigrationsOfGRDB() throws {
        let names = ["notes", "stars", "tags"]
        for set in 0..<16 {
            let recorded = (names + ["moons"]).enumerated().filter { set >> $0.offset & 1 == 1 }.map(\.element)
            for order in [recorded, recorded.reversed()] {
                let db = try Connection(.memory)
                var migrator = migrator
                migrator.adoptGRDBMigrations()
                try db.execute("CREATE TABLE grdb_migrations(identifier TEXT NOT NULL PRIMARY KEY)")
                for name in order { try db.execute("INSERT INTO grdb_migrations VALUES (\(name))") }
                if order.contains("notes") { try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)") }
                if order.contains("stars"), order.contains("notes") { try db.execute("ALTER TABLE note ADD COLUMN stars INTEGER") }
                if order.contains("tags") { try db.execute("CREATE TABLE tag(name TEXT)") }
                guard Array(names.prefix(recorded.count)) == recorded else {
                    for call in [{ _ = try migrator.pending(in: $0) }, { _ = try migrator.dryRun($0) }, { _ = try migrator.migrate($0) }]
                        as [(Connection) throws -> Void]
                    {
                        let error = #expect(throws: DatabaseError.self, "\(order)") { try call(db) }
                        #expect(error?.reason == .migration)
                    }
                    #expect(try db.main.table("sqlcipherkit_migration") == nil)
                    continue
                }
                #expect(try migrator.dryRun(db) == Array(names.dropFirst(recorded.count)))
                #expect(try migrator.migrate(db) == Array(names.dropFirst(recorded.count)))
                #expect(try db.fetchAll(String.self, "SELECT name FROM sqlcipherkit_migration ORDER BY position") == names)
                #expect(try db.fetchAll(String.self, "SELECT identifier FROM grdb_migrations") == order)
            }
        }
        // Of migrations that were merged since, and in a database without GRDB.
        var merged = Migrator()
        merged.add("all", merging: ["notes", "stars"]) { db, done in
            #expect(done == ["notes"])
            try db.execute("ALTER TABLE note ADD COLUMN stars INTEGER")
        }
        merged.adoptGRDBMigrations()
        #expect(try merged.pending(in: db) == ["all"])
        try make(1)
        try db.execute("CREATE TABLE grdb_migrations AS SELECT 'notes' AS identifier")
        #expect(try merged.migrate(db) == ["all"])
        #expect(try merged.applied(in: db) == ["all"])
    }

    @Test func unmappedUserVersionIsRefused() throws {
        try make(3)
        var migrator = migrator
        migrator.adopt(userVersions: [1: "notes", 2: "stars"])
        for call in [{ _ = try migrator.pending(in: $0) }, { _ = try migrator.dryRun($0) }, { _ = try migrator.migrate($0) }]
            as [(Connection) throws -> Void]
        {
            let error = #expect(throws: DatabaseError.self) { try call(db) }
            #expect(error?.reason == .migration && error?.message.contains("user_version 3") == true)
        }
        #expect(try db.main.table("sqlcipherkit_migration") == nil)
    }

    @Test func migratorAdoptsSchemaByCondition() async throws {
        try make(2)
        try db.main.setUserVersion(0)
        var migrator = migrator
        // The latest that holds counts, in any order.
        migrator.adopt(through: "stars") { db in try db.main.columns(of: "note").contains { $0.name == "stars" } }
        migrator.adopt(through: "notes") { db in try db.main.table("note") != nil }
        #expect(try migrator.pending(in: db) == ["tags"])
        #expect(try migrator.migrate(db, through: "notes") == [])
        #expect(try migrator.applied(in: db) == ["notes", "stars"])
        db.close()
        let queue = try DatabaseQueue(.file(folder.path("a.db")), key: .passphrase("secret").quick)
        #expect(try await migrator.migrate(queue) == ["tags"])
        // A new database gets all.
        #expect(try migrator.migrate(Connection(.memory)) == ["notes", "stars", "tags"])
    }

    @Test func invalidAdoptionThrowsAndRecordsNothing() throws {
        try make(1)
        var migrator = migrator
        migrator.adopt(through: "moons") { _ in true }
        let unknown = #expect(throws: DatabaseError.self) { try migrator.migrate(db) }
        #expect(unknown?.reason == .invalidArgument)
        struct Odd: Error {}
        var failing = self.migrator
        failing.adopt(through: "notes") { _ in throw Odd() }
        #expect(throws: Odd.self) { try failing.migrate(db) }
        #expect(try db.main.table("sqlcipherkit_migration") == nil)
        // Development's erasure does not apply to a schema that another program has made.
        var erasing = self.migrator
        erasing.erasesOnSchemaChange = true
        erasing.adopt(userVersions: [1: "notes"])
        #expect(try erasing.migrate(db) == ["stars", "tags"])
        #expect(try db.fetchAll(String.self, "SELECT title FROM note") == ["kept"])
    }

    /// The adoption is a separate transaction: the recorded migrations stay.
    @Test func failedMigrationKeepsAdoptedMigrations() throws {
        try make(1)
        var failing = Migrator()
        failing.add("notes") { _ in }
        failing.add("fails") { db in try db.execute("INSERT INTO nothing VALUES (1)") }
        failing.adopt(userVersions: [1: "notes"])
        #expect(throws: DatabaseError.self) { try failing.migrate(db) }
        #expect(try failing.pending(in: db) == ["fails"])
    }
}
