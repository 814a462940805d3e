import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// backup, restore, vacuum, space.
@Suite struct MaintenanceTests {
    let folder: TemporaryFolder
    let database: String

    init() throws {
        folder = try TemporaryFolder()
        database = folder.path("a.db")
        let script = folder.path("s.sql")
        let text = """
            CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT);
            CREATE INDEX t_x ON t(x);
            WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c WHERE n < 500) INSERT INTO t(x) SELECT 'row ' || n FROM c;
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: script))
        try run("create", "--script", script).expectSuccess()
        try FileManager.default.removeItem(atPath: script)
    }

    private func run(_ command: String, _ arguments: String...) throws -> Command.Outcome {
        try Tool.run([command, database] + arguments + Tool.key, environment: ["OTHER": "another key", "ROWS": Tool.rawKey])
    }

    private func count(_ path: String, _ key: [String] = Tool.key) throws -> String {
        let outcome = try Tool.run(["query", path, "SELECT count(*) AS n FROM t", "--format", "csv"] + key, environment: ["OTHER": "another key"])
        return outcome.status == 0 ? outcome.output : outcome.errors
    }

    @Test func backupRestoresDeletedRows() throws {
        let backup = folder.path("b.db")
        try run("backup", backup).expectSuccess()
        #expect(try count(backup) == "n\n500\n")
        try run("backup", backup).expectFailure(1, "b.db", "--replace")
        try run("query", "DELETE FROM t WHERE id > 100", "--write").expectSuccess()
        try run("restore", backup).expectSuccess()
        #expect(try count(database) == "n\n500\n")
        try run("query", "DELETE FROM t WHERE id > 100", "--write").expectSuccess()
        try run("backup", backup, "--replace").expectSuccess()
        #expect(try count(backup) == "n\n100\n")
        // A damaged backup changes nothing.
        var bytes = try Data(contentsOf: URL(fileURLWithPath: backup))
        bytes[9000] ^= 1
        try bytes.write(to: URL(fileURLWithPath: backup))
        let damaged = try run("restore", backup)
        #expect(damaged.status == 1 && damaged.errors.contains("b.db"), "\(damaged.errors)")
        #expect(try count(database) == "n\n100\n")
        try run("restore", folder.path("missing.db")).expectFailure(1, "missing.db", "No such file")
        #expect(try folder.names() == ["a.db", "b.db"])
    }

    /// Which the engine would take for a new database, and write a header to.
    @Test func emptyFileIsRefusedAsDatabase() throws {
        let empty = folder.path("empty.db"), missing = folder.path("missing.db")
        try Data().write(to: URL(fileURLWithPath: empty))
        try run("restore", empty).expectFailure(1, "empty.db", "empty")
        try run("diff", empty).expectFailure(1, "empty.db", "empty")
        try run("query", "SELECT 1", "--attach", "e=\(empty)", "--attach-key", "e=none", "--write").expectFailure(1, "empty.db", "empty")
        for arguments in [["restore", missing, empty], ["query", empty, "CREATE TABLE t(x)", "--write"], ["encrypt", empty], ["verify", empty]] {
            try Tool.run(arguments + Tool.key).expectFailure(1, "empty.db", "empty")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: empty)).isEmpty)
        #expect(try folder.names() == ["a.db", "empty.db"])
        #expect(try count(database) == "n\n500\n")
    }

    @Test func backupWithOwnKeyIsRestored() throws {
        let backup = folder.path("b.db")
        try run("backup", backup, "--new-key", "env:OTHER").expectSuccess()
        #expect(try count(backup, ["--key-env", "OTHER"]) == "n\n500\n")
        try run("query", "DELETE FROM t", "--write").expectSuccess()
        try run("restore", backup, "--backup-key", "env:OTHER").expectSuccess()
        #expect(try count(database) == "n\n500\n")
    }

    @Test func restoreRecreatesMissingDatabase() throws {
        let backup = folder.path("b.db")
        try run("backup", backup).expectSuccess()
        try FileManager.default.removeItem(atPath: database)
        try run("restore", backup).expectSuccess()
        #expect(try count(database) == "n\n500\n")
    }

    @Test func vacuumShrinksDatabase() throws {
        try run("query", "DELETE FROM t WHERE id > 10", "--write").expectSuccess()
        func size(_ path: String) throws -> Int { try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0 }
        let before = try size(database)
        let compact = folder.path("c.db")
        try run("vacuum", "--into", compact).expectSuccess()
        #expect(try size(database) == before)
        let outcome = try run("vacuum")
        #expect(outcome.output.contains("free pages fewer"), "\(outcome.errors)")
        #expect(try size(database) < before)
        #expect(try size(compact) == size(database))
        #expect(try count(database) == "n\n10\n")
        #expect(try count(compact) == "n\n10\n")
    }

    @Test func diffReportsChangedRows() throws {
        let other = folder.path("b.db")
        try run("backup", other, "--new-key", "env:OTHER").expectSuccess()
        #expect(try run("diff", other, "--other-key", "env:OTHER").output == "no difference\n")
        try run("query", "UPDATE t SET x = 'changed' WHERE id <= 2", "--write").expectSuccess()
        let outcome = try run("diff", other, "--other-key", "env:OTHER", "--format", "csv")
        #expect(outcome.status == 4 && outcome.errors.contains("differ"))
        #expect(outcome.output == "table,definition,inserted,deleted,updated,unchanged\nt,same,0,0,2,498\n")
        let sql = try run("diff", other, "--other-key", "env:OTHER", "--sql")
        #expect(sql.status == 4 && sql.output.contains("row 1") && sql.output.hasSuffix("RESET;\n"))
        try run("diff", other).expectFailure(3, "b.db")
    }

    @Test func spaceListsLargestTablesFirst() throws {
        let lines = try run("space", "--format", "jsonl").output.split(separator: "\n").map { try JSONValue(text: String($0)) }
        #expect(lines.count == 3)
        #expect(Set(lines.prefix(2).map { $0["name"] }) == ["t", "t_x"])
        #expect(lines.allSatisfy { $0["pages"] != nil && $0["fill"] != nil })
        guard case .integer(let entries)? = lines.first(where: { $0["name"] == "t_x" })?["entries"] else { throw CocoaError(.coderInvalidValue) }
        #expect(entries == 500)
        #expect(try run("space").output.contains("for encryption"))
    }

    /// A journal that a killed program has left must be rolled back before anything is read.
    @Test(arguments: ["query", "verify", "info", "space", "dump"]) func hotJournalMessageNamesTheWayOut(command: String) throws {
        let folder = try TemporaryFolder()
        let (original, path) = (folder.path("o.db"), folder.path("a.db"))
        let db = try Connection(.file(original))
        try db.execute(SQLScript("PRAGMA cache_size = 1; CREATE TABLE t(x); INSERT INTO t VALUES (zeroblob(100000))"))
        try db.begin()
        try db.execute("UPDATE t SET x = randomblob(100000)")
        try db.execute("INSERT INTO t VALUES (randomblob(100000))")
        for suffix in ["", "-journal"] { try FileManager.default.copyItem(atPath: original + suffix, toPath: path + suffix) }
        try db.rollback()
        let sql = command == "query" ? ["SELECT 1"] : []
        try Tool.run([command, path] + sql + ["--no-key"]).expectFailure(1, "a.db", "--write does that")
        try Tool.run("query", path, "SELECT 1", "--write", "--no-key").expectSuccess()
        try Tool.run("verify", path, "--no-key").expectSuccess()
    }

    /// `recover` copies rows that refer to nothing like any other.
    @Test func verifyDoesNotAdviseRecoverForReferences() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("a.db")
        let db = try Connection(.file(path))
        try db.execute(SQLScript("PRAGMA foreign_keys = OFF; CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(p REFERENCES p)"))
        try db.execute("INSERT INTO c VALUES (7)")
        db.close()
        let outcome = try Tool.run("verify", path, "--no-key")
        #expect(outcome.status == 4 && outcome.errors.contains("the file is whole") && !outcome.errors.contains("recover"), "\(outcome)")
    }
}
