import Foundation
import SQLCipherKit
import Testing
import TestSupport

@Suite struct VectorsCommandTests {
    let folder: TemporaryFolder
    let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("a.db")
        try Tool.run(["create", path] + Tool.key).expectSuccess()
        try run("query", "CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)", "--write").expectSuccess()
        try run("query", "INSERT INTO note(id, title) VALUES (1, 'a'), (2, 'b'), (3, 'c')", "--write").expectSuccess()
    }

    private func run(_ command: String, _ arguments: String...) throws -> Command.Outcome {
        try Tool.run([command, path] + arguments + Tool.key)
    }

    private func vectors(_ command: String, _ arguments: String...) throws -> Command.Outcome {
        try Tool.run(["vectors", command, path] + arguments + Tool.key)
    }

    private func create(_ options: String...) throws -> Command.Outcome {
        try Tool.run(["vectors", "create", path, "v", "--dimensions", "2", "--table", "note", "--column", "title"] + options + Tool.key)
    }

    private func write(_ bytes: [UInt8], _ name: String) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: folder.path(name)))
        return folder.path(name)
    }

    @Test func tablesAreCreatedFilledAndSearched() throws {
        let made = try create("--of", "int8", "--bits")
        made.expectSuccess()
        #expect(made.output == "created v: 3 rows missing a vector\n")
        let lines = try write(Array("[1, 1, 0]\r\n2,0.9,0.1\n\n".utf8), "vectors.txt")
        let imported = try vectors("import", "v", lines)
        imported.expectSuccess()
        #expect(imported.output == "imported 2 vectors; 1 row still missing one\n")
        try vectors("import", "v", write(Array("3,0.000000000e+00,1.000000000e+00\n".utf8), "more.csv")).expectSuccess()
        for options in [[], ["--coarse"]] {
            let found = try Tool.run(["vectors", "search", path, "v", "--like", "1", "--format", "csv"] + options + Tool.key)
            found.expectSuccess()
            #expect(found.output.split(separator: "\n").map { $0.split(separator: ",")[0] } == ["row", "2", "3"])
        }
        let filtered = try vectors("search", "v", "--like", "1", "--where", "title = 'c'", "--format", "csv")
        #expect(filtered.output.split(separator: "\n").map { $0.split(separator: ",")[0] } == ["row", "3"])
        try vectors("search", "v", "--like", "1", "--where", "0").expectFailure(1, "nothing found")
    }

    @Test func dumpRecreatesTablesOfVectors() throws {
        try create("--of", "int8", "--bits").expectSuccess()
        try vectors("import", "v", write(Array("1,1,0\n2,0,1\n".utf8), "a.csv")).expectSuccess()
        let script = try write(Array(Tool.run(["dump", path] + Tool.key).expectSuccess().output.utf8), "dump.sql"), copy = folder.path("b.db")
        try Tool.run(["create", copy, "--script", script] + Tool.key).expectSuccess()
        let found = try [path, copy].map { try Tool.run(["vectors", "search", $0, "v", "--like", "1", "--format", "csv"] + Tool.key).expectSuccess().output }
        #expect(found[0] == found[1] && found[0].contains("2,1"))
        try Tool.run(["query", copy, "UPDATE note SET title = 'x' WHERE id = 1", "--write"] + Tool.key).expectSuccess()
        try Tool.run(["vectors", "search", copy, "v", "--like", "1"] + Tool.key).expectFailure(1, "no vector")
    }

    @Test func syncLeavesVectorsToEachCopy() async throws {
        try create("--bits").expectSuccess()
        try await Tool.runAside(["sync", path, folder.path("store")] + Tool.key).expectSuccess()
        let logged = try Tool.run(["query", path, "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name GLOB 'v*'"] + Tool.key)
        #expect(!logged.output.contains("v_"))
    }

    @Test func mistakesAreExplainedAndChangeNothing() throws {
        try create().expectSuccess()
        try create().expectFailure(1, "v")
        try vectors("create", "w", "--dimensions", "2", "--table", "note").expectFailure(64, "--column")
        try vectors("import", "v", write(Array("1,1,0\nx,1,1\n".utf8), "a.csv")).expectFailure(1, "line 2")
        for line in ["2,1,,0", "2,,1", "2", "[2,1,[0]]", ",1,0", "[]"] {
            try vectors("import", "v", write(Array("1,1,0\n\(line)\n".utf8), "a.csv")).expectFailure(1, "line 2")
        }
        try vectors("import", "v", write(Array("1,1,0\n2,1\n".utf8), "a.csv")).expectFailure(1, "dimensions")
        try vectors("import", "v", write(Array("9,1,0\n".utf8), "a.csv")).expectFailure(1, "no row 9")
        try vectors("search", "v", "--like", "1").expectFailure(1, "no vector")
        try vectors("search", "none", "--like", "1").expectFailure(1, "none")
        #expect(try Tool.run(["query", path, "SELECT count(*) FROM v", "--format", "csv"] + Tool.key).output.hasSuffix("\n0\n"))
    }
}
