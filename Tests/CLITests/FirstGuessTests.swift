import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// The first commands of people who know `sqlite3`, `sqlcipher`, DuckDB, litecli or `psql` work, or the error names the right one.
@Suite struct FirstGuessTests {
    let folder: TemporaryFolder
    let database: String

    init() throws {
        folder = try TemporaryFolder()
        database = folder.path("a.db")
        let db = try Connection(.file(database))
        try db.execute(SQLScript("CREATE TABLE t(id INTEGER PRIMARY KEY, key TEXT); CREATE INDEX by_key ON t(key)"))
        try db.execute("INSERT INTO t VALUES (1, 'one')")
    }

    @Test func fileAloneOpensShellOrRunsQuery() throws {
        let shell = try Tool.run([database, "--no-key"], input: "SELECT key FROM t;\n").expectSuccess()
        #expect(shell.output.contains("one"))
        let query = try Tool.run(database, "SELECT key FROM t", "--no-key", "--format", "list").expectSuccess()
        #expect(query.output.contains("one"))
        let last = try Tool.run(database, "--no-key", "--format", "list", "SELECT key FROM t").expectSuccess()
        #expect(last.output.contains("one"))
        // Without SQL, it is the shell that is asked about.
        let help = try Tool.run("shell", "--help").expectSuccess()
        #expect(try Tool.run(database, "--help").expectSuccess().output == help.output)
        try Tool.run(database, "--no-key", "--bogus").expectFailure(64, "--bogus")
        try Tool.run(folder.path("none.db")).expectFailure(64, "no command", "sqlcipherkit create")
        // A command is a command, whatever is in the folder.
        try Tool.run("version").expectSuccess()
    }

    @Test(arguments: [
        ("open", "shell"), ("convert", "migrate"), ("tables", "schema"), ("check", "verify"), ("sql", "query"), ("repair", "recover"),
        ("passwd", "rekey"), ("export", "query"), ("select", "query"), ("insert", "--write"), ("load", "import"), ("copy", "backup"),
        ("clone", "backup"), ("compact", "vacuum"), ("optimize", "ANALYZE"), ("analyze", "ANALYZE"), ("stats", "space"), ("status", "info"), ("list", "schema"),
        ("password", "rekey"), ("describe", "schema"), ("new", "create"), ("init", "create"), ("wipe", "erase"), ("compare", "diff"),
        ("sqldiff", "diff"), ("integrity_check", "verify"), ("upgrade", "migrate"), ("console", "shell"), ("connect", "shell"),
        ("csv", "query"), ("find", "search"), ("detect", "identify"), ("fix", "recover"),
        ("salvage", "recover"), ("cipher_migrate", "migrate"), ("use", "shell"), ("exec", "query"), ("man", "help"),
    ])
    func commandOfAnotherProgramIsNamed(word: String, here: String) throws {
        try Tool.run(word, "a.db").expectFailure(64, "there is no command '\(word)': use ", here)
    }

    /// The commands are run, and show what a person looks for.
    @Test(arguments: [
        ("\\dt", "t"), ("\\dt;", "t"), ("show tables;", "t"), ("SHOW TABLES", "t"), ("\\d", "t"), ("\\d t", "CREATE TABLE"),
        ("describe t;", "CREATE TABLE"), ("desc t", "CREATE TABLE"), ("show create table t;", "CREATE TABLE"), ("\\di", "by_key"),
        ("\\l", "a.db"), ("show databases;", "a.db"), ("\\conninfo", "a.db"), ("\\?", ".tables"), ("\\h", ".tables"),
        ("\\echo words", "words"), ("\\! echo words", "words"), ("\\x\nSELECT key FROM t;", "key  one"), ("\\q", ""), ("bye", ""),
        (".clone NEW", ""), (".system echo words", "words"), (".exit", ""), (".q", ""), (".indices", "by_key"),
    ])
    func lineOfAnotherShellDoesWhatIsMeant(line: String, shows: String) throws {
        let line = line.replacingOccurrences(of: "NEW", with: folder.path("new.db"))
        let outcome = try Tool.run(["shell", database, "--no-key"], input: line + "\nSELECT 'after';\n").expectSuccess()
        #expect(shows.isEmpty || outcome.output.contains(shows))
        // The line is no beginning of a statement, which would swallow the next one.
        if !["\\q", "bye", ".exit", ".q"].contains(line) { #expect(outcome.output.contains("after")) }
    }

    @Test(arguments: [".output --bom x.txt", ".once -x", ".open --new x.db", ".quit 3", ".exit 3"])
    func optionOfAnotherShellIsRefused(line: String) throws {
        try Tool.run(["shell", database, "--no-key"], input: line + "\n").expectFailure(64, "line 1: usage: .")
        #expect(try folder.names().allSatisfy { !$0.hasPrefix("-") })
    }

    @Test(arguments: [
        (".version", "sqlcipherkit version"), (".timeout 100", "busy_timeout"), (".eqp on", "EXPLAIN QUERY PLAN"), (".explain", "EXPLAIN QUERY PLAN"),
        (".dbinfo", "sqlcipherkit info"), (".stats", "sqlcipherkit space"), (".recover", "sqlcipherkit recover"), (".log on", "none"),
        (".load x", "none"), (".excel", ".once"), (".fullschema", ".schema"), (".cd x", "none"), (".sha3sum", "sqlcipherkit diff"),
        (".archive", "none"), (".trace x", "none"), (".session", "none"), (".rekey x", "sqlcipherkit rekey"), (".maxrows 5", ".mode"), (".width 9", "substr"),
        (".columns", ".mode"), (".describe t", ".schema"), (".status", ".mode"), (".show", ".mode"), (".edit", "none"), (".prompt x", "none"),
        ("\\nothing", "lists the commands"), ("\\du", "lists the commands"), (".tabels", ".tables"),
    ])
    func dotCommandOfAnotherShellIsNamed(line: String, here: String) throws {
        let outcome = try Tool.run(["shell", database, "--no-key"], input: line + "\n")
        outcome.expectFailure(64, "line 1: there is no command \(line.prefix(1))", here)
    }

    /// A raw key in each form that people have it in. A passphrase that looks like one stays a passphrase.
    @Test func rawKeyIsAcceptedInEachForm() throws {
        let digits = Tool.rawKey, path = folder.path("raw.db")
        try Tool.run(["create", path] + Tool.key).expectSuccess()
        for form in [digits, digits.uppercased(), "x'\(digits)'", "X'\(digits)'", "0x\(digits)", "0X\(digits.uppercased())"] {
            try Tool.run(["query", path, "SELECT 1"] + Tool.key, environment: ["TEST_KEY": form]).expectSuccess()
            let passphrase = ["query", path, "SELECT 1", "--key-env", "TEST_KEY"]
            #expect(try Tool.run(passphrase, environment: ["TEST_KEY": form]).status == 3)
        }
        for form in ["x'\(digits)", "\(digits)'", "0x\(digits)'", "x'0x\(digits)'", "x''", "0x", "x'"] {
            let outcome = try Tool.run(["query", path, "SELECT 1"] + Tool.key, environment: ["TEST_KEY": form])
            #expect(outcome.status == 3 && !outcome.errors.contains(digits), "\(form)")
        }
    }

    /// Many tables have a column `key`: that is no reason to hide why a statement is refused.
    @Test(arguments: ["SELEC", "SELECTT", "UPDAT", "INSRT", "DELET", "CREAT"])
    func misspeltFirstWordIsNamedBesideKey(word: String) throws {
        let outcome = try Tool.run("query", database, "\(word) * FROM t WHERE key = 'one'", "--no-key")
        outcome.expectFailure(1, "near \"\(word)\": syntax error")
        // A key is not shown, wherever it is.
        for text in ["PRAGM key = 'hunter'", "'hunter' key", "hunter key", "\(word) key 'x' hunter hunter", "ATACH 'x' AS y KEY 'hunter'"] {
            #expect(try !Tool.run("query", database, text, "--no-key").errors.contains("hunter"), "\(text)")
        }
    }
}
