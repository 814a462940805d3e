import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct RowDecodingTests {
    enum Kind: String, Codable {
        case plain, fancy
        enum Key: CodingKey { case a, b }
    }
    struct Address: Codable, Equatable { var city: String; var zip: [Int] }
    struct Note: Codable, Equatable {
        var id: Int
        var title: String
        var stars: Double?
        var kind: Kind
        var data: Data
        var uuid: UUID
        var made: Date
        var url: URL
        var tags: [String]
        var address: Address?
        var small: UInt8
        var isOpen: Bool
    }

    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title, stars, kind, data, uuid, made, url, tags, address, small, isOpen)")
    }

    private let note = Note(
        id: 1, title: "Plan\0B", stars: nil, kind: .fancy, data: Data([0, 1]), uuid: UUID(), made: Date(timeIntervalSince1970: 1.25),
        url: URL(fileURLWithPath: "/a b"), tags: ["x", "é"], address: Address(city: "Rom", zip: [1, 2]), small: 200, isOpen: true)

    @Test func codableRecordWithAllColumnTypesRoundTrips() throws {
        try db.insert(note, into: "note")
        let stored: [(SQLValue, SQLValue)] = try db.fetchAll("SELECT kind, tags FROM note")
        #expect(stored[0] == (.text("fancy"), .text(#"["x","é"]"#)))
        #expect(try db.fetchOne(String.self, "SELECT typeof(data) || typeof(uuid) || typeof(made) || typeof(stars) FROM note") == "blobblobtextnull")
        #expect(try db.fetchOne(String.self, "SELECT address ->> '$.city' FROM note") == "Rom")
        #expect(try db.fetchAll(Note.self, "SELECT * FROM note") == [note])
        #expect(try db.fetchOne(Note.self, "SELECT * FROM note WHERE id = ?", [1]) == note)
        #expect(try db.fetchOne(Note.self, "SELECT * FROM note WHERE id = 2") == nil)
        let cursor = try db.cursor(Note.self, "SELECT * FROM note")
        #expect(try cursor.next() == note)
        #expect(try cursor.next() == nil)
        var seen: [Note] = []
        try db.forEach("SELECT * FROM note") { seen.append(try $0.decode()) }
        #expect(seen == [note])
        let statement = try db.prepare("SELECT * FROM note WHERE id = ?")
        #expect(try statement.fetchAll(Note.self, [1]) == [note])
        #expect(try statement.fetchOne(Note.self, [1]) == note)
    }

    struct Pair: Codable, Equatable { var a: Int; var b: String? }

    @Test func rowDecodesColumnsInAnyOrder() throws {
        #expect(try db.fetchAll(Pair.self, "SELECT 'x' AS b, 5 AS more, 1 AS a UNION ALL SELECT NULL, 6, 2") == [.init(a: 1, b: "x"), .init(a: 2, b: nil)])
        #expect(try db.fetchAll(Pair.self, "SELECT 3 AS A") == [.init(a: 3, b: nil)])
        let missing = #expect(throws: DatabaseError.self) { try db.fetchAll(Pair.self, "SELECT 'x' AS b") }
        #expect(missing?.reason == .noSuchColumn && missing?.message.contains("column named a") == true)
        let null = #expect(throws: DatabaseError.self) { try db.fetchAll(Pair.self, "SELECT NULL AS a") }
        #expect(null?.reason == .unexpectedNull && null?.message.contains("a") == true)
        let text = #expect(throws: DatabaseError.self) { try db.fetchAll(Pair.self, "SELECT 1 AS a, 5 AS b") }
        #expect(text?.reason == .typeMismatch)
        #expect(throws: DatabaseError.self) { try db.fetchAll(Pair.self, "SELECT 3.5 AS a") }
    }

    @Test func rowDecodingFollowsSchemaChange() throws {
        try db.execute("CREATE TABLE t(a, b)")
        try db.execute("INSERT INTO t VALUES (1, 'x')")
        #expect(try db.fetchAll(Pair.self, "SELECT * FROM t") == [.init(a: 1, b: "x")])
        try db.execute("DROP TABLE t")
        try db.execute("CREATE TABLE t(c, b, a)")
        try db.execute("INSERT INTO t VALUES ('c', 'y', 2)")
        #expect(try db.fetchAll(Pair.self, "SELECT * FROM t") == [.init(a: 2, b: "y")])
    }

    @Test func rowDecodesSingleValuesAndDictionaries() throws {
        #expect(try db.fetchAll(Kind.self, "SELECT 'plain'") == [.plain])
        #expect(try db.fetchAll([String: Int].self, "SELECT 1 AS x, 2 AS y UNION ALL SELECT 3, 4") == [["x": 1, "y": 2], ["x": 3, "y": 4]])
        #expect(throws: (any Error).self) { try db.fetchAll(Kind.self, "SELECT 'unknown'") }
        struct Renamed: Codable, Equatable {
            var title: String
            enum CodingKeys: String, CodingKey { case title = "note_title" }
        }
        #expect(try db.fetchAll(Renamed.self, "SELECT 'a' AS note_title") == [Renamed(title: "a")])
        struct Wide: Codable, Equatable {
            struct Key: CodingKey {
                var stringValue: String
                var intValue: Int? { nil }
                init(stringValue: String) { self.stringValue = stringValue }
                init?(intValue: Int) { nil }
            }
            var values: [String] = []
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Key.self)
                for key in container.allKeys where container.contains(key) { values.append(try container.decode(String.self, forKey: key)) }
            }
            func encode(to encoder: any Encoder) throws {}
        }
        #expect(try db.fetchAll(Wide.self, "SELECT 'a' AS x, 'b' AS y UNION ALL SELECT 'c', 'd'").map(\.values) == [["a", "b"], ["c", "d"]])
    }

    class Base: Codable {
        var a = 0
        init() {}
    }
    final class Derived: Base {
        var b = ""
        enum CodingKeys: CodingKey { case b }
        override init() { super.init() }
        required init(from decoder: any Decoder) throws {
            b = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .b)
            try super.init(from: decoder)
        }
        override func encode(to encoder: any Encoder) throws {
            try super.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(b, forKey: .b)
        }
    }

    @Test func superclassDecodesFromTheSameRow() throws {
        try db.execute("CREATE TABLE t(a, b)")
        let value = Derived()
        for i in 1...3 {
            value.a = i
            value.b = "\(i)"
            try db.insert(value, into: "t")
        }
        let back = try db.fetchAll(Derived.self, "SELECT b, a FROM t ORDER BY a")
        #expect(back.map(\.a) == [1, 2, 3] && back.map(\.b) == ["1", "2", "3"])
    }

    /// A decoder that is kept reads nothing once its row is gone.
    @Test func decoderKeptBeyondItsRowThrows() throws {
        final class Thief: Decodable {
            nonisolated(unsafe) static var stolen: (any Decoder)?
            nonisolated(unsafe) static var container: KeyedDecodingContainer<Kind.Key>?
            init(from decoder: any Decoder) throws {
                Self.stolen = decoder
                Self.container = try decoder.container(keyedBy: Kind.Key.self)
            }
        }
        _ = try db.fetchAll(Thief.self, "SELECT 1 AS a")
        let decoder = try #require(Thief.stolen)
        let container = try #require(Thief.container)
        Thief.stolen = nil
        Thief.container = nil
        db.settings.statementCache.clear()
        #expect(container.allKeys == [] && !container.contains(.a))
        #expect(throws: DatabaseError.self) { try container.decode(Int.self, forKey: .a) }
        #expect(throws: DatabaseError.self) { try container.decodeNil(forKey: .b) }
        let error = #expect(throws: DatabaseError.self) { try Pair(from: decoder) }
        #expect(error?.reason == .misuse)
        #expect(throws: DatabaseError.self) { try decoder.unkeyedContainer() }
    }

    @Test func rowDecodingErrorsReachTheCaller() throws {
        struct Refusal: Error {}
        struct Picky: Decodable { init(from decoder: any Decoder) throws { throw Refusal() } }
        #expect(throws: Refusal.self) { try db.fetchAll(Picky.self, "SELECT 1") }
        struct Nested: Decodable { var list: [Int] }
        #expect(try db.fetchAll(Nested.self, "SELECT '[1,2]' AS list").map(\.list) == [[1, 2]])
        let malformed = #expect(throws: DatabaseError.self) { try db.fetchAll(Nested.self, "SELECT 'no json' AS list") }
        #expect(malformed?.reason == .typeMismatch && malformed?.message.contains("column list") == true)
        #expect(throws: DatabaseError.self) { try db.fetchAll(Nested.self, "SELECT 5 AS list") }
    }
}
