import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// The attacks that the format cannot prevent, as the article on security says. If one of these fails, the article is to be
/// changed.
@Suite struct SecurityLimitTests {
    let folder: TemporaryFolder
    let key: DatabaseKey
    var path: String { folder.path("a.db") }
    var copy: String { folder.path("copy.db") }
    private let pageSize = 4096

    init() throws {
        folder = try TemporaryFolder()
        key = try .passphrase("one").quick
    }

    private func data(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

    private func write(_ data: Data, _ path: String) throws { try data.write(to: URL(fileURLWithPath: path)) }

    /// Two accounts on pages of their own, with 100 and 0.
    private func makeAccounts(_ mode: DatabaseConfiguration.JournalMode) throws -> Connection {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = mode
        let db = try Connection(.file(path), key: key, configuration: configuration)
        for (name, amount) in [("a", 100), ("b", 0)] {
            try db.execute("CREATE TABLE \(identifier: name)(amount)")
            try db.execute("INSERT INTO \(identifier: name) VALUES (\(amount))")
        }
        if mode == .wal { try db.main.checkpoint(.truncate) }
        return db
    }

    private func transfer(_ db: Connection) throws {
        try db.transaction { db -> Void in
            try db.execute("UPDATE a SET amount = amount - 100")
            try db.execute("UPDATE b SET amount = amount + 100")
        }
    }

    private func expect(_ a: Int, _ b: Int) throws {
        let db = try Connection(.file(copy), key: key)
        #expect(try db.fetchOne(Int.self, "SELECT amount FROM a") == a)
        #expect(try db.fetchOne(Int.self, "SELECT amount FROM b") == b)
        let report = try db.main.verify()
        #expect(report.isIntact && report.isAuthenticated)
    }

    /// The log's checksums need no key, and say where a transaction ends.
    @Test func forgedWALWithHalfTransactionIsRead() throws {
        let db = try makeAccounts(.wal)
        try transfer(db)
        var log = WriteAheadLog(try data(path + "-wal"), pageSize: pageSize)
        let commits = log.commits
        try #require(commits.count == 2 && commits[0] == 0 && commits[1] > 0)
        log.keep(1, pages: commits[1])
        log.sign()
        try write(data(path), copy)
        try write(log.bytes, copy + "-wal")
        try expect(0, 0)
    }

    @Test func removedWALLosesItsCommits() throws {
        let db = try makeAccounts(.wal)
        try transfer(db)
        try write(data(path), copy)
        try expect(100, 0)
    }

    /// A rollback journal's checksums need no key, either.
    @Test func plantedRollbackJournalIsReplayed() throws {
        let db = try makeAccounts(.delete)
        // Else the journal says how many pages it has only when it is flushed.
        try db.execute("PRAGMA synchronous = OFF")
        try db.begin(.immediate)
        try db.execute("UPDATE a SET amount = 0")
        let journal = try data(path + "-journal")
        try db.commit()
        try write(data(path), copy)
        try expect(0, 0)
        try write(journal, copy + "-journal")
        try expect(100, 0)
    }

    /// Each was right once.
    @Test func replayedOldPageOrFileIsAccepted() throws {
        let db = try makeAccounts(.delete)
        let page = try #require(try db.fetchOne(Int.self, "SELECT rootpage FROM sqlite_schema WHERE name = 'a'"))
        let old = try data(path)
        try transfer(db)
        db.close()
        var file = try data(path)
        let range = (page - 1) * pageSize..<page * pageSize
        file.replaceSubrange(range, with: old[range])
        try write(file, copy)
        try expect(100, 100)
        try write(old, copy)
        try expect(100, 0)
    }

    /// Nothing else of the file is free: 12 bytes a page fill the reserve up to whole blocks with SHA-1, and none with the others.
    @Test(arguments: zip(CipherConfiguration.Hash.allCases, [12, 0, 0])) func onlyReservePaddingIsUnauthenticated(
        _ hash: CipherConfiguration.Hash, unused: Int
    ) throws {
        var cipher = CipherConfiguration.quick
        (cipher.hmacAlgorithm, cipher.pageSize) = (hash, 1024)
        let key = try DatabaseKey.passphrase("one", cipher: cipher)
        try Connection(.file(path), key: key).execute("CREATE TABLE t(x)")
        let whole = try data(path)
        for offset in Array(stride(from: 1024, to: 2010, by: 41)) + Array(2010..<2048) {
            var file = whole
            file[offset] ^= 1
            try write(file, path)
            let db = try Connection(.file(path), key: key)
            #expect(try db.main.verify().isIntact == (offset >= 2048 - unused), "\(offset)")
        }
    }

    /// The header is outside of the pages' authentication: the kind of journal, the counter of changes and the number of pages can
    /// be changed in it. All other changes are damage that opening finds, and none changes the content.
    @Test func onlyJournalCounterAndSizeInPlaintextHeaderAreUnauthenticated() throws {
        var cipher = CipherConfiguration.sqlCipher4
        cipher.plaintextHeaderSize = 32
        let key = try DatabaseKey.raw([UInt8](repeating: 7, count: 32), salt: [UInt8](repeating: 9, count: 16)).with(cipher: cipher)
        let db = try Connection(.file(path), key: key)
        try db.execute("CREATE TABLE t(x)")
        try db.execute("INSERT INTO t VALUES (100)")
        db.close()
        let whole = try data(path)
        var unnoticed: Set<Int> = []
        for offset in 0..<40 {
            for bits in [1, 2, 3, 0x80, 0xff] as [UInt8] {
                var file = whole
                file[offset] ^= bits
                try write(file, copy)
                let found = try? Connection(.file(copy), key: key)
                defer { found?.close() }
                guard let found, (try? found.main.verify().isIntact) == true else { continue }
                // Whatever it is, the content is the same.
                #expect(try found.fetchAll(Int.self, "SELECT x FROM t") == [100])
                unnoticed.insert(offset)
            }
        }
        #expect(unnoticed.isSuperset(of: [18, 19, 24]) && unnoticed.isSubset(of: [18, 19] + Array(24..<32)), "\(unnoticed.sorted())")
    }

    /// So a guess at the passphrase of one file is a guess for all its copies.
    @Test func backupWithSameKeyKeepsTheSalt() throws {
        let db = try makeAccounts(.delete)
        try db.main.backup(toFileAt: copy)
        #expect(try data(copy).prefix(16) == data(path).prefix(16))
        try db.main.backup(toFileAt: folder.path("other.db"), key: key)
        #expect(try data(folder.path("other.db")).prefix(16) != data(path).prefix(16))
    }
}
