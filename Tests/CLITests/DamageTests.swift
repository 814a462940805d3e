import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// recover and identify.
@Suite struct DamageTests {
    let folder: TemporaryFolder
    let database: String, rescued: String
    let key: DatabaseKey

    init() throws {
        folder = try TemporaryFolder()
        (database, rescued) = (folder.path("a.db"), folder.path("b.db"))
        key = try .raw((0..<32).map { [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef][$0 % 8] as UInt8 })
        let db = try Connection(.file(database), key: key)
        try db.execute("CREATE TABLE t(x)")
        try db.transaction { db -> Void in
            for number in 0..<500 {
                try db.execute("INSERT INTO t VALUES (\(String(repeating: "x", count: 100) + "\(number)"))")
            }
        }
    }

    @Test func recoverSavesReadableRows() throws {
        let whole = try Tool.run(["recover", database, rescued] + Tool.key)
        #expect(whole.status == 0 && whole.output.hasPrefix("what   name  rows  lost_rows  lost_pages  message\n"), "\(whole)")
        try Tool.run(["recover", database, rescued] + Tool.key).expectFailure(1, "b.db", "already exists")
        try FileManager.default.removeItem(atPath: rescued)
        #expect(try Tool.run(["recover", database, rescued, "--json"] + Tool.key).output == """
            [{"what":"table","name":"t","rows":500,"lost_rows":0,"lost_pages":"","message":null},
             {"what":"all","name":null,"rows":null,"lost_rows":null,"lost_pages":"","message":null}]

            """)
        try FileManager.default.removeItem(atPath: rescued)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: database))
        bytes[4096 * 5 + 100] ^= 1
        try bytes.write(to: URL(fileURLWithPath: database))
        let damaged = try Tool.run(["recover", database, rescued, "--new-key", "env:OTHER", "--format", "csv"] + Tool.key,
            environment: ["OTHER": "other"])
        #expect(damaged.status == 4 && damaged.output.contains(",\"6\",\n") && damaged.errorLines.count == 1, "\(damaged)")
        #expect(try Data(contentsOf: URL(fileURLWithPath: database)) == bytes && folder.names() == ["a.db", "b.db"])
        let count = try Connection(.file(rescued), key: .passphrase("other")).fetchOne(Int.self, "SELECT count(*) FROM t") ?? 0
        #expect(count > 400 && count < 500)
    }

    /// The first page is lost, with the salt and the schema.
    @Test func recoverUsesRecoveryCopyForLostFirstPage() throws {
        try Tool.run(["backup", database, folder.path("c.db"), "--recovery-copy"] + Tool.key).expectSuccess()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: database))
        bytes.replaceSubrange(0..<4096, with: Data(count: 4096))
        try bytes.write(to: URL(fileURLWithPath: database))
        let outcome = try Tool.run(["recover", database, rescued, "--format", "csv"] + Tool.key)
        #expect(outcome.status == 4 && outcome.output.contains("\ntable,t,500,"), "\(outcome)")
        #expect(try Connection(.file(rescued), key: key).fetchOne(Int.self, "SELECT count(*) FROM t") == 500)
    }

    #if os(Linux)
    /// A sector that cannot be read costs its page, and not all pages that are read with it.
    @Test func recoverLosesOnlyThePageOfABadSector() throws {
        var info = stat()
        try #require(stat(database, &info) == 0)
        let outcome = try Tool.runProgram(["recover", database, rescued, "--format", "csv"] + Tool.key,
            environment: ["LD_PRELOAD": FaultLibrary.path(), "FAULT_SECTOR": "\(info.st_ino) \(4096 * 5 + 512)"])
        #expect(outcome.status == 4 && outcome.output.contains(",\"6\",\n"), "\(outcome)")
        let count = try Connection(.file(rescued), key: key).fetchOne(Int.self, "SELECT count(*) FROM t") ?? 0
        #expect(count > 400 && count < 500)
    }
    #endif

    /// Also of a file that cannot be opened any more.
    @Test func verifyReportsTruncatedFile() throws {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: database))
        for length in [4096, 5000, bytes.count - 4096] {
            try bytes.prefix(length).write(to: URL(fileURLWithPath: database))
            for options in [["--format", "json"], ["--json"]] {
                let outcome = try Tool.run(["verify", database] + options + Tool.key)
                #expect(outcome.status == 4 && outcome.errorLines.count == 1, "\(outcome)")
                let rows = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [[String: String]]
                #expect(rows?.first?["database"] == "main" && rows?.first?["problem"] != nil, "\(outcome)")
            }
        }
    }

    @Test func identifyPrintsVersionAndSettings() throws {
        let outcome = try Tool.run(["identify", database] + Tool.key)
        #expect(outcome.status == 0
            && outcome.output.hasPrefix("kind              encrypted\nversion           4\npage_size         4096\n"), "\(outcome)")
        #expect(try Tool.run(["identify", database, "--json"] + Tool.key).output == """
            [{"kind":"encrypted","version":"4","page_size":4096,"kdf_algorithm":"SHA512","kdf_rounds":256000,"hmac_algorithm":"SHA512","plaintext_header":0,"options":""}]

            """)
        try Tool.run(["identify", database, "--key-env", "OTHER"], environment: ["OTHER": "wrong"]).expectFailure(3, "a.db")
        try Tool.run(["identify", database, "--no-key"]).expectFailure(3, "a.db")
        // A file of another format.
        let foreign = folder.path("foreign.db")
        var random = SeededGenerator(state: 5)
        try Data((0..<16_384).map { _ in UInt8.random(in: 0...255, using: &random) }).write(to: URL(fileURLWithPath: foreign))
        try Tool.run(["identify", foreign] + Tool.key).expectFailure(3, "SQLCipher 1 to 4", "SQLCipher 5")
        try Tool.run(["query", foreign, "SELECT 1"] + Tool.key).expectFailure(3, "SQLCipher 1 to 4")
        let plain = folder.path("plain.db")
        try Connection(.file(plain), key: .plaintext).execute("CREATE TABLE t(x)")
        #expect(try Tool.run(["identify", plain] + Tool.key).output == "kind  plaintext\n")
    }

    @Test func identifyNamesWeaknesses() throws {
        let strong = try Tool.run(["identify", database] + Tool.key)
        #expect(strong.errors == "", "\(strong)")
        let old = folder.path("old.db")
        try Connection(.file(old), key: .passphrase("p", cipher: .sqlCipher3)).execute("CREATE TABLE t(x)")
        let outcome = try Tool.run(["identify", old, "--key-env", "OTHER"], environment: ["OTHER": "p"])
        #expect(outcome.errors.contains("old.db: a passphrase is derived with 64000 rounds"), "\(outcome)")
    }
}
