import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// Each command reads the output of the others: every value, by every way out and every way in.
@Suite struct TextContractTests {
    let folder: TemporaryFolder
    let database: String

    /// Texts and other values that some writer, reader or terminal has once changed.
    private static let values: [SQLValue] = {
        let scalars = (0..<0x20).map { $0 } + [0x27, 0x22, 0x2c, 0x5c, 0x7c, 0x7f, 0x80, 0x85, 0x9b, 0xa0, 0x2028, 0x202e, 0x2066, 0xfeff, 0x1f600]
        var values: [SQLValue] = scalars.compactMap { Unicode.Scalar($0).map { .text("a" + String($0) + "b") } }
        values += ["", "\r\n", "a\r\nb\rc\n", "\n.quit\n", ";\n--", "\\r\\z\\e", "\\1\\2\r", "a\tb", "'", "''", "\u{1b}[31mred\u{1b}[0m", "x'00'", "NULL", "42", "1.10", "007", "-0", "1e5", "9e999", "inf", "\u{feff}x", "# c", "e\u{301}\r", "\\\u{301}\r"].map { .text($0) }
        values += [String(repeating: "\r", count: 3000), String(repeating: "'\0", count: 700)].map { .text($0) }
        values += [0.0, 1.5, 9.5, 28.678979, 100.25, 1e20, -1e300, .leastNonzeroMagnitude, 0.1 + 0.2, .pi, .infinity, -.infinity, 9_223_372_036_854_775_808.0, 1e15, 123_456_789_012_345_680.0].map { .real($0) }
        values += [0, 1, -1, .max, .min, 1 << 53].map { .integer($0) }
        values += [Data(), Data([0]), Data("text".utf8), Data((0...255).map { $0 })].map { .blob($0) }
        return values + [.null]
    }()

    init() throws {
        folder = try TemporaryFolder()
        database = folder.path("a.db")
        let db = try Connection(.file(database))
        try db.execute("CREATE TABLE v(id INTEGER PRIMARY KEY, x)")
        try db.execute("CREATE TABLE kind(id INTEGER PRIMARY KEY, t TEXT, r REAL, i INTEGER)")
        for (number, value) in Self.values.enumerated() {
            try db.execute("INSERT INTO v VALUES (\(number), \(value))")
            let place: [SQLValue] = switch value {
            case .text: [value, .null, .null]
            case .real: [.null, value, .null]
            case .integer: [.null, .null, value]
            default: [.null, .null, .null]
            }
            try db.execute("INSERT INTO kind VALUES (\(number), \(place[0]), \(place[1]), \(place[2]))")
        }
        // Text that is not UTF-8.
        try db.execute("INSERT INTO v VALUES (1000, CAST(x'61ff62' AS TEXT)), (1001, -0.0)")
    }

    private func content(_ path: String, _ table: String = "v") throws -> [String] {
        let columns = table == "v" ? "x" : "t, r, i"
        let list = columns.split(separator: ", ").map { "typeof(\($0)) || ' ' || quote(CAST(\($0) AS BLOB)) || ' ' || ifnull(printf('%!.26g', CASE WHEN typeof(\($0)) = 'real' THEN \($0) END), '')" }
        return try Connection(.file(path)).fetchAll(
            String.self, SQL(raw: "SELECT id || ' ' || \(list.joined(separator: " || ' ' || ")) FROM \(table) ORDER BY id"))
    }

    private static let writers = ["dump", "shell .dump", "shell .dump TABLE", "insert", "diff"]
    private static let readers = ["create --script", "shell", ".read", "query -", "sqlite3", "python"]

    /// A script with the rows of the table.
    private func script(_ writer: String) throws -> String {
        let outcome = switch writer {
        case "dump": try Tool.run("dump", database, "--no-key")
        case "shell .dump": try Tool.run("shell", database, "--no-key", input: ".dump\n")
        case "shell .dump TABLE": try Tool.run("shell", database, "--no-key", input: ".dump v kind\n")
        case "insert":
            try Tool.run(
                "shell", database, "--no-key",
                input: ".mode insert v\nSELECT * FROM v;\n.mode insert kind\nSELECT * FROM kind;\n")
        default:
            try {
                let empty = folder.path("empty.db")
                if !FileManager.default.fileExists(atPath: empty) { try Connection(.file(empty)).execute("PRAGMA user_version = 0") }
                return try Tool.run("diff", empty, database, "--sql", "--no-key")
            }()
        }
        #expect([0, 4].contains(outcome.status), "\(outcome.errors)")
        for scalar in outcome.output.unicodeScalars { #expect(!scalar.actsOnTerminal || scalar == "\n" || scalar == "\t", "\(writer)") }
        guard writer == "insert" else { return outcome.output }
        return "CREATE TABLE v(id INTEGER PRIMARY KEY, x);\nCREATE TABLE kind(id INTEGER PRIMARY KEY, t TEXT, r REAL, i INTEGER);\n" + outcome.output
    }

    /// Runs a script in a new database.
    private func run(_ script: String, _ reader: String, _ target: String) throws {
        let file = folder.path("script.sql")
        try Data(script.utf8).write(to: URL(fileURLWithPath: file))
        if reader == "create --script" { return _ = try Tool.run("create", target, "--script", file, "--no-key").expectSuccess() }
        if ["sqlite3", "python"].contains(reader) {
            let program = reader == "python"
                ? ["python3", "-c", "import sqlite3,sys; sqlite3.connect(sys.argv[1]).executescript(open(sys.argv[2], newline='').read())", target, file]
                : ["bash", "-c", "\"${2:-sqlite3}\" -bail \"$0\" < \"$1\"", target, file]
            let outcome = try Command.run(program[0], Array(program.dropFirst()))
            #expect(outcome.status == 0, "\(outcome.errors)")
            return
        }
        try Tool.run("create", target, "--no-key").expectSuccess()
        switch reader {
        case "shell": try Tool.run("shell", target, "--no-key", input: script).expectSuccess()
        case ".read": try Tool.run("shell", target, "--no-key", input: ".read \"\(file)\"\n").expectSuccess()
        default: try Tool.run("query", target, "-", "--write", "--no-key", input: script).expectSuccess()
        }
    }

    @Test func dumpedScriptsRoundTripThroughEveryReader() throws {
        let before = (try content(database), try content(database, "kind"))
        let pairs = Self.writers.flatMap { writer in Self.readers.map { (writer, $0) } }
        for (number, (writer, reader)) in LongTests.sample(12, of: pairs).enumerated() {
            if reader == "sqlite3", !FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3") { continue }
            let target = folder.path("\(number).db")
            try run(script(writer), reader, target)
            let after = (try content(target), try content(target, "kind"))
            #expect(after.0 == before.0, "\(writer) to \(reader)")
            #expect(after.1 == before.1, "\(writer) to \(reader)")
        }
    }

    /// Formats without types keep what a column of one type holds.
    @Test(arguments: ["csv", "tsv", "json", "jsonl"]) func printedRowsRoundTripThroughImport(format: String) throws {
        let file = folder.path("kind.\(format)")
        for way in ["query", ".output", ".once"] {
            let target = folder.path("\(way).db")
            if way == "query" {
                let outcome = try Tool.run("query", database, "SELECT * FROM kind", "--no-key", "--format", format).expectSuccess()
                try Data(outcome.output.utf8).write(to: URL(fileURLWithPath: file))
            } else {
                try Tool.run("shell", database, "--no-key", input: ".mode \(format)\n\(way) \(file)\nSELECT * FROM kind;\n").expectSuccess()
            }
            try Tool.run("import", target, file, "--table", "kind", "--pk", "id", "--types", "t=text,r=real,i=integer", "--no-key").expectSuccess()
            #expect(try content(target, "kind") == content(database, "kind"), "\(way)")
            // Without types, the values are the same.
            let free = folder.path("\(way)-free.db")
            try Tool.run("import", free, file, "--table", "kind", "--pk", "id", "--no-key").expectSuccess()
            #expect(try content(free, "kind") == content(database, "kind"), "\(way)")
        }
        let program = format == "json"
            ? "import json,sys; r=json.load(open(sys.argv[1])); print(json.dumps([x['t'] for x in r]))"
            : format == "jsonl" ? "import json,sys; r=[json.loads(l) for l in open(sys.argv[1], newline='\\n')]; print(json.dumps([x['t'] for x in r]))"
            : "import csv,json,sys; csv.field_size_limit(10**9); r=list(csv.reader((l.replace('\\0', '\\ue000') for l in open(sys.argv[1], newline='')), delimiter=sys.argv[2])); print(json.dumps([x[1].replace('\\ue000', '\\0') or None for x in r[1:]]))"
        let outcome = try Command.run("python3", ["-c", program, file, format == "csv" ? "," : "\t"])
        guard case .array(let texts) = try JSONValue(text: outcome.output) else { throw CocoaError(.coderInvalidValue) }
        for (text, value) in zip(texts, Self.values) {
            switch value {
            // Python's reader does not tell empty text from none.
            case .text(let expected): #expect(text == .string(expected) || expected.isEmpty && text == .null, "\(format)")
            default: #expect(text == .null)
            }
        }
    }

    /// Whatever is in the database, a terminal gets nothing of it that it would act on.
    @Test func terminalOutputHasNoControlCharacters() throws {
        let commands = [["dump", database, "--no-key"], ["schema", database, "--no-key"]]
            + OutputFormatNames.all.map { ["query", database, "SELECT * FROM v", "--no-key", "--format", $0] }
        try Connection(.file(database)).execute("CREATE VIEW \"n\u{1b}[31m\r\" AS SELECT 1 AS \"c\u{1b}[5m\"")
        for command in LongTests.sample(5, of: commands) {
            let session = try Typist.run(command, conversation: [], environment: ["NO_COLOR": "1"])
            #expect(session.status == 0)
            // The terminal's driver puts a return before each line feed.
            let shown = session.screen.replacing("\r\n", with: "\n")
            for scalar in shown.unicodeScalars where scalar.actsOnTerminal && scalar != "\n" && scalar != "\t" {
                Issue.record("\(command): \(scalar.value)")
                break
            }
        }
    }

    @Test func outputFileIsNotTruncatedOrColored() throws {
        let long = String(repeating: "long ", count: 40)
        try Connection(.file(database)).execute("INSERT INTO v VALUES (5000, \(long))")
        let file = folder.path("out.txt")
        let session = try Typist.run(
            ["shell", database, "--no-key"],
            conversation: [("sqlcipherkit> ", ".output \(file)\r"), ("sqlcipherkit> ", "SELECT x FROM v WHERE id = 5000;\r"), ("sqlcipherkit> ", ".mode csv\r"), ("sqlcipherkit> ", "SELECT 'a' || char(27) || 'b';\r"), ("sqlcipherkit> ", "\u{04}")])
        #expect(session.status == 0, "\(session.screen)")
        let written = try String(contentsOfFile: file, encoding: .utf8)
        #expect(written.contains(long) && written.contains("a\u{1b}b\n"))
        #expect(!written.contains("\u{1b}["), "\(written)")
    }

    /// Pasted text arrives byte for byte, tabs and returns included.
    @Test func pastedTextIsKeptByteForByte() throws {
        func paste(_ text: String) -> String { "\u{1b}[200~\(text)\u{1b}[201~\r" }
        let session = try Typist.run(
            ["shell", database, "--no-key"],
            conversation: [
                ("sqlcipherkit> ", paste("INSERT INTO v VALUES (6000, 'a\tb\r\nc\rd\n.quit\u{1b}[31m');")),
                ("1 row changed", paste("INSERT INTO v VALUES (6001, 'x\ry');")), ("1 row changed", "\u{04}"),
            ], environment: ["NO_COLOR": "1"])
        #expect(session.status == 0, "\(session.screen)")
        let db = try Connection(.file(database))
        #expect(try db.fetchOne(String.self, "SELECT x FROM v WHERE id = 6000") == "a\tb\r\nc\rd\n.quit\u{1b}[31m")
        // A terminal sends the line feeds of what is pasted as returns.
        #expect(try db.fetchOne(String.self, "SELECT x FROM v WHERE id = 6001") == "x\ny")
        #expect(!session.screen.contains("\u{1b}[31m"))
    }

    @Test func scriptThatIsNotUTF8IsRefused() throws {
        let file = folder.path("bad.sql")
        try (Data("SELECT 1;\nSELECT '".utf8) + Data([0xff]) + Data("';\n".utf8)).write(to: URL(fileURLWithPath: file))
        let outcome = try Tool.run("shell", database, "--no-key", input: ".read \(file)\n")
        #expect(outcome.status == 1 && outcome.errors.contains("line 2: this is not UTF-8"), "\(outcome)")
        try Tool.run("create", folder.path("new.db"), "--script", file, "--no-key").expectFailure(1, "line 2: this is not UTF-8")
    }

    /// A member of JSON that occurs twice is an error, not a loss.
    @Test func importRefusesDuplicateJSONMembers() throws {
        func load(_ name: String, _ text: String, _ options: String...) throws -> Command.Outcome {
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path(name)))
            return try Tool.run(["import", folder.path("j.db"), folder.path(name), "--no-key"] + options)
        }
        func count(_ table: String) throws -> Int? { try Connection(.file(folder.path("j.db"))).fetchOne(Int.self, "SELECT count(*) FROM \(identifier: table)") }
        let twice = try load("a.json", "[{\"a\":1},{\"b\":2,\n\"c\":{\"x\":1,\"x\":2}}]")
        #expect(twice.status == 1 && twice.errors.contains("line 1, element 2: a name occurs twice"), "\(twice.errors)")
        try load("b.json", "{\n  \"a\": 1,\n  \"b\": [\"}:\\\"\"]\n}\n", "--table", "one").expectSuccess()
        #expect(try count("one") == 1)
        try load("c.json", "{\"a\":1}\n{\"a\":2}\n").expectSuccess()
        #expect(try count("c") == 2)
        try load("d.json", "{\"a\":1}\n\n{\"a\":\n2}", "--table", "d").expectSuccess()
        #expect(try count("d") == 2)
        #expect(try load("e.json", "{\"a\":1}").expectSuccess().output.contains("imported 1 file"))
    }
}

enum OutputFormatNames {
    static let all = ["table", "markdown", "lines", "list", "json", "jsonl", "csv", "tsv", "insert", "quote"]
}
