import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// A type's JSON is the same wherever it stands, and a document written in one way is read in every other way.
@Suite struct JSONPipelineTests {
    /// A type that says how it is coded.
    struct Stamp: Codable, Hashable, Sendable, JSONCodingCustomizable {
        var at: Date
        var many: [Date?]
        static let jsonCodingOptions = {
            var options = JSONCodingOptions()
            options.dates = .millisecondsSince1970
            options.nonConformingFloats = .convertToString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
            return options
        }()
    }

    /// A type that has one in it, and a date of its own.
    struct Outer: Codable, Hashable, Sendable {
        var at: Date
        var stamp: Stamp
        var list: [Stamp]
        var perhaps: Stamp?
        var named: [String: Stamp]
    }

    struct Holder: SQLRecord, Hashable {
        var id: Int64?
        var stamp: Stamp
        var stamps: [Stamp]
        var perhaps: Stamp?
        var column: JSONColumn<Stamp>
        var outer: JSONColumn<Outer>?
        var text: JSONColumn<[Stamp?]>
        static let tableName = "holder"
    }

    static let date = Date(timeIntervalSince1970: 1_700_000_000.25)
    static let stamp = Stamp(at: date, many: [date, nil])
    static let json = #"{"at":1700000000250.0,"many":[1700000000250.0,null]}"#
    static let outer = Outer(at: date, stamp: stamp, list: [stamp], perhaps: stamp, named: ["k": stamp])
    static let outerJSON =
        #"{"at":"2023-11-14T22:13:20.250Z","stamp":\#(json),"list":[\#(json)],"perhaps":\#(json),"named":{"k":\#(json)}}"#

    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, meta)")
        try db.execute("CREATE TABLE holder(id INTEGER PRIMARY KEY, stamp, stamps, perhaps, \"column\", outer, text)")
    }

    private func stored(_ column: String, _ table: String = "note") throws -> String? {
        try db.fetchOne(String?.self, "SELECT json(\(identifier: column)) FROM \(identifier: table)").flatMap { $0 }
    }

    @Test func everyWriterStoresTheSameJSON() throws {
        #expect(try JSONBEncoder().encodeText(Self.stamp) == Self.json)
        #expect(try JSONBEncoder().encodeText([Self.stamp, nil]) == "[\(Self.json),null]")
        #expect(try JSONBEncoder().encodeText(Self.outer) == Self.outerJSON)
        func column<T: Codable>(_ value: T, _ expected: String,
            _ location: SourceLocation = #_sourceLocation) throws where T: Sendable {
            for format in [JSONFormat.jsonb, .text] {
                try db.execute("DELETE FROM note")
                try db.execute("INSERT INTO note(meta) VALUES (\(JSONColumn(value, as: format)))")
                #expect(try stored("meta") == expected, sourceLocation: location)
            }
        }
        try column(Self.stamp, Self.json)
        try column([Self.stamp], "[\(Self.json)]")
        try column(Optional(Self.stamp), Self.json)
        try column(["a": [Self.stamp]], "{\"a\":[\(Self.json)]}")
        try column(Self.outer, Self.outerJSON)
        try column([Self.date], #"["2023-11-14T22:13:20.250Z"]"#)

        try db.main.updateJSON("meta", in: "note", where: "TRUE", .patch(["s": Self.stamp]))
        try db.execute("UPDATE note SET meta = '{}'")
        try db.main.updateJSON("meta", in: "note", where: "TRUE", .set("s", to: Self.stamp), .set("d", to: Self.date),
            .insert([Self.stamp], at: "l"))
        #expect(try stored("meta") == #"{"s":\#(Self.json),"d":"2023-11-14T22:13:20.250Z","l":[\#(Self.json)]}"#)
        try db.execute("UPDATE note SET meta = \(JSONColumn(Self.stamp))")
        try db.main.updateJSON("meta", in: "note", of: Stamp.self, where: "TRUE", .remove("many"), .set("at", to: Self.date + 1),
            .set("many", to: [Self.date]))
        #expect(try db.fetchOne(JSONColumn<Stamp>.self, "SELECT meta FROM note")?.value
            == Stamp(at: Self.date + 1, many: [Self.date]))

        let holder = Holder(
            id: 1, stamp: Self.stamp, stamps: [Self.stamp], perhaps: Self.stamp, column: JSONColumn(Self.stamp),
            outer: JSONColumn(Self.outer),
            text: JSONColumn([Self.stamp, nil], as: .text))
        func check(_ location: SourceLocation = #_sourceLocation) throws {
            #expect(try stored("stamp", "holder") == Self.json, sourceLocation: location)
            #expect(try stored("stamps", "holder") == "[\(Self.json)]", sourceLocation: location)
            #expect(try stored("perhaps", "holder") == Self.json, sourceLocation: location)
            #expect(try stored("column", "holder") == Self.json, sourceLocation: location)
            #expect(try stored("outer", "holder") == Self.outerJSON, sourceLocation: location)
            #expect(try stored("text", "holder") == "[\(Self.json),null]", sourceLocation: location)
            let kinds = "typeof(stamp) || typeof(stamps) || typeof(\"column\") || typeof(outer) || typeof(text)"
            #expect(try db.fetchOne(String.self, "SELECT \(raw: kinds) FROM holder") == "texttextblobblobtext",
                sourceLocation: location)
            #expect(try db.fetchOne(Holder.self, id: 1) == holder, sourceLocation: location)
        }
        try db.insert(holder)
        try check()
        try db.upsert(holder)
        try check()
        try db.update(holder)
        try check()
        #expect(try db.updateChanges(holder, from: holder) == [])
        try db.execute("DELETE FROM holder")
        try db.insert(holder, into: "holder")
        try check()
        try db.execute("UPDATE holder SET stamp = :stamp, outer = :outer",
            StatementArguments(encoding: Pair(stamp: Self.stamp, outer: JSONColumn(Self.outer))))
        try check()
        try db.updateAll(Holder.all) { _, set in
            set(\.stamps, to: [Self.stamp])
            set(\.column, to: JSONColumn(Self.stamp))
        }
        try check()

        let store = try KeyValueStore("s", in: db)
        try store.set("outer", to: Self.outer)
        try store.set("list", to: [Self.stamp])
        #expect(try db.fetchAll(String.self, "SELECT json(json) FROM kv_s ORDER BY key") == ["[\(Self.json)]", Self.outerJSON])
    }

    struct Pair: Codable { var stamp: Stamp, outer: JSONColumn<Outer> }
    struct Meta: Decodable { var meta: Outer }
    struct Optionals: Decodable { var meta: Outer? }
    struct Columns: Decodable { var meta: JSONColumn<Outer> }

    /// JSONB, text, and text stored as bytes by a program without JSONB.
    @Test func everyReaderAcceptsJSONBTextAndBytes() throws {
        let text = Self.outerJSON
        let forms = try [
            SQLValue.text(text), .blob(Data(text.utf8)), .blob(Data("\n \(text)".utf8)), .blob(JSONBEncoder().encode(Self.outer)),
            #require(try db.fetchOne(SQLValue.self, "SELECT jsonb(\(text))")),
        ]
        for form in forms {
            try db.execute("DELETE FROM note")
            try db.execute("INSERT INTO note VALUES (1, \(form))")
            #expect(try db.fetchAll(Meta.self, "SELECT * FROM note").map(\.meta) == [Self.outer])
            #expect(try db.fetchAll(Optionals.self, "SELECT * FROM note").map(\.meta) == [Self.outer])
            #expect(try db.fetchAll(Columns.self, "SELECT * FROM note").map(\.meta.value) == [Self.outer])
            #expect(try db.fetchAll([String: JSONColumn<Outer>].self, "SELECT meta FROM note").map { $0["meta"]?.value }
                == [Self.outer])
            #expect(try db.fetchAll(JSONColumn<Outer>.self, "SELECT meta FROM note").map(\.value) == [Self.outer])
            #expect(JSONColumn<Outer>(sqlValue: form)?.value == Self.outer)
            #expect(try db.fetchAll(JSONValue.self, "SELECT meta FROM note") == [JSONValue(text: text)])
            #expect(try JSONValue(sqlValue: form) == JSONValue(text: text))
        }
    }

    @Test func codingOptionsChooseColumnFormat() throws {
        struct Binary: Codable, Equatable, JSONCodingCustomizable {
            var n: Int
            static var jsonCodingOptions: JSONCodingOptions {
                var options = JSONCodingOptions()
                options.columnFormat = .jsonb
                return options
            }
        }
        struct Row: Codable, Equatable { var a: Binary, b: [Binary], c: Binary?, d: [Int] }
        try db.execute("CREATE TABLE t(a, b, c, d)")
        let row = Row(a: Binary(n: 1), b: [Binary(n: 2)], c: Binary(n: 3), d: [4])
        try db.insert(row, into: "t")
        #expect(try db.fetchOne(String.self, "SELECT typeof(a) || typeof(b) || typeof(c) || typeof(d) FROM t")
            == "blobblobblobtext")
        #expect(try db.fetchAll(Row.self, "SELECT * FROM t") == [row])
    }

    @Test func numberIsRefusedForTextDate() throws {
        struct Event: Codable { var name: String, at: Date }
        struct Row: Decodable { var meta: [Event] }
        for number in ["0", "721692800.25", "1700000000", "1e9"] {
            let text = #"[{"name":"a","at":"2023-11-14T22:13:20Z"},{"name":"b","at":\#(number)}]"#
            #expect(throws: DecodingError.self) { try JSONBDecoder().decode([Event].self, fromText: text) }
            try db.execute("DELETE FROM note")
            try db.execute("INSERT INTO note VALUES (1, \(text))")
            let row = #expect(throws: DatabaseError.self) { try db.fetchAll(Row.self, "SELECT * FROM note") }
            let column = #expect(throws: DatabaseError.self) {
                try db.fetchAll(JSONColumn<[Event]>.self, "SELECT meta AS m FROM note")
            }
            for error in [row, column] {
                #expect(error?.reason == .typeMismatch)
                #expect(error?.message.contains("of note") == true && error?.message.contains("$[1].at") == true,
                    "\(error?.message ?? "")")
            }
        }
        // Where dates are numbers, text is read as well: it can be nothing else.
        #expect(try JSONBDecoder().decode(Stamp.self, fromText: #"{"at":"2023-11-14T22:13:20.250Z","many":[1700000000250]}"#)
            == Stamp(at: Self.date, many: [Self.date]))
    }

    @Test func datesKeepTheirMillisecond() throws {
        var random = SeededGenerator(state: 3)
        for _ in 0..<500 {
            let milliseconds = Int64.random(in: -62_167_219_200_000..<253_402_300_800_000, using: &random)
            let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
            #expect(try JSONBDecoder().decode(Date.self, from: JSONBEncoder().encode(date)) == date)
        }
    }

    enum Suit: String, Codable, Hashable { case hearts, spades }
    struct Card: Codable { var suit: Suit; var range: Range<Int>? }
    struct Game: SQLRecord {
        var id: Int64?
        var suit: Suit
        var cards: [Card]
        var score: Double
    }

    /// Neither a coder's own error nor the value that it is about.
    @Test func jsonMismatchNamesTableColumnAndPath() throws {
        try db.execute("CREATE TABLE game(id INTEGER PRIMARY KEY, suit, cards, score)")
        func message(_ suit: SQLValue, _ cards: SQLValue, _ sql: SQL = "SELECT * FROM game") throws -> String {
            try db.execute("DELETE FROM game")
            try db.execute("INSERT INTO game VALUES (1, \(suit), \(cards), 0.5)")
            let error = #expect(throws: DatabaseError.self) { try db.fetchAll(Game.self, sql) }
            #expect(error?.reason == .typeMismatch && error?.sql != nil)
            #expect(error?.message.contains("secret") == false && error?.message.contains("77") == false)
            return error?.message ?? ""
        }
        #expect(try message("secret", "[]").hasPrefix("column suit of game holds no Game"))
        #expect(try message("hearts", #"[{"suit":"secret"}]"#).contains("column cards of game"))
        #expect(try message("hearts", #"[{"suit":"secret"}]"#).contains("$[0].suit"))
        #expect(try message("hearts", #"[{"suit":"spades","range":[99, 77]}]"#).contains("$[0].range"))
        #expect(try message("hearts", "secret, and no JSON").contains("column cards of game"))
        #expect(try message("hearts", "[{}]", "SELECT id, suit, cards, score FROM (SELECT * FROM game)").contains("no member suit"))
        #expect(try message("hearts", .blob(Data([0xff, 0, 0x12]))).contains("column cards of game"))
        #expect(try message("hearts", .integer(5)).contains("column cards of game holds integer"))
        let nothing = #expect(throws: DatabaseError.self) { try db.fetchAll(Suit.self, "SELECT 'secret' AS x") }
        #expect(nothing?.message.contains("secret") == false)

        // On the way in.
        struct Row: Encodable { var list: [Double] }
        let refused = #expect(throws: DatabaseError.self) { try db.insert(Row(list: [1, .nan]), into: "note") }
        #expect(refused?.reason == .invalidArgument && refused?.message.contains("column list") == true
            && refused?.message.contains("$[1]") == true)
        let store = try KeyValueStore("s", in: db)
        try store.set("k", to: ["suit": "secret"])
        let key = #expect(throws: DatabaseError.self) { try store.get("k", as: Card.self) }
        #expect(key?.message.contains("kv_s") == true && key?.message.contains("$.suit") == true
            && key?.message.contains("secret") == false)
    }

    /// A type that tries one kind of container after the other.
    enum Anything: Codable, Equatable {
        case text(String), list([Anything]), object([String: Anything]), none
        init(from decoder: any Decoder) throws {
            if let object = try? [String: Anything](from: decoder) {
                self = .object(object)
            } else if let list = try? [Anything](from: decoder) {
                self = .list(list)
            } else {
                let container = try decoder.singleValueContainer()
                self = container.decodeNil() ? .none : .text(try container.decode(String.self))
            }
        }
        func encode(to encoder: any Encoder) throws {
            switch self {
            case .text(let text): try text.encode(to: encoder)
            case .list(let list): try list.encode(to: encoder)
            case .object(let object): try object.encode(to: encoder)
            case .none:
                var container = encoder.singleValueContainer()
                try container.encodeNil()
            }
        }
    }

    @Test func variantJSONTypeRoundTrips() throws {
        struct Row: Codable, Equatable { var meta: Anything }
        for value in [Anything.text("plain"), .list([.text("a"), .list([])]), .object(["k": .list([.none])]), .none] {
            try db.execute("DELETE FROM note")
            try db.insert(Row(meta: value), into: "note")
            #expect(try db.fetchAll(Row.self, "SELECT meta FROM note") == [Row(meta: value)])
        }
        struct Empty: Codable, Equatable {}
        struct Hollow: Codable, Equatable { var meta: Empty? }
        for value in [Hollow(meta: Empty()), Hollow(meta: nil)] {
            try db.execute("DELETE FROM note")
            try db.insert(value, into: "note")
            #expect(try db.fetchAll(Hollow.self, "SELECT meta FROM note") == [value])
        }
    }

    /// Otherwise a record that has not changed would look as if it had.
    @Test func equalDictionariesEncodeToEqualBytes() throws {
        var grown: [String: Int] = [:]
        for index in 0..<200 { grown["k\(index)"] = index }
        for index in 20..<200 { grown["k\(index)"] = nil }
        let made = Dictionary(uniqueKeysWithValues: (0..<20).reversed().map { ("k\($0)", $0) })
        #expect(grown == made)
        #expect(try JSONBEncoder().encode(grown) == JSONBEncoder().encode(made))
        #expect(try JSONBEncoder().encodeText(["b": ["z": 1, "y": 2], "a": [:], "ä": [:]]) == #"{"a":{},"b":{"y":2,"z":1},"ä":{}}"#)
        #expect(try JSONBEncoder().encodeText([2: 1, 10: 2]) == #"{"10":2,"2":1}"#)
    }

    @Test func recordsAreFilteredByJSONPath() throws {
        let other = Stamp(at: Self.date + 60, many: [])
        for stamp in [Self.stamp, other] {
            try db.insert(Holder(
                stamp: stamp, stamps: [], column: JSONColumn(stamp), text: JSONColumn([], as: .text)))
        }
        let late = Holder.filter {
            $0.column.json("at", as: Double.self) > 1_700_000_000_250 && $0.stamp.json("many", 0, as: Int.self) == nil
        }
        #expect(try db.fetchAll(late).map(\.column.value) == [other])
        #expect(try db.fetchAll(Holder.all.select { SQLExpression<Int>($0.stamp.json.arrayLength("many")) }) == [2, 0])
        #expect(try db.count(Holder.filter { $0.column == JSONColumn(other) }) == 1)
    }

    @Test(.timeLimit(.minutes(60))) func observationReadsUpdatedJSONColumn() async throws {
        let queue = try DatabaseQueue(.memory)
        try await queue.write { db in
            try db.execute("CREATE TABLE holder(id INTEGER PRIMARY KEY, stamp, stamps, perhaps, \"column\", outer, text)")
            try db.insert(Holder(id: 1, stamp: Self.stamp, stamps: [], column: JSONColumn(Self.stamp), text: JSONColumn([])))
        }
        for try await stamps in queue.observe({ try $0.fetchAll(Holder.all).map(\.column.value) }) {
            if stamps == [Self.stamp] {
                try await queue.write { db in
                    try db.main.updateJSON("column", in: "holder", of: Stamp.self, where: "TRUE", .set("many", to: [Self.date]))
                }
            } else {
                #expect(stamps == [Stamp(at: Self.date, many: [Self.date])])
                break
            }
        }
    }
}
