import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Synchronization
import Testing

/// Migrations that stand for former migrations.
@Suite struct MergedMigrationTests {
    private static func former(_ count: Int) -> Migrator {
        var migrator = Migrator()
        for (name, table) in [("a", "t1"), ("b", "t2"), ("c", "t3")].prefix(count) {
            migrator.add(name) { db in try db.execute(SQL(raw: "CREATE TABLE \(table)(x)")) }
        }
        return migrator
    }

    private static var merged: Migrator {
        var migrator = Migrator()
        migrator.add("abc", merging: ["a", "b", "c"]) { db, done in
            for (name, table) in [("a", "t1"), ("b", "t2"), ("c", "t3")] where !done.contains(name) {
                try db.execute(SQL(raw: "CREATE TABLE \(table)(x)"))
            }
        }
        migrator.add("d") { db in try db.execute("CREATE TABLE t4(x)") }
        return migrator
    }

    /// From wherever a database comes, it gets the same schema, once.
    @Test(arguments: 0...3) func mergedMigrationGivesTheSameSchemaFromAnyState(former: Int) throws {
        let db = try Connection(.memory)
        try Self.former(former).migrate(db)
        #expect(try Self.merged.pending(in: db) == (former == 3 ? ["d"] : ["abc", "d"]))
        #expect(try Self.merged.dryRun(db) == (former == 3 ? ["d"] : ["abc", "d"]))
        #expect(try Self.merged.migrate(db) == (former == 3 ? ["d"] : ["abc", "d"]))
        #expect(try Self.merged.migrate(db) == [])
        #expect(try Self.merged.applied(in: db) == (former == 3 ? ["a", "b", "c", "d"] : ["abc", "d"]))
        let tables = try db.main.tables().map(\.name).filter { $0.hasPrefix("t") }
        #expect(tables == ["t1", "t2", "t3", "t4"])

        // Merged again, with the names of all that came before.
        var again = Migrator()
        again.add("abcd", merging: ["a", "b", "c", "abc", "d"]) { _, _ in Issue.record("all of it is done") }
        again.add("e") { db in try db.execute("CREATE TABLE t5(x)") }
        #expect(try again.migrate(db) == ["e"])
        // A program with the former migrations takes the database for a newer one.
        let error = #expect(throws: DatabaseError.self) { try Self.merged.pending(in: db) }
        #expect(error?.reason == .migration)
    }

    @Test func mergedMigrationAlreadyAppliedWritesNothing() throws {
        let db = try Connection(.memory)
        try Self.former(3).migrate(db)
        let before = try Contents.of(db)
        #expect(try Self.merged.migrate(db, through: "abc") == [])
        #expect(try Contents.of(db) == before)
    }

    @Test func duplicateMergedMigrationNamesAreRefused() throws {
        let db = try Connection(.memory)
        for (name, former) in [("a", ["a"]), ("x", ["y", "y"]), ("x", ["a"]), ("x", [""])] {
            var migrator = Self.former(1)
            migrator.add(name, merging: former) { _, _ in }
            let error = #expect(throws: DatabaseError.self) { try migrator.migrate(db) }
            #expect(error?.reason == .invalidArgument)
        }
        #expect(try db.main.tables().isEmpty)
    }

    @Test func formerMigrationsOutOfOrderAreRefused() throws {
        let db = try Connection(.memory)
        try Self.former(3).migrate(db)
        var other = Migrator()
        other.add("abc", merging: ["b", "a", "c"]) { _, _ in Issue.record("not to be done") }
        let error = #expect(throws: DatabaseError.self) { try other.migrate(db) }
        #expect(error?.reason == .migration)
    }

    // MARK: Erasing, for development

    private static func notes(_ columns: String, isErasing: Bool = true) -> Migrator {
        var migrator = Migrator()
        migrator.erasesOnSchemaChange = isErasing
        migrator.add("notes") { db in
            try db.execute(SQL(raw: "CREATE TABLE note(\(columns))"))
            try db.execute("CREATE TABLE tag(note REFERENCES note, name)")
            try db.execute("CREATE VIEW titles AS SELECT title FROM note")
            try db.execute("CREATE VIRTUAL TABLE note_fts USING fts5(title)")
            try db.execute("CREATE TRIGGER note_added AFTER INSERT ON note BEGIN INSERT INTO note_fts VALUES (new.title); END")
        }
        return migrator
    }

    @Test func erasesOnSchemaChangeRecreatesTheSchema() throws {
        let db = try Connection(.memory)
        let first = Self.notes("id INTEGER PRIMARY KEY AUTOINCREMENT, title")
        try first.migrate(db)
        try db.execute("INSERT INTO note(title) VALUES ('x')")
        try db.execute("INSERT INTO tag VALUES (1, 'y')")
        // The same schema keeps its rows.
        #expect(try first.migrate(db) == [])
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM note_fts") == 1)
        // Not without the setting.
        let second = Self.notes("id INTEGER PRIMARY KEY, title, body")
        var keeping = second
        keeping.erasesOnSchemaChange = false
        #expect(try keeping.migrate(db) == [])
        // Migrations that fail in an empty database erase nothing.
        var failing = second
        failing.add("fails") { db in try db.execute("INSERT INTO nothing VALUES (1)") }
        let before = try Contents.of(db)
        #expect(throws: DatabaseError.self) { try failing.migrate(db) }
        #expect(try Contents.of(db) == before)
        // Another schema, then another name.
        #expect(try second.migrate(db) == ["notes"])
        #expect(try db.main.columns(of: "note").map(\.name) == ["id", "title", "body"])
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM note") == 0)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM note_fts") == 0)
        #expect(try db.settings.isEnabled(.foreignKeys))
        var renamed = Migrator()
        renamed.erasesOnSchemaChange = true
        renamed.add("all") { db in try db.execute("CREATE TABLE other(x)") }
        #expect(try renamed.migrate(db) == ["all"])
        #expect(try db.main.tables().map(\.name) == ["other", "sqlcipherkit_migration"])
    }

    @Test func erasesOnSchemaChangeKeepsUnmigratedTables() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE mine(x)")
        try Self.notes("id INTEGER PRIMARY KEY, title").migrate(db)
        #expect(try db.main.hasTable("mine"))
    }
}
