import Foundation
import SQLCipherKit
import Testing
import TestSupport

@Suite struct ShellTests {
    let folder: TemporaryFolder
    let database: String

    init() throws {
        folder = try TemporaryFolder()
        database = folder.path("a.db")
        let bytes = (0..<32).map { _ in UInt8(0xab) }
        let db = try Connection(.file(database), key: .raw(bytes))
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT)")
        try db.execute("INSERT INTO t(name) VALUES ('one'), ('two')")
    }

    private static let key = ["--raw-key", "--key-env", "K"]
    private static let environment = ["K": String(repeating: "ab", count: 32)]

    private func script(_ text: String, _ options: String...) throws -> Command.Outcome {
        try Tool.run(["shell", database] + Self.key + options, environment: Self.environment, input: text)
    }

    private func type(_ conversation: [(after: String, type: String)], _ options: [String] = [], environment: [String: String] = [:]) throws -> Typist.Session {
        try Typist.run(
            ["shell", database] + Self.key + options, conversation: conversation, environment: Self.environment.merging(environment) { $1 })
    }

    @Test func shellRunsScriptFromStandardInput() throws {
        let outcome = try script("""
            .tables
            .mode csv
            SELECT id,
              name -- a comment; with a semicolon
            FROM t WHERE name <> ';'; SELECT 'x' AS y;
            CREATE TRIGGER g AFTER INSERT ON t BEGIN
              UPDATE t SET name = 'three' WHERE id = new.id; END;
            INSERT INTO t(name) VALUES ('3');
            .mode jsonl
            SELECT name FROM t WHERE id = 3;
            .databases
            SELECT 'without a semicolon at the end' AS z
            """)
        outcome.expectSuccess()
        #expect(outcome.output == """
            t
            id,name
            1,one
            2,two
            y
            x
            {"name":"three"}
            {"name":"main","file":"\(database)"}
            {"z":"without a semicolon at the end"}

            """)
        #expect(outcome.errors == "")
    }

    @Test func theFirstErrorEndsAScript() throws {
        let outcome = try script("INSERT INTO t(name) VALUES ('a');\nSELECT nope;\nINSERT INTO t(name) VALUES ('b');\n")
        outcome.expectFailure(1, "no such column: nope")
        #expect(try script("SELECT count(*) AS n FROM t;", "--format", "csv").output == "n\n3\n")
        try script(".frob").expectFailure(64, ".frob", ".help")
        try script(".timer").expectFailure(64, ".timer on|off")
        try script("DELETE FROM t;", "--read-only").expectFailure(1, "readonly")
        #expect(try script("BEGIN; DELETE FROM t;").errors.contains("rolled back"))
        #expect(try script("SELECT count(*) AS n FROM t;", "--format", "csv").output == "n\n3\n")
    }

    @Test func shellAttachesAndDetachesDatabases() throws {
        let other = folder.path("other.db")
        do { try Connection(.file(other)).execute("CREATE TABLE u AS SELECT 7 AS x") }
        let outcome = try script(".attach o=\(other) none\n.tables\n.schema o.u\nSELECT x FROM o.u;\n.detach o\n.tables\n", "--format", "csv")
        #expect(outcome.output == "t\no.u\n-- in o\nCREATE TABLE u(x);\nx\n7\nt\n", "\(outcome.errors)")
    }

    @Test func shellContinuesAfterErrorOnTerminal() throws {
        let session = try type([
            ("sqlcipherkit> ", "SELECT nope;\r"), ("error: no such column: nope", "SELECT name\r"), ("...> ", "FROM t WHERE id = 2;\r"),
            ("two\r\n", ".timer on\r"), ("\n", "UPDATE t SET name = 'x' WHERE id = 1;\r"), ("took ", ".quit\r"),
        ])
        #expect(session.status == 0, "\(session.screen)")
        #expect(session.screen.contains("1 row changed"))
        #expect(session.echoes)
    }

    @Test func shellEditsLinesAndRecallsHistory() throws {
        let session = try type([
            // A letter is inserted behind the first, the end is cut off, and the word before that.
            ("sqlcipherkit> ", "SLECT 40 + 2 AS answer; garbage\u{01}\u{1b}[CE\u{05}\u{17}\r"),
            ("42", "SELECT 'é日' AS wideX\u{7f};\r"),
            ("é日\r\n", "\u{1b}[A\u{1b}[A\u{1b}OB\u{1b}[A\u{1b}[D\u{1b}[1;5D\u{0b}again;\r"),
            ("again", "\u{04}"),
        ], environment: ["NO_COLOR": "1"])
        #expect(session.status == 0, "\(session.screen)")
        #expect(session.screen.contains("answer\r\n"))
        #expect(session.screen.contains("again\r\n"))
        #expect(session.screen.contains("wide\r\n"))
    }

    @Test func controlCStopsTheStatementAndNotTheShell() throws {
        let endless = "WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c;"
        let session = try type(
            [
                ("sqlcipherkit> ", "SELECT 'begun' AS b; " + endless + "\r"), ("b\r\nbegun\r\n", "\u{03}"), ("interrupted", "SELECT 6 * 7;\r"),
                ("42\r\n\rsqlcipherkit> ", "half a line\u{03}"), ("^C", "\u{04}"),
            ], ["--format", "csv"])
        #expect(session.status == 0, "\(session.screen)")
        #expect(session.screen.contains("42\r\n"))
    }

    @Test func historyHoldsNoKeys() throws {
        let history = folder.path("history")
        let session = try type(
            [
                ("sqlcipherkit> ", "SELECT 'one';\r"), ("one\r\n", "ATTACH '\(folder.path("n.db"))' AS n\r"), ("...> ", "KEY 'topsecret';\r"),
                ("\n", "PRAGMA n.rekey = 'topsecret';\r"), ("\n", ".attach n=\(folder.path("n.db")) topsecret\r"),
                ("\n", ".atach n=\(folder.path("n.db")) topsecret\r"), ("\n", "SELECT\r"), ("...> ", "'two';\r"), ("two\r\n", "\u{04}"),
            ], ["--history", history])
        #expect(session.status == 0, "\(session.screen)")
        #expect(try String(contentsOfFile: history, encoding: .utf8) == "SELECT 'one';\nSELECT\n\t'two';\n")
        #expect(try FileManager.default.attributesOfItem(atPath: history)[.posixPermissions] as? Int == 0o600)
        // The next shell has it, statement by statement, and closes to others a file that was open to them.
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: history)
        let next = try type(
            [("sqlcipherkit> ", "\u{10}"), ("SELECT⏎'two';", "\r"), ("two\r\n", "SELECT 3;\r"), ("3\r\n", "\u{04}")],
            environment: ["SQLCIPHERKIT_HISTORY": history, "NO_COLOR": "1"])
        #expect(next.status == 0, "\(next.screen)")
        #expect(try String(contentsOfFile: history, encoding: .utf8).hasSuffix("'two';\nSELECT 3;\n"))
        #expect(try FileManager.default.attributesOfItem(atPath: history)[.posixPermissions] as? Int == 0o600)
    }

    @Test func outputIsColoredOnlyInInteractiveShell() throws {
        let coloured = try type([("sqlcipherkit> ", "SELECT 1 AS a;\r"), ("\n1\r\n", "\u{04}")], environment: ["NO_COLOR": ""])
        #expect(coloured.screen.contains("\u{1b}[1ma"))
        let plain = try Typist.run(
            ["query", database, "SELECT 1 AS a"] + Self.key, conversation: [], environment: Self.environment.merging(["NO_COLOR": "1"]) { $1 })
        #expect(plain.screen == "a\r\n─\r\n1\r\n")
    }

    @Test func errorsNameTheLineOfTheScript() throws {
        try script("SELECT 1;\n\n-- a comment; with a semicolon\nSELECT 2; SELECT\n  nope;\n").errors.expectLine(5, "no such column: nope")
        try script("CREATE TRIGGER g AFTER INSERT ON t BEGIN\nSELECT 1;\nEND;\n/* ;\n*/ SELECT 'a;\nb';\nDROP TABLE nope;").errors
            .expectLine(7, "no such table: nope")
        try script("SELECT 1;\n.mode nope\n").errors.expectLine(2, "there is no format nope: there are table, markdown")
        let part = folder.path("part.sql")
        try Data("SELECT 1;\nSELECT nope;\n".utf8).write(to: URL(fileURLWithPath: part))
        let outcome = try script("\n.read \(part)\n")
        #expect(outcome.status == 1 && outcome.errors.contains("line 2: \(part), line 2: no such column: nope"), "\(outcome.errors)")
    }

    @Test func shellExitWithOpenTransactionFails() throws {
        try script("BEGIN;\nINSERT INTO t(name) VALUES ('x');\n").expectFailure(1, "the open transaction is rolled back")
        try script("BEGIN;\nINSERT INTO t(name) VALUES ('x');\n.quit\n").expectFailure(1, "the open transaction is rolled back")
        #expect(try script("SELECT count(*) AS n FROM t;", "--format", "csv").output == "n\n2\n")
    }

    /// Each line is looked at once: 20,000 of them were most of a minute when each was looked at again with every other.
    @Test(.timeLimit(.minutes(60))) func shellReadsLongStatementInLinearTime() throws {
        let rows = (1...20_000).map { "(\($0 + 10), 'a; row')" }.joined(separator: ",\n")
        try script("INSERT INTO t(id, name) VALUES\n\(rows);\n").expectSuccess()
        #expect(try script("SELECT count(*) AS n FROM t;", "--format", "csv").output == "n\n20002\n")
    }

    @Test func shellCommandsReadImportAndSetParameters() throws {
        let out = folder.path("out.txt"), part = folder.path("part.sql"), csv = folder.path("zip codes.csv")
        try Data(".headers off\nSELECT name FROM t;\n".utf8).write(to: URL(fileURLWithPath: part))
        try Data("zip\n01067\n10115\n".utf8).write(to: URL(fileURLWithPath: csv))
        let outcome = try script("""
            .parameter set :id 2
            .mode csv
            SELECT name FROM t WHERE id = :id;
            .parameter list
            .parameter clear
            .read \(part)
            .import "\(csv)" zip
            SELECT zip FROM zip ORDER BY zip;
            .tables z%
            .mode insert u
            SELECT id, name FROM t;
            .mode tsv
            .headers on
            .output \(out)
            SELECT 1 AS a, 'x' AS b;
            .output
            SELECT 2 AS c;
            """)
        outcome.expectSuccess()
        #expect(outcome.output == """
            name
            two
            name,value
            :id,2
            one
            two
            01067
            "10115"
            zip
            INSERT INTO "u"("id", "name") VALUES (1, 'one');
            INSERT INTO "u"("id", "name") VALUES (2, 'two');
            c
            2

            """)
        #expect(try String(contentsOfFile: out, encoding: .utf8) == "a\tb\n1\tx\n")
        #expect(try script(".parameter set :id 1\nSELECT :other;").errors.contains(":other has no value"))
        try Data(".read \(part)\n".utf8).write(to: URL(fileURLWithPath: part))
        #expect(try script(".read \(part)").errors.contains("more than 20 files read one another"))
    }

    /// The output of .dump and of the command makes a database again, full-text index and all.
    @Test func dumpRecreatesTheDatabase() throws {
        try script("""
            CREATE TABLE child(t INTEGER REFERENCES t(id), b BLOB, r REAL);
            INSERT INTO child VALUES (2, x'00ff', 0.1);
            CREATE VIRTUAL TABLE f USING fts5(body);
            INSERT INTO f VALUES ('baking bread');
            CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; SELECT 2; END;
            INSERT INTO t(name) VALUES ('two' || char(10) || 'lines; and ' || quote('quotes'));
            """).expectSuccess()
        let dump = try Tool.run(["dump", database] + Self.key, environment: Self.environment).expectSuccess()
        #expect(try script(".dump").output == dump.output)
        let (path, copy) = (folder.path("dump.sql"), folder.path("copy.db"))
        try Data(dump.output.utf8).write(to: URL(fileURLWithPath: path))
        try Tool.run(["create", copy, "--script", path] + Self.key, environment: Self.environment).expectSuccess()
        let same = try Tool.run(["diff", database, copy] + Self.key, environment: Self.environment)
        #expect(same.status == 0, "\(same.output)")
    }

    /// A dump as SQLite's own shell writes it, with a transaction, and tables in no order.
    @Test func createAcceptsScriptWithTransaction() throws {
        let path = folder.path("dump.sql")
        func create(_ name: String, _ script: String) throws -> Command.Outcome {
            try Data(script.utf8).write(to: URL(fileURLWithPath: path))
            return try Tool.run(["create", folder.path(name), "--script", path] + Tool.key)
        }
        let standard = "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE a(x REFERENCES b(y));\nINSERT INTO a VALUES(1);\n"
            + "CREATE TABLE b(y PRIMARY KEY);\nINSERT INTO b VALUES(1);\nCOMMIT;\n"
        try create("s.db", standard).expectSuccess()
        try create("e.db", standard + "BEGIN;\nSELECT nope;\n").expectFailure(1, "dump.sql, line 9: no such column")
        try create("e.db", standard + "BEGIN;\nDELETE FROM a;\n").expectFailure(1, "transaction is still open")
        #expect(!FileManager.default.fileExists(atPath: folder.path("e.db")))
    }
}

extension String {
    fileprivate func expectLine(_ line: Int, _ text: String, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(contains("line \(line): ") && contains(text), "\(self)", sourceLocation: sourceLocation)
    }
}
