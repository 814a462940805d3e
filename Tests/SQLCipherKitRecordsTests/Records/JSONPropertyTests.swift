import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

private struct Meta: Codable, Hashable, Sendable {
    var city: String
    var stars: Int?
    var ratio: Double
    var isOpen: Bool
    var tags: [String] = []
    var named: [String: Int] = [:]
    var renamed = 1
    var summary: String { city }

    enum CodingKeys: String, CodingKey { case city, stars, ratio, isOpen, tags, named, renamed = "other" }
}

private struct MetaVisit: SQLRecord, Hashable {
    var id: Int64?
    var meta: JSONColumn<Meta>
    var later: JSONColumn<Meta>?
    var plain: Meta
    var perhaps: Meta?

    static let tableName = "visit"
    static let table = SQLTable(of: MetaVisit.self) {
        $0.id.primaryKey()
        $0.meta
        $0.later
        $0.plain
        $0.perhaps
    }
}

/// Records that hold JSON, compared, searched and set without SQL.
@Suite struct JSONPropertyTests {
    private static func meta(_ random: inout SeededGenerator) -> Meta {
        let texts = ["Roma", "", "a\"b\\c/d", "\n\t\u{1}\u{7f}\u{2028}é🗝️", "e\u{301}", "12", "null"]
        return Meta(
            city: texts.randomElement(using: &random) ?? "", stars: Bool.random(using: &random) ? nil : Int.random(in: -1...1, using: &random),
            ratio: [0, -0.5, 1e300, 1, .leastNonzeroMagnitude].randomElement(using: &random) ?? 0, isOpen: Bool.random(using: &random),
            tags: Array(repeating: "t", count: Int.random(in: 0..<2, using: &random)), named: ["b": 1, "a": 2])
    }

    /// The same answers as in Swift, for every form that the documents are stored in.
    @Test(arguments: ["", "json(#)", "jsonb(#)", "CAST(json(#) AS BLOB)", "json_pretty(#)"])
    func jsonPropertyQueriesMatchSwift(form: String) throws {
        var random = SeededGenerator(state: 9)
        let db = try Connection(.memory)
        try db.create(MetaVisit.table)
        var visits: [MetaVisit] = []
        let pool = (0..<9).map { _ in Self.meta(&random) }
        for id in 1...60 as ClosedRange<Int64> {
            let metas = (0..<4).map { _ in Bool.random(using: &random) ? Self.meta(&random) : pool.randomElement(using: &random) ?? pool[0] }
            visits.append(
                MetaVisit(
                    id: id, meta: JSONColumn(metas[0], as: id % 2 == 0 ? .text : .jsonb), later: id % 3 == 0 ? nil : JSONColumn(metas[1]),
                    plain: metas[2], perhaps: id % 4 == 0 ? nil : metas[3]))
        }
        for visit in visits { try db.insert(visit) }
        if !form.isEmpty {
            for column in ["meta", "later", "plain", "perhaps"] {
                let sql = form.replacingOccurrences(of: "#", with: column)
                try db.execute(SQL(raw: "UPDATE visit SET \(column) = \(sql) WHERE \(column) IS NOT NULL"))
            }
        }
        func check(_ query: SQLQuery<MetaVisit>, _ isIn: (MetaVisit) -> Bool, _ location: SourceLocation = #_sourceLocation) throws {
            let expected = visits.filter(isIn).compactMap(\.id)
            #expect(try db.fetchAll(query.order { $0.id }).compactMap(\.id) == expected, sourceLocation: location)
        }
        try check(MetaVisit.filter { $0.meta == $0.later }) { $0.meta == $0.later }
        try check(MetaVisit.filter { $0.later != $0.meta }) { $0.meta != $0.later }
        try check(MetaVisit.filter { $0.plain == $0.perhaps }) { $0.plain == $0.perhaps }
        try check(MetaVisit.filter { $0.perhaps != $0.plain }) { $0.plain != $0.perhaps }
        try check(MetaVisit.filter { $0.meta.in(pool.prefix(3).map { JSONColumn($0) }) }) { pool.prefix(3).contains($0.meta.value) }
        try check(MetaVisit.filter { $0.later.in([JSONColumn(pool[4], as: .text), nil]) }) { $0.later == nil || $0.later?.value == pool[4] }
        try check(MetaVisit.filter { !$0.meta.in([]) }) { _ in true }
        for visit in visits.prefix(LongTests.areOn ? 60 : 8) {
            try check(MetaVisit.filter { $0.meta == visit.meta }) { $0.meta == visit.meta }
            try check(MetaVisit.filter { $0.meta != JSONColumn(visit.meta.value, as: .text) }) { $0.meta != visit.meta }
            try check(MetaVisit.filter { $0.later == visit.later }) { $0.later == visit.later }
            try check(MetaVisit.filter { $0.later != visit.later }) { $0.later != visit.later }
            try check(MetaVisit.filter { $0.meta == visit.later }) { $0.meta == visit.later }
            let meta = visit.meta.value, plain = visit.plain
            try check(MetaVisit.filter { $0.plain == plain }) { $0.plain == plain }
            try check(MetaVisit.filter { $0.plain != plain }) { $0.plain != plain }
            try check(MetaVisit.filter { $0.perhaps == visit.perhaps }) { $0.perhaps == visit.perhaps }
            try check(MetaVisit.filter { $0.perhaps != visit.perhaps }) { $0.perhaps != visit.perhaps }
            try check(MetaVisit.filter { $0.meta.json(\.city) == meta.city && $0.plain.json(\.isOpen) == plain.isOpen }) {
                $0.meta.value.city.unicodeScalars.elementsEqual(meta.city.unicodeScalars) && $0.plain.isOpen == plain.isOpen
            }
            try check(MetaVisit.filter { $0.later.json(\.stars) == meta.stars }) { $0.later?.value.stars == meta.stars }
            try check(MetaVisit.filter { $0.perhaps.json(\.ratio) > plain.ratio }) { $0.perhaps.map { $0.ratio > plain.ratio } ?? false }
            try check(MetaVisit.filter { $0.meta.json(\.stars) > 0 || $0.perhaps.json(\.stars) == nil }) {
                $0.meta.value.stars ?? 0 > 0 || $0.perhaps?.stars == nil
            }
        }
        let found = try db.fetchAll(MetaVisit.all.order { $0.id }.select { $0.plain.json(\.city) })
        #expect(found.map { $0.map { Array($0.utf8) } } == visits.map { Array($0.plain.city.utf8) })
    }

    /// Where content and text differ, the text decides. Where only the storage differs, documents are equal.
    @Test func jsonDocumentsCompareByText() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE pair(id INTEGER PRIMARY KEY, a, b)")
        struct Pair: SQLRecord {
            var id: Int64?
            var a: JSONColumn<[String: JSONValue]>
            var b: JSONColumn<[String: JSONValue]>?
            static let tableName = "pair"
        }
        let equal = [
            (#"{"x":1}"#, #" { "x" : 1 } "#), (#"{"x":"a/b"}"#, "{x:'a/b'}"), (#"{"x":16}"#, #"{"x":0x10}"#), (#"{"x":"é\n"}"#, #"{"x":"é\n"}"#),
        ]
        let different = [
            (#"{"x":1e2}"#, #"{"x":100.0}"#), (#"{"x":100}"#, #"{"x":100.0}"#), (#"{"x":-0.0}"#, #"{"x":0.0}"#), (#"{"x":"A"}"#, #"{"x":"\u0041"}"#),
            (#"{"x":1,"y":2}"#, #"{"y":2,"x":1}"#), (#"{"x":"e\#u{301}"}"#, #"{"x":"\#u{e9}"}"#),
        ]
        for (texts, isEqual) in equal.map({ ($0, true) }) + different.map({ ($0, false) }) {
            for form in ["?", "jsonb(?)"] {
                try db.execute("DELETE FROM pair")
                try db.execute(SQL(raw: "INSERT INTO pair VALUES (1, ?, \(form)), (2, ?, NULL)", [texts.0, texts.1, texts.0]))
                #expect(try db.count(Pair.filter { $0.a == $0.b }) == (isEqual ? 1 : 0))
                #expect(try db.count(Pair.filter { $0.a != $0.b }) == (isEqual ? 1 : 2))
            }
        }
        // A value finds documents stored from an equal value, even a number that JSON could spell in other ways.
        for number in [1e2, -0.0, 1e300, .leastNonzeroMagnitude, 0.1, 123_456_789.123] {
            let value: [String: JSONValue] = ["x": .real(number), "y": "\u{7f}\u{1}/\"", "a": [1, .null, true]]
            try db.execute("DELETE FROM pair")
            try db.insert(Pair(a: JSONColumn(value, as: .text), b: JSONColumn(value)))
            #expect(try db.count(Pair.filter { $0.a == $0.b && $0.a == JSONColumn(value) && $0.b == JSONColumn(value, as: .text) }) == 1)
        }
        try db.execute("UPDATE pair SET a = 'x'")
        #expect(throws: DatabaseError.self) { try db.count(Pair.filter { $0.a == $0.b }) }
    }

    /// Stored as a single value, of which only `Codable` knows.
    private enum Mood: String, Codable { case calm, `true` }
    private struct Tag: Codable, Equatable {
        var text: String
        init(_ text: String) { self.text = text }
        init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(text)
        }
    }
    private struct Day: SQLRecord {
        var id: Int64?
        var mood: Mood
        var tag: Tag
        var other: Tag?
        static let tableName = "day"
    }

    @Test func singleValuesAreNotComparedAsJSON() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE day(id INTEGER PRIMARY KEY, mood, tag, other)")
        try db.insertAll([Day(mood: .calm, tag: Tag("[1, 2]"), other: Tag("[1,2]")), Day(mood: .true, tag: Tag("a"), other: Tag("a")), Day(mood: .calm, tag: Tag("b"))])
        func ids(_ query: SQLQuery<Day>) throws -> [Int64] { try db.fetchAll(query.order { $0.id }).compactMap(\.id) }
        #expect(try ids(Day.filter { $0.mood == .calm }) == [1, 3])
        #expect(try ids(Day.filter { $0.mood != .calm }) == [2])
        #expect(try ids(Day.filter { $0.tag == Tag("[1,2]") }) == [] && ids(Day.filter { $0.tag == Tag("[1, 2]") }) == [1])
        #expect(try ids(Day.filter { $0.tag == $0.other }) == [2] && ids(Day.filter { $0.tag != $0.other }) == [1, 3])
        #expect(try ids(Day.filter { $0.other == nil }) == [3] && ids(Day.filter { $0.other != Tag("a") }) == [1, 3])
    }

    @Test func updateAllSetsJSONDocuments() throws {
        var random = SeededGenerator(state: 1)
        let db = try Connection(.memory)
        try db.create(MetaVisit.table)
        let first = Self.meta(&random), second = Self.meta(&random)
        try db.insert(MetaVisit(id: 1, meta: JSONColumn(first), later: nil, plain: first, perhaps: nil))
        try db.updateAll(MetaVisit.all) { visit, set in
            set(\.meta, to: JSONColumn(second))
            set(\.later, to: JSONColumn(second))
            set(\.plain, to: second)
            set(\.perhaps, to: second)
        }
        #expect(try db.fetchAll(MetaVisit.all)
            == [MetaVisit(id: 1, meta: JSONColumn(second), later: JSONColumn(second), plain: second, perhaps: second)])
        try db.updateAll(MetaVisit.all) { _, set in
            set(\.later, to: nil)
            set(\.perhaps, to: nil)
        }
        #expect(try db.count(MetaVisit.filter { $0.later == nil && $0.perhaps == nil }) == 1)
    }

    struct Renamed: Codable, Sendable {
        var city: String
        var renamed = 1
        enum CodingKeys: String, CodingKey { case city, renamed = "other" }
    }
    struct RenamedVisit: SQLRecord {
        static let tableName = "visit"
        var id: Int64?
        var doc: Renamed
    }

    /// A property that has another name in the JSON, or none, is refused.
    @Test func jsonPropertyOfAnotherCodingKeyIsRefused() throws {
        let db = try Connection(.memory)
        try db.create(MetaVisit.table)
        let queries = [
            MetaVisit.filter { $0.plain.json(\.summary) == "" }, MetaVisit.filter { $0.meta.json(\.city.count) == 1 },
        ]
        for query in queries {
            let error = #expect(throws: DatabaseError.self) { try db.fetchAll(query) }
            #expect(error?.reason == .invalidArgument && error?.message.contains("names no property of the JSON of Meta") == true)
        }
        #expect(try db.fetchAll(MetaVisit.filter { $0.meta.json("other", as: Int.self) == 1 }) == [])
        let error = #expect(throws: DatabaseError.self) { try db.fetchAll(RenamedVisit.filter { $0.doc.json(\.renamed) == 1 }) }
        #expect(error?.message.contains("names no property of the JSON of Renamed") == true)
        #expect(try db.sql(of: RenamedVisit.filter { $0.doc.json(\.city) == "" }).text.contains("'$.city'"))
    }
}
