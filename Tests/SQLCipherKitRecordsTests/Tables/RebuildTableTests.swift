import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// A table that is made again keeps everything that its new definition does not change.
@Suite struct RebuildTableTests {
    /// A table `x` of a random form, and all that can hang on one.
    private struct Form {
        var key = "", columns: [String] = [], suffix = ""
        var hasKey: Bool { !key.isEmpty }
        let name = ["x", "\"x\"", "[X]", "'x'", "`x`"]
        var spelled = "x"

        init(_ random: inout SeededGenerator) {
            spelled = name.randomElement(using: &random) ?? "x"
            let isStrict = Int.random(in: 0..<4, using: &random) == 0
            let keys = ["INTEGER PRIMARY KEY", "INTEGER PRIMARY KEY AUTOINCREMENT", "INTEGER PRIMARY KEY DESC", "INT PRIMARY KEY NOT NULL"]
            key = ([""] + keys.map { "id \($0)" }).randomElement(using: &random) ?? ""
            if key.hasSuffix("NOT NULL"), Bool.random(using: &random) { suffix = " WITHOUT ROWID" }
            if isStrict { suffix += suffix.isEmpty ? " STRICT" : ", STRICT" }
            columns = [
                "a TEXT COLLATE NOCASE DEFAULT 'it''s'", "b \(isStrict ? "ANY" : "NUMERIC")",
                "c INTEGER REFERENCES p(id) ON DELETE CASCADE",
            ]
            if hasKey { columns.append("up INTEGER REFERENCES x(id)") }
            let kind = ["", "STORED"].randomElement(using: &random) ?? ""
            if Bool.random(using: &random) { columns.append("g TEXT GENERATED ALWAYS AS (a || '!') \(kind)") }
            if Bool.random(using: &random) { columns.append("h TEXT CHECK (x.h <> 'bad' OR h IS NULL)") }
            columns.shuffle(using: &random)
            if Bool.random(using: &random) { columns.append("UNIQUE (a, b, c)") }
        }

        func sql(adding more: [String] = []) -> String {
            let columns = (hasKey ? [key] : []) + more + self.columns
            return "CREATE TABLE \(spelled)(\(columns.joined(separator: ", ")) /* as written */)\(suffix)"
        }
    }

    private static func fill(_ db: Connection, _ form: Form, _ random: inout SeededGenerator) throws {
        try db.execute("CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT)")
        try db.execute(SQL(raw: form.sql()))
        for id in 1...5 { try db.execute("INSERT INTO p VALUES (\(id), \("p\(id)"))") }
        try db.execute(
            SQLScript(
                """
                CREATE TABLE log(what);
                CREATE TABLE child(\(form.hasKey ? "x INTEGER REFERENCES x(id) ON DELETE CASCADE" : "x"));
                CREATE INDEX "x a" ON x(a COLLATE BINARY DESC, b) WHERE c IS NOT NULL;
                CREATE UNIQUE INDEX x_e ON X(lower(a) || '-' || rowid_of);
                CREATE TRIGGER x_new AFTER INSERT ON x BEGIN INSERT INTO log VALUES (new.a); END;
                CREATE TRIGGER "x gone" BEFORE DELETE ON x WHEN old.a <> 'é' BEGIN INSERT INTO log VALUES (old.a); END;
                CREATE TRIGGER x_set AFTER UPDATE OF a ON x BEGIN INSERT INTO log SELECT count(*) FROM x; END;
                CREATE TRIGGER p_new AFTER INSERT ON p BEGIN INSERT INTO x(a, c) VALUES (new.name, new.id); END;
                CREATE VIEW v AS SELECT a, x.b, c FROM x JOIN p ON p.id = x.c;
                CREATE VIEW w(one) AS SELECT a FROM v;
                CREATE TRIGGER v_set INSTEAD OF UPDATE ON v BEGIN UPDATE x SET a = new.a WHERE a = old.a; END;
                CREATE TEMP TABLE seen(a);
                CREATE TEMP TRIGGER x_seen AFTER INSERT ON x BEGIN INSERT INTO seen VALUES (new.a); END;
                CREATE TEMP VIEW tv AS SELECT a FROM main.x;
                """.replacingOccurrences(of: "rowid_of", with: "ifnull(b, 0)")
                    .replacingOccurrences(of: "UNIQUE INDEX x_e", with: "INDEX x_e")))
        let hasFullText = form.key.hasPrefix("id INTEGER PRIMARY KEY") && !form.key.hasSuffix("DESC")
        if hasFullText {
            try db.execute(
                SQLScript(
                    """
                    CREATE VIRTUAL TABLE ft USING fts5(a, content='x', content_rowid='id');
                    CREATE TRIGGER ft_new AFTER INSERT ON x BEGIN INSERT INTO ft(rowid, a) VALUES (new.id, new.a); END;
                    CREATE TRIGGER ft_gone AFTER DELETE ON x BEGIN
                        INSERT INTO ft(ft, rowid, a) VALUES ('delete', old.id, old.a);
                    END;
                    """))
        }
        for number in 0..<Int.random(in: 0..<30, using: &random) {
            let a = ["word", "é", "a\0b", "", "Ünï"].randomElement(using: &random).map { "\($0)\(number)" }
            let all: [SQLValue] = [.null, .real(0.1), .integer(.max), .text("12x"), .blob(Data([0, 255]))]
            let b = all.randomElement(using: &random) ?? .null
            var names = ["a", "b", "c"], values: [SQLValue] = [.text(a ?? ""), b, .integer(Int64.random(in: 1...5, using: &random))]
            if form.hasKey { (names, values) = (names + ["id"], values + [.integer(Int64(number * 7 - 20))]) }
            let marks = names.map { _ in "?" }.joined(separator: ", ")
            let sql = "INSERT OR IGNORE INTO x(\(names.joined(separator: ", "))) VALUES (\(marks))"
            try db.execute(SQL(raw: sql, StatementArguments(values)))
        }
        try db.execute("DELETE FROM x WHERE a LIKE '%3'")
        if form.hasKey { try db.execute("INSERT INTO child SELECT id FROM x LIMIT 3") }
        if form.key.hasSuffix("AUTOINCREMENT") { try db.execute("UPDATE sqlite_sequence SET seq = 4711 WHERE name = 'x'") }
        try db.execute("ANALYZE")
    }

    private static func contents(_ db: Connection) throws -> [String] {
        let temporary: [(String, String, String)] = try db.fetchAll("SELECT type, name, sql FROM temp.sqlite_schema ORDER BY 1, 2")
        return try Contents.of(db) + temporary.map { "\($0)" } + Contents.of(db, schema: "temp").filter { $0.hasPrefix("seen") }
    }

    private static func expectWhole(_ db: Connection, _ seed: UInt64) throws {
        #expect(try db.main.integrityCheck() == [], "seed \(seed)")
        #expect(try db.main.foreignKeyViolations() == [], "seed \(seed)")
        if try db.main.hasTable("ft") { try db.execute("INSERT INTO ft(ft, rank) VALUES ('integrity-check', 1)") }
        #expect(try db.settings.isEnabled(.foreignKeys))
        #expect(!db.isInTransaction)
    }

    @Test func rebuildWithSameDefinitionChangesNothing() throws {
        for seed in 0..<(LongTests.areOn ? 1_000 : 40) as Range<UInt64> {
            var random = SeededGenerator(state: seed)
            let form = Form(&random)
            let db = try Connection(.memory)
            try Self.fill(db, form, &random)
            let before = try Self.contents(db)
            if seed % 2 == 0 {
                try db.main.rebuildTable("X", sql: SQL(raw: form.sql()))
            } else {
                var migrator = Migrator()
                let sql = form.sql()
                migrator.add("again") { db in try db.main.rebuildTable("x", sql: SQL(raw: sql)) }
                _ = try migrator.migrate(db)
                try db.execute("DROP TABLE sqlcipherkit_migration")
            }
            let after = try Self.contents(db)
            let difference = Set(before).symmetricDifference(after).sorted()
            #expect(difference.isEmpty && after.count == before.count, "seed \(seed)")
            try Self.expectWhole(db, seed)
            // The triggers run again.
            let count = try db.fetchOne(Int.self, "SELECT count(*) FROM log") ?? 0
            try db.execute(SQL(raw: form.hasKey ? "INSERT INTO x(id, a) VALUES (999, 'new')" : "INSERT INTO x(a) VALUES ('new')"))
            #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM log") == count + 1)
            #expect(try db.fetchOne(String.self, "SELECT a FROM temp.seen ORDER BY rowid DESC") == "new")
        }
    }

    @Test func rebuildWithNewDefinitionChangesOnlyItsTable() throws {
        for seed in 1000..<(LongTests.areOn ? 2_000 : 1_040) as Range<UInt64> {
            var random = SeededGenerator(state: seed)
            let form = Form(&random)
            let db = try Connection(.memory)
            try Self.fill(db, form, &random)
            let isOwn: (String) -> Bool = { line in
                let line = line.lowercased()
                return line.hasPrefix("x ") || line.hasPrefix("(\"table\", \"x\"") || line.contains("sqlite_autoindex_x_")
            }
            let others = try Self.contents(db).filter { !isOwn($0) }
            let id = form.suffix.contains("WITHOUT") ? "id" : "rowid"
            let list = SQL(raw: "SELECT \(id), typeof(a), hex(a), typeof(b), b, c FROM x ORDER BY 1")
            let rows = try db.fetchAll(OwnedRow.self, list).map(\.values)
            let sql = form.sql(adding: ["z INTEGER NOT NULL DEFAULT 7", "y TEXT COLLATE NOCASE", "\"\(id)_2\" INTEGER"])
            try db.main.rebuildTable("x", sql: SQL(raw: sql), values: ["Y": "upper(x.a) || \("!")", "\(id)_2": "\(raw: id) * 2"])
            let difference = Set(try Self.contents(db).filter { !isOwn($0) }).symmetricDifference(others).sorted()
            #expect(difference.isEmpty, "seed \(seed)")
            let isSame = try db.fetchAll(OwnedRow.self, list).map(\.values) == rows
            #expect(isSame, "seed \(seed)")
            let mistakes: SQL = """
                SELECT count(*) FROM x WHERE z <> 7 OR y IS NOT upper(a) || '!' OR "\(raw: id)_2" IS NOT \(raw: id) * 2
                """
            #expect(try db.fetchOne(Int.self, mistakes) == 0, "seed \(seed)")
            #expect(try db.main.table("x")?.sql.hasSuffix(sql.dropFirst("CREATE TABLE ".count)) == true)
            try Self.expectWhole(db, seed)
        }
    }

    /// Whatever makes it throw, nothing has changed.
    @Test func failedRebuildChangesNothing() throws {
        let definition = "CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, tag INTEGER REFERENCES tag)"
        let cases: [(String, [String: SQL], DatabaseError.Reason)] = [
            ("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT CHECK (title <> 'b'), tag)", [:], .engine),
            ("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT UNIQUE ON CONFLICT IGNORE, tag)", ["title": "'same'"], .engine),
            ("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT UNIQUE ON CONFLICT REPLACE, tag)", ["title": "'same'"], .engine),
            ("CREATE TABLE note(id INTEGER PRIMARY KEY, tag)", [:], .engine),
            ("CREATE TABLE note(id INTEGER PRIMARY KEY, name, tag)", ["name": "title"], .engine),
            (definition, ["tag": "99"], .migration),
            (definition, ["id": "count(*)"], .migration),
            (definition, ["nothing": "1"], .invalidArgument),
            (definition, ["title": "nothing"], .engine),
            ("CREATE TABLE other(id)", [:], .malformedSchema),
            ("CREATE TABLE note(id, title, tag); DROP TABLE tag", [:], .malformedSchema),
            ("CREATE TABLE note AS SELECT 1", [:], .malformedSchema),
            ("DELETE FROM note", [:], .malformedSchema),
            ("CREATE TABLE note(else)", [:], .engine),
        ]
        for (sql, values, reason) in cases {
            let db = try Connection(.memory)
            try db.execute(
                SQLScript(
                    """
                    CREATE TABLE tag(id INTEGER PRIMARY KEY);
                    CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, tag INTEGER REFERENCES tag);
                    CREATE INDEX note_title ON note(title);
                    CREATE TRIGGER note_new AFTER INSERT ON note BEGIN UPDATE tag SET id = id WHERE id = new.tag; END;
                    INSERT INTO tag VALUES (1), (2);
                    INSERT INTO note VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', NULL);
                    """))
            let before = try Contents.of(db)
            let error = #expect(throws: DatabaseError.self, "\(sql)") { try db.main.rebuildTable("note", sql: SQL(raw: sql), values: values) }
            #expect(error?.reason == reason, "\(sql): \(String(describing: error))")
            #expect(try Contents.of(db) == before)
            #expect(try db.settings.isEnabled(.foreignKeys) && !db.isInTransaction)
            // Renaming corrects the references to a table again.
            try db.main.renameTable("tag", to: "label")
            #expect(try db.main.foreignKeys(of: "note").map(\.parent) == ["label"])
        }
    }

    @Test func rebuildNamesViewThatNoLongerCompiles() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title, body)")
        try db.execute("CREATE VIEW bodies AS SELECT body FROM note")
        try db.execute("CREATE VIEW broken AS SELECT missing FROM note")
        let sql = "CREATE TABLE note(id INTEGER PRIMARY KEY, title)"
        let error = #expect(throws: DatabaseError.self) { try db.main.rebuildTable("note", sql: SQL(raw: sql)) }
        #expect(error?.message == "bodies would no longer compile after note is rebuilt: drop it first, and create it again afterwards")
        #expect(try db.main.columns(of: "note").count == 3)
        try db.main.dropView("bodies")
        try db.main.rebuildTable("note", sql: SQL(raw: sql))
        #expect(try db.main.columns(of: "note").count == 2)
    }

    @Test func rebuildOfForeignKeyTableInTransactionIsRefused() throws {
        let db = try Connection(.memory)
        try db.execute(SQLScript("CREATE TABLE tag(id INTEGER PRIMARY KEY); CREATE TABLE note(tag REFERENCES tag)"))
        try db.execute("CREATE TABLE free(x)")
        try db.execute("INSERT INTO tag VALUES (1)")
        try db.execute("INSERT INTO note VALUES (1)")
        let refused = [
            ("tag", "CREATE TABLE tag(id INTEGER PRIMARY KEY, name)"), ("note", "CREATE TABLE note(tag)"),
            ("free", "CREATE TABLE free(x REFERENCES tag)"),
        ]
        for (table, sql) in refused {
            let error = #expect(throws: DatabaseError.self) {
                try db.transaction { db in try db.main.rebuildTable(table, sql: SQL(raw: sql)) }
            }
            #expect(error?.reason == .misuse)
        }
        try db.transaction { db in try db.main.rebuildTable("free", sql: "CREATE TABLE free(x, y)") }
        #expect(try db.main.columns(of: "free").map(\.name) == ["x", "y"])
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM note") == 1)
    }

    @Test func rebuildWorksInAttachedDatabase() throws {
        let db = try Connection(.memory)
        let other = try db.attach(.memory, as: "other", key: nil)
        for schema in ["main", "other"] {
            try db.execute(SQL(raw: "CREATE TABLE \(schema).note(id INTEGER PRIMARY KEY, title)"))
            try db.execute(SQL(raw: "CREATE INDEX \(schema).note_title ON note(title)"))
            try db.execute(SQL(raw: "INSERT INTO \(schema).note VALUES (5, 'A')"))
        }
        try db.execute("CREATE TEMP TRIGGER t AFTER INSERT ON main.note BEGIN SELECT 1; END")
        let before = try Contents.of(db)
        let table = SQLTable("note") {
            SQLColumn("id", .integer).primaryKey()
            SQLColumn("title", .text).notNull()
            SQLColumn("slug", .text)
            SQLIndex("note_title", on: ["slug"])
        }
        try other.rebuildTable(table, values: ["slug": "lower(title)"])
        #expect(try Contents.of(db) == before)
        let row: (Int, String, String)? = try db.fetchOne("SELECT id, title, slug FROM other.note")
        #expect(row.map { "\($0)" } == "(5, \"A\", \"a\")")
        #expect(try other.indexes(of: "note").first?.terms.map(\.column) == ["slug"])
        #expect(try db.temp.triggers().map(\.name) == ["t"])
        for name in ["nothing", "sqlite_schema", "v"] {
            try db.execute("CREATE VIEW IF NOT EXISTS other.v AS SELECT 1")
            #expect(throws: DatabaseError.self) { try other.rebuildTable(name, sql: "CREATE TABLE \(name)(id, x)") }
        }
    }
}
