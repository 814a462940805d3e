import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// Properties whose coding keys have other texts: their columns do not have the properties' names.
@Suite struct PropertyColumnTests {
    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE price(id INTEGER PRIMARY KEY, low INTEGER, high INTEGER, title TEXT, name TEXT)")
        try db.execute("INSERT INTO price VALUES (1, 10, 20, 'the title', 'the name')")
    }

    /// Two keys are exchanged, one is another column's, and one of the table's columns is no property's.
    struct Price: SQLRecord {
        var id: Int
        var low: Int
        var high: Int
        var title: String

        enum CodingKeys: String, CodingKey {
            case id, low = "high", high = "low", title = "name"
        }

        static let table = SQLTable(of: Price.self) {
            $0.id.primaryKey()
            $0.low.named("high")
            $0.high.named("low")
            $0.title.named("name")
        }
    }

    /// Two keys that differ in case only: SQLite takes them for one column, and would keep one of the values.
    struct Twofold: SQLRecord {
        var id: Int?
        var low: Int
        var lowest: Int
        enum CodingKeys: String, CodingKey { case id, low, lowest = "LOW" }
        static let tableName = "price"
    }

    @Test func twoValuesForOneColumnAreRefused() throws {
        let db = db
        let calls: [(String, (inout Twofold) throws -> Void)] = [
            ("insert", { try db.insert($0) }), ("insert(&)", { try db.insert(&$0) }), ("insertAll", { try db.insertAll([$0]) }),
            ("upsert", { try db.upsert($0) }), ("upsert(&)", { try db.upsert(&$0) }), ("update", { try db.update($0) }),
            ("SQLUpsert", { try db.upsert($0, SQLUpsert(on: \.id).updating(\.low)) }), ("save", { try db.save(&$0) }),
            ("updateChanges", { try db.updateChanges($0, from: $0) }), ("insert(into:)", { try db.insert($0, into: "price") }),
        ]
        for (name, call) in calls {
            var record = Twofold(id: 1, low: 3, lowest: 4)
            let error = #expect(throws: DatabaseError.self, "\(name)") { try call(&record) }
            #expect(error?.reason == .invalidArgument && error?.message.contains("LOW") == true, "\(name): \(error as Any)")
            #expect(try db.fetchAll((Int, Int).self, "SELECT low, high FROM price").map { [$0.0, $0.1] } == [[10, 20]], "\(name)")
        }
    }

    /// Two keys that become one by the type's naming.
    struct Renamed: SQLRecord {
        var id: Int?
        var highLow: Int
        var high_low: Int
        static let columnNaming = ColumnNaming.snakeCase
        static let tableName = "price"
    }

    @Test func twoKeysOfOneNameAreRefused() throws {
        try db.execute("ALTER TABLE price ADD COLUMN high_low INTEGER")
        let record = Renamed(id: nil, highLow: 1, high_low: 2)
        for call in [{ try db.insert(record, into: "price") }, { try db.insert(record) }, { try db.upsert(record) }] {
            let error = #expect(throws: DatabaseError.self) { try call() }
            #expect(error?.reason == .invalidArgument && error?.message.contains("high_low") == true, "\(error as Any)")
        }
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM price") == 1)
    }

    @Test func tooManyBoundValuesNameTheRemedy() throws {
        let ids = Array(0..<300_000)
        let error = #expect(throws: DatabaseError.self) { try db.fetchAll(Price.filter { ids.contains($0.id) }) }
        #expect(error?.message.contains("fetchAll(_:ids:)") == true)
        #expect(try db.fetchAll(Price.self, ids: ids).count == 1)
    }

    /// Described as if its keys were its properties' names, which cannot be seen before a record is coded: they are private.
    struct Misdescribed: SQLRecord {
        var id: Int
        var low: Int
        private enum CodingKeys: String, CodingKey { case id, low = "high" }
        static let tableName = "price"
        static let table = SQLTable(of: Misdescribed.self) {
            $0.id.primaryKey()
            $0.low
        }
        init(id: Int, low: Int) { (self.id, self.low) = (id, low) }
    }

    /// The same without a description.
    struct Undescribed<Tag>: SQLRecord {
        var id: Int
        var low: Int
        static var tableName: String { "price" }
        private enum CodingKeys: String, CodingKey { case id, low = "high" }
        init(id: Int, low: Int) { (self.id, self.low) = (id, low) }
    }

    /// A record that is never decoded.
    struct Closed: SQLRecord {
        var id: Even
        var low: Int
        var title: String
        static let tableName = "price"
        enum CodingKeys: String, CodingKey { case id, low = "high", title = "name" }

        struct Even: Codable {
            var number = 0
            init(from decoder: any Decoder) throws { throw CancellationError() }
            func encode(to encoder: any Encoder) throws {}
        }
    }

    struct Described: SQLRecord {
        var id: Int
        var low: Int
        var high: Int
        var title: String
        typealias CodingKeys = Price.CodingKeys

        init(from decoder: any Decoder) throws {
            let price = try Price(from: decoder)
            (id, low, high, title) = (price.id, price.low, price.high, price.title)
        }

        func encode(to encoder: any Encoder) throws { try Price(id: id, low: low, high: high, title: title).encode(to: encoder) }

        static let table = SQLTable(of: Described.self) {
            $0.id.primaryKey()
            $0.low.named("high")
            $0.high.named("low")
            $0.title.named("name")
        }
        static let tableName = "price"
    }

    /// Keys that are no enumeration's, and words of the language.
    struct Plain: SQLRecord {
        var id: Int
        var `default`: Int
        var `class`: String
        enum CodingKeys: String, CodingKey { case id, `default`, `class` }
        static let tableName = "plain"
    }

    @Test func swappedCodingKeysSelectTheRightColumn() throws {
        let price = try #require(try db.fetchOne(Price.all))
        #expect(price.low == 20 && price.high == 10 && price.title == "the name")
        #expect(try db.count(Price.filter { $0.id == 1 }) == 1)
        // In queries as in reading, a property is the column of its coding key, which the description repeats.
        #expect(try db.count(Price.filter { $0.low == 20 && $0.high == 10 && $0.title == "the name" }) == 1)
        #expect(try db.fetchAll(Price.all.select { $0.title }) == ["the name"])
        try db.updateAll(Price.all) { _, set in set(\.low, to: 30) }
        #expect(try db.fetchOne(Int.self, "SELECT high FROM price") == 30)
        #expect(try db.fetchOne(Int.self, "SELECT low FROM price") == 10)
        let made = try Connection(.memory)
        try made.create(Price.table)
        try made.insert(price)
        #expect(try made.fetchAll(OwnedRow.self, "SELECT id, high, low, name FROM price").first?.dictionary
            == ["id": 1, "high": 20, "low": 10, "name": "the name"])
    }

    /// Where the keys cannot be found out, a query that needs one is refused.
    @Test func undiscoverableCodingKeyIsRefused() throws {
        for query in [Closed.filter { $0.low == 10 }, Closed.all.order { $0.title }] {
            let error = #expect(throws: DatabaseError.self) { try db.fetchAll(query) }
            #expect(error?.reason == .invalidArgument && error?.message.contains("coding key") == true)
        }
        let error = #expect(throws: DatabaseError.self) { try db.updateAll(Closed.all) { _, set in set(\.low, to: 0) } }
        #expect(error?.message.contains("low") == true)
        let nameless = #expect(throws: DatabaseError.self) { try db.create(SQLTable(of: Closed.self) { $0.id; $0.low; $0.title }) }
        #expect(nameless?.message.contains("has no name") == true)
    }

    /// Reading a row, or writing a record, shows the coding keys, and conditions go by them from then on.
    @Test func codingKeysAreLearntFromRealRecords() throws {
        func names<Tag>(_ type: Undescribed<Tag>.Type) throws -> Bool {
            try db.sql(of: Undescribed<Tag>.filter { $0.low == 20 }).text.contains(#""price"."high""#)
        }
        #expect(try !names(Undescribed<Int>.self))
        _ = try db.fetchOne(Undescribed<Int>.self, id: 1)
        #expect(try names(Undescribed<Int>.self))
        try db.insert(Undescribed<String>(id: 2, low: 5))
        #expect(try names(Undescribed<String>.self))
        #expect(try db.count(Undescribed<String>.filter { $0.low.in([5, 20]) }) == 2)
        try db.execute("ALTER TABLE price DROP COLUMN low")
        let error = #expect(throws: DatabaseError.self) { try db.count(Undescribed<Double>.filter { $0.low == 20 }) }
        #expect(error?.message.contains("no such column: price.low") == true && error?.message.contains("named(") == true)
    }

    @Test func descriptionThatContradictsCodingKeysIsRefused() throws {
        let error = #expect(throws: DatabaseError.self) { try db.insert(Misdescribed(id: 2, low: 5)) }
        #expect(error?.message.contains(#"$0.low.named("high")"#) == true)
    }

    @Test func tableDescriptionNamesPropertyColumn() throws {
        #expect(try db.count(Described.filter { $0.low == 20 && $0.high == 10 && $0.title == "the name" }) == 1)
        try db.updateAll(Described.all) { _, set in set(\.low, to: 30) }
        #expect(try db.fetchOne(Int.self, "SELECT high FROM price") == 30)
    }

    @Test func keywordPropertiesFindTheirColumns() throws {
        try db.execute("CREATE TABLE plain(id INTEGER PRIMARY KEY, \"default\" INTEGER, class TEXT)")
        try db.insert(Plain(id: 1, default: 2, class: "x"))
        #expect(try db.count(Plain.filter { $0.default == 2 && $0.class == "x" }) == 1)
    }
}
