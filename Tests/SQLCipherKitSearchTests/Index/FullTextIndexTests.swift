import SQLCipherKitCore
import SQLCipherKitSearch
import Testing

/// The handle, also when its table has changed or is gone.
@Suite struct FullTextIndexTests {
    let db: Connection
    init() throws { db = try Connection(.memory) }

    /// Every method of a handle.
    static let calls: [(String, @Sendable (FullTextIndex) throws -> Void)] = [
        ("columns", { _ = try $0.columns() }), ("search", { _ = try $0.search("one") }), ("a query", { _ = try $0.hits("one") }),
        ("search by SQL", { _ = try $0.hits(FullTextSearch(exactly: "one", filter: "a = 1", order: .sql("a"))) }),
        ("count", { _ = try $0.count("one") }),
        ("records", { _ = try $0.records(OwnedRow.self, FullTextSearch(exactly: "one")) }),
        ("facets", { _ = try $0.facets(FullTextSearch(exactly: "one"), by: .values("a")) }), ("terms", { _ = try $0.terms() }),
        ("instances", { _ = try $0.instances(of: "one") }), ("suggestions", { _ = try $0.suggestions(for: "on") }),
        ("corrections", { _ = try $0.corrections(of: "onne") }), ("correctedText", { _ = try $0.correctedText("onne") }),
        ("tokens", { _ = try $0.tokens(of: "one") }),
        ("settings", { _ = try $0.settings }), ("configure", { try $0.configure(.other("automerge", 4)) }),
        ("rebuild", { try $0.rebuild() }), ("optimize", { try $0.optimize() }), ("merge", { try $0.merge() }), ("isIntact", { _ = try $0.passesIntegrityCheck() }),
        ("size", { _ = try $0.size() }), ("drop", { try $0.drop() }),
    ]

    @Test func callsOnDroppedFullTextTableThrow() throws {
        try db.attach(.memory, as: "other", key: .plaintext)
        let other = try db.schema("other")
        try db.execute("CREATE TABLE other.t(id INTEGER PRIMARY KEY, a TEXT)")
        for isDetached in [false, true] {
            try other.create(FTS5Table("f", columns: ["a"], content: .external(table: "t")), ifNotExists: true)
            let index = try other.fullText("f")
            for (name, call) in Self.calls where name != "drop" {
                #expect(throws: Never.self, "\(name)") { try call(index) }
            }
            if isDetached { try db.execute("DETACH other") } else { try index.drop() }
            for (name, call) in Self.calls { #expect(throws: DatabaseError.self, "\(name)") { try call(index) } }
        }
        let error = #expect(throws: DatabaseError.self) { try other.fullText("f") }
        #expect(error?.reason == .schemaName)
        #expect(throws: DatabaseError.self) { try other.fullTextIndexes() }
    }

    @Test func onlyFullTextTablesHaveAHandle() throws {
        try db.execute("CREATE TABLE plain(a)")
        try db.execute("CREATE VIRTUAL TABLE old USING fts4(a)")
        try db.create(FTS5Table("F", columns: ["a"]))
        try db.execute("CREATE VIRTUAL TABLE words USING fts5vocab(F, row)")
        for name in ["plain", "old", "words", "F_data", "missing", ""] {
            let error = #expect(throws: DatabaseError.self) { try db.fullText(name) }
            #expect(error?.reason == .invalidArgument, "\(name)")
        }
        #expect(try db.fullText("f").name == "F")
        try db.temp.create(FTS5Table("t", columns: ["a"]))
        #expect(try db.temp.fullTextIndexes().map(\.name) == ["t"] && db.main.fullTextIndexes().map(\.name) == ["F"])
    }

    /// Without positions, a text of several tokens becomes a search for all of them. A text of one token stays as it is.
    @Test(arguments: [FTS5Table.Detail.column, .none]) func indexWithoutPositionsSearchesPhraseAsAllWords(detail: FTS5Table.Detail) throws {
        try db.create(FTS5Table("f", columns: ["a"], tokenizer: .unicode61(tokenCharacters: "-"), detail: detail))
        try db.execute("INSERT INTO f(rowid, a) VALUES (1, 'a multi-agent system'), (2, 'one agent, multi')")
        let f = try db.fullText("f")
        #expect(try f.hits("multi-agent").map(\.rowID) == [1])
        #expect(try f.hits("system, multi-agent").map(\.rowID) == [1])
        #expect(try f.count(.initial("agent")) == 1 && f.count(.near(["one", "multi"])) == 1)
        #expect(try f.count(.phrase("multi on", prefix: true)) == 1 && f.count(.phrase("multi on")) == 0)
        #expect(try f.hits(FullTextSearch(exactly: "agent one", order: .rowID)).map(\.rowID) == [2])
        #expect(try f.facets(FullTextSearch(exactly: "agent one"), by: .values("1")).map(\.count) == [1])
        try db.create(FTS5Table("parts", columns: ["a"], tokenizer: .trigram(), detail: detail))
        try db.execute("INSERT INTO parts VALUES ('encryption'), ('decryption')")
        #expect(try db.fullText("parts").count("encrypt") == 1 && db.fullText("parts").count("CRYPT") == 2)
    }

    /// Names that would be the same when joined.
    @Test func vocabulariesOfSimilarIndexNamesStayApart() throws {
        for schema in ["x", "x_y"] { try db.attach(.memory, as: schema, key: .plaintext) }
        let first = try db.schema("x"), second = try db.schema("x_y")
        try first.create(FTS5Table("y_f", columns: ["a"]))
        try second.create(FTS5Table("f", columns: ["a"]))
        try db.execute("INSERT INTO x.y_f VALUES ('first')")
        try db.execute("INSERT INTO x_y.f VALUES ('second')")
        #expect(try first.fullText("y_f").terms().map(\.term) == ["first"])
        #expect(try second.fullText("f").terms().map(\.term) == ["second"])
    }
}
