import Foundation
import SQLCipherKit
import Testing
import TestSupport

@Suite struct SyncCommandTests {
    let folder: TemporaryFolder
    let store: String

    init() throws {
        folder = try TemporaryFolder()
        store = folder.path("store")
    }

    private func make(_ name: String, _ schema: String = "CREATE TABLE note(id TEXT PRIMARY KEY, title)") throws {
        try Tool.run(["create", folder.path(name)] + Tool.key).expectSuccess()
        try write(name, schema)
    }

    private func write(_ name: String, _ sql: String) throws {
        try Tool.run(["query", folder.path(name), sql, "--write"] + Tool.key).expectSuccess()
    }

    private func rows(_ name: String) throws -> String {
        try Tool.run(["query", folder.path(name), "SELECT * FROM note ORDER BY id", "--format", "csv"] + Tool.key).output
    }

    private func sync(_ name: String, _ options: String...) async throws -> Command.Outcome {
        try await Tool.runAside(["sync", folder.path(name), store] + options + Tool.key)
    }

    @Test func syncExchangesChangesBetweenCopies() async throws {
        try make("a.db")
        try write("a.db", "INSERT INTO note VALUES ('a', 'fox')")
        try make("b.db")
        let first = try await sync("a.db", "--table", "note", "--existing", "--peer", "laptop")
        first.expectSuccess()
        #expect(first.output == "received 0 entries, which changed 0 rows, and stored 1\n")
        let second = try await sync("b.db", "--json")
        second.expectSuccess()
        #expect(second.output.contains("\"received\":1,\"sent\":0,\"renewed\":0,\"pruned\":1,\"complete\":true"))
        // Written by another program's commands, and found all the same.
        try write("b.db", "UPDATE note SET title = 'elk'")
        try write("a.db", "INSERT INTO note VALUES ('b', 'owl')")
        for _ in 0..<2 { for name in ["a.db", "b.db"] { try await sync(name).expectSuccess() } }
        #expect(try rows("a.db") == "id,title\na,elk\nb,owl\n")
        #expect(try rows("b.db") == rows("a.db"))
    }

    @Test(arguments: [("take", "id,title\na,elk\nb,owl\n"), ("keep", "id,title\na,fox\nb,owl\n")])
    func restoredCopyGoesOnAsTheOptionSays(choice: String, expected: String) async throws {
        try make("a.db")
        try write("a.db", "INSERT INTO note VALUES ('a', 'fox')")
        try make("b.db")
        try await sync("a.db", "--table", "note", "--existing").expectSuccess()
        try await sync("b.db").expectSuccess()
        try Tool.run(["backup", folder.path("a.db"), folder.path("backup.db")] + Tool.key).expectSuccess()
        try write("a.db", "UPDATE note SET title = 'elk'; INSERT INTO note VALUES ('b', 'owl')")
        for name in ["a.db", "b.db"] { try await sync(name).expectSuccess() }
        try FileManager.default.removeItem(atPath: folder.path("a.db"))
        try FileManager.default.moveItem(atPath: folder.path("backup.db"), toPath: folder.path("a.db"))
        try await sync("a.db").expectFailure(1, "--restored take")
        try await sync("a.db", "--restored", choice).expectSuccess()
        for name in ["b.db", "a.db"] { try await sync(name).expectSuccess() }
        for name in ["a.db", "b.db"] { #expect(try rows(name) == expected) }
    }

    @Test func syncMistakesAreExplained() async throws {
        try make("a.db")
        try await sync("a.db", "--peer", "laptop").expectSuccess()
        try await sync("a.db", "--peer", "other").expectFailure(64, "laptop")
        try await sync("a.db", "--store-key", "x:y").expectFailure(64, "--store-key")
        try Data("another key".utf8).write(to: URL(fileURLWithPath: folder.path("key")))
        chmod(folder.path("key"), 0o600)
        try await sync("a.db", "--store-key", "file:" + folder.path("key")).expectFailure(3, "the key does not open the changes")
        try make("bare.db", "CREATE TABLE bare(x)")
        try await sync("bare.db").expectFailure(1, "bare has no primary key")
        try await Tool.runAside(["sync", folder.path("none.db"), store] + Tool.key).expectFailure(1, "none.db")
    }
}
