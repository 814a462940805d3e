import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// `kv` and its subcommands.
@Suite struct KeyValueCommandTests {
    let folder: TemporaryFolder
    let database: String

    init() throws {
        folder = try TemporaryFolder()
        database = folder.path("a.db")
        try connection(.readWriteCreate).close()
    }

    private func connection(_ access: DatabaseConfiguration.Access = .readWrite) throws -> Connection {
        let bytes = (0..<4).flatMap { _ in [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef] as [UInt8] }
        var configuration = DatabaseConfiguration()
        configuration.access = access
        return try Connection(.file(database), key: .raw(bytes), configuration: configuration)
    }

    private func run(_ command: String, _ arguments: String...) throws -> Command.Outcome {
        try Tool.run(["kv", command, database] + Tool.key + arguments)
    }

    @Test func kvStoresAndPrintsText() throws {
        try run("get", "theme").expectFailure(1, "no key-value store settings", "none")
        try run("set", "theme", "dark; '\" ü").expectSuccess()
        #expect(try run("get", "theme").output == "dark; '\" ü\n")
        #expect(try run("get", "theme", "--as", "json").output == "\"dark; '\\\" ü\"\n")
        try run("get", "Theme").expectFailure(1, "the store settings has no key Theme")
        try run("get", "theme", "--store", "state").expectFailure(1, "no key-value store state", "settings")
        try run("remove", "theme").expectSuccess()
        try run("remove", "theme").expectFailure(1, "no key theme")
    }

    /// What a program stores is what the tool shows, and the other way round.
    @Test func kvJSONMatchesKeyValueStore() throws {
        let object = #"{"width":800,"tags":["a",null,true]}"#
        for (key, json) in [("object", object), ("number", "3"), ("nil", "null"), ("flag", "true"), ("text", "\"3\"")] {
            try run("set", key, json, "--as", "json", "--store", "state").expectSuccess()
        }
        struct Window: Codable { var width: Int }
        let db = try connection()
        let store = try KeyValueStore("state", in: db)
        #expect(try store.get("object", as: Window.self)?.width == 800)
        #expect(try store.get("number", as: Int.self) == 3)
        #expect(try store.get("flag", as: Bool.self) == true)
        #expect(try store.get("text", as: String.self) == "3")
        #expect(try store.get("nil", as: Int?.self) == .some(nil))
        try store.set("other", to: [Window(width: 1)])
        db.close()
        #expect(try run("get", "object", "--as", "json", "--store", "state").output == object + "\n")
        #expect(try run("get", "other", "--store", "state").output == "[{\"width\":1}]\n")
        let rows = try run("list", "--store", "state", "--prefix", "n", "--format", "jsonl").output
        #expect(rows == "{\"key\":\"nil\",\"value\":null}\n{\"key\":\"number\",\"value\":3}\n")
        let all = try run("list", "--store", "state", "--as", "json", "--format", "csv").output.split(separator: "\n")
        #expect(all.first == "key,value" && all.count == 7 && all.contains("number,\"3\"") && all.contains("text,\"\"\"3\"\"\""), "\(all)")
        let typed = try run("list", "--store", "state", "--prefix", "o", "--json").output
        #expect(typed == #"[{"key":"object","value":\#(object)},"# + "\n" + #" {"key":"other","value":[{"width":1}]}]"# + "\n")
        #expect(try run("get", "object", "--store", "state", "--json").output == #"{"store":"state","key":"object","value":\#(object)}"# + "\n")
        let mistake = try run("set", "number", "{3", "--as", "json", "--store", "state")
        mistake.expectFailure(1, "not JSON")
        #expect(try run("get", "number", "--store", "state").output == "3\n")
    }

    @Test func kvReadsStandardInputAndExpires() throws {
        try Tool.run(["kv", "set", database, "note", "-", "--expires", "2h"] + Tool.key, input: "two\nlines\n").expectSuccess()
        #expect(try run("get", "note").output == "two\nlines\n")
        let db = try connection()
        let left = try #require(try db.fetchOne(Int.self, "SELECT expires FROM kv_settings")) - Int(Date().timeIntervalSince1970 * 1000)
        #expect((3_600_000...7_200_000).contains(left))
        try db.execute("UPDATE kv_settings SET expires = 1")
        db.close()
        try run("get", "note").expectFailure(1, "no key note")
        #expect(try run("list", "--format", "json").output == "[]\n")
        for duration in ["2", "0s", "-1h", "h", "1.5h", "2y"] { try run("set", "a", "b", "--expires=" + duration).expectFailure(64, "expires") }
    }
}
