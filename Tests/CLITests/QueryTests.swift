import Foundation
import SQLCipherKit
import Testing
import TestSupport

@Suite struct QueryTests {
    let folder: TemporaryFolder
    let database: String

    init() throws {
        folder = try TemporaryFolder()
        database = folder.path("a.db")
        let db = try Connection(.file(database), key: .raw([UInt8](repeating: 0xab, count: 32)))
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, size REAL, data BLOB)")
        try db.execute("INSERT INTO t(name, size, data) VALUES ('one, \"two\"', 1.5, x'00ff'), (NULL, NULL, NULL), ('', 1e300, zeroblob(0))")
        try db.execute("INSERT INTO t(id, name) VALUES (-9223372036854775808, '日本' || char(10) || 'é' || char(27))")
    }

    private func query(_ sql: String, _ options: String...) throws -> Command.Outcome {
        try Tool.run(
            ["query", database, sql] + options + ["--raw-key", "--key-env", "TEST_KEY"],
            environment: ["TEST_KEY": String(repeating: "ab", count: 32)])
    }

    @Test func tableFormatAlignsColumns() throws {
        let outcome = try query("SELECT id, name, size FROM t ORDER BY id")
        #expect(outcome.status == 0)
        #expect(outcome.errors == "")
        #expect(outcome.output == """
                              id  name             size
            ────────────────────  ─────────────  ──────
            -9223372036854775808  日本\\né\\u{1b}    NULL
                               1  one, "two"        1.5
                               2  NULL             NULL
                               3                 1e+300

            """)
    }

    @Test func csvFormatQuotesFields() throws {
        let outcome = try query("SELECT name, size, data AS \"the,data\" FROM t ORDER BY id DESC", "--format", "csv")
        #expect(outcome.output == """
            name,size,"the,data"
            "",1e+300,x''
            ,,
            "one, ""two""\",1.5,x'00ff'
            "日本
            é\u{1b}",,

            """)
    }

    @Test func jsonFormatQuotesControlCharacters() throws {
        let outcome = try query("SELECT id, name, data, 1 AS id, 9e999 AS big FROM t WHERE id < 2 ORDER BY id", "--format", "json")
        #expect(outcome.output == """
            [{"id":-9223372036854775808,"name":"日本\\né\\u001b","data":null,"id:2":1,"big":9e999},
             {"id":1,"name":"one, \\"two\\"","data":"x'00ff'","id:2":1,"big":9e999}]

            """)
        let names = try query("SELECT 1 AS a, 2 AS a, 3 AS 'a:2', 4 AS 'a:2'", "--format", "json")
        #expect(names.output == #"[{"a":1,"a:2":2,"a:2:2":3,"a:2:3":4}]"# + "\n")
        #expect(try query("SELECT 1 WHERE 0", "--format", "json").output == "[]\n")
        #expect(try query("SELECT 1 AS one WHERE 0", "--format", "csv").output == "one\n")
        #expect(try query("SELECT 1 AS one WHERE 0").output == "one\n───\n")
    }

    @Test func linesAndJSONLinesFormatRows() throws {
        #expect(try query("SELECT id, name FROM t WHERE id > 1 ORDER BY id", "--format", "lines").output == """
            id    2
            name  NULL

            id    3
            name\u{20}\u{20}

            """)
        #expect(try query("SELECT id, name FROM t WHERE id > 1 ORDER BY id", "--format", "jsonl").output == """
            {"id":2,"name":null}
            {"id":3,"name":""}

            """)
    }

    @Test func queryReadsAttachedDatabases() throws {
        let plain = folder.path("plain.db"), locked = folder.path("locked.db")
        do {
            for (path, key) in [(plain, nil), (locked, try DatabaseKey.passphrase("other"))] as [(String, DatabaseKey?)] {
                let db = try Connection(.file(path), key: key)
                try db.execute("CREATE TABLE u(x)")
                try db.execute("INSERT INTO u VALUES ('from ' || \(key == nil ? "plain" : "locked"))")
            }
        }
        let outcome = try Tool.run(
            [
                "query", database, "SELECT p.x AS a, l.x AS b, (SELECT count(*) FROM t) AS n FROM p.u AS p, l.u AS l", "--format", "csv",
                "--attach", "p=\(plain)", "--attach-key", "p=none", "--attach", "l=\(locked)", "--attach-key", "l=env:OTHER", "--raw-key",
                "--key-env", "TEST_KEY",
            ], environment: ["TEST_KEY": String(repeating: "ab", count: 32), "OTHER": "other"])
        #expect(outcome.output == "a,b,n\nfrom plain,from locked,4\n", "\(outcome.errors)")
        try query("SELECT 1", "--attach", "m=\(folder.path("mistyped.db"))", "--attach-key", "m=same").expectFailure(1, "mistyped.db", "No such file")
        try query("SELECT 1", "--attach", "m").expectFailure(64, "NAME=PATH")
        try query("SELECT 1", "--attach-key", "m=same").expectFailure(64, "--attach does not")
        // For reading only, too.
        try query("DELETE FROM p.u", "--attach", "p=\(plain)", "--attach-key", "p=none").expectFailure(1, "--write")
        #expect(try folder.names() == ["a.db", "locked.db", "plain.db"])
    }

    @Test func invalidUTF8IsPrintedAsBytes() throws {
        #expect(try query("SELECT CAST(x'63e9' AS TEXT) AS x", "--format", "csv").output == "x\nx'63e9'\n")
    }

    @Test func everyFormatPrintsManyRows() throws {
        let sql = "WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c WHERE x < 5000) SELECT x FROM c"
        for format in ["table", "csv", "json", "jsonl"] {
            let lines = try query(sql, "--format", format).output.split(separator: "\n")
            #expect(lines.count == 5000 + ["table": 2, "csv": 1, "json": 0, "jsonl": 0][format]!)
            #expect(lines.last!.contains("5000"))
        }
    }

    @Test func positionalParametersAreTyped() throws {
        let types = "typeof(?), typeof(?), typeof(?), typeof(?), typeof(?), typeof(?)"
        let values = ["7", "-1.5e3", "'7'", "null", "x'00'", "plain 'text"]
        let outcome = try query("SELECT \(types)", values.flatMap { ["--param", $0] } + ["--format", "csv"])
        #expect(outcome.output.split(separator: "\n").last == "integer,real,text,null,blob,text")
        #expect(try query("SELECT ?, ?", ["--param", "it''s", "--param", "'it''s'", "--format", "csv"]).output.hasSuffix("it''s,it's\n"))
        #expect(try query("SELECT ? AS a", ["--param=inf", "--format", "csv"]).output == "a\ninf\n")
        try query("SELECT ?, ?", ["--param", "1"]).expectFailure(1, "2 parameters", "1 value")
    }

    private func query(_ sql: String, _ options: [String]) throws -> Command.Outcome {
        try Tool.run(
            ["query", database, sql] + options + ["--raw-key", "--key-env", "TEST_KEY"],
            environment: ["TEST_KEY": String(repeating: "ab", count: 32)])
    }

    @Test func namedParametersAreBound() throws {
        let outcome = try query("SELECT :a || $b AS x", "--param", "a=1=1", "--param", "$b=-2", "--format", "csv")
        #expect(outcome.output == "x\n1=1-2\n")
        try query("SELECT :a", "--param", "1").expectFailure(64, "NAME=VALUE")
        try query("SELECT :a", "--param", "a=1", "--param", "a=2").expectFailure(64, "twice")
        try query("SELECT :a", "--param", "b=1").expectFailure(1, "no parameter b")
    }

    /// The error names the tool's command, and nothing has happened.
    @Test func keyPragmasAreRefusedInQuery() throws {
        let before = try Data(contentsOf: URL(fileURLWithPath: database))
        for write in [[], ["--write"]] {
            for (sql, command) in [
                ("PRAGMA rekey = 'topsecret'", "sqlcipherkit rekey"), ("EXPLAIN PRAGMA main.hexrekey('00')", "sqlcipherkit rekey"),
                ("PRAGMA cipher_migrate", "sqlcipherkit migrate"), ("PRAGMA kdf_iter = 1", "is refused"),
                ("PRAGMA cipher_log = '\(folder.path("log"))'", "is refused"),
                ("ATTACH '\(folder.path("b.db"))' AS b KEY 'topsecret'", "--attach"),
                ("ATTACH 'file:\(folder.path("b.db"))?key=topsecret' AS b", "--attach"),
                ("VACUUM INTO '\(folder.path("topsecret.db"))'", "sqlcipherkit backup"),
            ] {
                let outcome = try Tool.run(
                    ["query", database, sql] + write + ["--raw-key", "--key-env", "TEST_KEY"],
                    environment: ["TEST_KEY": String(repeating: "ab", count: 32)])
                outcome.expectFailure(1, command)
                #expect(!outcome.errors.contains("topsecret") && outcome.output.isEmpty, "\(outcome)")
                // Nor does it name calls of Swift.
                for name in [":)", "use changeKey", "Cipher", "Database"] {
                    #expect(!outcome.errors.replacing("SQLCipherKit", with: "").contains(name), "\(outcome.errors)")
                }
            }
        }
        try query("PRAGMA rekey = 'topsecret'; SELECT 1", "--write").expectFailure(1)
        #expect(try Data(contentsOf: URL(fileURLWithPath: database)) == before)
        #expect(try folder.names() == ["a.db"])
        #expect(try query("PRAGMA cipher_page_size", "--format", "csv").output == "cipher_page_size\n\"4096\"\n")
    }

    @Test func readOnlyUnlessWritingIsAllowed() throws {
        try query("DELETE FROM t").expectFailure(1, "--write")
        try query("ATTACH '\(folder.path("new.db"))' AS n KEY ''").expectFailure(1)
        #expect(try folder.names() == ["a.db"])
        #expect(try query("SELECT count(*) AS n FROM t", "--format", "csv").output == "n\n4\n")
        let outcome = try query("DELETE FROM t WHERE id > 1", "--write")
        #expect(outcome.status == 0)
        #expect(outcome.output == "")
        #expect(outcome.errors == "2 rows changed\n")
        let returning = try query("INSERT INTO t(name) VALUES ('x') RETURNING name", "--write", "--format", "csv")
        #expect(returning.output == "name\nx\n")
        #expect(returning.errors == "1 row changed\n")
    }

    @Test func queryErrorNamesLineAndCharacter() throws {
        try query("SELECT nope FROM t").expectFailure(1, "no such column: nope", "character 8")
        try query("SELECT 1,\n  FROM t").expectFailure(1, "line 2, character 3")
        try query("").expectFailure(1, "no statement")
        try Tool.run("query", folder.path("missing.db"), "SELECT 1").expectFailure(1, "missing.db", "No such file")
        try Tool.run("query", folder.url.path, "SELECT 1").expectFailure(1, "folder")
    }

    /// Advice of the library is given in commands.
    @Test func errorAdviceNamesToolCommands() throws {
        let outcome = try Tool.run("create", folder.path("nowhere/x.db"), "--no-key")
        outcome.expectFailure(1, "nowhere does not exist")
        #expect(!outcome.errors.contains("DatabaseConfiguration"))
        try Tool.run(["query", database, "SELECT 1"] + Tool.key).expectFailure(3, "wrong", "sqlcipherkit identify \(database) tells")
        let readOnly = try Tool.run(
            ["shell", database, "--read-only", "--raw-key", "--key-env", "K"], environment: ["K": String(repeating: "ab", count: 32)],
            input: "DELETE FROM t;\n")
        readOnly.expectFailure(1, "readonly")
        #expect(!readOnly.errors.contains("--write"))
    }

    @Test func queryReadsSQLFromStandardInput() throws {
        let outcome = try Command.run(
            "bash", ["-c", "echo 'SELECT 40 + 2 AS answer' | \"$0\" query \"$1\" - --raw-key --key-env K", try Tool.path, database],
            environment: ["K": String(repeating: "ab", count: 32)])
        #expect(outcome.output == "answer\n──────\n    42\n")
    }

    @Test func markdownTSVAndInsertFormatRows() throws {
        let sql = "SELECT id, 'a|b' AS name, NULL AS n, jsonb('{\"k\":[1,2]}') AS j FROM t WHERE id = 1"
        #expect(try query(sql, "--format", "markdown").output == """
            | id | name | n    | j           |
            | -: | ---- | ---- | ----------- |
            |  1 | a\\|b | NULL | {"k":[1,2]} |

            """)
        #expect(try query("SELECT 'a' || char(9) || 'b' AS x, '' AS y, NULL AS z", "--format", "tsv").output == "x\ty\tz\n\"a\tb\"\t\"\"\t\n")
        #expect(try query("SELECT id, 'it''s' AS name, NULL AS n, x'00' AS b, 0.1 AS r FROM t WHERE id = 1", "--format", "insert").output
            == "INSERT INTO \"result\"(\"id\", \"name\", \"n\", \"b\", \"r\") VALUES (1, 'it''s', NULL, x'00', 0.1);\n")
    }

    @Test func parameterKeepsLeadingAndTrailingZeros() throws {
        let values = ["01067", "1.10", "10", "0.5", "1.0"].flatMap { ["--param", $0] }
        let outcome = try query("SELECT typeof(?), typeof(?), typeof(?), typeof(?), typeof(?)", values + ["--format", "csv"])
        #expect(outcome.output.split(separator: "\n").last == "text,text,integer,real,real")
    }

    /// As in `sqlite3`, where SQLCipher answers with a text in a column of another name.
    @Test func pageSizeIsNumber() throws {
        let folder = try TemporaryFolder()
        try Tool.run(["create", folder.path("a.db")] + Tool.key).expectSuccess()
        let outcome = try Tool.run(["query", folder.path("a.db"), "PRAGMA page_size", "--json"] + Tool.key).expectSuccess()
        #expect(outcome.output == "[{\"page_size\":4096}]\n")
        let product = "SELECT page_size * 2 AS n FROM pragma_page_size"
        let twice = try Tool.run(["query", folder.path("a.db"), product, "--json"] + Tool.key).expectSuccess()
        #expect(twice.output == "[{\"n\":8192}]\n")
    }
}
