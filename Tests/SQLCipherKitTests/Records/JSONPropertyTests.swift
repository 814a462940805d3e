import Foundation
import SQLCipherKit
import Testing

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
    func queriesSayWhatSwiftSays(form: String) throws {
        var random = SeededGenerator(state: 9)
        let db = try Connection(.memory)
        try db.create(MetaVisit.table)
        var visits: [MetaVisit] = []
        for id in 1...60 as ClosedRange<Int64> {
            let metas = (0..<4).map { _ in Self.meta(&random) }
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
        for visit in visits.prefix(20) {
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

    @Test func documentsAreSet() throws {
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

    /// What has no name in the JSON, or another one, is not looked for under a wrong one.
    @Test func aPropertyWithAnotherNameIsRefused() throws {
        let db = try Connection(.memory)
        try db.create(MetaVisit.table)
        let queries = [
            MetaVisit.filter { $0.meta.json(\.renamed) == 1 }, MetaVisit.filter { $0.plain.json(\.summary) == "" },
            MetaVisit.filter { $0.meta.json(\.city.count) == 1 },
        ]
        for query in queries {
            let error = #expect(throws: DatabaseError.self) { try db.fetchAll(query) }
            #expect(error?.reason == .invalidArgument && error?.message.contains("names no property of the JSON of Meta") == true)
        }
        #expect(try db.fetchAll(MetaVisit.filter { $0.meta.json("other", as: Int.self) == 1 }) == [])
    }
}
