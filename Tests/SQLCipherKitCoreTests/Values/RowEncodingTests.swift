import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct RowEncodingTests {
    struct Item: Codable, Equatable {
        var id: Int?
        var name: String
        var size: Double?
    }

    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, size REAL, state DEFAULT 'new')")
    }

    @Test func encodableRecordsAreInserted() throws {
        for i in 0..<50 { try db.insert(Item(id: i % 3 == 0 ? 1000 + i : nil, name: "n\(i)", size: i % 2 == 0 ? Double(i) : nil), into: "item") }
        let items = try db.fetchAll(Item.self, "SELECT * FROM item ORDER BY rowid")
        #expect(items.count == 50)
        #expect(items.first { $0.name == "n3" }?.id == 1003)
        #expect(items.filter { $0.size == nil }.count == 25)
        #expect(items.first { $0.name == "n4" }?.size == 4)
        #expect(try db.fetchAll(String.self, "SELECT DISTINCT state FROM item") == ["new"])
        #expect(db.lastInsertedRowID == items.first { $0.name == "n49" }?.id.map(Int64.init))
        try db.execute("CREATE TABLE filled(id, name, size DEFAULT 7)")
        try db.insert(Item(id: nil, name: "a", size: nil), into: "filled")
        #expect(try db.fetchOne(Double?.self, "SELECT size FROM filled") == .some(nil))
    }

    @Test func insertSQLNamesTheEncodedColumns() throws {
        var statements: [String] = []
        try db.addTraceHook { if $0.kind == .started { statements.append($0.sql) } }
        for i in 0..<3 { try db.insert(Item(id: nil, name: "\(i)", size: nil), into: "item") }
        #expect(statements == Array(repeating: #"INSERT INTO "item"("id", "name", "size") VALUES (?, ?, ?)"#, count: 3))
    }

    @Test func insertFollowsItsConflictResolution() throws {
        let item = Item(id: 1, name: "a", size: 1)
        try db.insert(item, into: "item")
        let error = #expect(throws: DatabaseError.self) { try db.insert(item, into: "item") }
        #expect(error?.code == .constraintPrimaryKey)
        try db.insert(Item(id: 1, name: "b", size: 2), into: "item", onConflict: .ignore)
        #expect(try db.fetchOne(String.self, "SELECT name FROM item") == "a")
        for name in ["c", "d"] { try db.insert(Item(id: 1, name: name, size: 2), into: "item", onConflict: .replace) }
        #expect(try db.fetchAll(String.self, "SELECT name FROM item") == ["d"])
        // After an error the same statement goes on.
        try db.insert(Item(id: 2, name: "e", size: nil), into: "item")
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM item") == 2)
    }

    @Test func insertQuotesTableAndSchemaNames() throws {
        try db.attach(.memory, as: "o\"ther", key: .plaintext)
        try db.execute("CREATE TABLE \(identifier: "o\"ther").\(identifier: "a table")(name, size, id)")
        try db.insert(Item(id: 5, name: "x", size: nil), into: "a table", in: db.schema("o\"ther"))
        #expect(try db.fetchAll(Int.self, "SELECT id FROM \(identifier: "a table")") == [5])
        #expect(throws: DatabaseError.self) { try db.insert(Item(id: 1, name: "x", size: nil), into: "nowhere") }
    }

    @Test func encodedNilIsStoredAsNull() throws {
        struct Nothing: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encodeNil()
            }
        }
        struct Row: Encodable { var name = "x", state = Nothing() }
        try db.insert(Row(), into: "item")
        #expect(try db.fetchOne(SQLValue.self, "SELECT state FROM item") == .null)
    }

    /// A record that leaves a key out altogether gets the column's default.
    @Test func omittedKeysTakeColumnDefaults() throws {
        struct Loose: Encodable {
            var values: [(String, String)]
            struct Key: CodingKey {
                var stringValue: String
                var intValue: Int? { nil }
                init(stringValue: String) { self.stringValue = stringValue }
                init?(intValue: Int) { nil }
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Key.self)
                for (key, value) in values { try container.encode(value, forKey: Key(stringValue: key)) }
            }
        }
        try db.insert(Loose(values: [("name", "a")]), into: "item")
        try db.insert(Loose(values: [("name", "b"), ("state", "old")]), into: "item")
        try db.insert(Loose(values: [("state", "older"), ("name", "c")]), into: "item")
        try db.insert(Loose(values: [("name", "d")]), into: "item")
        try db.insert(["name": "e", "state": "dictionary"], into: "item")
        let rows: [(String, String)] = try db.fetchAll("SELECT name, state FROM item ORDER BY name")
        #expect(rows.map(\.1) == ["new", "old", "older", "new", "dictionary"])
        let error = #expect(throws: DatabaseError.self) { try db.insert(Loose(values: [("name", "f"), ("nothing_of_it", "x")]), into: "item") }
        #expect(error?.message.contains("nothing_of_it") == true)
        #expect(throws: DatabaseError.self) { try db.insert(Loose(values: []), into: "item") }
        #expect(throws: DatabaseError.self) { try db.insert([1, 2], into: "item") }
        #expect(throws: DatabaseError.self) { try db.insert(5, into: "item") }
    }

    @Test func encodableArgumentsBindByName() throws {
        let item = Item(id: 7, name: "a", size: nil)
        try db.insert(item, into: "item")
        try db.execute("UPDATE item SET name = :name || '!', size = :size WHERE id = :id", StatementArguments(encoding: Item(id: 7, name: "b", size: 2)))
        #expect(try db.fetchOne(Item.self, "SELECT * FROM item") == Item(id: 7, name: "b!", size: 2))
        let error = #expect(throws: DatabaseError.self) { try db.execute("UPDATE item SET name = :name", StatementArguments(encoding: item)) }
        #expect(error?.reason == .parameters)
        #expect(throws: DatabaseError.self) { try StatementArguments(encoding: 5) }
    }

    @Test func insertingNaNOrOversizedIntegerThrows() throws {
        struct Number: Codable { var name: String; var size: Double; var id: UInt64 }
        #expect(throws: DatabaseError.self) { try db.insert(Number(name: "a", size: .nan, id: 1), into: "item") }
        try db.insert(Number(name: "a", size: 1, id: 1), into: "item")
        for bad in [Number(name: "b", size: .nan, id: 2), Number(name: "b", size: 1, id: .max)] {
            let error = #expect(throws: DatabaseError.self) { try db.insert(bad, into: "item") }
            #expect(error?.reason == .invalidArgument)
        }
        try db.insert(Number(name: "b", size: -.infinity, id: 2), into: "item")
        #expect(try db.fetchAll(Double.self, "SELECT size FROM item ORDER BY id") == [1, -.infinity])
    }

    @Test func encodedDatesFollowTheConnectionStrategy() throws {
        struct Event: Codable, Equatable { var at: Date }
        var configuration = DatabaseConfiguration()
        configuration.valueProfile.dates = .realSeconds
        let other = try Connection(.memory, configuration: configuration)
        try other.execute("CREATE TABLE event(at)")
        for _ in 0..<2 { try other.insert(Event(at: Date(timeIntervalSince1970: 0.5)), into: "event") }
        #expect(try other.fetchAll(SQLValue.self, "SELECT at FROM event") == [.real(0.5), .real(0.5)])
        #expect(try other.fetchAll(Event.self, "SELECT at FROM event").map(\.at.timeIntervalSince1970) == [0.5, 0.5])
    }

    @Test func insertOnClosedConnectionThrows() throws {
        try db.insert(Item(id: 1, name: "a", size: nil), into: "item")
        db.close()
        let error = #expect(throws: DatabaseError.self) { try db.insert(Item(id: 2, name: "b", size: nil), into: "item") }
        #expect(error?.reason == .closed)
    }
}
