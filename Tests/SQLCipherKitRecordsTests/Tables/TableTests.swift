import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// Descriptions of tables: their SQL, and its effect in SQLite.
@Suite struct TableTests {
    let folder: TemporaryFolder
    let db: Connection

    init() throws {
        let made = try EncryptedDatabase()
        (folder, db) = (made.folder, made.db)
    }

    struct Everything: SQLRecord {
        var id: Int64
        var code: String
        var ratio: Double?
        var isOpen: Bool
        var place: [String: Int]
        var parent: Int64?
        var sum: Int?
        var bytes: [UInt8]?

        static let tableName = "every thing"
        static let table = SQLTable(of: Everything.self) {
            $0.id.primaryKey(autoincrement: true)
            $0.code.unique().collate("NOCASE").default("it's").check("length(code) < 10")
            $0.ratio.default(0.5)
            $0.isOpen.default(true)
            $0.place.default(sql: "json_object()")
            $0.parent.references("every thing", "id", onDelete: .setNull, onUpdate: .cascade, isDeferred: true)
            $0.sum.generated(as: "id + 1")
            $0.bytes.default([UInt8]([0, 255]))
            SQLConstraint.unique($0.ratio, $0.isOpen)
            SQLConstraint.check("id > 0 OR ratio IS NULL")
            SQLIndex("by_code", on: [.column($0.code, collation: "BINARY", isDescending: true), .expression("length(code)")], isUnique: true, where: "code <> 'x'")
        }
    }

    @Test func tableDescriptionBecomesSQL() throws {
        let sql = try Everything.table.createStatements().map(\.text)
        #expect(sql == [
            """
            CREATE TABLE "every thing"("id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, \
            "code" TEXT NOT NULL DEFAULT 'it''s' UNIQUE COLLATE "NOCASE" CHECK (length(code) < 10), "ratio" REAL DEFAULT 0.5, \
            "isOpen" INTEGER NOT NULL DEFAULT 1, "place" TEXT NOT NULL DEFAULT (json_object()), \
            "parent" INTEGER REFERENCES "every thing"("id") ON DELETE SET NULL ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED, \
            "sum" INTEGER GENERATED ALWAYS AS (id + 1) VIRTUAL, "bytes" BLOB DEFAULT x'00FF', \
            UNIQUE ("ratio", "isOpen"), CHECK (id > 0 OR ratio IS NULL))
            """,
            #"CREATE UNIQUE INDEX "by_code" ON "every thing"("code" COLLATE "BINARY" DESC, length(code)) WHERE code <> 'x'"#,
        ])
        try db.create(Everything.table)
        try db.create(Everything.table, ifNotExists: true)
        #expect(throws: DatabaseError.self) { try db.create(Everything.table) }
        let key = try #require(Everything.table.allForeignKeys.first)
        #expect(key.columns == ["parent"] && key.parentColumns == ["id"] && key.onDelete == .setNull && key.onUpdate == .cascade)
    }

    @Test func untypedColumnsAreAnyInStrictTables() throws {
        let table = SQLTable("tag", options: [.strict, .withoutRowID]) {
            SQLColumn("name", .text).notNull().primaryKey()
            SQLColumn("any")
            SQLColumn("added", .text).default(sql: "CURRENT_TIMESTAMP")
        }
        #expect(try table.createStatements(ifNotExists: true).map(\.text) == [
            """
            CREATE TABLE IF NOT EXISTS "tag"("name" TEXT PRIMARY KEY NOT NULL, "any" ANY, \
            "added" TEXT DEFAULT (CURRENT_TIMESTAMP)) WITHOUT ROWID, STRICT
            """
        ])
        try db.create(table)
        #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO tag(name) VALUES (NULL)") }
    }

    @Test func uniqueIndexRejectsDuplicates() throws {
        try db.execute("CREATE TABLE t(a, b)")
        try db.main.create(SQLIndex("t_a", on: ["a"], isUnique: true), on: "t")
        try db.execute("INSERT INTO t VALUES (1, 1)")
        let error = #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO t VALUES (1, 2)") }
        #expect(error?.code == .constraintUnique)
        let late = #expect(throws: DatabaseError.self) {
            try db.execute("INSERT INTO t VALUES (2, 1)")
            try db.main.create(SQLIndex("t_b", on: [.column("b")], isUnique: true), on: "t")
        }
        #expect(late?.code == .constraintUnique)
        try db.main.create(SQLIndex("t_b", on: [.column("b")]), on: "t")
        try db.execute("INSERT INTO t VALUES (3, 1)")
        #expect(try db.main.indexes(of: "t").map(\.isUnique) == [true, false])
    }

    /// The fate of a child's key 1 when the parent's row goes, and when its key becomes 2; nil for an error.
    @Test(arguments: SQLForeignKey.Action.allCases, [false, true])
    func foreignKeyActionsAreEnforced(action: SQLForeignKey.Action, isDeferred: Bool) throws {
        try db.execute("CREATE TABLE parent(id INTEGER PRIMARY KEY)")
        try db.create(SQLTable("child") {
            SQLColumn("parent", .integer).default(9).references("parent", onDelete: action, onUpdate: action, isDeferred: isDeferred)
        })
        let found = try #require(try db.main.table("child")).foreignKeys
        #expect(found == [SQLForeignKey(["parent"], references: "parent", onDelete: action, onUpdate: action, isDeferred: isDeferred)])
        func outcome(_ change: SQL) throws -> [Int?]? {
            var outcome: [Int?]?
            try db.execute("DELETE FROM child")
            try db.execute("DELETE FROM parent")
            try db.execute("INSERT INTO parent VALUES (1), (9)")
            try db.execute("INSERT INTO child VALUES (1)")
            do { try db.execute(change) } catch let error as DatabaseError {
                #expect(error.code == .constraintForeignKey || error.code.rawValue == 1811)
                return nil
            }
            outcome = try db.fetchAll(Int?.self, "SELECT parent FROM child")
            return outcome
        }
        let deleted = try outcome("DELETE FROM parent WHERE id = 1"), updated = try outcome("UPDATE parent SET id = 2 WHERE id = 1")
        switch action {
        case .noAction, .restrict: #expect(deleted == nil && updated == nil)
        case .setNull: #expect(deleted == [nil] && updated == [nil])
        case .setDefault: #expect(deleted == [9] && updated == [9])
        case .cascade: #expect(deleted == [] && updated == [2])
        }
        // A deferred one may be mended before the commit, except where it restricts.
        let mended = Result {
            try db.transaction { db in
                try db.execute("INSERT INTO child VALUES (77)")
                try db.execute("INSERT INTO parent VALUES (77)")
            }
        }
        #expect(((try? mended.get()) != nil) == isDeferred)
    }

    @Test func invalidTableDescriptionThrows() throws {
        let bad: [SQLTable] = [
            SQLTable("empty"),
            SQLTable("twice") { SQLColumn("a"); SQLColumn("A") },
            SQLTable("keys") { SQLColumn("a").primaryKey(); SQLColumn("b").primaryKey() },
            SQLTable("keys") { SQLColumn("a").primaryKey(); SQLConstraint.primaryKey("a") },
            SQLTable("number") { SQLColumn("a").default(Double.infinity) },
            SQLTable("text") { SQLColumn("a").default("a\0b") },
            SQLTable(of: QueryTests.Shy.self) { $0.observed },
        ]
        for table in bad {
            let error = #expect(throws: DatabaseError.self) { try db.create(table) }
            #expect(error?.reason == .invalidArgument)
        }
        // A value cannot be bound where SQLite keeps the text.
        let limit = 3
        #expect(throws: DatabaseError.self) { try db.create(SQLTable("bound") { SQLColumn("a").check("a > \(limit)") }) }
        // An index that fails takes the table with it.
        #expect(throws: DatabaseError.self) {
            try db.create(SQLTable("half") { SQLColumn("a"); SQLIndex("x", on: ["nothing"]) })
        }
        #expect(try !db.main.hasTable("half"))
    }

    private struct Thing: SQLRecord, Equatable {
        var id: Int64?
        var name: String
        var box: Int64?
        static let table = SQLTable(of: Thing.self) {
            $0.id.primaryKey()
            $0.name
            $0.box.references(Thing.self)
            SQLIndex("thing_name", on: [.column($0.name)], isUnique: true)
        }
    }

    @Test func recordCallsWorkInAttachedDatabase() throws {
        try db.attach(.file(folder.path("b.db")), as: "o\"ther", key: .passphrase("else"))
        let other = try db.schema("O\"THER")
        try other.create(Thing.table)
        try other.create(Thing.table, ifNotExists: true)
        #expect(try other.table("thing")?.indexes.map(\.name) == ["thing_name"])
        #expect(try !db.main.hasTable("thing"))
        try db.create(Thing.table)
        var thing = Thing(name: "x")
        try db.insert(&thing, in: other)
        #expect(thing.id == 1)
        let before = thing
        thing.name = "y"
        #expect(try db.updateChanges(thing, from: before, in: other) == ["name"])
        try db.insert(Thing(id: 1, name: "in main"))
        // Each call is about one of the two tables of that name.
        #expect(try db.fetchAll(Thing.in(other).filter { $0.name == "y" }) == [thing])
        #expect(try db.fetchAll(Thing.all).map(\.name) == ["in main"])
        #expect(try db.fetchOne(Thing.self, id: 1, in: other) == thing && db.fetchOne(Thing.self, id: 1)?.name == "in main")
        var others = [Thing(name: "a", box: 1), Thing(name: "b", box: 1)]
        try db.insertAll(&others, in: other)
        try db.insertAll([Thing(name: "c")], in: other)
        #expect(others.map(\.id) == [2, 3])
        thing.name = "z"
        try db.upsert(thing, in: other)
        try db.refresh(&others[0], in: other)
        try db.upsert(&others[0], in: other)
        try db.update(others[1], in: other)
        #expect(try db.exists(Thing.self, id: 4, in: other) && !db.exists(Thing.self, id: 4))
        #expect(try db.delete(others[1], in: other) && !db.delete(Thing.self, id: 3, in: other))
        #expect(try db.count(Thing.in(other)) == 3 && db.count(Thing.all) == 1)
        let pairs = try db.fetchAll(Thing.in(other).join(Thing.self).in(other))
        #expect(pairs.map { "\($0.0.name) \($0.1.name)" } == ["z a"])
        #expect(try db.fetchAll(Thing.in(db.main).join(Thing.self) { $0.id == $1.box }.in(other).select { $1.name }) == ["a"])
        #expect(try db.updateAll(Thing.in(other)) { _, set in set(\.box, to: nil) } == 3)
        #expect(try db.deleteAll(Thing.in(other).filter { $0.name == "c" }) == 1)
        #expect(try db.fetchAll(Thing.in(other).order { $0.id }.select { $0.name }) == ["z", "a"] && db.count(Thing.all) == 1)
    }

    @Test func aSchemaOfAnotherConnectionIsRefused() throws {
        let other = try Connection(.memory, key: .plaintext)
        try db.create(Thing.table)
        try other.create(Thing.table)
        var thing = Thing(name: "x")
        #expect(throws: DatabaseError.self) { try db.insert(&thing, in: other.main) }
        #expect(throws: DatabaseError.self) { try db.insertAll([thing], in: other.main) }
        #expect(throws: DatabaseError.self) { try db.exists(Thing.self, id: 1, in: other.main) }
        #expect(try thing.id == nil && db.count(Thing.all) == 0 && other.count(Thing.all) == 0)
    }

    /// Without a description the keys are read from the database, and another database may have others.
    @Test func undescribedKeysAreReadPerDatabase() throws {
        struct Plain: SQLRecord, Equatable {
            var a: Int
            var b: Int
        }
        for (schema, key) in [("main", "a"), ("x", "b")] {
            if schema == "x" { try db.attach(.memory, as: "x", key: .plaintext) }
            try db.execute("CREATE TABLE \(identifier: schema).plain(a, b, PRIMARY KEY(\(identifier: key)))")
        }
        try db.insert(Plain(a: 1, b: 2), in: db.main)
        try db.insert(Plain(a: 1, b: 2), in: db.schema("x"))
        try db.update(Plain(a: 1, b: 3), in: db.main)
        try db.update(Plain(a: 4, b: 2), in: db.schema("x"))
        #expect(try db.fetchAll(Plain.in(db.main)) == [Plain(a: 1, b: 3)] && db.fetchAll(Plain.in(db.schema("x"))) == [Plain(a: 4, b: 2)])
        // Another database of the same name, with a schema of the same version.
        let first = try db.schema("x")
        for key in ["b", "a"] {
            try db.schema("x").detach()
            #expect(throws: DatabaseError.self) { try db.update(Plain(a: 1, b: 1), in: first) }
            try db.attach(.file(folder.path("other \(key).db")), as: "x", key: .plaintext)
            try db.execute("CREATE TABLE x.plain(a, b, PRIMARY KEY(\(identifier: key)))")
            try db.insert(Plain(a: 1, b: 2), in: first)
            let changed = key == "a" ? Plain(a: 1, b: 9) : Plain(a: 9, b: 2)
            try db.update(changed, in: first)
            #expect(try db.fetchAll(Plain.in(first)) == [changed])
        }
    }
}
