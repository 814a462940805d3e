import Foundation
import SQLCipherKit
import SQLCipherKitSync
import Testing
import TestSupport

@Suite struct DatabaseErrorTests {
    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, n INT CHECK (n > 0))")
    }

    private func error(_ sql: SQL, on connection: Connection? = nil) -> DatabaseError? {
        #expect(throws: DatabaseError.self) { try (connection ?? db).execute(sql) }
    }

    @Test func errorHasCodeMessageSQLAndOffset() {
        let syntax = error("SELECT 'é', FROM t")
        #expect(syntax?.code == .error && syntax?.reason == .engine)
        #expect(syntax?.message == #"near "FROM": syntax error"#)
        #expect(syntax?.sql == "SELECT 'é', FROM t")
        #expect(syntax?.offset == 13)  // in bytes
        #expect(syntax?.description == #"near "FROM": syntax error [1] in: SELECT 'é', FROM t (at byte 13)"#)
        #expect(error("SELECT nothing_here FROM t")?.offset == 7)
        #expect(error("SELECT abs(-9223372036854775808)")?.offset == nil)
    }

    @Test func constraintErrorsHaveExtendedCodes() throws {
        try db.execute("INSERT INTO t VALUES (1, 'a', 1)")
        let cases: [(SQL, ResultCode)] = [
            ("INSERT INTO t VALUES (1, 'b', 1)", .constraintPrimaryKey), ("INSERT INTO t VALUES (2, 'a', 1)", .constraintUnique),
            ("INSERT INTO t VALUES (2, NULL, 1)", .constraintNotNull), ("INSERT INTO t VALUES (2, 'b', 0)", .constraintCheck),
            ("INSERT INTO t VALUES ('x', 'b', 1)", .mismatch),
        ]
        for (sql, code) in cases { #expect(error(sql)?.code == code) }
        #expect(error("INSERT INTO t VALUES (2, 'a', 1)")?.message == "UNIQUE constraint failed: t.name")
    }

    @Test func resultCodePatternsMatchExtendedCodes() {
        #expect(.constraint ~= ResultCode.constraintUnique)
        #expect(!(.constraintUnique ~= ResultCode.constraint))
        #expect(.constraintUnique ~= ResultCode.constraintUnique)
        #expect(!(.busy ~= ResultCode.constraintUnique))
        #expect(ResultCode.constraintUnique.primary == .constraint && !ResultCode.constraintUnique.isPrimary)
        #expect(ResultCode.constraintUnique.rawValue == 2067)
        #expect(ResultCode.busySnapshot.rawValue == 517 && ResultCode.abortRollback.rawValue == 516)
        #expect(ResultCode.constraint.description == "constraint failed (19)")
    }

    /// Bound values are in an error only where the configuration asks for it.
    @Test func errorShowsBoundValuesOnlyOnRequest() throws {
        try db.execute("INSERT INTO t VALUES (1, 'confidential', 1)")
        let hidden = error("INSERT INTO t VALUES (2, \("confidential"), \(1))")
        #expect(hidden?.sql == "INSERT INTO t VALUES (2, ?, ?)" && hidden?.arguments == nil)
        #expect(hidden?.description.contains("confidential") == false)
        var configuration = DatabaseConfiguration()
        configuration.errorsShowArguments = true
        configuration.valueProfile.dates = .realSeconds
        let other = try Connection(.memory, configuration: configuration)
        try other.execute("CREATE TABLE t(x UNIQUE, y)")
        try other.execute("INSERT INTO t VALUES (1, 2)")
        let shown = #expect(throws: DatabaseError.self) { try other.execute("INSERT INTO t VALUES (:x, :y)", ["x": 1, "y": nil]) }
        #expect(shown?.arguments?.contains("x: 1") == true && shown?.arguments?.contains("y: NULL") == true)
        #expect(error("INSERT INTO t VALUES (\(1), \("b"))", on: other)?.arguments == "[1, b]")
        // Foundation cannot describe most of these dates, wherever they are.
        for seconds in [0, -1e30, 1e30, 1e300] {
            let date = Date(timeIntervalSince1970: seconds)
            #expect(error("INSERT INTO t VALUES (\(1), \(date))", on: other)?.arguments == "[1, \(seconds)]")
            let document = error("INSERT INTO t VALUES (\(1), \(JSONColumn([date])))", on: other)
            #expect(document.map { $0.arguments != nil || $0.reason == .invalidArgument } == true)
        }
        #expect(error("INSERT INTO t VALUES (\(1), \(Data([1, 2])))", on: other)?.arguments == "[1, 2 bytes]")
    }

    @Test(arguments: [
        "PRAGMA key = 'hunter2'", "pragma KEY('hunter2')", "PRAGMA main . \"rekey\" = \"hunter2\"", "PRAGMA [hexkey] = hunter2 junk",
        "EXPLAIN PRAGMA rekey = 'hunter2", "/* hello; */ PRAGMA key = x'hunter2'", "PRAGMA key = /* ; */ 'hunter2' FROM 'hunter2' --'",
        "SELECT 1; PRAGMA key = 'a;hunter2' SELECT", "ATTACH 'a' AS b KEY 'hunter2' junk", "attach database hunter_ as b key hunter2 junk",
        "ATTACH 'a' AS b KEY x'68hunter2'", "ATTACH 'file:a?mode=ro&key=hunter2' AS b junk", "ATTACH 'file:a?hexkey=hunter2&x=y' AS b junk",
        "PRAGMA key = hunter2 ; SELECT * FROM nowhere", "PRAGMA cipher_add_random = hunter2 hunter2", "VACUUM INTO 'file:/no/where?key=hunter2' junk",
        "PRAGMA key = 'it''s hunter2' x", "PRAGMA textkey = `hunter2` x", "PRAGMA key = -hunter2",
        "PRAGMA key 'hunter2'", "PRAGM rekey = hunter2", "PRGMA key = 'hunter2'", "\u{FEFF}PRAGMA key = 'hunter2'",
        "SELECT 1; PRGMA main.key = hunter2", "-- x\nPRGMA key = hunter2", "ATACH 'a' AS b KEY 'hunter2'", "PRAGMA \"k\" KEY hunter2",
        "ATTACH 'file:x?key=correct hunter2' AS b junk", "ATTACH 'file:x?%6bey=hunter2' AS b junk", "SELECT 'file:x?mode=ro&k%65y=hunter2' junk",
    ]) func errorsRedactKeys(_ sql: String) {
        var all = ""
        do { try db.execute(SQL(raw: sql)) } catch { all += "\(error) \(String(reflecting: error))" }
        do { try db.execute(SQLScript(sql)) } catch { all += "\(error) \(String(reflecting: error))" }
        do { _ = try db.prepare(SQL(raw: sql)) } catch { all += "\(error)" }
        let own = DatabaseError(message: "cannot run hunter2", sql: sql, offset: sql.utf8.count - 1, arguments: "[hunter2]")
        all += "\(own)"
        #expect(!all.contains("hunter2"), "\(all)")
        #expect(all.contains("[redacted]"))
    }

    @Test func sqlWithoutKeyIsNotRedacted() throws {
        for text in [
            "SELECT key FROM t WHERE key = 'x'", "CREATE TABLE k(key PRIMARY KEY, monkey)", "PRAGMA foreign_keys = maybe x",
            "ATTACH 'a' AS b junk", "SELECT 1 AS \"key=\" FROM", "/* by key */ SELECT key FROM attachments; -- key\nDELETE FROM k",
            "SELECT x FROM t WHERE x LIKE '%key%'", "SELEC x LIKE '%'",
        ] { #expect(DatabaseError(message: "m", sql: text, offset: 5).sql == text) }
        let kept = DatabaseError(message: "near junk", sql: "SELEC 1; PRAGMA key = 'x'", offset: 2, arguments: "[1]")
        #expect(kept.sql == "[redacted]" && kept.offset == nil && kept.arguments == nil && kept.message == "near junk")
        #expect(DatabaseError(message: "m", sql: "SELECT 'PRAGMA key = 1' FROM").sql == "[redacted]")
        let locked = DatabaseError(message: "database is locked", sql: "ATTACH DATABASE ? AS ? KEY ?")
        #expect(locked.message == "database is locked")
        #expect(DatabaseError(message: "near \"database\"", sql: "PRAGMA key = database").message.contains("database") == false)
        for path in ["file:a?mode=ro&key=abc&cache=x", "file:a?key=abc def", "file:a?%6bey=abc"] {
            #expect(DatabaseError(message: path, path: path).path == "file:a?[redacted]")
            #expect(DatabaseError(message: path).message == "file:a?[redacted]")
        }
        #expect(DatabaseError(message: "m", path: "/a/key%/b?x").path == "/a/key%/b?x")
        var configuration = DatabaseConfiguration()
        configuration.errorsShowArguments = true
        let other = try Connection(.memory, configuration: configuration)
        let attach = #expect(throws: DatabaseError.self) { try other.execute("ATTACH \("/no/such/folder/x.db") AS a KEY \("hunter2")") }
        #expect(attach?.arguments == nil && attach?.description.contains("hunter2") == false)
    }

    @Test func errorMessagesHideBoundValues() throws {
        try db.execute(SQLScript("""
            CREATE VIRTUAL TABLE ft USING fts5(a); CREATE TABLE r(x); INSERT INTO r VALUES ('hunter2[');
            CREATE TRIGGER refuse BEFORE INSERT ON r BEGIN SELECT RAISE(ABORT, 'not ' || new.x || ', ''x'' or y'); END;
            """))
        for sql: SQL in [
            "SELECT * FROM ft WHERE ft MATCH \("hunter2 \"")", "SELECT * FROM ft WHERE ft MATCH \("a AND ) hunter2")",
            "SELECT * FROM ft WHERE ft MATCH \("hunter2 : x")",
            "SELECT * FROM ft WHERE ft MATCH \("NEAR(a b, hunter2)")", "SELECT * FROM ft WHERE ft MATCH \("*hunter2")",
            "SELECT json_extract('{}', \("hunter2"))",
            "SELECT json_extract('{}', \("hunter2.x[1]"))", "SELECT json_extract('{}', x) FROM r",
            "SELECT json_set('{}', \("it's hunter2"), 1)",
            "INSERT INTO r VALUES (\("hunter2"))", "INSERT INTO r VALUES (\(987_654_321))",
            "SELECT json_extract('{}', \(987_654_321))",
            "SELECT sqlcipher_export(\("hunter2"))", "ATTACH \("/no/such/hunter2") AS \("n")", "DETACH \("hunter2")",
        ] {
            let error = #expect(throws: DatabaseError.self) { try db.execute(sql) }
            let text = "\(error?.description ?? "") \(String(reflecting: error))"
            #expect(!text.contains("hunter2") && !text.contains("987654321"), "\(text)")
        }
        // The SQL text's own words stay, and so does the message of a trigger.
        #expect(error("SELECT json_extract('{}', 'visible')")?.message.contains("'visible'") == true)
        #expect(error("SELECT * FROM ft WHERE ft MATCH 'visible ^'")?.message.contains("fts5: ") == true)
        #expect(error("INSERT INTO r VALUES (\("draft"))")?.message == "not …, 'x' or y")
    }

    @Test func changesetErrorHidesItsValues() throws {
        let source = try Connection(.memory)
        try source.execute("CREATE TABLE c(id INTEGER PRIMARY KEY, x)")
        let changes = try source.main.recordingChanges { try $0.execute("INSERT INTO c VALUES (1, 'hunter2')") }
        try db.execute(SQLScript("""
            CREATE TABLE c(id INTEGER PRIMARY KEY, x);
            CREATE TRIGGER look BEFORE INSERT ON c BEGIN SELECT json_extract('{}', new.x); END;
            """))
        let error = #expect(throws: DatabaseError.self) { try changes.apply(to: db) }
        #expect(error?.description.contains("hunter2") == false, "\(error as Any)")
    }

    @Test func databaseErrorsCompareEqual() {
        let a = DatabaseError(code: .busy, message: "m", sql: "s"), b = DatabaseError(code: .busy, message: "m", sql: "s")
        #expect(a == b && a != DatabaseError(code: .busy, message: "n", sql: "s"))
    }
}
