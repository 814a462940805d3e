import Foundation
import KitSupport
import SQLCipherKit
import SQLCipherKitSync
import Testing

private struct Owner: SQLRecord {
    var id: UUID
    var name: String
    static let table = SQLTable(of: Owner.self, options: .withoutRowID) {
        $0.id.primaryKey()
        $0.name.unique()
    }
}

private struct Item: SQLRecord {
    var id: Int64?
    var title: String
    var owner: UUID
    var stars: Int?
    var added: Date
    static let table = SQLTable(of: Item.self) {
        $0.id.primaryKey()
        $0.title.collate("NOCASE")
        $0.owner.references(Owner.self, onDelete: .cascade)
        $0.stars.default(3)
        $0.added
        SQLColumn("words", .integer).generated(as: "length(title)")
        SQLConstraint.unique($0.title, $0.owner)
        SQLIndex("item_stars", on: [.column($0.stars, isDescending: true)], where: "stars > 0")
        SQLIndex("item_added", on: [$0.added])
    }
}

private enum Kind: String, Codable { case small, large }

private struct Plain: SQLRecord {
    var id: Int64?
    var title: String
    var at: Date
    var key: UUID
    var kind: Kind
    var tags: [String]
    var last: Int?
}

/// The schema that migrations create, and the descriptions of records.
@Suite struct SchemaDifferenceTests {
    private static let owner = "CREATE TABLE owner(id BLOB PRIMARY KEY, name VARCHAR(20) NOT NULL UNIQUE) WITHOUT ROWID"
    private static let item = """
        CREATE TABLE Item(ID INTEGER PRIMARY KEY, title TEXT NOT NULL COLLATE nocase, owner BLOB NOT NULL REFERENCES OWNER(id) ON DELETE CASCADE, \
        stars INT DEFAULT (3), words INTEGER AS (length(title)), added DATETIME NOT NULL)
        """
    private static let indexes = [
        "CREATE UNIQUE INDEX by_title ON item(title, owner)", "CREATE INDEX item_stars ON item (stars DESC) WHERE \"stars\">0",
        "CREATE INDEX other_name ON item(added)",
    ]

    private func differences(_ statements: [String]) throws -> [String] {
        let db = try Connection(.memory)
        for statement in statements { try db.execute(SQL(raw: statement)) }
        let before = try Contents.of(db)
        let found = try db.main.differences(from: [Owner.self, Item.self])
        #expect(found.allSatisfy { "\($0)".isEmpty == false })
        #expect(try Contents.of(db) == before)
        return found.map(\.description)
    }

    @Test func describedTablesShowNoSchemaDifference() throws {
        let db = try Connection(.memory)
        #expect(try db.main.differences(from: [Owner.self, Item.self]).map(\.description)
            == ["there is no table owner: create it in a migration", "there is no table item: create it in a migration"])
        try db.create(Owner.table)
        try db.create(Item.table)
        #expect(try db.main.differences(from: [Owner.self, Item.self]) == [])
    }

    @Test func equivalentSQLShowsNoSchemaDifference() throws {
        #expect(try differences([Self.owner, Self.item] + Self.indexes) == [])
    }

    @Test(arguments: [
        ("stars INT", "stars TEXT", "Item.stars has the type TEXT, and INTEGER in the description"),
        ("title TEXT NOT NULL", "title TEXT", "Item.title may be NULL, and is NOT NULL in the description: make the property optional, or rebuild the table"),
        ("stars INT", "stars INT NOT NULL", "Item.stars is NOT NULL, and may be NULL in the description: make the property not optional, or rebuild the table"),
        ("(3)", "4", "the default of Item.stars is 4, and 3 in the description"),
        ("DEFAULT (3)", "", "the default of Item.stars is none, and 3 in the description"),
        ("added DATETIME NOT NULL", "added DATETIME NOT NULL DEFAULT 'A b'", "the default of Item.added is 'A b', and none in the description"),
        ("ON DELETE CASCADE", "", "the foreign key of Item from owner to owner has ON DELETE NO ACTION, and CASCADE in the description"),
        ("ON DELETE CASCADE", "ON DELETE CASCADE ON UPDATE SET NULL", "the foreign key of Item from owner to owner has ON UPDATE SET NULL, and NO ACTION in the description"),
        ("REFERENCES OWNER(id) ON DELETE CASCADE", "", "the foreign key of Item from owner to owner is only in the description: rebuild the table with it, or remove it"),
        ("stars INT", "stars INT REFERENCES Item", "the foreign key of Item from stars to Item is not in the description"),
        ("words INTEGER AS (length(title))", "words INTEGER", "Item.words is an ordinary column, and is described otherwise"),
        ("words INTEGER AS (length(title)),", "", "Item has no column words: add it in a migration, as \"words\" INTEGER"),
        ("stars INT", "more NOT NULL, stars INT", "Item.more is not in the description, and a row cannot be inserted without it: describe it, or drop it in a migration"),
        ("stars INT", "more, stars INT", "Item.more is not in the description: describe it, or drop it in a migration"),
        ("ID INTEGER PRIMARY KEY", "ID INTEGER", "the primary key of Item is none, and id in the description"),
        ("title TEXT NOT NULL COLLATE nocase", "title TEXT NOT NULL", "the unique constraint on title COLLATE NOCASE, owner of Item does not exist: create it in a migration"),
    ])
    func schemaDifferenceDescribesTableChange(_ part: String, _ other: String, _ message: String) throws {
        let sql = Self.item.replacingOccurrences(of: part, with: other)
        #expect(sql != Self.item)
        let found = try differences([Self.owner, sql] + Self.indexes)
        #expect(found.contains(message), "\(found)")
        #expect(found.count <= 2)
    }

    @Test func schemaDifferenceReportsOptionsAndIndexes() throws {
        let strict = "CREATE TABLE owner(id BLOB PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT"
        let options = try differences([strict, Self.item] + Self.indexes)
        #expect(options == [
            "owner is not WITHOUT ROWID, and is described otherwise", "owner is STRICT, and is described otherwise",
        ], "\(options)")
        let other = ["CREATE INDEX item_stars ON item(stars) WHERE stars > 1", "CREATE INDEX x ON item(length(title))"]
        #expect(try Set(differences([Self.owner, Self.item, Self.indexes[0]] + other)) == [
            "the index item_stars of Item is on stars (with a condition), and on stars DESC (with a condition) in the description",
            "the index item_added of Item does not exist: create it in a migration", "the index x of Item is not in the description",
        ])
        let found = try differences([Self.owner, Self.item] + Self.indexes.dropLast() + ["CREATE UNIQUE INDEX item_added ON item(added, id)"])
        #expect(found == ["the index item_added of Item is on added, ID (unique), and on added in the description"])
    }

    @Test func undescribedRecordReportsMissingColumns() throws {
        let db = try Connection(.memory)
        #expect(try db.main.differences(from: [Plain.self]).map(\.description) == ["there is no table plain: create it in a migration"])
        try db.execute("CREATE TABLE plain(id INTEGER PRIMARY KEY, TITLE, key, extra)")
        let found = try db.main.differences(from: [Plain.self])
        #expect(found.compactMap(\.column) == ["at", "kind", "tags", "last"])
        #expect(found.first?.description == "plain has no column at, and Plain has a property of this name: if it is stored under another, describe the table")
    }

    /// Their tables are no change of the schema, because of which a database in development would be erased.
    @Test func storesAndChangeLogsDoNotTriggerErasure() throws {
        let db = try Connection(.memory)
        var migrator = Migrator()
        migrator.add("1") { db in try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY)") }
        migrator.erasesOnSchemaChange = true
        try migrator.migrate(db)
        try KeyValueStore("s", in: db).set("x", to: 1, expires: Date(timeIntervalSinceNow: 99))
        try ChangeLog(db, tables: ["t"], localPeer: "p").write { try $0.execute("INSERT INTO t VALUES (1)") }
        try migrator.migrate(db)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 1)
        try db.execute("CREATE TABLE more(x)")
        try migrator.migrate(db)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 0)
        #expect(try db.main.tables().map(\.name) == ["sqlcipherkit_migration", "t"])
    }

    @Test func schemaDifferenceReadsViewColumns() throws {
        let db = try Connection(.memory)
        try db.execute(SQLScript("CREATE TABLE o(a, b); CREATE VIEW owner AS SELECT a AS id FROM o"))
        #expect(try db.main.differences(from: [Owner.self]).map(\.description)
            == ["owner has no column name: add it in a migration, as \"name\" TEXT NOT NULL"])
    }
}
