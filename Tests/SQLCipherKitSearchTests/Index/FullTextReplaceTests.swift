import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

/// Random tables, random unique indexes and random writes: after each write, the index equals one that is built from scratch.
@Suite struct FullTextReplaceTests {
    static let words = ["alpha", "beta", "gamma", "delta"]

    /// A table `doc` with four columns to write to, and unique indexes of every kind.
    struct Scheme {
        var table: String
        var before: [String]
        var after: [String]

        init(_ random: inout SeededGenerator) {
            let conflict = ["", "", " ON CONFLICT REPLACE", " ON CONFLICT IGNORE"].randomElement(using: &random) ?? ""
            let unique = Bool.random(using: &random) ? " UNIQUE\(conflict)" : ""
            let columns = "a TEXT\(unique), b TEXT COLLATE NOCASE, c INTEGER, d TEXT"
            let generated = Bool.random(using: &random) ? ", e TEXT AS (lower(d) || c) STORED" : ""
            table =
                [
                    "CREATE TABLE doc(id INTEGER PRIMARY KEY, \(columns)\(generated))",
                    "CREATE TABLE doc(id INTEGER PRIMARY KEY\(conflict), \(columns)\(generated))",
                    "CREATE TABLE doc(id TEXT PRIMARY KEY\(conflict), \(columns)\(generated))",
                    "CREATE TABLE doc(id TEXT PRIMARY KEY\(conflict), \(columns)\(generated)) WITHOUT ROWID",
                    "CREATE TABLE doc(id TEXT, \(columns)\(generated), PRIMARY KEY(id, c))",
                ].randomElement(using: &random) ?? ""
            var indexes = [
                "(b)", "(a, c)", "(a) WHERE c = 0", "(b) WHERE c > 1 AND d IS NOT NULL", "(lower(a))", "(a, lower(b) DESC)",
                "(substr(b, 1, 2) COLLATE NOCASE, c) WHERE d <> 'x)'", "(c) WHERE /* (in comments, */ a LIKE 'a%'", "(b || c)",
                "(d)",
            ]
            if !generated.isEmpty { indexes += ["(e)", "(e, c) WHERE e <> ''"] }
            indexes.shuffle(using: &random)
            let made = indexes.prefix(Int.random(in: 0...3, using: &random)).enumerated()
            before = made.map { "CREATE UNIQUE INDEX before_\($0) ON doc\($1)" }
            let later = indexes.suffix(Int.random(in: 0...2, using: &random)).enumerated()
            after = later.map { "CREATE UNIQUE INDEX after_\($0) ON doc\($1)" }
        }
    }

    static func text(_ random: inout SeededGenerator) -> String { words.randomElement(using: &random) ?? "" }

    static func write(_ db: Connection, _ random: inout SeededGenerator) throws {
        let conflict = [" OR REPLACE", " OR REPLACE", " OR REPLACE", "", " OR IGNORE"].randomElement(using: &random) ?? ""
        let id = Int.random(in: 0..<9, using: &random), other = Int.random(in: 0..<9, using: &random)
        let a = text(&random), b = Bool.random(using: &random) ? text(&random).uppercased() : text(&random)
        let c = Int.random(in: 0..<3, using: &random), d: SQLValue = Bool.random(using: &random) ? .text(text(&random)) : .null
        switch Int.random(in: 0..<9, using: &random) {
        case 0...3: try db.execute("INSERT\(raw: conflict) INTO doc(id, a, b, c, d) VALUES (\(id), \(a), \(b), \(c), \(d))")
        case 4: try db.execute("UPDATE\(raw: conflict) doc SET c = \(c) WHERE id <> \(id)")
        case 5: try db.execute("UPDATE\(raw: conflict) doc SET a = \(a), b = \(b) WHERE id IN (\(id), \(other))")
        case 6: try db.execute("UPDATE\(raw: conflict) doc SET id = \(id) WHERE id = \(other)")
        case 7:
            try db.execute(
                """
                INSERT\(raw: conflict) INTO doc(id, a, b, c, d) VALUES (\(id), \(a), \(b), \(c), \(d))
                ON CONFLICT DO UPDATE SET a = excluded.a, c = excluded.c
                """)
        default: try db.execute("DELETE FROM doc WHERE id = \(id) OR c = \(c)")
        }
    }

    /// Compares the index's words and positions with those of an index built from the same table now.
    static func expectSame(_ db: Connection, _ context: String) throws {
        let index = try db.fullText("doc_fts")
        try #require(try index.passesIntegrityCheck(), "\(context)")
        for word in words {
            let expected = try db.fetchOne(
                Int.self, "SELECT count(*) FROM doc WHERE a LIKE \(word) OR b LIKE \(word) OR d LIKE \(word)")
            let found = try index.count(.phrase(word))
            try #require(found == expected, "\(context): \(word)")
        }
    }

    @Test(arguments: [false, true]) func randomStatementsKeepIndexSynchronized(recursive: Bool) throws {
        let rounds = LongTests.areOn ? 600 : 20
        var succeeded = 0
        for round in 0..<rounds {
            var random = SeededGenerator(round)
            let scheme = Scheme(&random)
            let db = try Connection(.memory)
            try db.execute("PRAGMA recursive_triggers = \(raw: recursive ? "ON" : "OFF")")
            try db.execute("PRAGMA foreign_keys = \(raw: Bool.random(using: &random) ? "ON" : "OFF")")
            try db.execute(SQL(raw: scheme.table))
            for index in scheme.before { try db.execute(SQL(raw: index)) }
            try db.create(FTS5Table("doc_fts", columns: ["a", "b", "d"], content: .external(table: "doc")))
            if Bool.random(using: &random) {
                // Another trigger, which writes to the same table during a REPLACE.
                try db.execute(
                    "CREATE TRIGGER more AFTER INSERT ON doc BEGIN UPDATE OR REPLACE doc SET b = 'beta' WHERE c = 1; END")
            }
            for index in scheme.after { try db.execute(SQL(raw: index)) }
            let context = "round \(round): \(scheme)"
            for _ in 0..<40 {
                do {
                    try Self.write(db, &random)
                    succeeded += 1
                } catch let error as DatabaseError {
                    try #require(.constraint ~= error.code, "\(error) \(context)")
                }
                try Self.expectSame(db, context)
            }
            try db.execute("DELETE FROM doc")
            #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM doc_fts_docsize") == 0, "\(context)")
        }
        #expect(succeeded > rounds * 10)
    }

    /// A regression: a partial unique index, and a REPLACE that deletes two rows at once.
    @Test func replaceThroughPartialUniqueIndexUpdatesFullText() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, email TEXT, phone TEXT, deleted INTEGER, body TEXT)")
        try db.execute("CREATE UNIQUE INDEX live ON doc(email) WHERE deleted = 0")
        try db.create(FTS5Table("doc_fts", columns: ["body"], content: .external(table: "doc")))
        try db.execute("CREATE UNIQUE INDEX later ON doc(lower(phone))")
        try db.execute("INSERT INTO doc VALUES (1, 'e', 'A', 1, 'one'), (2, 'e', 'B', 0, 'two'), (3, 'f', 'C', 0, 'three')")
        try db.execute("INSERT OR REPLACE INTO doc VALUES (4, 'e', 'c', 0, 'four')")
        #expect(try db.fetchAll(Int.self, "SELECT id FROM doc") == [1, 4])
        let index = try db.fullText("doc_fts")
        #expect(try index.passesIntegrityCheck() && index.count("three") == 0 && index.count("two") == 0 && index.count("four") == 1)
        // An update of a column that is not in the full-text index.
        try db.execute("INSERT INTO doc VALUES (5, 'e', 'D', 1, 'five')")
        try db.execute("UPDATE OR REPLACE doc SET deleted = 0 WHERE id = 5")
        #expect(try db.fetchAll(Int.self, "SELECT id FROM doc") == [1, 5])
        #expect(try index.passesIntegrityCheck() && index.count("four") == 0)
    }

    /// The application's own triggers fire as in SQLite.
    @Test func applicationTriggersFireAsInSQLite() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, slug TEXT UNIQUE, body TEXT)")
        try db.execute("CREATE TABLE log(id)")
        try db.execute("CREATE TRIGGER my_before_delete BEFORE DELETE ON doc BEGIN INSERT INTO log VALUES (old.id); END")
        try db.create(FTS5Table("doc_fts", columns: ["body"], content: .external(table: "doc")))
        try db.execute("INSERT INTO doc VALUES (1, 'a', 'one')")
        try db.execute("INSERT OR REPLACE INTO doc VALUES (2, 'a', 'two')")
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM log") == 0)
        try db.execute("PRAGMA recursive_triggers = ON")
        try db.execute("INSERT OR REPLACE INTO doc VALUES (3, 'a', 'three')")
        #expect(try db.fetchAll(Int.self, "SELECT id FROM log") == [2])
        #expect(try db.fullText("doc_fts").passesIntegrityCheck())
    }

    @Test func renamedTableAndColumnsStaySearchable() throws {
        for key in ["id INTEGER PRIMARY KEY", "id TEXT PRIMARY KEY"] {
            let db = try Connection(.memory)
            try db.execute("CREATE TABLE doc(\(raw: key), title TEXT, body TEXT UNIQUE)")
            try db.create(FTS5Table("doc_fts", columns: ["title", "body"], content: .external(table: "doc")))
            try db.execute("INSERT INTO doc VALUES (1, 'one', 'first text')")
            try db.execute("ALTER TABLE doc RENAME COLUMN body TO content")
            try db.execute("ALTER TABLE doc RENAME COLUMN id TO number")
            try db.execute("ALTER TABLE doc RENAME TO paper")
            try db.execute("INSERT OR REPLACE INTO paper VALUES (2, 'two', 'first text'), (3, 'three', 'third text')")
            let index = try db.fullText("doc_fts")
            #expect(try index.passesIntegrityCheck())
            var search = FullTextSearch(exactly: "text", filter: "content <> ''", order: .sql("number DESC"))
            search.highlightedColumns = ["body"]
            search.snippet = .column("body")
            let marked = try index.hits(search).map { $0.highlights["body"]?.description }
            #expect(marked == ["third [text]", "first [text]"])
            try index.rebuild()
            #expect(try index.passesIntegrityCheck() && index.count("two") == 1 && index.count("one") == 0)
            try index.drop()
            #expect(try db.fetchAll(String.self, "SELECT name FROM sqlite_schema WHERE name LIKE 'doc\\_fts%' ESCAPE '\\'") == [])
        }
    }
}
