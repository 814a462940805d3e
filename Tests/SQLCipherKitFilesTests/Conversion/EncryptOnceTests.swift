import Foundation
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

/// `DatabaseConverter.encryptOnce`: what it takes before its mark is set, and after.
@Suite struct EncryptOnceTests {
    let folder: TemporaryFolder
    let key: DatabaseKey
    var path: String { folder.path("a.db") }
    var keys: String { folder.path("keys") }
    var mark: EncryptionMark { .file(keys + "/a.encrypted") }

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw([UInt8](repeating: 7, count: 32))
        try FileManager.default.createDirectory(atPath: keys, withIntermediateDirectories: true)
    }

    private func make(_ key: DatabaseKey, _ value: Int = 1) throws {
        try? FileManager.default.removeItem(atPath: path)
        let db = try Connection(.file(path), key: key)
        try db.execute("CREATE TABLE t(x)")
        try db.execute("INSERT INTO t VALUES (\(value))")
    }

    private func value() throws -> Int? { try Connection(.file(path), key: key).fetchOne(Int.self, "SELECT x FROM t") }

    private func encryptOnce(_ mark: EncryptionMark? = nil, progress: DatabaseProgress.Handler? = nil) throws -> Bool {
        try DatabaseConverter.encryptOnce(fileAt: path, key: key, mark: mark ?? self.mark, progress: progress)
    }

    private func expect(_ reason: DatabaseError.Reason, _ body: () throws -> Bool) throws {
        let before = try? Data(contentsOf: URL(fileURLWithPath: path))
        let error = #expect(throws: DatabaseError.self) { try body() }
        #expect(error?.reason == reason)
        #expect((try? Data(contentsOf: URL(fileURLWithPath: path))) == before)
    }

    @Test func plaintextIsTakenOnce() throws {
        try make(.plaintext)
        #expect(try encryptOnce())
        #expect(try value() == 1)
        #expect(try !encryptOnce())
        try make(.plaintext, 99)
        for _ in 0..<2 { try expect(.notEncrypted) { try encryptOnce() } }
        try FileManager.default.removeItem(atPath: path)
        #expect(try !encryptOnce())
        #expect(try folder.names() == ["keys"])
    }

    /// A new database, or one that is encrypted already, sets the mark; a file that the key does not open sets none.
    @Test func onlyFileOfThisKeySetsMark() throws {
        let other = try DatabaseKey.raw([UInt8](repeating: 8, count: 32))
        try make(other)
        try expect(.wrongKeyOrNotADatabase) { try encryptOnce() }
        #expect(try FileManager.default.contentsOfDirectory(atPath: keys).isEmpty)
        try FileManager.default.removeItem(atPath: path)
        #expect(try !encryptOnce())
        try make(.plaintext)
        try expect(.notEncrypted) { try encryptOnce() }
        for name in try FileManager.default.contentsOfDirectory(atPath: keys) { try FileManager.default.removeItem(atPath: keys + "/" + name) }
        try make(key)
        #expect(try !encryptOnce())
        try make(.plaintext)
        try expect(.notEncrypted) { try encryptOnce() }
    }

    private struct Stop: Error {}

    /// A process that ends at any point leaves the plaintext file without a mark, the encrypted one without a mark, or both; the
    /// next call goes on from each. KillSweepTests has every instant.
    @Test func encryptOnceGoesOnAfterAnyFailure() throws {
        try make(.plaintext)
        #expect(throws: Stop.self) { try encryptOnce { _ in throw Stop() } }
        #expect(try DatabaseConverter.identify(fileAt: path, key: nil) == .plaintext)
        let unread = EncryptionMark(isSet: { throw Stop() }, set: {})
        #expect(throws: Stop.self) { try encryptOnce(unread) }
        let unset = EncryptionMark(isSet: { false }, set: { throw Stop() })
        #expect(throws: Stop.self) { try encryptOnce(unset) }
        #expect(try value() == 1)
        #expect(try !encryptOnce())
        try make(.plaintext)
        try expect(.notEncrypted) { try encryptOnce() }
    }

    @Test func markIsOwnFileApartFromDatabase() throws {
        try make(.plaintext)
        try expect(.invalidArgument) { try encryptOnce(.file(folder.path("a.encrypted"))) }
        try expect(.invalidArgument) { try encryptOnce(.file(keys + "/../a.encrypted")) }
        // A mark that others could have made, or linked to, says nothing.
        try Data().write(to: URL(fileURLWithPath: keys + "/a.encrypted"))
        chmod(keys + "/a.encrypted", 0o666)
        try expect(.keyProvider) { try encryptOnce() }
        try FileManager.default.removeItem(atPath: keys + "/a.encrypted")
        symlink("/nowhere", keys + "/a.encrypted")
        try expect(.keyProvider) { try encryptOnce() }
        try FileManager.default.removeItem(atPath: keys + "/a.encrypted")
        try expect(.keyProvider) { try encryptOnce(.file(folder.path("missing/a.encrypted"))) }
    }

    /// Both files begin like a plaintext one.
    @Test func plaintextHeaderIsToldFromPlaintext() throws {
        var cipher = CipherConfiguration.sqlCipher4
        cipher.plaintextHeaderSize = 32
        let key = try DatabaseKey.raw([UInt8](repeating: 7, count: 32), salt: [UInt8](repeating: 9, count: 16)).with(cipher: cipher)
        func once() throws -> Bool { try DatabaseConverter.encryptOnce(fileAt: path, key: key, mark: mark) }
        try make(.plaintext)
        #expect(try once())
        #expect(try !once())
        #expect(try Connection(.file(path), key: key).fetchOne(Int.self, "SELECT x FROM t") == 1)
        try make(.plaintext)
        try expect(.notEncrypted, once)
    }
}
