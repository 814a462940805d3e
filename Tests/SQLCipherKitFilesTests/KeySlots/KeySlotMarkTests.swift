import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSync
import Testing
import TestSupport

/// A database's record of its slots is out of the reach of SQL, and of everything that copies rows or databases.
@Suite struct KeySlotMarkTests {
    static let table = "sqlcipherkit_key_slots"
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }
    var location: DatabaseLocation { .file(path) }

    init() throws { folder = try TemporaryFolder() }

    /// A database with slots of several generations.
    private func make(_ name: String = "a.db") throws -> (slots: KeySlots, db: Connection) {
        let location = DatabaseLocation.file(folder.path(name))
        let slots = try KeySlots.create(.passphrase("one"), label: "first", for: location, derivation: .quick)
        let db = try Connection(location, key: .slots(slots))
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
        try db.execute("INSERT INTO t(x) VALUES ('kept')")
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        try slots.revoke("second")
        return (slots, db)
    }

    private func mark(_ db: Connection) throws -> [OwnedRow] {
        try db.fetchAll(OwnedRow.self, SQL(raw: "SELECT * FROM \(Self.table)"))
    }

    private func opens(_ name: String = "a.db") -> Bool {
        (try? Connection(.file(folder.path(name)), key: .slots(secret: .passphrase("one")))) != nil
    }

    private static let statements = [
        "UPDATE \(table) SET generation = generation + 1", "DELETE FROM \(table)",
        "INSERT INTO \(table) VALUES (2, x'', 1, NULL, NULL)",
        "REPLACE INTO \(table)(one, id, generation) VALUES (1, x'00', 9)", "DROP TABLE \(table)",
        "ALTER TABLE \(table) RENAME TO other",
        "ALTER TABLE \(table) ADD COLUMN more", "ALTER TABLE \(table) DROP COLUMN slots",
        "ALTER TABLE \(table) RENAME COLUMN id TO name",
        "CREATE INDEX i ON \(table)(id)", "CREATE TRIGGER r AFTER INSERT ON \(table) BEGIN SELECT 1; END",
        "CREATE TEMP TRIGGER r AFTER INSERT ON main.\(table) BEGIN SELECT 1; END",
        "CREATE TRIGGER r AFTER INSERT ON t BEGIN DELETE FROM \(table); END; INSERT INTO t(x) VALUES (1)",
        "UPDATE main.[SQLCIPHERKIT_KEY_SLOTS] SET generation = 1", "WITH n AS (SELECT 1) DELETE FROM \"\(table)\" WHERE one IN n",
        "INSERT INTO \(table) SELECT * FROM \(table) WHERE true ON CONFLICT DO UPDATE SET generation = 7",
        "CREATE TEMP TABLE \(table)(x)", "CREATE VIEW temp.\(table) AS SELECT 1",
        "PRAGMA writable_schema = ON; DROP TABLE \(table)",
        "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = '\(table)'",
        "PRAGMA writable_schema = ON; UPDATE main.sqlite_master SET name = 'x', tbl_name = 'x' WHERE name = '\(table)'",
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 2 WHERE name LIKE 'sqlcipherkit%'",
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET type = 'view', sql = 'CREATE VIEW \(table) AS SELECT 1' WHERE name > 's'",
        """
        PRAGMA writable_schema = ON; INSERT INTO sqlite_schema SELECT type, 'alias', 'alias', rootpage, 'CREATE TABLE alias(one)'
        FROM sqlite_schema WHERE name = '\(table)'
        """,
        "PRAGMA writable_schema = ON; REPLACE INTO main.sqlite_schema(rowid, type, name, tbl_name) VALUES (2, 'table', 'x', 'x')",
        """
        PRAGMA writable_schema = ON; CREATE TEMP TRIGGER r AFTER INSERT ON t BEGIN DELETE FROM main.sqlite_schema; END;
        INSERT INTO t(x) VALUES (1)
        """,
        "CREATE TEMP TABLE o(x); ALTER TABLE o RENAME TO \(table)",
        "PRAGMA writable_schema = ON; CREATE TEMP TABLE o(x); ALTER TABLE temp.o RENAME TO \(table)",
        "CREATE VIRTUAL TABLE \(table) USING fts5(x)", "CREATE TABLE temp.\(table) AS SELECT 1",
    ]

    @Test(arguments: statements) func keySlotMarkRefusesSQLWrites(sql: String) throws {
        let (_, db) = try make()
        let before = try mark(db)
        let error = #expect(throws: DatabaseError.self) { try db.execute(SQLScript(sql)) }
        #expect(error?.reason == .refusedSQL && error?.message.contains("KeySlots") == true, "\(String(describing: error))")
        try db.execute("PRAGMA writable_schema = OFF")
        #expect(try mark(db) == before)
        #expect(opens())
    }

    @Test func keySlotMarkRefusesBlobWrites() throws {
        let (_, db) = try make()
        let error = #expect(throws: DatabaseError.self) {
            try db.main.openBlob(table: Self.table, column: "id", rowID: 1, forWriting: true)
        }
        #expect(error?.reason == .refusedSQL)
        #expect(try db.main.openBlob(table: Self.table, column: "id", rowID: 1).count == 16)
        #expect(opens())
    }

    /// Operations on the whole database go on as before.
    @Test func rewritesAndBackupsKeepTheKeySlotMark() throws {
        let (slots, db) = try make()
        let before = try mark(db)
        try db.main.vacuum()
        #expect(try mark(db) == before)
        try db.execute(SQLScript("REINDEX; ANALYZE"))
        for options in [Schema.BackupOptions(), .compact] {
            let file = folder.path("copy \(options.isCompact).db")
            try db.main.backup(toFileAt: file, options: options)
            #expect(try mark(Connection(.file(file), key: slots.key)) == before)
        }
        db.close()
        try DatabaseConverter.decrypt(fileAt: path, key: slots.key)
        #expect(try mark(Connection(location)) == before)
    }

    @Test func diffAndChangesetsOmitTheKeySlotMark() throws {
        let (_, a) = try make(), (slots, b) = try make("b.db")
        try slots.add(.passphrase("three"), label: "third", derivation: .quick)
        try b.execute("INSERT INTO t(x) VALUES ('more')")
        let before = try mark(a)
        let diff = try DatabaseDiff(from: a.main, to: b.main)
        #expect(try diff.summary().map(\.name) == ["t"])
        #expect(try !diff.sql().contains(Self.table))
        #expect(try !diff.changeset().changes().contains { $0.table == Self.table })
        try diff.apply(to: a)
        #expect(try mark(a) == before)
        #expect(opens() && opens("b.db"))
        // As an engine without this package records it.
        let c = try Connection(.memory)
        for sql in ["CREATE TABLE other(one INTEGER PRIMARY KEY, id, generation, change, slots)"] { try c.execute(SQL(raw: sql)) }
        let changes = try c.main.recordingChanges { try $0.execute("INSERT INTO other VALUES (1, x'00', 99, NULL, NULL)") }
        var bytes = [UInt8](changes.data)
        let name = Array("other".utf8)
        let start = try #require(bytes.indices.first { bytes[$0...].starts(with: name) })
        bytes.replaceSubrange(start..<start + name.count, with: Array(Self.table.utf8))
        try Changeset(data: Data(bytes)).apply(to: a) { _ in .replace }
        #expect(try mark(a) == before)
    }

    @Test func changeRecorderOmitsTheKeySlotMark() throws {
        let (slots, db) = try make()
        let recorder = try ChangeRecorder(db.main)
        try slots.add(.passphrase("x"), label: "x", derivation: .quick)
        #expect(try recorder.changeset().isEmpty)
    }

    @Test func copyTablesOmitsTheKeySlotMark() throws {
        let (slots, db) = try make(), (_, other) = try make("b.db")
        other.close()
        let target = try db.attach(.file(folder.path("b.db")), as: "b", key: .slots(secret: .passphrase("one")))
        let before = try db.fetchAll(OwnedRow.self, SQL(raw: "SELECT * FROM b.\(Self.table)"))
        var options = Schema.CopyOptions()
        (options.conflict, options.emptiesTarget) = (.replace, true)
        try db.main.copyTables(to: target, options: options)
        #expect(try db.fetchAll(OwnedRow.self, SQL(raw: "SELECT * FROM b.\(Self.table)")) == before)
        let error = #expect(throws: DatabaseError.self) { try db.main.copyTables([Self.table], to: target, options: options) }
        #expect(error?.reason == .invalidArgument)
        _ = slots
    }

    /// Another database's backup, or an older one's, brings no other mark.
    @Test(arguments: [false, true]) func restoreKeepsTheKeySlotMark(isCompact: Bool) throws {
        let (slots, db) = try make(), (_, other) = try make("b.db")
        let foreign = folder.path("foreign"), older = folder.path("older"), plain = folder.path("plain")
        try other.main.backup(toFileAt: foreign, key: slots.key)
        try db.main.backup(toFileAt: older)
        try Connection(.file(plain)).execute("CREATE TABLE t(x)")
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        try slots.revoke("second")
        let before = try mark(db)
        var options = Schema.BackupOptions()
        options.isCompact = isCompact
        for (file, key) in [(foreign, slots.key), (older, slots.key), (plain, .plaintext)] {
            try db.main.restore(fromFileAt: file, key: key, options: options)
            #expect(try mark(db) == before)
            #expect(opens())
        }
        // The same in the other direction, and a target that has no slots gets nothing of the source's.
        try other.main.backup(to: db.main, options: options)
        #expect(try mark(db) == before)
        let memory = try Connection(.memory, key: slots.key)
        try db.main.backup(to: memory.main, options: options)
        #expect(try memory.fetchOne(Int.self, "SELECT count(*) FROM sqlite_schema WHERE name = \(Self.table)") == 0)
    }
}
