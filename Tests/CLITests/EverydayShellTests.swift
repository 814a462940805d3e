import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// The commands that people type in SQLite's shell on their first day, under the same names.
@Suite struct EverydayShellTests {
    let folder: TemporaryFolder
    let database: String

    init() throws {
        folder = try TemporaryFolder()
        database = folder.path("a.db")
        let db = try Connection(.file(database))
        try db.execute(SQLScript("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT); CREATE INDEX by_name ON t(name); CREATE TABLE u(x)"))
        try db.execute("INSERT INTO t VALUES (1, 'one'), (2, NULL)")
    }

    @discardableResult
    private func shell(_ input: String, _ options: String...) throws -> Command.Outcome {
        try Tool.run(["shell", database, "--no-key"] + options, input: input)
    }

    @Test func shellOutputGoesToFilesAndPipes() throws {
        let (once, out) = (folder.path("once.txt"), folder.path("out.txt"))
        let outcome = try shell("""
            .headers off
            .mode list
            .once \(once)
            SELECT 'first';
            SELECT 'second';
            .once |cat >> \(out)
            SELECT 'third';
            .output |tr a-z A-Z >> \(out)
            SELECT 'fourth';
            .print 'a	b' "c\\td"
            .output
            SELECT 'fifth';
            .once \(once)2
            .tables
            .shell echo sixth
            """)
        outcome.expectSuccess()
        #expect(outcome.output == "second\nfifth\nsixth\n")
        #expect(try String(contentsOfFile: once, encoding: .utf8) == "first\n")
        #expect(try String(contentsOfFile: once + "2", encoding: .utf8) == "t\nu\n")
        #expect(try String(contentsOfFile: out, encoding: .utf8) == "third\nFOURTH\nA\tB C\tD\n")
    }

    @Test func shellModesFormatRows() throws {
        func output(_ lines: String) throws -> String { try shell(lines + "\nSELECT id, name FROM t;").expectSuccess().output }
        #expect(try output(".mode list") == "id|name\n1|one\n2|\n")
        #expect(try output(".mode list\n.separator \"\\t\" \"\\n--\\n\"\n.headers off") == "1\tone\n--\n2\t\n--\n")
        #expect(try output(".mode quote\n.headers off") == "1, 'one'\n2, NULL\n")
        #expect(try output(".mode column\n.nullvalue -") == "id  name\n──  ────\n 1  one\n 2  -\n")
        #expect(try output(".mode tabs") == "id\tname\n1\tone\n2\t\n")
        #expect(try output(".mode csv\n.nullvalue NULL") == "id,name\n1,one\n2,NULL\n")
        #expect(try output(".mode box") == output(".mode table"))
        #expect(try shell(".width 10").errors.contains("substr(column, 1, 20)"))
        #expect(try shell(".mode").output.contains("markdown"))
        #expect(try shell(".mode nope").errors.contains("there are table, markdown"))
        #expect(try shell(".mode list\n.mode").output.contains("the format is list"))
    }

    @Test func shellBacksUpRestoresAndDumpsDatabase() throws {
        let (copy, saved) = (folder.path("copy.db"), folder.path("saved.db"))
        let outcome = try shell("""
            .backup \(copy)
            .save \(saved)
            DELETE FROM t;
            .restore \(copy)
            SELECT count(*) AS n FROM t;
            .open \(saved) none
            INSERT INTO u VALUES (7);
            .databases
            .indexes
            .indexes u
            .dump u
            """, "--format", "list")
        outcome.expectSuccess()
        #expect(outcome.output == """
            n
            2
            name|file
            main|\(saved)
            by_name
            PRAGMA foreign_keys = OFF;
            BEGIN IMMEDIATE;
            CREATE TABLE u(x);
            INSERT INTO "u"("x") VALUES (7);
            COMMIT;

            """)
        #expect(try Connection(.file(saved)).fetchOne(Int.self, "SELECT x FROM u") == 7)
        #expect(try Connection(.file(database)).fetchOne(Int.self, "SELECT count(*) FROM u") == 0)
        #expect(try shell(".backup \(copy)").errors.contains("already exists"))
    }

    @Test func shellReportsErrorsAndSuggestsCommands() throws {
        let outcome = try shell(".bail off\nSELECT nope;\n.frob\nSELECT 5 AS five;\nexit\nSELECT 6;\n", "--format", "csv")
        #expect(outcome.status == 1 && outcome.output == "five\n5\n", "\(outcome)")
        #expect(outcome.errors.contains("line 2: no such column: nope") && outcome.errors.contains("there is no command .frob"))
        #expect(try shell("  quit;\nSELECT 1;").expectSuccess().output == "")
        #expect(try shell("help").output.contains(".nullvalue TEXT"))
        #expect(try shell(".help head").output.contains(".headers"))
        #expect(try shell(".tabels").errors.contains("did you mean .tables?"))
        #expect(try shell(".echo on\nSELECT 1 AS a;", "--format", "list").output == "SELECT 1 AS a;\na\n1\n")
        #expect(try shell("SELECT name FROM t WHERE name REGEXP 'n.$';", "--format", "list").output == "name\none\n")
    }

    @Test func shellImportAcceptsCommandOptions() throws {
        let csv = folder.path("x.csv")
        try Data("a report\nx,y\n1,NA\n".utf8).write(to: URL(fileURLWithPath: csv))
        let outcome = try shell(".import --csv --skip 1 \(csv) new --null NA\nSELECT x, y FROM new;", "--format", "json")
        #expect(outcome.expectSuccess().output == "[{\"x\":1,\"y\":null}]\n", "\(outcome)")
        #expect(try shell(".import").errors.contains("usage: .import FILE"))
    }

    @Test func queryRunsSeveralStatements() throws {
        let outcome = try Tool.run(
            "query", database, "INSERT INTO u VALUES (:a); SELECT x FROM u; -- done\n", "--no-key", "--write", "--param", "a=5", "--format", "list")
        #expect(outcome.expectSuccess().output == "x\n5\n")
        #expect(try Tool.run("query", database, "DELETE FROM u; SELECT nope", "--no-key", "--write").status == 1)
        #expect(try Connection(.file(database)).fetchOne(Int.self, "SELECT count(*) FROM u") == 1)
    }

    /// The commands in the user's own file run when a person starts the shell, and in no script.
    @Test func shellrcRunsOnlyInInteractiveShell() throws {
        try FileManager.default.createDirectory(atPath: folder.path("sqlcipherkit"), withIntermediateDirectories: true)
        try Data(".mode quote\n.print ready\n".utf8).write(to: URL(fileURLWithPath: folder.path("sqlcipherkit/shellrc")))
        let environment = ["XDG_CONFIG_HOME": folder.url.path, "NO_COLOR": "1"]
        let session = try Typist.run(
            ["shell", database, "--no-key"], conversation: [("sqlcipherkit> ", "SELECT 'x';\r"), ("'x'\r\n", "\u{04}")], environment: environment)
        #expect(session.status == 0 && session.screen.contains("ready\r\n"), "\(session.screen)")
        let script = try Tool.run(["shell", database, "--no-key"], environment: environment, input: "SELECT 1;")
        #expect(!script.output.contains("ready"))
    }

    /// A script from an untrusted source reaches no file and no program but through SQL, which reaches none.
    @Test func safeShellRefusesFilesAndPrograms() throws {
        let other = folder.path("other.txt")
        let commands = [
            ".shell echo >\(other)", ".system echo >\(other)", ".output \(other)", ".output |cat >\(other)", ".once \(other)",
            ".read |echo >\(other)", ".read \(database)", ".import \(database) u", ".attach x=\(database) none",
            ".open \(database) none", ".backup \(other)", ".save \(other)", ".restore \(database)",
        ]
        for command in commands {
            try shell(command + "\nSELECT 1;", "--safe").expectFailure(64, "--safe refuses")
            #expect(!FileManager.default.fileExists(atPath: other), "\(command)")
        }
        #expect(try shell(".mode list\n.headers off\nSELECT count(*) FROM t;\n.tables", "--safe").expectSuccess().output == "2\nt\nu\n")
        try shell("ATTACH '\(other)' AS x;", "--safe").expectFailure(1)
        try shell("VACUUM INTO '\(other)';", "--safe").expectFailure(1)
        #expect(!FileManager.default.fileExists(atPath: other))
    }

    /// No key is asked for where the database has none, and none is taken for one that has a key.
    @Test func plaintextDatabaseErrorNamesNoKeyOption() throws {
        try Tool.run("query", database, "SELECT 1").expectFailure(3, "a.db is not encrypted: --no-key opens it")
        let count = "\nSELECT count(*) FROM other.t;"
        try shell(".attach other=\(database)" + count).expectFailure(3, "a.db is not encrypted", "other=none")
        try shell(".open \(database)\nSELECT 1;").expectFailure(3, "a.db is not encrypted")
        try Tool.run("query", database, "SELECT 1", "--no-key", "--attach", "other=\(database)").expectFailure(3, "is not encrypted")
        let outcome = try shell(".attach other=\(database) none" + count, "--format", "list")
        #expect(outcome.status == 0 && outcome.output.hasSuffix("2\n"), "\(outcome)")
    }

    /// As in SQLite's shell, every line of a file is a row for a table that exists, column by column.
    @Test func shellImportFillsExistingTableByPosition() throws {
        let csv = folder.path("x.csv")
        try Data("name,id\nthree,3\n".utf8).write(to: URL(fileURLWithPath: csv))
        let script = "CREATE TABLE v(p, q);\n.import --csv \(csv) v\n.import --csv --skip 1 \(csv) v\n.import --header \(csv) t\n"
        let outcome = try shell(script + "SELECT p, q FROM v;\nSELECT name FROM t WHERE id = 3;", "--format", "list").expectSuccess()
        #expect(outcome.output == "p|q\nname|id\nthree|3\nthree|3\nname\nthree\n")
        #expect(try shell(".import --csv \(csv) u").errors.contains("2 fields, and the table has 1 column"))
    }
}
