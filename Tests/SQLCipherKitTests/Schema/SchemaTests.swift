import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// Reading the schema, and changing it.
@Suite struct SchemaTests {
    let folder: TemporaryFolder
    let db: Connection

    init() throws {
        let made = try EncryptedDatabase()
        (folder, db) = (made.folder, made.db)
        try db.execute(SQLScript("""
            CREATE TABLE parent(a TEXT NOT NULL, b INTEGER, c REAL DEFAULT (1 + 1), d AS (a || b), e INT AS (b * 2) STORED,
                PRIMARY KEY (b, a)) WITHOUT ROWID;
            CREATE TABLE child(id INTEGER PRIMARY KEY, x TEXT UNIQUE, y INTEGER DEFAULT 'it''s', z,
                FOREIGN KEY (y, x) REFERENCES parent ON DELETE SET NULL, FOREIGN KEY (z) REFERENCES child(id) ON UPDATE CASCADE);
            """))
        try db.execute("CREATE TABLE typed(a INTEGER, b ANY) STRICT")
        try db.execute("CREATE UNIQUE INDEX child_y ON child(y DESC, length(x), z COLLATE NOCASE) WHERE y > 0")
        try db.execute("CREATE VIEW names AS SELECT x AS name FROM child")
        try db.execute("CREATE TRIGGER child_gone AFTER DELETE ON child BEGIN SELECT 1; END")
        try db.create(FTS5Table("words", columns: ["text"]))
    }

    @Test func schemaListsTablesAndColumns() throws {
        let tables = try db.main.tables()
        #expect(tables.filter { $0.kind == .table }.map(\.name) == ["child", "parent", "typed"])
        #expect(tables.filter { $0.kind == .view }.map(\.name) == ["names"])
        #expect(tables.filter { $0.kind == .virtual }.map(\.name) == ["words"])
        #expect(tables.filter { $0.kind == .shadow }.count == 5)
        let parent = try #require(try db.main.table("PARENT"))
        #expect(parent.name == "parent" && parent.isWithoutRowID && !parent.isStrict)
        #expect(parent.columns.map(\.name) == ["a", "b", "c", "d", "e"])
        #expect(parent.columns.map(\.kind) == [.normal, .normal, .normal, .generatedVirtual, .generatedStored])
        #expect(parent.columns[2].defaultValue == "1 + 1" && parent.columns[2].type == "REAL")
        #expect(parent.primaryKey == ["b", "a"])
        #expect(parent.sql.hasPrefix("CREATE TABLE parent(a TEXT"))
        #expect(try db.main.table("typed")?.isStrict == true)
        #expect(try db.main.table("nothing") == nil)
        #expect(try db.main.table("words")?.columns.filter { $0.kind == .hidden }.map(\.name) == ["words", "rank"])
        #expect(try db.main.table("names")?.columns.map(\.name) == ["name"])
    }

    @Test func schemaListsForeignKeysIndexesAndTriggers() throws {
        let child = try #require(try db.main.table("child"))
        #expect(child.foreignKeys == [
            SQLForeignKey(["y", "x"], references: "parent", onDelete: .setNull),
            SQLForeignKey(["z"], references: "child", ["id"], onUpdate: .cascade),
        ])
        #expect(child.indexes.count == 2)
        let unique = try #require(child.indexes.first { $0.origin == .unique })
        #expect(unique.isUnique && !unique.isPartial && unique.sql == nil && unique.terms.map(\.column) == ["x"])
        let made = try #require(child.indexes.first { $0.origin == .statement })
        #expect(made.name == "child_y" && made.isUnique && made.isPartial && made.table == "child")
        #expect(made.terms.map(\.column) == ["y", nil, "z"] && made.terms.map(\.isExpression) == [false, true, false])
        #expect(made.terms.map(\.isDescending) == [true, false, false] && made.terms[2].collation == "NOCASE")
        #expect(made.sql?.hasPrefix("CREATE UNIQUE INDEX child_y") == true)
        #expect(child.triggers.map(\.name) == ["child_gone"])
        #expect(try db.main.triggers().map(\.table) == ["child"])
        #expect(try db.main.triggers(of: "parent") == [])
    }

    /// A view whose table is gone and a virtual table of an unknown module are listed with the others, without columns.
    @Test func schemaListsBrokenViewsAndVirtualTables() throws {
        let db = try Connection(.memory)
        try db.execute(SQLScript("""
            CREATE TABLE t(x); CREATE VIEW a AS SELECT x FROM gone; CREATE VIEW b AS SELECT y FROM t; CREATE VIEW c AS SELECT x FROM t;
            PRAGMA writable_schema = ON;
            INSERT INTO sqlite_schema VALUES ('table', 'odd', 'odd', 0, 'CREATE VIRTUAL TABLE odd USING unknown(x)');
            PRAGMA writable_schema = RESET;
            """))
        let tables = try db.main.tables()
        #expect(tables.map(\.name) == ["a", "b", "c", "odd", "t"])
        #expect(tables.map { $0.columns.map(\.name) } == [[], [], ["x"], [], ["x"]])
        #expect(tables.map(\.kind) == [.view, .view, .view, .virtual, .table])
        for name in ["a", "odd"] { #expect(throws: DatabaseError.self) { try db.main.columns(of: name) } }
    }

    @Test func schemaCallsRenameAddAndDrop() throws {
        try db.execute("INSERT INTO typed VALUES (1, 'x')")
        try db.main.renameTable("typed", to: "new \"name\"")
        try db.main.addColumn(SQLColumn("c", .integer).notNull().default(7), to: "new \"name\"")
        try db.main.addColumn(SQLColumn("d"), to: "new \"name\"")
        try db.main.renameColumn("b", to: "B b", of: "new \"name\"")
        try db.main.dropColumn("a", from: "new \"name\"")
        let table = try #require(try db.main.table("new \"name\""))
        #expect(table.columns.map(\.name) == ["B b", "c", "d"] && table.columns.map(\.type) == ["ANY", "INTEGER", "ANY"])
        #expect(try db.fetchOne(Int.self, "SELECT c FROM \"new \"\"name\"\"\"") == 7)
        #expect(throws: DatabaseError.self) { try db.main.addColumn(SQLColumn("e").notNull(), to: "new \"name\"") }
        try db.main.dropTable("new \"name\"")
        #expect(try !db.main.hasTable("new \"name\""))
        #expect(throws: DatabaseError.self) { try db.main.dropTable("new \"name\"") }
        try db.main.dropTable("new \"name\"", ifExists: true)
        try db.main.dropTrigger("child_gone")
        try db.main.dropView("names")
        try db.main.dropIndex("child_y")
        #expect(try db.main.triggers().isEmpty && db.main.table("names") == nil)
        #expect(try db.main.indexes(of: "child").count == 1)
    }

    @Test func reindexRepairsIndexAfterCollationChange() throws {
        try db.register(.collation("mine") { $0 < $1 ? .orderedAscending : $0 == $1 ? .orderedSame : .orderedDescending })
        try db.execute("CREATE TABLE t(a COLLATE mine)")
        try db.execute("CREATE INDEX t_a ON t(a)")
        try db.execute("INSERT INTO t VALUES ('a'), ('b'), ('c')")
        // The other way round: the index no longer fits.
        try db.register(.collation("mine") { $0 > $1 ? .orderedAscending : $0 == $1 ? .orderedSame : .orderedDescending })
        #expect(try !db.main.integrityCheck().isEmpty)
        try db.main.reindex(collation: "MINE")
        #expect(try db.main.integrityCheck() == [])
        try db.main.reindex("t_a")
        try db.main.reindex("t")
        try db.main.reindex()
        #expect(try db.fetchAll(String.self, "SELECT a FROM t ORDER BY a") == ["c", "b", "a"])
    }

    /// Questions about a database do not read the others, which another connection may have locked. In a transaction, each lock for
    /// reading would stay until its end, and commits to those files would wait for it.
    @Test func schemaQuestionsReadOneDatabase() throws {
        let path = folder.path("other.db"), key = try DatabaseKey.passphrase("other").quick
        let other = try db.attach(.file(path), as: "other", key: key)
        try db.execute("CREATE TABLE other.t(a)")
        // Its schema is known.
        #expect(try other.hasTable("t"))
        let holder = try Connection(.file(path), key: key)
        try db.settings.setBusyTimeout(.zero)
        let questions: [(Schema) throws -> Void] = [
            { _ = try $0.hasTable("t") }, { _ = try $0.table("t") }, { _ = try $0.tables() }, { _ = try $0.columns(of: "t") },
            { _ = try $0.primaryKey(of: "t") }, { try $0.reindex() }, { try $0.reindex(collation: "NOCASE") },
            { _ = try $0.spaceReport() },
        ]
        try holder.transaction(.exclusive) { _ in
            for (index, question) in questions.enumerated() {
                let error = #expect(throws: DatabaseError.self, "\(index)") { try question(other) }
                #expect(error?.reason == .busy, "\(index): \(String(describing: error))")
                #expect(throws: Never.self, "\(index)") { try question(db.main) }
            }
        }
    }

    /// A handle outlives what it names, and then each call says so.
    @Test func callsOnDetachedSchemaThrow() throws {
        try db.attach(.memory, as: "o\"ther", key: .plaintext)
        let gone = try db.schema("O\"THER")
        #expect(try gone.tables().isEmpty && gone.userVersion == 0 && !gone.isReadOnly)
        try db.schema("o\"ther").detach()
        let table = SQLTable("t") { SQLColumn("a") }
        let attempts: [() throws -> Void] = [
            { _ = try gone.tables() }, { _ = try gone.table("t") }, { _ = try gone.hasTable("t") }, { _ = try gone.columns(of: "t") },
            { _ = try gone.indexes(of: "t") }, { _ = try gone.triggers() }, { _ = try gone.primaryKey(of: "t") },
            { _ = try gone.foreignKeys(of: "t") }, { _ = try gone.foreignKeyViolations() }, { _ = try gone.integrityCheck() },
            { try gone.create(table) }, { try gone.create(SQLIndex("i", on: ["a"]), on: "t") },
            { try gone.dropTable("t", ifExists: true) }, { try gone.dropIndex("t", ifExists: true) },
            { try gone.dropTrigger("t", ifExists: true) }, { try gone.dropView("t", ifExists: true) },
            { try gone.renameTable("t", to: "u") }, { try gone.addColumn("b", to: "t") }, { try gone.dropColumn("b", from: "t") },
            { try gone.renameColumn("b", to: "c", of: "t") }, { try gone.reindex() }, { try gone.reindex("t") },
            { try gone.reindex(collation: "NOCASE") }, { try gone.analyze() }, { try gone.optimize() }, { _ = try gone.statistics() },
            { _ = try gone.samples() }, { _ = try gone.spaceReport() }, { try gone.checkpoint() }, { try gone.copyTables(to: db.main) },
            { _ = try gone.pragma("encoding", as: String.self) }, { try gone.setPragma("cache_size", to: 1) },
            { _ = try gone.applicationID }, { try gone.setUserVersion(1) }, { _ = try gone.journalMode }, { try gone.setJournalMode(.off) },
            { _ = try gone.pageSize }, { _ = try gone.isReadOnly }, { try gone.connection.insert(["a": 1], into: "t", in: gone) },
            { try gone.createJSONIndex("i", on: "t", column: "a", "x") }, { try gone.addJSONColumn("b", to: "t", from: "a", at: "x") },
            { try gone.updateJSON("a", in: "t", where: "TRUE", .remove("x")) },
        ]
        for (index, attempt) in attempts.enumerated() {
            let error = #expect(throws: DatabaseError.self, "\(index)") { try attempt() }
            #expect(error?.reason == .schemaName, "\(index): \(String(describing: error))")
        }
        // Then it names another file that is attached under the same name.
        try db.attach(.memory, as: "o\"ther", key: .plaintext)
        try gone.create(table)
        #expect(try gone.tables().map(\.name) == ["t"])
    }

    /// Only the database that the handle names is changed.
    @Test func schemaCallsAffectOnlyTheirDatabase() throws {
        try db.attach(.memory, as: "other", key: .plaintext)
        let other = try db.schema("other")
        try db.execute(SQLScript("CREATE TABLE main.same(a); CREATE TABLE other.same(a); CREATE TEMP TABLE same(a)"))
        try other.addColumn("b", to: "same")
        try other.setUserVersion(5)
        try db.temp.renameColumn("a", to: "t", of: "same")
        #expect(try db.main.columns(of: "same").map(\.name) == ["a"] && other.columns(of: "same").map(\.name) == ["a", "b"])
        #expect(try db.temp.columns(of: "same").map(\.name) == ["t"] && db.main.userVersion == 0)
        try other.create(SQLIndex("same_a", on: ["a"]), on: "same")
        #expect(try db.main.indexes(of: "same").isEmpty && other.indexes(of: "same").map(\.name) == ["same_a"])
        try other.reindex()
        try other.dropTable("same")
        #expect(try db.main.hasTable("same") && db.temp.hasTable("same") && !other.hasTable("same"))
    }
}
