import Foundation
import SQLCipherKitCore
import SQLCipherKitSearch
import Testing

@Suite struct FullTextTableTests {
    let db: Connection
    init() throws { db = try Connection(.memory) }

    func found(_ table: String, _ query: FTS5Query) throws -> [Int64] { try found(db.fullText(table), query) }

    func found(_ index: FullTextIndex, _ query: FTS5Query) throws -> [Int64] {
        try index.hits(FullTextSearch(exactly: query, order: .rowID)).map(\.rowID)
    }

    @Test(arguments: [FTS5Table.Detail.full, .column, .none], [true, false])
    func detailAndColumnSizeOptionsKeepSearchWorking(detail: FTS5Table.Detail, sizes: Bool) throws {
        try db.create(FTS5Table("f", columns: ["a", .unindexed("b")], detail: detail, storesColumnSizes: sizes))
        try db.execute("INSERT INTO f(rowid, a, b) VALUES (7, 'one two three', 'four'), (8, 'three two one', 'one')")
        #expect(try found("f", "one") == [7, 8])
        #expect(try found("f", "four") == [])
        // Without positions, a phrase is a search for all of its words.
        #expect(try found("f", .phrase("one two")) == (detail == .full ? [7] : [7, 8]))
        #expect(try found("f", .all("one-two", .prefix("thr"))) == (detail == .full ? [7] : [7, 8]))
        #expect(try db.fullText("f").count(.near(["one", "three"], within: 1)) == 2)
        #expect(try db.fullText("f").passesIntegrityCheck())
        let hasSizes = try db.fetchOne(Int.self, "SELECT 1 FROM sqlite_schema WHERE name = 'f_docsize'") != nil
        #expect(hasSizes == sizes)
    }

    @Test(arguments: [true, false]) func synchronizedIndexWithoutColumnSizesStaysIntact(recursive: Bool) throws {
        try db.execute("PRAGMA recursive_triggers = \(raw: recursive ? "ON" : "OFF")")
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT UNIQUE)")
        try db.create(FTS5Table("f", columns: ["a"], content: .external(table: "t"), detail: .none, storesColumnSizes: false))
        for index in 0..<300 {
            try db.execute("INSERT OR REPLACE INTO t VALUES (\(index % 17), \("w\(index % 23)"))")
            try db.execute("UPDATE OR REPLACE t SET a = \("w\(index % 29)") WHERE id = \(index % 13)")
            try db.execute("DELETE FROM t WHERE id = \(index % 7)")
        }
        #expect(try db.fullText("f").passesIntegrityCheck())
    }

    @Test func contentlessTableDeletesAndKeepsUnindexedColumns() throws {
        try db.create(FTS5Table("f", columns: ["a", .unindexed("b")], content: .contentless(deletes: true, keepsUnindexed: true)))
        try db.execute("INSERT INTO f(rowid, a, b) VALUES (1, 'one', 'x'), (2, 'two', 'y')")
        try db.execute("DELETE FROM f WHERE rowid = 1")
        #expect(try found("f", "one") == [])
        let f = try db.fullText("f")
        let hits = try f.hits(
            FullTextSearch(exactly: "two").with {
                $0.snippet = .column("a")
                $0.retrievedColumns = ["a", "b"]
            })
        #expect(hits[0].columnValues.values == [.null, .text("y")])
        #expect(hits[0].snippet == nil)
        #expect(throws: DatabaseError.self) { try f.records(OwnedRow.self, of: hits) }
        try db.create(FTS5Table("g", columns: ["a"], content: .contentless(deletes: false)))
        try db.execute("INSERT INTO g(rowid, a) VALUES (1, 'one')")
        #expect(throws: DatabaseError.self) { try db.execute("DELETE FROM g WHERE rowid = 1") }
        try db.fullText("g").deleteAll()
        #expect(try found("g", "one") == [])
    }

    @Test func builtInTokenizersFindTheirTokens() throws {
        let cases: [(FTS5Tokenizer, String, String, Bool)] = [
            (.unicode61(), "Café", "cafe", true), (.unicode61(diacritics: .keep), "Café", "cafe", false),
            (.unicode61(tokenCharacters: "-'= _"), "x-'= _y", "x", false), (.unicode61(separators: "x"), "oxo", "o", true),
            (.unicode61(categories: "N*"), "abc 42", "abc", false), (.ascii(), "CAFÉ", "cafÉ", true), (.ascii(), "CAFÉ", "cafe", false),
            (.porter(.unicode61()), "running", "runs", true), (.porter(.ascii(tokenCharacters: "'")), "it's", "it", false),
            (.trigram(), "Encryption", "CRYP", true), (.trigram(caseSensitive: true), "Encryption", "CRYP", false),
            (.trigram(removesDiacritics: true), "naïveté", "ivete", true),
        ]
        for (index, (tokenizer, text, query, isFound)) in cases.enumerated() {
            try db.create(FTS5Table("t\(index)", columns: ["a"], tokenizer: tokenizer))
            try db.execute("INSERT INTO \(identifier: "t\(index)") VALUES (\(text))")
            #expect(try found("t\(index)", .phrase(query)).isEmpty != isFound, "\(tokenizer) \(query)")
        }
        #expect(throws: DatabaseError.self) { try db.create(FTS5Table("x", columns: ["a"], tokenizer: .custom("no such"))) }
        #expect(try !db.main.fullTextIndexes().contains { $0.name == "x" })
    }

    @Test func indexedExpressionsFollowContentChanges() throws {
        try db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, meta TEXT, upper TEXT AS (upper(meta->>'$.title')) STORED)")
        try db.execute("INSERT INTO doc(meta) VALUES ('{\"title\":\"first\",\"address\":{\"city\":\"Ulm\"}}')")
        try db.create(
            FTS5Table(
                "f", columns: [.init("title", expression: "meta->>'$.title'"), .init("city", expression: "meta->>'$.address.city'"), "upper"],
                content: .external(table: "doc")))
        try db.execute("INSERT INTO doc(meta) VALUES ('{\"title\":\"second\",\"address\":{\"city\":\"Bonn\"}}')")
        try db.execute("UPDATE doc SET meta = json_set(meta, '$.address.city', 'Köln') WHERE id = 1")
        #expect(try found("f", .column("city", "koln")) == [1])
        #expect(try found("f", "ulm") == [] && found("f", .column("upper", "second")) == [2])
        #expect(try db.fullText("f").passesIntegrityCheck())
        let hit = try db.fullText("f").hits(FullTextSearch(exactly: "bonn").with { $0.retrievedColumns = ["title"] }).first
        #expect(hit?.columnValues.values == [.text("second")])
    }

    @Test func populationReportsProgressAndRollsBackOnThrow() throws {
        try db.execute("CREATE TABLE t(k TEXT PRIMARY KEY, a TEXT)")
        try db.execute(
            """
            WITH RECURSIVE s(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM s LIMIT 2500)
            INSERT INTO t SELECT 'k' || value, 'word' || (value % 10) FROM s
            """)
        var seen: [DatabaseProgress] = []
        try db.create(FTS5Table("f", columns: ["a"], content: .external(table: "t"))) { seen.append($0) }
        #expect(seen.map(\.completed) == [1000, 2000, 2500] && seen.allSatisfy { $0.total == 2500 })
        #expect(try db.fullText("f").count("word3") == 250)
        #expect(try db.fullText("f").passesIntegrityCheck())
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try db.create(FTS5Table("g", columns: ["a"], content: .external(table: "t"))) { _ in throw Stop() }
        }
        #expect(try db.main.fullTextIndexes().map(\.name) == ["f"])
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'g\\_%' ESCAPE '\\'") == 0)
    }

    @Test func attachedFullTextTableAcceptsQuotedNames() throws {
        try db.attach(.memory, as: "o'ther \"one\"", key: .plaintext)
        let schema = try db.schema("o'ther \"one\"")
        let columns: SQL = "\(identifier: "the id") INTEGER PRIMARY KEY, \(identifier: "it's, a=\"b\"") TEXT"
        try db.execute("CREATE TABLE \(identifier: schema.name).\(identifier: "no'te \"x\"")(\(columns))")
        try schema.create(
            FTS5Table("f'u\"ll", columns: ["it's, a=\"b\""], content: .external(table: "no'te \"x\"", rowID: "the id")))
        try db.execute("INSERT INTO \(identifier: schema.name).\(identifier: "no'te \"x\"") VALUES (5, 'hello world')")
        let index = try schema.fullText("F'u\"LL")
        #expect(index.name == "f'u\"ll" && index.schema.name == schema.name)
        #expect(try index.columns() == ["it's, a=\"b\""])
        #expect(try found(index, "world") == [5])
        #expect(throws: DatabaseError.self) { try db.fullText("f'u\"ll") }
        let search = FullTextSearch(exactly: "world", filter: "\(identifier: "the id") > 4")
        let hits = try index.hits(search.with { $0.highlightedColumns = ["it's, a=\"b\""] })
        #expect(hits.first?.highlights["it's, a=\"b\""]?.description == "hello [world]")
        try index.drop()
        #expect(try schema.fullTextIndexes().isEmpty)
    }

    @Test func localesAndTokenDataOptionsTakeEffect() throws {
        try db.create(FTS5Table("f", columns: ["a"], acceptsLocales: true, hasTokenData: true))
        try db.create(FTS5Table("f", columns: ["a"]), ifNotExists: true)
        #expect(throws: DatabaseError.self) { try db.create(FTS5Table("f", columns: ["a"])) }
        try db.execute("INSERT INTO f VALUES (fts5_locale('de', 'über allem'))")
        #expect(try found("f", "uber") == [1])
        #expect(try db.fetchOne(String.self, "SELECT fts5_get_locale(f, 0) FROM f('allem')") == "de")
        try db.create(FTS5Table("g", columns: ["a"]))
        #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO g VALUES (fts5_locale('de', 'x'))") }
    }

    @Test func invalidFTS5DescriptionLeavesNoTables() throws {
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT)")
        try db.execute("CREATE TABLE keyless(a TEXT)")
        let bad: [FTS5Table] = [
            FTS5Table("", columns: ["a"]), FTS5Table("f", columns: []), FTS5Table("f", columns: ["a", "A"]),
            FTS5Table("f", columns: [.unindexed("a")]), FTS5Table("f", columns: ["a"], prefixes: [0]),
            FTS5Table("f", columns: ["a"], content: .contentless(), storesColumnSizes: false),
            FTS5Table("f", columns: [.init("a", expression: "1")]),
            FTS5Table("f", columns: ["a"], content: .external(table: "missing")),
            FTS5Table("f", columns: ["a"], content: .external(table: "keyless")),
            FTS5Table("f", columns: ["b"], content: .external(table: "t")),
            FTS5Table("f", columns: ["a"], content: .external(table: "t", rowID: "a")),
        ]
        for table in bad {
            let error = #expect(throws: DatabaseError.self) { try db.create(table) }
            #expect(error?.reason == .invalidArgument, "\(table)")
        }
        #expect(throws: DatabaseError.self) { try db.fullText("t").drop() }
        #expect(throws: DatabaseError.self) { try db.fullText("t").hits("x") }
        #expect(try db.fetchAll(String.self, "SELECT name FROM sqlite_schema ORDER BY 1") == ["keyless", "t"])
    }

    @Test func unsynchronizedContentCanBeAView() throws {
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT)")
        try db.execute("CREATE VIEW v AS SELECT id, a || ' viewed' AS a FROM t")
        try db.execute("INSERT INTO t VALUES (3, 'one')")
        try db.create(FTS5Table("f", columns: ["a"], content: .external(table: "v", rowID: "id", isSynchronized: false)))
        #expect(try found("f", "viewed") == [3])
        #expect(try db.fullText("f").hits(FullTextSearch(exactly: "one", filter: "id = 3")).count == 1)
    }
}
