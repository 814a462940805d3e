import Foundation
import SQLCipherKit
import TestSupport
import Testing

@Suite struct VerifyTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }

    init() throws { folder = try TemporaryFolder() }

    private func make(_ configuration: DatabaseConfiguration = .quick) throws {
        let db = try Connection(.file(path), key: .passphrase("k"), configuration: configuration)
        try RichDatabase.fill(db, rows: 40)
    }

    private func open(_ configuration: DatabaseConfiguration = .quick) throws -> Connection {
        try Connection(.file(path), key: .passphrase("k"), configuration: configuration)
    }

    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .wal]) func aWholeDatabase(mode: DatabaseConfiguration.JournalMode) throws {
        var configuration = DatabaseConfiguration.quick
        configuration.journalMode = mode
        try make(configuration)
        let db = try open(configuration)
        try db.execute("DELETE FROM child")
        let report = try db.verify()
        #expect(report.isWhole && report.isAuthenticated, "\(report)")
        #expect(report.pageCount == (try db.fetchOne(Int.self, "PRAGMA page_count")))
        #expect(try db.verify(quick: true).isWhole)
        try db.attach(.memory, as: "m", key: .plaintext)
        #expect(try db.verify("m").isAuthenticated == false)
        let error = #expect(throws: DatabaseError.self) { try db.verify("nowhere") }
        #expect(error?.reason == .schemaName)
        #expect(try Connection(.memory, key: .passphrase("k"), configuration: .quick).verify().isWhole)
    }

    /// One flip in each page, at a place that moves from page to page: found every time, at opening or by verifying.
    @Test(arguments: [CipherConfiguration.Hash.sha512, .sha256, .sha1]) func oneFlippedBitInEachPage(hash: CipherConfiguration.Hash) throws {
        var configuration = DatabaseConfiguration.quick
        configuration.cipher.hmacAlgorithm = hash
        try make(configuration)
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        let pages = whole.count / 4096
        #expect(pages > 20)
        // With SHA-1, the last 12 bytes of a page are filling.
        let room = hash == .sha1 ? 4084 : 4096
        var byVerifying = 0
        for page in 1...pages {
            for offset in [page * 997 % room, 0, room - 1] {
                var damaged = whole
                damaged[(page - 1) * 4096 + offset] ^= UInt8(1 << (page % 8))
                try damaged.write(to: URL(fileURLWithPath: path))
                let db: Connection
                do { db = try open(configuration) } catch { continue }
                #expect(try db.verify().problems == [.damagedPage(page)], "page \(page), byte \(offset)")
                byVerifying += 1
            }
        }
        #expect(byVerifying > pages * 2)
        try whole.write(to: URL(fileURLWithPath: path))
        #expect(try open(configuration).verify().problems.filter { if case .foreignKey = $0 { false } else { true } } == [])
    }

    /// Changes a file from outside of this process, whose connection has it open.
    private func patch(_ offset: Int, _ octal: String) throws {
        #expect(try Command.run("sh", ["-c", "printf '\(octal)' | dd of=\"$0\" bs=1 seek=\(offset) conv=notrunc", path]).status == 0)
    }

    @Test func theSaltUnderAnOpenConnection() throws {
        try make()
        let db = try open()
        try patch(5, "\\000\\001")
        #expect(try db.verify().problems == [.damagedHeader])
        #expect(throws: DatabaseError.self) { try open() }
    }

    @Test func missingPages() throws {
        try make()
        let size = try Data(contentsOf: URL(fileURLWithPath: path)).count
        let db = try open()
        for (cut, problem) in [
            (100, IntegrityProblem.incompletePage(size / 4096, bytes: 3996)), (4096, .missingPages(declared: size / 4096, present: size / 4096 - 1)),
            (4096 * 5, .missingPages(declared: size / 4096, present: size / 4096 - 5)),
        ] {
            #expect(try Command.run("truncate", ["-s", "\(size - cut)", path]).status == 0)
            let problems = try db.verify().problems
            #expect(problems.contains(problem), "\(cut): \(problems)")
        }
        // Whoever opens it now is told of damage, not of a wrong key.
        let error = #expect(throws: DatabaseError.self) { try open() }
        #expect(error?.code == .corrupt && error?.message.contains(path) == true)
    }

    @Test func foreignKeysAndStructure() throws {
        var configuration = DatabaseConfiguration.quick
        configuration.enforcesForeignKeys = false
        try make(configuration)
        let db = try open(configuration)
        try db.execute("DELETE FROM child")
        try db.execute("INSERT INTO child VALUES (5, 99999)")
        #expect(try db.verify().problems == [.foreignKey(table: "child", rowID: 5, parent: "note", index: 0)])
        try db.execute("DELETE FROM child")
        // An index that does not know of a row.
        try db.execute(SQLScript("""
            CREATE TABLE s(x); CREATE INDEX s_x ON s(x); INSERT INTO s VALUES (1);
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = 'CREATE INDEX s_x ON s(x) WHERE x > 5' WHERE name = 's_x';
            PRAGMA writable_schema = RESET;
            INSERT INTO s VALUES (2);
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = 'CREATE INDEX s_x ON s(x)' WHERE name = 's_x';
            PRAGMA writable_schema = RESET;
            """))
        let problems = try db.verify().problems
        #expect(problems.contains { if case .structure(let text) = $0 { text.contains("s_x") } else { false } }, "\(problems)")
    }

    @Test func withoutAuthenticationOnlyTheStructureIsSeen() throws {
        var configuration = DatabaseConfiguration.quick
        configuration.cipher.usesHMAC = false
        try make(configuration)
        #expect(try open(configuration).verify().isAuthenticated == false)
    }
}
