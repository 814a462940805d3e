import SQLCipherKit
import TestSupport
import Testing

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

    @Test func tables() throws {
        let tables = try db.tables()
        #expect(tables.filter { $0.kind == .table }.map(\.name) == ["child", "parent", "typed"])
        #expect(tables.filter { $0.kind == .view }.map(\.name) == ["names"])
        #expect(tables.filter { $0.kind == .virtual }.map(\.name) == ["words"])
        #expect(tables.filter { $0.kind == .shadow }.count == 5)
        let parent = try #require(try db.table("PARENT"))
        #expect(parent.name == "parent" && parent.isWithoutRowID && !parent.isStrict)
        #expect(parent.columns.map(\.name) == ["a", "b", "c", "d", "e"])
        #expect(parent.columns.map(\.kind) == [.normal, .normal, .normal, .generatedVirtual, .generatedStored])
        #expect(parent.columns[2].defaultValue == "1 + 1" && parent.columns[2].type == "REAL")
        #expect(parent.primaryKey == ["b", "a"])
        #expect(parent.sql.hasPrefix("CREATE TABLE parent(a TEXT"))
        #expect(try db.table("typed")?.isStrict == true)
        #expect(try db.table("nothing") == nil)
        #expect(try db.table("words")?.columns.filter { $0.kind == .hidden }.map(\.name) == ["words", "rank"])
        #expect(try db.table("names")?.columns.map(\.name) == ["name"])
    }

    @Test func keysIndexesTriggers() throws {
        let child = try #require(try db.table("child"))
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
        #expect(try db.triggers().map(\.table) == ["child"])
        #expect(try db.triggers(of: "parent") == [])
    }

    @Test func changes() throws {
        try db.execute("INSERT INTO typed VALUES (1, 'x')")
        try db.renameTable("typed", to: "new \"name\"")
        try db.addColumn(SQLColumn("c", .integer).notNull().default(7), to: "new \"name\"")
        try db.addColumn(SQLColumn("d"), to: "new \"name\"")
        try db.renameColumn("b", to: "B b", of: "new \"name\"")
        try db.dropColumn("a", from: "new \"name\"")
        let table = try #require(try db.table("new \"name\""))
        #expect(table.columns.map(\.name) == ["B b", "c", "d"] && table.columns.map(\.type) == ["ANY", "INTEGER", "ANY"])
        #expect(try db.fetchOne(Int.self, "SELECT c FROM \"new \"\"name\"\"\"") == 7)
        #expect(throws: DatabaseError.self) { try db.addColumn(SQLColumn("e").notNull(), to: "new \"name\"") }
        try db.dropTable("new \"name\"")
        #expect(try !db.hasTable("new \"name\""))
        #expect(throws: DatabaseError.self) { try db.dropTable("new \"name\"") }
        try db.dropTable("new \"name\"", ifExists: true)
        try db.dropTrigger("child_gone")
        try db.dropView("names", in: "main")
        try db.dropIndex("child_y")
        #expect(try db.triggers().isEmpty && db.table("names") == nil)
        #expect(try db.indexes(of: "child").count == 1)
    }

    @Test func reindexAfterACollationChanges() throws {
        try db.register(.collation("mine") { $0 < $1 ? .orderedAscending : $0 == $1 ? .orderedSame : .orderedDescending })
        try db.execute("CREATE TABLE t(a COLLATE mine)")
        try db.execute("CREATE INDEX t_a ON t(a)")
        try db.execute("INSERT INTO t VALUES ('a'), ('b'), ('c')")
        // The other way round: the index no longer fits.
        try db.register(.collation("mine") { $0 > $1 ? .orderedAscending : $0 == $1 ? .orderedSame : .orderedDescending })
        #expect(try !db.integrityCheck().isEmpty)
        try db.reindex("mine")
        #expect(try db.integrityCheck() == [])
        try db.reindex("t_a", in: "main")
        try db.reindex("t")
        try db.reindex()
        #expect(try db.fetchAll(String.self, "SELECT a FROM t ORDER BY a") == ["c", "b", "a"])
    }
}
