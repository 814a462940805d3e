import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// A damaged page is an error of the statements that read it, and of no others.
@Suite struct DamagedPageTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }
    let key: DatabaseKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .passphrase("k", cipher: .quick)
    }

    /// Two tables; a page in the middle of the first table is overwritten.
    private func make(_ mode: DatabaseConfiguration.JournalMode, cipher: CipherConfiguration = .quick) throws {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = mode
        let db = try Connection(.file(path), key: key.with(cipher: cipher), configuration: configuration)
        try db.execute(SQLScript("CREATE TABLE a(id INTEGER PRIMARY KEY, x); CREATE TABLE b(x)"))
        try db.transaction { db -> Void in
            for number in 0..<400 {
                try db.execute("INSERT INTO a VALUES (\(number), \(String(repeating: "a", count: 300)))")
                try db.execute("INSERT INTO b VALUES (\(String(repeating: "b", count: 300)))")
            }
        }
        let leaves = try db.fetchAll(Int.self, "SELECT pageno FROM dbstat WHERE name = 'a' AND pagetype = 'leaf' ORDER BY pageno")
        let page = leaves[leaves.count / 2]
        db.close()
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64((page - 1) * 4096 + 100))
        try file.write(contentsOf: Data(repeating: 7, count: 50))
        try file.close()
    }

    private func code(_ body: () throws -> Void) -> ResultCode? {
        do { try body() } catch { return (error as? DatabaseError)?.code.primary }
        return nil
    }

    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .wal])
    func damagedPageLeavesOtherTablesUsable(mode: DatabaseConfiguration.JournalMode) throws {
        try make(mode)
        let db = try Connection(.file(path), key: key)
        for round in 1...3 {
            let error = #expect(throws: DatabaseError.self) { try db.fetchOne(Int.self, "SELECT sum(length(x)) FROM a") }
            #expect(error?.code.primary == .corrupt && error?.reason == .engine)
            #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM b WHERE x LIKE 'b%'") == 399 + round)
            try db.execute("INSERT INTO b VALUES ('b')")
            #expect(try db.fetchOne(Int.self, "SELECT id FROM a WHERE id = 1") == 1)
        }
        #expect(try db.main.verify().problems.count == 1)
        #expect(try Connection(.file(path), key: key).fetchOne(Int.self, "SELECT count(*) FROM b") == 403)
    }

    @Test func queueAndPoolSurviveDamagedPage() throws {
        try make(.wal)
        let queue = try DatabaseQueue(.file(path), key: key), pool = try DatabasePool(.file(path), key: key)
        for _ in 1...3 {
            #expect(code { _ = try queue.read { try $0.fetchOne(Int.self, "SELECT sum(length(x)) FROM a") } } == .corrupt)
            #expect(code { _ = try pool.read { try $0.fetchOne(Int.self, "SELECT sum(length(x)) FROM a") } } == .corrupt)
            #expect(code { try pool.write { try $0.execute("UPDATE a SET x = 1") } } == .corrupt)
            try queue.write { try $0.execute("INSERT INTO b VALUES (1)") }
            try pool.write { try $0.execute("INSERT INTO b VALUES (1)") }
            #expect(try pool.read { try $0.fetchOne(Int.self, "SELECT count(*) FROM b WHERE x <> ''") } ?? 0 > 400)
        }
        #expect(try queue.read { try $0.fetchOne(Int.self, "SELECT count(*) FROM b") } == 406)
    }

    /// Whatever met the damage, SQLite commits nothing of the transaction: a change may be half done.
    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .wal])
    func transactionThatReadsDamagedPageRollsBack(mode: DatabaseConfiguration.JournalMode) throws {
        try make(mode)
        let db = try Connection(.file(path), key: key)
        for statement in ["SELECT sum(length(x)) FROM a", "UPDATE a SET x = zeroblob(1000)"] {
            #expect(throws: (any Error).self) {
                try db.transaction { db -> Void in
                    try db.execute("INSERT INTO b VALUES ('one')")
                    #expect(code { _ = try db.fetchAll(Int.self, SQL(raw: statement)) } == .corrupt)
                    #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM b") == 401)
                    try? db.execute("INSERT INTO b VALUES ('two')")
                }
            }
            #expect(!db.isInTransaction)
            #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM b") == 400)
            #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM a WHERE id < 10 AND length(x) = 300") == 10)
        }
        try db.transaction { try $0.execute("INSERT INTO b VALUES ('three')") }
        db.close()
        let again = try Connection(.file(path), key: key)
        #expect(try again.fetchOne(Int.self, "SELECT count(*) FROM b") == 401)
        #expect(try again.main.verify().problems.count == 1)
    }

    /// With the right key at last, after wrong keys on separate connections.
    @Test func wrongKeyIsDistinguishedFromDamage() throws {
        var plain = CipherConfiguration.quick
        plain.plaintextHeaderSize = 32
        plain.salt = [UInt8](repeating: 3, count: 16)
        for cipher in [.quick, plain] {
            try? FileManager.default.removeItem(atPath: path)
            try make(.delete, cipher: cipher)
            let error = #expect(throws: DatabaseError.self) { try Connection(.file(path), key: .passphrase("w", cipher: cipher)) }
            #expect(error?.reason == .wrongKeyOrNotADatabase && error?.code == .notADatabase)
            let db = try Connection(.file(path), key: key.with(cipher: cipher))
            #expect(code { _ = try db.fetchOne(Int.self, "SELECT sum(length(x)) FROM a") } == .corrupt)
        }
    }
}
