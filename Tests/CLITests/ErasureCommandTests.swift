import Foundation
import Testing
import TestSupport

/// erase, residue.
@Suite struct ErasureCommandTests {
    let folder: TemporaryFolder
    let database: String

    init() throws {
        folder = try TemporaryFolder()
        database = folder.path("a.db")
        let script = folder.path("s.sql")
        let text = """
            CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT);
            CREATE VIRTUAL TABLE f USING fts5(x);
            INSERT INTO t(x) VALUES ('kept row'), ('zqsecret row');
            INSERT INTO f(x) VALUES ('kept words');
            INSERT INTO f(x) VALUES ('zqsecret words');
            DELETE FROM t WHERE id = 2;
            DELETE FROM f WHERE rowid = 2;
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: script))
        try Tool.run(["create", database, "--script", script] + Tool.key).expectSuccess()
    }

    private func run(_ command: String, _ arguments: String..., input: String = "") throws -> Command.Outcome {
        try Tool.run([command, database] + arguments + Tool.key, input: input)
    }

    @Test func eraseRemovesResidueOfDeletedText() throws {
        let before = try run("residue", "zqsecret", "--format", "csv")
        #expect(before.status == 4 && before.errors.contains("erase"), "\(before.errors)")
        #expect(before.output.hasPrefix("text,state,kind,page,object,file\n"))
        #expect(before.output.contains("1,deleted,full-text index,"), "\(before.output)")
        #expect(!before.output.contains("zqsecret"))
        let erased = try run("erase")
        erased.expectSuccess()
        #expect(erased.output.contains("1 full-text index"), "\(erased.output)")
        let after = try run("residue", "zqsecret")
        after.expectSuccess()
        #expect(after.output.hasPrefix("not found in deleted content: "))
        let live = try run("residue", "kept", "--format", "csv")
        live.expectSuccess()
        #expect(live.output.contains("1,live,content,") && live.output.contains("1,live,full-text index,"), "\(live.output)")
    }

    @Test func residueReadsTextsFromStandardInput() throws {
        let outcome = try run("residue", "-", "--format", "csv", input: "nowhere\nzqsecret\n")
        #expect(outcome.status == 4 && outcome.output.contains("\n2,deleted,"), "\(outcome.output)")
        #expect(!outcome.output.contains("\n1,"), "\(outcome.output)")
    }

    @Test func eraseNamesIndexThatDoesNotMatchContent() throws {
        for statement in [
            "CREATE VIRTUAL TABLE g USING fts5(x, content='t', content_rowid='id')", "INSERT INTO g(g) VALUES ('rebuild')",
            "DELETE FROM t",
        ] {
            try run("query", statement, "--write").expectSuccess()
        }
        let outcome = try run("erase")
        #expect(outcome.status == 4 && outcome.errors.contains("still hold"), "\(outcome.errors)")
        #expect(outcome.output.contains("g: its words do not match"), "\(outcome.output)")
    }
}
