import Foundation
import KitSupport
import SQLCipherKitCore
import Testing
import TestSupport

/// Pages of a write-ahead log that were changed without the key. What its order allows is in SecurityLimitTests.
@Suite struct ForgedLogTests {
    let folder: TemporaryFolder
    let key: DatabaseKey
    private let pageSize = 4096, rows = 40

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw([UInt8](repeating: 3, count: 32))
    }

    private struct Files {
        let database: Data
        let log: WriteAheadLog
    }

    /// A database with a log that holds one transaction, which writes a 2 to each row, a page each.
    private func make(autoVacuum: Int) throws -> Files {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = .wal
        let path = folder.path("a.db")
        let db = try Connection(.file(path), key: key, configuration: configuration)
        try db.execute("PRAGMA auto_vacuum = \(raw: "\(autoVacuum)")")
        try db.execute("VACUUM")
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, n, filling)")
        for id in 1...rows { try db.execute("INSERT INTO t VALUES (\(id), 1, zeroblob(3000))") }
        try db.main.checkpoint(.truncate)
        try db.execute("UPDATE t SET n = 2")
        let files = Files(
            database: try Data(contentsOf: URL(fileURLWithPath: path)),
            log: WriteAheadLog(try Data(contentsOf: URL(fileURLWithPath: path + "-wal")), pageSize: pageSize))
        db.close()
        return files
    }

    private func read<R>(_ files: Files, _ log: WriteAheadLog?, _ body: (Connection) throws -> R) throws -> R {
        let copy = folder.path("copy.db")
        defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: copy + suffix) } }
        try files.database.write(to: URL(fileURLWithPath: copy))
        if let log { try log.bytes.write(to: URL(fileURLWithPath: copy + "-wal")) }
        let db = try Connection(.file(copy), key: key)
        defer { db.close() }
        return try body(db)
    }

    private func values(_ db: Connection) throws -> [Int] { try db.fetchAll(Int.self, "SELECT n FROM t ORDER BY id") }

    /// The pages' own codes protect the bytes that the checksums do not.
    @Test(arguments: 0...2) func forgedWALPagesThrowCorrupt(autoVacuum: Int) throws {
        let files = try make(autoVacuum: autoVacuum)
        let end = files.log.pages.count - 1
        #expect(try read(files, files.log, values) == Array(repeating: 2, count: rows))
        func expectDamage(_ what: String, _ change: (inout WriteAheadLog) -> Void) throws {
            var log = files.log
            change(&log)
            log.sign()
            let error = #expect(throws: DatabaseError.self, "\(what)") { try read(files, log, values) }
            #expect(error?.code.primary == .corrupt, "\(what): \(String(describing: error))")
        }
        try expectDamage("repeated") { $0.copyPage(end - 1, to: end) }
        try expectDamage("swapped") { $0.copyPage(end - 1, to: end, swapped: true) }
        try expectDamage("zero") { log in _ = log.zero(page: log.pages[end]) }
        try expectDamage("one bit") { log in log.bytes[log.bytes.count - pageSize / 2] ^= 1 }
    }
}
