import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct ScriptTests {
    let db: Connection

    init() throws { db = try Connection(.memory) }

    @Test(arguments: [
        ("SELECT 1;", true), ("SELECT 1", false), ("SELECT 1; -- comment;", true), ("SELECT 1 -- comment;", false), ("SELECT ';", false),
        ("SELECT ';';", true), ("/* ; */", false), ("CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM t;", false),
        ("CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM t; END;", true), ("SELECT 1;\0", false),
    ])
    func scriptCompletenessIsDetected(text: String, expected: Bool) {
        #expect(SQLScript(text).isComplete == expected)
    }

    static let script = """
        -- a comment; with a semicolon
        CREATE TABLE t(x TEXT); /* another; one */
        CREATE TABLE log(x);;
        CREATE TRIGGER t_insert AFTER INSERT ON t BEGIN
            INSERT INTO log VALUES ('one; ' || new.x);
            INSERT INTO log VALUES ('two');
        END;
        INSERT INTO t VALUES ('a;b');
        SELECT x FROM log ORDER BY rowid;
        -- the end
        """

    @Test func scriptRunsStatementsCommentsAndTriggers() throws {
        var rows: [String] = []
        var indexes: Set<Int> = []
        try db.execute(SQLScript(Self.script)) { index, row in
            indexes.insert(index)
            rows.append(try row[0])
            return .next
        }
        #expect(rows == ["one; a;b", "two"])
        #expect(indexes == [4])
    }

    @Test func scriptRunsFromFile() throws {
        let folder = try TemporaryFolder()
        let url = folder.url.appendingPathComponent("a.sql")
        try Self.script.write(to: url, atomically: true, encoding: .utf8)
        try db.execute(SQLScript(contentsOf: url))
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM log") == 2)
        let missing = #expect(throws: DatabaseError.self) { try SQLScript(contentsOf: url.appendingPathExtension("no")) }
        #expect(missing?.path == url.path + ".no")
        try Data([0xff, 0xfe]).write(to: url)
        #expect(throws: DatabaseError.self) { try SQLScript(contentsOf: url) }
    }

    @Test func scriptErrorHasStatementIndex() throws {
        let error = #expect(throws: DatabaseError.self) {
            try db.execute(SQLScript("CREATE TABLE a(x); -- fine\nINSERT INTO a VALUES (1); INSERT INTO nowhere VALUES (2); DROP TABLE a"))
        }
        #expect(error?.statementIndex == 2)
        #expect(error?.sql?.contains("nowhere") == true)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM a") == 1)
    }

    @Test func scriptCallbackStopsTheScript() throws {
        var seen: [Int] = []
        try db.execute(SQLScript("CREATE TABLE a(x); VALUES (1), (2), (3); DROP TABLE a")) { _, row in
            seen.append(try row[0])
            return seen.count == 2 ? .stop : .next
        }
        #expect(seen == [1, 2])
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM a") == 0)
        struct Refusal: Error {}
        #expect(throws: Refusal.self) { try db.execute(SQLScript("VALUES (1)")) { _, _ in throw Refusal() } }
    }

    /// The time must grow with the length of the script, not with its square.
    @Test func longScriptRunsInLinearTime() throws {
        let inserts = (0..<20_000).map { "INSERT INTO a VALUES (\($0));\n" }.joined()
        try db.execute(SQLScript("CREATE TABLE a(x); BEGIN;\n" + inserts + "COMMIT"))
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM a") == 20_000)
        let error = #expect(throws: DatabaseError.self) { try db.execute(SQLScript("SELECT 1; SELECT 'é' FRM b; " + inserts)) }
        #expect(error?.statementIndex == 1)
        #expect(error?.sql?.hasPrefix(" SELECT 'é' FRM b;") == true)
        #expect(error?.offset == 17)
        #expect(throws: DatabaseError.self) { try db.execute(SQLScript("SELECT 1;\0 DROP TABLE a")) }
    }

    /// A script has no values, and a parameter without one would be NULL.
    @Test func scriptWithParametersThrows() throws {
        try db.execute("CREATE TABLE kept(a)")
        for parameter in ["?", "?3", ":a", "@a", "$a"] {
            let error = #expect(throws: DatabaseError.self, "\(parameter)") {
                try db.execute(SQLScript("INSERT INTO kept VALUES (1); INSERT INTO kept VALUES (\(parameter)); INSERT INTO kept VALUES (2)"))
            }
            #expect(error?.statementIndex == 1 && error?.reason == .parameters, "\(parameter)")
            #expect(throws: DatabaseError.self) { try db.execute(SQLScript("SELECT \(parameter)")) { _, _ in .next } }
        }
        #expect(try db.fetchAll(Int?.self, "SELECT a FROM kept") == [1, 1, 1, 1, 1])
    }

    @Test func executeOfSeveralStatementsThrows() throws {
        let error = #expect(throws: DatabaseError.self) { try db.execute("CREATE TABLE a(x); CREATE TABLE b(x)") }
        #expect(error?.reason == .misuse)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM sqlite_schema") == 0)
        try db.execute("CREATE TABLE a(x); -- a comment is no statement\n")
        for empty in ["", "  ", "-- only a comment", ";"] {
            #expect(throws: DatabaseError.self) { try db.execute(SQL(raw: empty)) }
            try db.execute(SQLScript(empty))
        }
    }

    /// The argument of `execute` is one statement if it does not say otherwise: its values are bound.
    @Test func stringLiteralIsScriptOnlyWhereTypedAsOne() throws {
        let db = try Connection(.memory)
        let script: SQLScript = "CREATE TABLE a(x); INSERT INTO a VALUES (1)"
        try db.execute(script)
        let x = "'); DROP TABLE a; --"
        try db.execute("INSERT INTO a VALUES (\(x))")
        #expect(try db.fetchAll(String.self, "SELECT CAST(x AS TEXT) FROM a") == ["1", x])
        let error = #expect(throws: DatabaseError.self) { try db.execute("DELETE FROM a; DELETE FROM a") }
        #expect(error?.reason == .misuse)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM a") == 2)
    }

    @Test func persistentStatementsRunLikeOthers() throws {
        let db = try Connection(.memory)
        for isPersistent in [true, false] {
            let statement = try db.prepare("SELECT \(3) + 1", isPersistent: isPersistent)
            for _ in 0..<2 { #expect(try statement.step() && statement[0] == 4 && !statement.step()) }
            #expect(throws: DatabaseError.self) { try db.prepare("SELECT 1; SELECT 2", isPersistent: isPersistent) }
        }
    }
}
