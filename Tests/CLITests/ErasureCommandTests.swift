import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// erase.
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

    private func run(_ command: String, _ arguments: String...) throws -> Command.Outcome {
        try Tool.run([command, database] + arguments + Tool.key)
    }

    private func isErased(_ text: String) throws -> Bool {
        try Connection(.file(database), key: .raw(#require([UInt8](hexadecimal: Tool.rawKey)))).main.findRemnants(of: [text]).isErased
    }

    @Test func eraseRemovesRemnantsOfDeletedText() throws {
        #expect(try !isErased("zqsecret"))
        let erased = try run("erase")
        erased.expectSuccess()
        #expect(erased.output.contains("1 full-text index"), "\(erased.output)")
        #expect(try isErased("zqsecret"))
        let kept = try run("query", "SELECT (SELECT count(*) FROM t WHERE x LIKE 'kept%') + count(*) AS n FROM f WHERE f MATCH 'kept'")
        #expect(kept.output == "n\n─\n2\n", "\(kept)")
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
