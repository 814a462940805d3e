import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

/// Facets of both kinds of search, against counts in Swift.
@Suite struct FullTextFacetTests {
    typealias Row = FacetModel.Row

    enum Store: CaseIterable {
        case external, keyed, own
    }

    /// A table of random rows, by their row ids in the index.
    private func fill(_ db: Connection, _ store: Store, _ count: Int, name: String = "note_fts") throws -> [Int64: Row] {
        let columns = "body, year, price, tags, day"
        switch store {
        case .external: try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, \(raw: columns))")
        case .keyed: try db.execute("CREATE TABLE note(id TEXT PRIMARY KEY, \(raw: columns)) WITHOUT ROWID")
        case .own: break
        }
        if store == .own {
            try db.create(
                FTS5Table(
                    name, columns: ["body", .unindexed("year"), .unindexed("price"), .unindexed("tags"), .unindexed("day")]))
        } else {
            try db.create(FTS5Table(name, columns: ["body"], content: .external(table: "note")))
        }
        let head = store == .own ? "INSERT INTO \(name.quotedSQLIdentifier)(rowid, \(columns))" : "INSERT INTO note(id, \(columns))"
        var rows: [Int64: Row] = [:], random = SeededGenerator()
        try db.transaction { db in
            for id in 1...Int64(count) {
                let row = FacetModel.randomRow(&random)
                let tags: SQL = switch row.tags {
                case .array(let elements, isBinary: true): "jsonb(\(Self.json(elements)))"
                case .array(let elements, isBinary: false): "\(Self.json(elements))"
                case .other(let value): "\(value)"
                }
                let year: SQLValue = row.year.map { .integer(Int64($0)) } ?? .null
                let body = row.words.joined(separator: " ")
                let key: SQLValue = store == .keyed ? .text("key \(id)") : .integer(id)
                try db.execute("\(raw: head) VALUES (\(key), \(body), \(year), \(row.price), \(tags), \(row.day.stored))")
                rows[id] = row
            }
        }
        return rows
    }

    private static func json(_ elements: [SQLValue]) -> String {
        let parts = elements.map { element -> String in
            switch element {
            case .null: "null"
            case .integer(let value): "\(value)"
            case .real(let value): "\(value)"
            case .text(let value):
                "\"" + value.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\"", with: "\\\"") + "\""
            case .blob: "[]"
            }
        }
        return "[" + parts.joined(separator: ", ") + "]"
    }

    private static let groupings: [String: FullTextSearch.Grouping] = [
        "year": .values("year", limit: 10_000), "tag": .elements("tags", limit: 10_000), "price": .ranges("price", bounds: FacetModel.bounds),
        "day": .dates("day", by: .day, limit: 10_000), "week": .dates("day", by: .week, limit: 10_000),
        "month": .dates("day", by: .month, limit: 10_000), "year of day": .dates("day", by: .year, limit: 10_000),
    ]

    private func check(
        _ facets: [String: [FullTextSearch.FacetCount]], _ rows: [Row], _ comment: String, _ location: SourceLocation = #_sourceLocation
    ) {
        func check(_ name: String, _ expected: [(SQLValue, Int)]) {
            let found = facets[name] ?? []
            #expect(found.map(\.value) == expected.map(\.0), "\(comment) \(name)", sourceLocation: location)
            #expect(found.map(\.count) == expected.map(\.1), "\(comment) \(name)", sourceLocation: location)
        }
        check("year", FacetModel.years(rows))
        check("tag", FacetModel.tags(rows))
        check("day", FacetModel.dates(rows, .day))
        check("week", FacetModel.dates(rows, .week))
        check("month", FacetModel.dates(rows, .month))
        check("year of day", FacetModel.dates(rows, .year))
        #expect(facets["price"]?.map(\.count) == FacetModel.prices(rows), "\(comment)", sourceLocation: location)
    }

    private func filter(_ random: inout SeededGenerator) -> (SQL?, (Row) -> Bool) {
        let year = Int.random(in: 2018...2024, using: &random)
        return switch Int.random(in: 0...2, using: &random) {
        case 0: ("year >= \(year)", { $0.year.map { $0 >= year } ?? false })
        case 1: ("year IS NULL", { $0.year == nil })
        default: (nil, { _ in true })
        }
    }

    @Test(arguments: Store.allCases) func facetCountsMatchModel(_ store: Store) throws {
        let db = try Connection(.memory)
        let rows = try fill(db, store, 250)
        let notes = try db.fullText("note_fts")
        var random = SeededGenerator()
        for _ in 0..<12 {
            let words = Array(FacetModel.vocabulary.shuffled(using: &random).prefix(Int.random(in: 1...2, using: &random)))
            let (condition, isLetIn) = filter(&random)
            var search = FullTextSearch(words.joined(separator: " "), limit: [0, 1, 20].randomElement(using: &random) ?? 0)
            search.prefixMatching = .none
            search.languages = []
            // Words with errors are looked for if too few rows have what was typed.
            let isShort = words.count == 1 && Bool.random(using: &random)
            search.dropTokensThreshold = isShort ? 1_000 : 0
            search.filter = condition
            search.facets = Self.groupings
            let expected = rows.values.filter { row in
                isLetIn(row) && words.allSatisfy { word in
                    row.words.contains { isShort ? FullTextVocabularyTests.distance(Array(word), Array($0)) <= 1 : $0 == word }
                }
            }
            let found = try notes.search(search)
            #expect(found.total.count == expected.count && found.total.isExact, "\(words)")
            check(found.facets, expected, "\(words) \(store)")
            // The counts change neither the hits nor their marks.
            search.facets = [:]
            let alone = try notes.search(search)
            #expect(alone.hits == found.hits && alone.words == found.words && alone.total.count <= found.total.count)
            // The other kind of search has the same facets.
            let exact = FullTextSearch(exactly: .all(words.map { .phrase($0) }), filter: condition)
            check(
                try Self.groupings.mapValues { try notes.facets(exact, by: $0) },
                rows.values.filter { row in isLetIn(row) && words.allSatisfy { row.words.contains($0) } }, "\(words) exactly")
        }
    }

    @Test func totalIsTheSameOnEachPage() throws {
        let db = try Connection(.memory)
        let rows = try fill(db, .external, 300)
        let notes = try db.fullText("note_fts")
        var search = FullTextSearch("alpha sigma ")
        search.countsAll = true
        let all = rows.values.filter { $0.words.contains("sigma") && $0.words.contains("alpha") }
        for (limit, offset) in [(0, 0), (1, 0), (5, 3), (100, 0), (20, 200)] {
            (search.limit, search.offset) = (limit, offset)
            let found = try notes.search(search)
            #expect(found.total.count == all.count && found.total.isExact && found.facets.isEmpty)
        }
    }

    /// Rows without one of the words are counted where they are shown.
    @Test func facetsCountShownPartialMatches() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("t", columns: ["body", .unindexed("kind")]))
        for (body, kind) in [("red", "a"), ("red", "b"), ("green", "b"), ("blue", "c")] {
            try db.execute("INSERT INTO t VALUES (\(body), \(kind))")
        }
        var search = FullTextSearch("red green ", limit: 1)
        search.facets = ["kind": .values("kind")]
        let found = try db.fullText("t").search(search)
        #expect(found.hits.count == 1 && found.total.count == 3)
        #expect(found.facets["kind"]?.map(\.value) == ["b", "a"] && found.facets["kind"]?.map(\.count) == [2, 1])
        search.dropTokensThreshold = 0
        #expect(try db.fullText("t").search(search).facets == ["kind": []])
    }

    @Test func invalidFacetGroupingsThrow() throws {
        let db = try Connection(.memory)
        _ = try fill(db, .own, 1)
        let notes = try db.fullText("note_fts")
        let bad: [FullTextSearch.Grouping] = [
            .values("year", limit: 0), .elements("tags", limit: -1), .values("year", limit: .max), .dates("day", by: .day, limit: .min),
            .ranges("price", bounds: []), .ranges("price", bounds: [2, 1]), .ranges("price", bounds: [1, 1]),
            .ranges("price", bounds: [.nan]), .ranges("price", bounds: [.infinity]),
            .ranges("price", bounds: (0...100).map(Double.init)), .values(SQL(raw: ":name", ["name": 1])),
            .values("no_such_column"), .values("year) --"), .elements("count(*) FROM x; SELECT 1"),
        ]
        for grouping in bad {
            #expect(throws: DatabaseError.self) { try notes.facets(FullTextSearch(exactly: "alpha"), by: grouping) }
            for text in ["alpha", ""] {
                var search = FullTextSearch(text)
                search.facets = ["one": grouping]
                #expect(throws: DatabaseError.self) { try notes.search(search) }
            }
        }
        var search = FullTextSearch("alpha")
        for place in 0...16 { search.facets["\(place)"] = .values("year") }
        #expect(throws: DatabaseError.self) { try notes.search(search) }
    }

    @Test func facetNamesThatLookLikeSQLAreQuoted() throws {
        let name = "no\"te'] -- ; DROP TABLE x"
        let db = try Connection(.memory)
        let rows = try fill(db, .external, 50, name: name)
        var search = FullTextSearch("alpha ")
        search.facets = ["'); --": .values("year"), "tag": .elements("tags")]
        let found = try db.fullText(name).search(search)
        #expect(found.facets["'); --"]?.reduce(0) { $0 + $1.count } == found.total.count && found.total.count <= rows.count)
    }

    /// Where many rows have all words, the others are neither hits nor counted.
    @Test(arguments: [false, true]) func rowsWithoutAWordAreNotCountedBesideManyOthers(countsAll: Bool) throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("t", columns: ["a"]))
        for number in 0..<31 { try db.execute("INSERT INTO t VALUES (\(number == 7 ? "red green" : "red green blue"))") }
        var search = FullTextSearch("red green blue ", limit: 10)
        search.countsAll = countsAll
        let found = try db.fullText("t").search(search)
        #expect(found.total.count == 30 && found.total.isExact && found.total.description == "30")
        // Rows that are equal by all rules come newest first.
        #expect(found.hits.map(\.rowID) == Array((22...31).reversed()))
    }

    /// A filter with an index and few rows leads: it is not asked about rows of the words.
    @Test func selectiveIndexedFilterDrivesSearch() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, kind INTEGER, body TEXT)")
        try db.create(FTS5Table("note_fts", columns: ["body"], content: .external(table: "note")))
        try db.execute("CREATE INDEX note_kind ON note(kind)")
        try db.execute(
            """
            INSERT INTO note(kind, body) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8000)
            SELECT i % 100, 'common' FROM n
            """)
        var search = FullTextSearch("common", limit: 1)
        search.filter = "kind = \(7)"
        #expect(try db.fullText("note_fts").search(search).total.count == 80)
    }

    /// The rows that a filter lets in are counted only as far as the filter was asked.
    @Test func estimatedTotalNeverExceedsRowCount() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT)")
        try db.create(FTS5Table("note_fts", columns: ["body"], content: .external(table: "note")))
        try db.execute(
            """
            INSERT INTO note(body) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8000)
            SELECT 'common' FROM n
            """)
        let notes = try db.fullText("note_fts")
        var search = FullTextSearch("common", limit: 1)
        search.filter = "id % 2 = 0"
        var found = try notes.search(search)
        #expect((500...4000).contains(found.total.count) && !found.total.isExact)
        search.facets = ["all": .values("1")]
        found = try notes.search(search)
        #expect(found.total.count == 4000 && found.total.isExact && found.facets["all"]?.map(\.count) == [4000])
    }
}
