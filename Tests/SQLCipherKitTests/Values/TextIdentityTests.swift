import Foundation
import KitSupport
import SQLCipherKit
import SQLCipherKitSync
import Testing
import TestSupport

/// Two texts are the same if their bytes are: pairs that Swift takes for equal go through every kind of call that takes text.
@Suite struct TextIdentityTests {
    struct Pair: CustomTestStringConvertible, Sendable {
        let a: String, b: String
        var testDescription: String { "\(Array(a.utf8)) and \(Array(b.utf8))" }
    }

    /// The third has an ASCII letter in one form, which case folding by Unicode's rules would make of the other.
    static let pairs = [
        Pair(a: "caf\u{e9}", b: "cafe\u{301}"), Pair(a: "\u{ac00}", b: "\u{1100}\u{1161}"), Pair(a: "K", b: "\u{212a}"),
        Pair(a: "na\u{ef}ve \u{1f511}", b: "nai\u{308}ve \u{1f511}"),
    ]

    /// A coding key of any name, which an enumeration could not have both of.
    struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(_ text: String) { stringValue = text }
        init?(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { nil }
    }

    /// A record of three columns, two of which have names that are equal to Swift.
    struct Record: SQLRecord {
        var id: Int
        var values: [(key: String, value: Int)]

        static let tableName = "record"

        init(_ id: Int, _ values: [(key: String, value: Int)]) { (self.id, self.values) = (id, values) }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            id = try container.decode(Int.self, forKey: Key("id"))
            values = try container.allKeys.filter { $0.stringValue != "id" }.map {
                ($0.stringValue, try container.decode(Int.self, forKey: $0))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(id, forKey: Key("id"))
            for (key, value) in values { try container.encode(value, forKey: Key(key)) }
        }
    }

    private func utf8(_ texts: [String]) -> [[UInt8]] { texts.map { Array($0.utf8) } }

    @Test(arguments: pairs) func canonicallyEqualTableNamesStayApart(_ pair: Pair) throws {
        let db = try Connection(.memory), (a, b) = (pair.a, pair.b)
        #expect(a == b && Array(a.utf8) != Array(b.utf8))
        for text in [a, b, a, b] {
            #expect(try db.fetchOne([UInt8].self, SQL(raw: "SELECT CAST('\(text)' AS BLOB)")) == Array(text.utf8))
        }
        let before = db.settings.statementCache.hits
        for text in [a, b] { _ = try db.fetchOne([UInt8].self, SQL(raw: "SELECT CAST('\(text)' AS BLOB)")) }
        #expect(db.settings.statementCache.hits == before + 2)
        for (number, name) in [a, b].enumerated() {
            try db.execute("CREATE TABLE \(identifier: name)(n)")
            try db.execute("INSERT INTO \(identifier: name) VALUES (\(number))")
            #expect(try db.main.hasTable(name))
        }
        #expect(try db.fetchOne(Int.self, "SELECT n FROM \(identifier: a)") == 0)
        #expect(try db.fetchOne(Int.self, "SELECT n FROM \(identifier: b)") == 1)
        try db.execute("DROP TABLE \(identifier: a)")
        #expect(try !db.main.hasTable(a) && db.main.hasTable(b) && db.main.columns(of: a).isEmpty)
        #expect(throws: DatabaseError.self) { try db.execute("SELECT n FROM \(identifier: a)") }
    }

    @Test(arguments: pairs) func canonicallyEqualColumnNamesStayApart(_ pair: Pair) throws {
        let db = try Connection(.memory), (a, b) = (pair.a, pair.b)
        try db.create(SQLTable("t") { SQLColumn(a); SQLColumn(b).default(5) })
        try db.execute("INSERT INTO t VALUES (1, 2)")
        try db.forEach("SELECT * FROM t") { row in
            let (first, second): (Int, Int) = (try row[a], try row[b])
            #expect(first == 1 && second == 2)
        }
        let copy = try #require(try db.fetchOne(OwnedRow.self, "SELECT * FROM t"))
        let (first, second): (Int, Int) = (try copy[a], try copy[b])
        #expect(first == 1 && second == 2)
        let only = try #require(try db.fetchOne(OwnedRow.self, "SELECT \(identifier: b) FROM t"))
        #expect(throws: DatabaseError.self) { let _: Int = try only[a] }
        #expect(try copy != .renamed(copy))
        // A mark is a part of a parameter's name, unless it stands in ASCII's way.
        if !a.contains(" ") {
            let sql = SQL(raw: "SELECT :\(a), :\(b)")
            let values: (Int, Int)? = try db.fetchOne(sql, [a: 1, b: 2])
            let reversed: (Int, Int)? = try db.fetchOne(sql, [":" + b: 2, ":" + a: 1])
            #expect(values?.0 == 1 && values?.1 == 2 && reversed?.0 == 1 && reversed?.1 == 2)
            #expect(throws: DatabaseError.self) { try db.execute(SQL(raw: "SELECT :\(a)"), [b: 1]) }
        }
        #expect(throws: DatabaseError.self) { try db.execute(SQL(raw: "SELECT :x"), ["\u{301}:x": 1]) }
        let marked: Int? = try db.fetchOne(SQL(raw: "SELECT :\u{301}x"), ["\u{301}x": 3])
        #expect(marked == 3)
    }

    @Test(arguments: pairs) func recordColumnsAreMatchedByBytes(_ pair: Pair) throws {
        let db = try Connection(.memory), (a, b) = (pair.a, pair.b)
        try db.execute("CREATE TABLE record(id INTEGER PRIMARY KEY, \(identifier: a) UNIQUE, \(identifier: b) UNIQUE)")
        func row(_ id: Int) throws -> [SQLValue]? { try db.fetchOne(OwnedRow.self, "SELECT * FROM record WHERE id = \(id)")?.values }
        try db.insert(Record(1, [(a, 10), (b, 20)]))
        try db.insert(Record(2, [(b, 40), (a, 30)]), into: "record")
        #expect(try row(1) == [1, 10, 20] && row(2) == [2, 30, 40])
        // Two records, one after the other, so that a cached statement would have to serve both.
        try db.insert(Record(3, [(a, 50)]))
        try db.insert(Record(4, [(b, 60)]))
        #expect(try row(3) == [3, 50, nil] && row(4) == [4, nil, 60])
        let changed = try db.updateChanges(Record(1, [(a, 10), (b, 21)]), from: Record(1, [(a, 10), (b, 20)]))
        #expect(try utf8(changed) == utf8([b]) && row(1) == [1, 10, 21])
        try db.upsert(Record(1, [(a, 11), (b, 21)]), onConflict: [b])
        try db.upsert(Record(9, [(a, 11), (b, 22)]), onConflict: [a])
        #expect(try row(1) == [1, 11, 22])
        let read = try #require(try db.fetchOne(Record.self, "SELECT * FROM record WHERE id = 1"))
        #expect(utf8(read.values.map(\.key)) == utf8([a, b]) && read.values.map(\.value) == [11, 22])
        for (number, name) in [a, b].enumerated() {
            try db.execute("CREATE TABLE \(identifier: name)(id)")
            try db.insert(["id": number], into: name)
        }
        #expect(try db.fetchAll(Int.self, "SELECT id FROM \(identifier: b)") == [1])
        let alias = Record.all.aliased(a).filter { $0[column: a] == 11 }
        #expect(try db.count(alias) == 1 && db.sql(of: alias).text.utf8.count > 0)
    }

    @Test(arguments: pairs) func canonicallyEqualPathsStayApart(_ pair: Pair) throws {
        let folder = try TemporaryFolder(), (a, b) = (pair.a, pair.b)
        func place(_ name: String) -> DatabaseLocation { .file(folder.url.path + "/" + name + ".db") }
        #expect(place(a) != place(b) && Set([place(a), place(b)]).count == 2)
        for (number, name) in [a, b].enumerated() {
            let db = try Connection(place(name))
            try db.execute("CREATE TABLE t(n)")
            try db.execute("INSERT INTO t VALUES (\(number))")
            try db.main.backup(toFileAt: folder.url.path + "/\(name).backup")
        }
        #expect(try folder.names().count == 4)
        let db = try Connection(.memory)
        let first = try db.attach(place(a), as: a, key: nil), second = try db.attach(place(b), as: b, key: nil)
        #expect(try db.fetchOne(Int.self, "SELECT n FROM \(identifier: a).t") == 0)
        #expect(try db.fetchOne(Int.self, "SELECT n FROM \(identifier: b).t") == 1)
        #expect(try first.path.map { Array($0.utf8) } == Array((folder.url.path + "/" + a + ".db").utf8))
        #expect(DatabaseTable("t", in: first) != DatabaseTable("t", in: second))
        let (_, region) = try db.recordingReads { try $0.fetchAll(Int.self, "SELECT n FROM \(identifier: b).t") }
        #expect(region.tables == [DatabaseTable("t", in: second)])
        try first.detach()
        #expect(throws: DatabaseError.self) { try db.schema(a) }
        #expect(try db.schema(b).hasTable("t"))
        #expect(throws: DatabaseError.self) { try db.attach(place(a), as: b, key: nil) }
        // A mark behind a slash does not make a relative path of it.
        let marked = try Connection(.file(folder.url.path + "/\u{301}.db"))
        let path = try #require(try marked.main.path)
        #expect(path.utf8.starts(with: folder.url.path.utf8))
    }

    @Test(arguments: pairs) func canonicallyEqualFunctionNamesStayApart(_ pair: Pair) throws {
        let db = try Connection(.memory), (a, b) = (pair.a, pair.b)
        for (number, name) in [a, b].enumerated() {
            try db.execute("CREATE TABLE \(identifier: name)(\(identifier: a), \(identifier: b))")
            try db.register(.function(name) { number })
            try db.register(.collation(name) { x, y in number == 0 ? x.compare(y) : y.compare(x) })
        }
        #expect(try db.fetchOne(Int.self, "SELECT \(identifier: a)()") == 0)
        #expect(try db.fetchOne(Int.self, "SELECT \(identifier: b)()") == 1)
        let order: SQL = "SELECT column1 FROM (VALUES ('x'), ('y')) ORDER BY 1 COLLATE "
        #expect(try db.fetchAll(String.self, "\(order)\(identifier: a)") == ["x", "y"])
        #expect(try db.fetchAll(String.self, "\(order)\(identifier: b)") == ["y", "x"])
        var access = SQLPermissions.readOnly
        access.tables = [a: .columns([a])]
        access.functions = [a]
        try db.withPermissions(access) { db in
            try db.execute("SELECT \(identifier: a), \(identifier: a)() FROM \(identifier: a)")
            for refused: SQL in ["SELECT \(identifier: b) FROM \(identifier: a)", "SELECT \(identifier: a) FROM \(identifier: b)",
                "SELECT \(identifier: b)()"] {
                #expect(throws: DatabaseError.self, "\(refused.text)") { try db.execute(refused) }
            }
        }
        try db.unregister(.function(a, arguments: 0))
        #expect(throws: DatabaseError.self) { try db.execute("SELECT \(identifier: a)()") }
        #expect(try db.fetchOne(Int.self, "SELECT \(identifier: b)()") == 1)
    }

    @Test(arguments: pairs) func canonicallyEqualKeysStayApart(_ pair: Pair) throws {
        let db = try Connection(.memory), (a, b) = (pair.a, pair.b)
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, j)")
        let document: JSONValue = .object([a: 1, b: 2])
        #expect(document[a] == 1 && document[b] == 2 && document != .object([b: 1, a: 2]))
        #expect(JSONPath(a) != JSONPath(b) && JSONValue.string(a) != .string(b) && SQLValue.text(a) != .text(b))
        #expect(Set([JSONPath(a), JSONPath(b)]).count == 2 && Set([SQLValue.text(a), .text(b)]).count == 2)
        try db.execute("INSERT INTO t VALUES (1, \(document))")
        try db.execute("INSERT INTO t VALUES (2, \(try document.text()))")
        try db.main.updateJSON("j", in: "t", where: "TRUE", .set(b, to: 7), .insert(8, at: a))
        for stored in try db.fetchAll(JSONValue.self, "SELECT j FROM t") { #expect(stored == .object([a: 1, b: 7])) }
        #expect(try db.fetchAll(Int.self, "SELECT \(JSONExpression(column: "j").value(a)) FROM t") == [1, 1])
        let made = try db.fetchOne(JSONValue.self, "SELECT \(JSONExpression.object([a: "1", b: "2"]))")
        #expect(made == document)
        let decoded = try JSONBDecoder().decode(Record.self, from: JSONValue.object(["id": 1, a: 1, b: 2]).jsonb())
        #expect(utf8(decoded.values.map(\.key)) == utf8([a, b]) && decoded.values.map(\.value) == [1, 2])
        #expect(try JSONValue(jsonb: JSONBEncoder().encode(Record(1, [(a, 1), (b, 2)]))) == .object(["id": 1, a: 1, b: 2]))
        // A Swift dictionary could hold only one of them.
        #expect(throws: (any Error).self) { try JSONBDecoder().decode([String: Int].self, from: document.jsonb()) }

        let stores = [try KeyValueStore(a, in: db), try KeyValueStore(b, in: db)]
        for (number, store) in stores.enumerated() {
            try store.set(a, to: "\(number)a")
            try store.set(b, to: "\(number)b")
        }
        for (number, store) in stores.enumerated() { #expect(try store.get(a) == "\(number)a" && store.get(b) == "\(number)b") }
        try stores[0].remove(a)
        #expect(try utf8(stores[0].keys()) == utf8([b]) && stores[1].keys().count == 2)
    }

    @Test(arguments: pairs) func canonicallyEqualFullTextNamesStayApart(_ pair: Pair) throws {
        let db = try Connection(.memory), (a, b) = (pair.a, pair.b)
        for name in [a, b] { try db.create(FTS5Table("of " + name, columns: [.init(a), .init(b)])) }
        try db.execute("INSERT INTO \(identifier: "of " + b) VALUES ('one', 'two')")
        let index = try db.fullText("of " + b)
        #expect(try utf8(index.columns()) == utf8([a, b]) && db.fullText("of " + a).search("one").hits.isEmpty)
        for (column, word) in [(a, "one"), (b, "two")] {
            var search = FullTextSearch(FTS5Query.columns([column], .phrase(word)))
            search.highlightedColumns = [column]
            search.retrievedColumns = [column]
            let hit = try #require(try index.search(search).hits.first)
            #expect(hit.highlights[column]?.description == "[\(word)]" && hit.columnValues.values == [.text(word)])
        }
        var both = FullTextSearch("one")
        both.highlightedColumns = [a, b]
        #expect(throws: DatabaseError.self) { try index.search(both) }
        if !a.contains(" ") {
            #expect(try index.search("\(b):two").hits.count == 1)
            #expect(try index.search("\(a):two").hits.isEmpty)
        }
    }

    @Test(arguments: pairs) func canonicallyEqualMigrationNamesStayApart(_ pair: Pair) throws {
        let db = try Connection(.memory), other = try Connection(.memory), (a, b) = (pair.a, pair.b)
        var migrator = Migrator()
        for name in [a, b] { migrator.add(name) { try $0.execute("CREATE TABLE \(identifier: name)(id INTEGER PRIMARY KEY)") } }
        #expect(try utf8(migrator.migrate(db, through: a)) == utf8([a]) && utf8(migrator.migrate(db)) == utf8([b]))
        var swapped = Migrator()
        for name in [b, a] { swapped.add(name) { _ in } }
        #expect(throws: DatabaseError.self) { try swapped.pending(in: db) }

        let changes = try db.main.recordingChanges(tables: [a]) { db in
            for name in [a, b] { try db.execute("INSERT INTO \(identifier: name) VALUES (1)") }
        }
        #expect(try utf8(changes.changes().map(\.table)) == utf8([a]))
        try other.execute("CREATE TABLE \(identifier: b)(id INTEGER PRIMARY KEY)")
        try changes.apply(to: other, tables: [b])
        try other.execute("CREATE TABLE \(identifier: a)(id INTEGER PRIMARY KEY)")
        try changes.apply(to: other, tables: [b])
        #expect(try other.fetchOne(Int.self, "SELECT count(*) FROM \(identifier: a)") == 0)
        try changes.apply(to: other)
        #expect(try other.fetchOne(Int.self, "SELECT count(*) FROM \(identifier: a)") == 1)

        try other.execute("DROP TABLE \(identifier: a)")
        let diff = try DatabaseDiff(from: db.main, to: other.main)
        #expect(try diff.summary().first { Array($0.name.utf8) == Array(a.utf8) }?.definition == .removed)
        #expect(try diff.summary().first { Array($0.name.utf8) == Array(b.utf8) }?.definition == .same)
        #expect(throws: DatabaseError.self) { try diff.changeset(tables: [a]) }
        try diff.apply(to: db)
        #expect(try !db.main.hasTable(a) && db.main.hasTable(b) && diff.isEmpty())

        let target = try db.attach(.memory, as: "target", key: nil)
        #expect(throws: DatabaseError.self) { try db.main.copyTables([a], to: target) }
        try db.main.copyTables([b], to: target)
        #expect(try target.hasTable(b) && !target.hasTable(a))
        let report = try db.main.spaceReport()
        #expect(report[b] != nil && report[a] == nil && report.bytes(ofTable: a) == 0)
    }

    @Test(arguments: pairs) func canonicallyEqualSlotLabelsStayApart(_ pair: Pair) throws {
        let folder = try TemporaryFolder(), (a, b) = (pair.a, pair.b)
        let location = DatabaseLocation.file(folder.path("a.db"))
        let slots = try KeySlots.create(.passphrase("one"), label: a, for: location, derivation: .quick)
        try slots.add(.passphrase("two"), label: b, derivation: .quick)
        #expect(try utf8(slots.slots().map(\.label)) == utf8([a, b]))
        try slots.changePassphrase(b, from: .passphrase("two"), to: .passphrase("three"), derivation: .quick)
        try slots.revoke(a)
        #expect(try utf8(slots.slots().map(\.label)) == utf8([b]))
        #expect(throws: DatabaseError.self) { try slots.revoke(a) }
    }

    @Test func namesIgnoreOnlyASCIICase() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE \(identifier: "STRA\u{df}E")(id, \(identifier: "\u{c9}t\u{e9}"))")
        #expect(DatabaseTable("NOTE") == DatabaseTable("note") && DatabaseTable("\u{c9}") != DatabaseTable("\u{e9}"))
        #expect(try db.main.hasTable("stra\u{df}e") && !db.main.hasTable("strasse"))
        var access = SQLPermissions.readOnly
        access.tables = ["stra\u{df}e": .columns(["ID", "\u{e9}t\u{e9}"])]
        try db.withPermissions(access) { db in
            try db.execute("SELECT id FROM \(identifier: "Stra\u{df}e")")
            // To SQLite, another letter.
            #expect(throws: DatabaseError.self) {
                try db.execute("SELECT \(identifier: "\u{c9}t\u{e9}") FROM \(identifier: "STRA\u{df}E")")
            }
        }
        try db.create(SQLTable("t") { SQLColumn("\u{c9}"); SQLColumn("\u{e9}") })
        #expect(throws: DatabaseError.self) { try db.create(SQLTable("u") { SQLColumn("a"); SQLColumn("A") }) }
    }
}

extension OwnedRow {
    /// The same values under names that are equal to Swift.
    fileprivate static func renamed(_ row: OwnedRow) throws -> OwnedRow {
        let db = try Connection(.memory)
        let list = zip(row.values, row.columnNames.reversed()).map { "\($0) AS \(identifier: $1)" as SQL }
        return try #require(try db.fetchOne(OwnedRow.self, "SELECT \(list[0]), \(list[1])"))
    }
}
