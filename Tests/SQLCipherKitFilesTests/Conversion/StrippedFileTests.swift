import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

/// Files whose page authentication was taken off, and whose content was then changed, without the key.
@Suite struct StrippedFileTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }

    init() throws { folder = try TemporaryFolder() }

    /// A value of 100 becomes 127.
    private func forge(_ key: DatabaseKey, pageSize: Int) throws {
        var cipher = CipherConfiguration.sqlCipher4
        cipher.pageSize = pageSize
        let db = try Connection(.file(path), key: key.with(cipher: cipher))
        try db.execute(SQLScript("CREATE TABLE t(x); INSERT INTO t VALUES (100)"))
        db.close()
        try folder.stripAuthentication("a.db", pageSize: pageSize, flipping: (2 * pageSize - 80 - 17, 0x1b))
    }

    /// A passphrase costs each call up to nine derivations: they are for long tests.
    @Test(arguments: LongTests.areOn ? [true, false] : [true], [1024, 4096, 65536])
    func unauthenticatedFileIsRefusedByDefault(isRaw: Bool, pageSize: Int) throws {
        let key = try isRaw ? DatabaseKey.raw([UInt8](repeating: 7, count: 32)) : .passphrase("correct horse")
        try forge(key, pageSize: pageSize)
        let forged = try Data(contentsOf: URL(fileURLWithPath: path))
        func expect(_ reason: DatabaseError.Reason, _ body: () throws -> Void) throws {
            let error = #expect(throws: DatabaseError.self) { try body() }
            #expect(error?.reason == reason)
            if reason == .missingHMAC { #expect(error?.message.contains("acceptingUnauthenticated") == true) }
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == forged)
        }
        var own = CipherConfiguration.sqlCipher4
        own.pageSize = pageSize
        for key in [key, key.with(cipher: own)] {
            try expect(.wrongKeyOrNotADatabase) { try Connection(.file(path), key: key).close() }
            try expect(.wrongKeyOrNotADatabase) { try Connection(.memory).attach(.file(path), as: "a", key: key) }
            try expect(.wrongKeyOrNotADatabase) { try Connection(.memory).main.restore(fromFileAt: path, key: key) }
            try expect(.wrongKeyOrNotADatabase) { try DatabaseConverter.decrypt(fileAt: path, key: key) }
            try expect(.wrongKeyOrNotADatabase) {
                try DatabaseConverter.salvage(fileAt: path, key: key, to: folder.path("b.db"), newKey: .plaintext)
            }
            try expect(.wrongKeyOrNotADatabase) { try DatabaseConverter.openOrSalvage(fileAt: path, key: key).0.close() }
            try expect(.missingHMAC) { try DatabaseConverter.migrate(fileAt: path, key: key) }
        }
        #expect(try folder.names() == ["a.db"])
        guard case .encrypted(nil, let settings) = try DatabaseConverter.identify(fileAt: path, key: key) else {
            Issue.record("not identified as a file without authentication")
            return
        }
        #expect(!settings.usesHMAC && settings.pageSize == pageSize)
        let named = key.with(cipher: settings)
        do {
            let db = try Connection(.file(path), key: named)
            #expect(try db.fetchOne(Int.self, "SELECT x FROM t") == 127)
            let report = try db.main.verify()
            #expect(report.problems == [.noAuthentication] && !report.isIntact && !report.isAuthenticated)
        }
        for (key, accepts) in [(key, true), (named, false)] {
            try forged.write(to: URL(fileURLWithPath: path))
            #expect(try DatabaseConverter.migrate(fileAt: path, key: key, acceptingUnauthenticated: accepts) == nil)
            let db = try Connection(.file(path), key: key.with(cipher: nil))
            #expect(try db.fetchOne(Int.self, "SELECT x FROM t") == 127)
        }
    }

    /// Settings that SQLCipher can write, and no version has.
    @Test func migrationTriesNoCustomCipherSettings() throws {
        var slow = CipherConfiguration.sqlCipher4, other = slow, header = slow
        slow.kdfIterations = 4000
        other.hmacAlgorithm = .sha256
        (header.plaintextHeaderSize, header.salt) = (32, [UInt8](repeating: 9, count: 16))
        let raw = try DatabaseKey.raw([UInt8](repeating: 7, count: 32), salt: [UInt8](repeating: 9, count: 16))
        for (key, cipher) in [(raw, other), (raw, header)] + (LongTests.areOn ? [(try DatabaseKey.passphrase("k"), slow)] : []) {
            try? FileManager.default.removeItem(atPath: path)
            try Connection(.file(path), key: key.with(cipher: cipher)).execute("CREATE TABLE t(x)")
            let error = #expect(throws: DatabaseError.self) { try DatabaseConverter.migrate(fileAt: path, key: key, acceptingUnauthenticated: true) }
            #expect(error?.reason == .wrongKeyOrNotADatabase)
            #expect(try DatabaseConverter.migrate(fileAt: path, key: key.with(cipher: cipher)) == nil)
            #expect(try Connection(.file(path), key: key).main.has("t"))
        }
    }
}

extension Schema {
    /// The problems that `verify` finds, apart from authentication that the settings do not have.
    func damage() throws -> [IntegrityReport.Problem] { try verify().problems.filter { $0 != .noAuthentication } }
}
