import Foundation
import SQLCipherKit
import Testing

@Suite struct KeyTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func aWrongKeyIsAnErrorAtOpening() throws {
        let path = folder.path("a.db")
        do {
            let db = try Connection(.file(path), key: .passphrase("right"), configuration: .quick)
            try db.execute("CREATE TABLE t(x)")
        }
        let error = #expect(throws: DatabaseError.self) {
            try Connection(.file(path), key: .passphrase("wrong"), configuration: .quick)
        }
        #expect(error?.reason == .wrongKeyOrNotADatabase)
        #expect(error?.path == path)
        let db = try Connection(.file(path), key: .passphrase("right"), configuration: .quick)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 0)
    }
    @Test(arguments: ["delete", "wal"]) func changingTheKey(mode: String) throws {
        let path = folder.path("a.db")
        let old = try EncryptionKey.passphrase("old"), new = try EncryptionKey.raw([UInt8](repeating: 7, count: 32))
        var configuration = Configuration.quick
        configuration.journalMode = .init(rawValue: mode)
        let db = try Connection(.file(path), key: old, configuration: configuration)
        try db.execute("CREATE TABLE t(x)")
        for i in 0..<1000 { try db.execute("INSERT INTO t VALUES (\(String(repeating: "x", count: i)))") }
        try db.changeKey(to: new)
        #expect(try db.fetchOne(String.self, "PRAGMA journal_mode") == mode)
        try db.execute("INSERT INTO t VALUES (1)")
        db.close()
        #expect(throws: DatabaseError.self) { try Connection(.file(path), key: old, configuration: .quick) }
        let again = try Connection(.file(path), key: new, configuration: .quick)
        #expect(try again.fetchOne(Int.self, "SELECT count(*) FROM t") == 1001)
        #expect(try again.fetchOne(String.self, "PRAGMA integrity_check") == "ok")
    }
    @Test func attaching() throws {
        let db = try Connection(.file(folder.path("a.db")), key: .passphrase("a"), configuration: .quick)
        try db.execute("CREATE TABLE t(x)")
        try db.attach(.file(folder.path("b.db")), as: "o\"dd näme", key: .key(.passphrase("b"), cipher: .quick))
        try db.attach(.file(folder.path("c.db")), as: "c", key: .inherited)
        try db.attach(.file(folder.path("d.db")), as: "d", key: .plaintext)
        #expect(try db.attachedDatabases().map(\.name) == ["main", "o\"dd näme", "c", "d"])
        try db.execute("CREATE TABLE \(identifier: "o\"dd näme").t AS SELECT 5 AS x")
        try db.detach("o\"dd näme")
        try db.detach("c")
        try db.detach("d")
        let other = try Connection(.file(folder.path("b.db")), key: .passphrase("b"), configuration: .quick)
        #expect(try other.fetchOne(Int.self, "SELECT x FROM t") == 5)
    }
}
