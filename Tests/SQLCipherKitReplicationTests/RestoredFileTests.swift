import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import Testing
import TestSupport

/// A restored file gets its name only when each of its pages is authentic.
@Suite struct RestoredFileTests {
    /// A database with pages of every kind: of tables, indexes, overflow, the freelist, and pointers to pages.
    private func source(_ folder: TemporaryFolder, _ autoVacuum: Int, _ key: DatabaseKey) throws -> (bytes: [UInt8], pageSize: Int) {
        let path = folder.path("source.db"), db = try Connection(.file(path), key: key)
        try db.execute(SQL(raw: "PRAGMA auto_vacuum = \(autoVacuum)"))
        try db.execute("VACUUM")
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
        try db.execute("CREATE INDEX i ON t(x)")
        for _ in 0..<40 { try db.execute("INSERT INTO t(x) VALUES (randomblob(2000))") }
        try db.execute("DELETE FROM t WHERE id % 3 = 0")
        let pageSize = try #require(try db.main.cipher?.settings.pageSize)
        if autoVacuum == 0 { #expect(try db.fetchOne(Int.self, "SELECT freelist_count > 3 FROM pragma_freelist_count") == 1) }
        db.close()
        return ([UInt8](try Data(contentsOf: URL(fileURLWithPath: path))), pageSize)
    }

    private func write(_ bytes: [UInt8], to path: String) throws -> RestoredFile {
        let file = try RestoredFile(at: path, replacing: false)
        try bytes.withUnsafeBytes { try file.write($0, at: 0) }
        return file
    }

    @Test(arguments: [0, 1, 2], [false, true]) func restoredFileWithDamagedPageIsNotPublished(autoVacuum: Int, onOneThread: Bool) async throws {
        let folder = try TemporaryFolder(), path = folder.path("restored.db")
        let key = try DatabaseKey.raw([UInt8](repeating: 1, count: 32))
        let (bytes, pageSize) = try source(folder, autoVacuum, key)
        func publish(_ bytes: [UInt8]) async throws {
            let file = try write(bytes, to: path)
            if onOneThread { try Self.publishHere(file, key) } else { try await file.publish(key: key, replacing: false) }
        }
        for page in 0..<bytes.count / pageSize {
            var damaged = bytes
            switch page % 4 {
            case 0, 1: damaged[page * pageSize + 100 + page * 997 % (pageSize - 100)] ^= 1
            // Forged: SQLCipher takes zeros for a page beyond the end of the file.
            case 2: for index in 0..<pageSize { damaged[page * pageSize + index] = 0 }
            default:
                // Another page of the same database.
                let other = (page == 1 ? 2 : 1) * pageSize
                damaged.replaceSubrange(page * pageSize..<(page + 1) * pageSize, with: bytes[other..<other + pageSize])
            }
            await #expect(throws: DatabaseError.self, "page \(page + 1)") { try await publish(damaged) }
            #expect(!FileManager.default.fileExists(atPath: path), "page \(page + 1)")
        }
        try await publish(bytes)
        let db = try Connection(.file(path), key: key)
        #expect(try db.main.verify().isIntact)
    }

    private static func publishHere(_ file: RestoredFile, _ key: DatabaseKey) throws { try file.publish(key: key, replacing: false) }
}
