import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// Keys typed on a terminal.
@Suite struct PromptTests {
    let folder: TemporaryFolder
    let database: String

    init() throws {
        folder = try TemporaryFolder()
        database = folder.path("a.db")
    }

    private func make(_ key: DatabaseKey) throws {
        let db = try Connection(.file(database), key: key)
        try db.execute("CREATE TABLE t(x)")
        try db.execute("INSERT INTO t VALUES (4242)")
    }

    @Test func theTypedKeyIsNotShown() throws {
        try make(.passphrase("horse battery"))
        let session = try Typist.run(["query", database, "SELECT x FROM t"], typing: ["horse battery\n"])
        #expect(session.status == 0)
        #expect(session.screen.hasPrefix("Passphrase for \(database): \r\n"))
        #expect(session.screen.contains("4242"))
        #expect(!session.screen.contains("battery"))
        #expect(session.echoes)
    }

    @Test func rawKeysCanBeTyped() throws {
        try make(.raw([UInt8](repeating: 0x5a, count: 32)))
        let session = try Typist.run(
            ["query", database, "SELECT x FROM t", "--raw-key"], typing: [String(repeating: "5a", count: 32) + "\n"])
        #expect(session.status == 0)
        #expect(session.screen.contains("Raw key for") && session.screen.contains("4242"))
    }

    @Test func aNewKeyIsTypedTwice() throws {
        let sample = try SampleFolder()
        let session = try Typist.run(["import", database, sample.path], typing: ["new key\n", "new key\n"])
        #expect(session.status == 0)
        #expect(session.screen.contains("The same again: "))
        // The progress bar, which only a terminal gets.
        #expect(session.screen.contains("Importing") && session.screen.contains("100%"))
        #expect(!session.screen.contains("new key"))
        let db = try Connection(.file(database), key: .passphrase("new key"))
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM document") == 3)
    }

    @Test func differentRepeatedKeyIsRefused() throws {
        let sample = try SampleFolder()
        let session = try Typist.run(["import", database, sample.path], typing: ["new key\n", "mew key\n"])
        #expect(session.status == 3)
        #expect(session.screen.contains("the two keys are not the same"))
        #expect(try folder.names() == [])
    }

    @Test(arguments: [("\n", "the key is empty"), ("\u{4}", "no key was given")])
    func emptyTypedKeyIsRefused(typed: String, message: String) throws {
        try make(.raw([UInt8](repeating: 1, count: 32)))
        let session = try Typist.run(["query", database, "SELECT x FROM t"], typing: [typed])
        #expect(session.status == 3)
        #expect(session.screen.contains(message))
        #expect(session.echoes)
    }

    @Test func controlCGivesTheTerminalBack() throws {
        try make(.raw([UInt8](repeating: 1, count: 32)))
        let session = try Typist.run(["query", database, "SELECT x FROM t"], typing: ["half\u{3}"])
        #expect(session.status == Int64(-SIGINT))
        #expect(session.echoes)
        #expect(!session.screen.contains("half"))
    }
}
