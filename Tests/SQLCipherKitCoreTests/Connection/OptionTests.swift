import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct OptionTests {
    let db: Connection

    init() throws { db = try Connection(.memory) }

    @Test func limitsAreReadSetAndEnforced() throws {
        let highest = try db.settings.limit(.length)
        #expect(highest == 1_000_000_000)
        #expect(try db.settings.setLimit(.length, to: 1000) == 1000)
        #expect(try db.settings.limit(.length) == 1000)
        let error = #expect(throws: DatabaseError.self) { try db.fetchOne(Int.self, "SELECT length(zeroblob(5000))") }
        #expect(error.map { .tooBig ~= $0.code } == true)
        // A cap is given back, not what was asked for.
        #expect(try db.settings.setLimit(.length, to: .max) == highest)
        #expect(try db.settings.setLimit(.attached, to: 1000) == 125)
        #expect(try db.settings.limit(.variableNumber) == 250_000)
        #expect(try db.settings.setLimit(.functionArguments, to: 2) == 2)
        #expect(throws: DatabaseError.self) { try db.fetchOne(Int.self, "SELECT max(1, 2, 3)") }
        #expect(throws: DatabaseError.self) { try db.settings.setLimit(.columns, to: -1) }
        for limit in Connection.Settings.Limit.allCases { #expect(try db.settings.limit(limit) >= 0) }
        db.close()
        #expect(throws: DatabaseError.self) { try db.settings.limit(.length) }
    }

    @Test func defensiveModeRefusesShadowTableAndSchemaWrites() throws {
        try db.execute("CREATE VIRTUAL TABLE f USING fts5(x)")
        #expect(try !db.settings.isEnabled(.defensive))
        #expect(try db.settings.setEnabled(.defensive, to: true))
        #expect(try db.settings.isEnabled(.defensive))
        #expect(throws: DatabaseError.self) { try db.execute("DELETE FROM f_data") }
        #expect(throws: DatabaseError.self) {
            try db.execute("PRAGMA writable_schema = ON")
            try db.execute("UPDATE sqlite_schema SET sql = ''")
        }
        try db.execute("INSERT INTO f VALUES ('still works')")
        #expect(try !db.settings.setEnabled(.defensive, to: false))
    }

    @Test func connectionOptionsTakeEffect() throws {
        try db.execute("CREATE TABLE t(x)")
        try db.execute("CREATE TABLE log(x)")
        try db.execute("CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.x); END")
        try db.execute("CREATE VIEW v AS SELECT * FROM t")
        try db.settings.setEnabled(.triggers, to: false)
        try db.execute("INSERT INTO t VALUES (1)")
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM log") == 0)
        try db.settings.setEnabled(.views, to: false)
        #expect(throws: DatabaseError.self) { try db.fetchAll(Int.self, "SELECT x FROM v") }
        try db.settings.setEnabled(.comments, to: false)
        #expect(throws: DatabaseError.self) { try db.execute("SELECT 1 /* no */") }
        try db.settings.setEnabled(.comments, to: true)
        try db.execute("SELECT 1 /* no */")
        #expect(try db.settings.isEnabled(.trustedSchema))
        #expect(try !db.settings.setEnabled(.foreignKeys, to: false))
        #expect(try !db.settings.isEnabled(.foreignKeys))
        try db.settings.setEnabled(.attachCreates, to: false)
        let folder = try TemporaryFolder()
        #expect(throws: DatabaseError.self) { try db.attach(.file(folder.path("new.db")), as: "new", key: .plaintext) }
        #expect(try folder.names() == [])
        #expect(try db.schemas().map(\.name) == ["main"])
        try Connection(.file(folder.path("old.db"))).execute("CREATE TABLE t(x)")
        try db.settings.setEnabled(.attachWrites, to: false)
        let old = try db.attach(.file(folder.path("old.db")), as: "old", key: .plaintext)
        #expect(try old.isReadOnly)
        #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO old.t VALUES (1)") }
        for option in ConnectionOption.allCases { _ = try db.settings.isEnabled(option) }
    }
}
