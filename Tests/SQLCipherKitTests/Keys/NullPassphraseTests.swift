import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// Passphrases with NUL: refused for a new file or a new key, and accepted for existing files.
@Suite struct NullPassphraseTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }

    init() throws { folder = try TemporaryFolder() }

    static let salt = (0..<16).map { UInt8(17 * $0) }
    static let texts = ["\0", "abc\0", "abc\0\0", "a\0bc", "\0abc"]

    /// A file as another program with SQLCipher makes it for a passphrase of any bytes: with the key that PBKDF2 gives.
    private func makeElsewhere(_ passphrase: [UInt8]) throws {
        let key = try Python.run(
            "import hashlib, sys; print(hashlib.pbkdf2_hmac('sha512', *map(bytes.fromhex, sys.argv[1:3]), 10, 32).hex())",
            InteroperabilityTests.hex(passphrase), InteroperabilityTests.hex(Self.salt))
        let digits = key.map { UInt8($0.hexDigitValue ?? 0) }
        let raw = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
        let db = try Connection(.file(path), key: .raw(raw, salt: Self.salt).quick)
        try db.execute("CREATE TABLE t(x)")
    }

    private func opens(_ passphrase: [UInt8]) -> Bool {
        (try? Connection(.file(path), key: .passphrase(passphrase).quick).fetchOne(Int.self, "SELECT count(*) FROM t")) == 0
    }

    private func expectRefused(_ body: () throws -> Void, _ comment: Comment) {
        let error = #expect(throws: DatabaseError.self, comment) { try body() }
        #expect(error?.reason == .invalidKey, comment)
        #expect(error?.message.contains("NUL") == true, comment)
    }

    @Test(arguments: texts) func newFileRefusesPassphraseWithNull(_ text: String) throws {
        let key = try DatabaseKey.passphrase(text).quick
        expectRefused({ _ = try Connection(.file(path), key: key) }, "opening")
        expectRefused({ _ = try DatabaseQueue(.file(path), key: key) }, "queue")
        expectRefused({ _ = try Connection(.memory, key: key) }, "in memory")
        let provided = DatabaseKey.provided(by: KeySource { key })
        expectRefused({ _ = try Connection(.file(path), key: provided) }, "provided")
        let db = try Connection(.memory)
        expectRefused({ try db.attach(.file(path), as: "b", key: key) }, "attached")
        expectRefused({ try db.main.backup(toFileAt: path, key: key) }, "backup")
        #expect(try folder.names() == [])
    }

    @Test(arguments: texts) func changeKeyRefusesPassphraseWithNull(_ text: String) throws {
        let key = try DatabaseKey.passphrase(text)
        try Connection(.file(path), key: .passphrase("abc").quick).execute("CREATE TABLE t(x)")
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        for mode in [Schema.KeyChangeMode.inPlace, .newFile] {
            let db = try Connection(.file(path), key: .passphrase("abc").quick)
            expectRefused({ try db.changeKey(to: key, mode: mode) }, "\(mode)")
            expectRefused({ try db.changeKey(to: .provided(by: KeySource { key }), mode: mode) }, "\(mode)")
            let queue = try DatabaseQueue(.file(path), key: .passphrase("abc").quick)
            expectRefused({ try queue.changeKey(to: key, mode: mode) }, "\(mode)")
            try queue.close()
        }
        expectRefused({ try DatabaseConverter.convert(fileAt: path, from: .passphrase("abc").quick, to: key) }, "convert")
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        #expect(opens(Array("abc".utf8)))
    }

    /// As SQLCipher takes it: HMAC fills a key of up to 128 bytes up with NUL, and a longer one is its SHA-512 (RFC 2104).
    @Test(arguments: texts) func existingFileWithNullPassphraseOpens(_ text: String) throws {
        try makeElsewhere(Array(text.utf8))
        #expect(opens(Array(text.utf8)))
        #expect(opens(Array(text.utf8) + [0, 0]))
        #expect(opens(Array(text.utf8) + [UInt8](repeating: 0, count: 128 - text.utf8.count)))
        #expect(!opens(Array(text.utf8) + [UInt8](repeating: 0, count: 129 - text.utf8.count)))
        #expect(!opens(Array(text.utf8) + [1]))
        let stripped = Array(text.utf8.reversed().drop { $0 == 0 }.reversed())
        if stripped.isEmpty { #expect(opens([0])) } else { #expect(opens(stripped)) }
        // And gets another key.
        try Connection(.file(path), key: .passphrase(text).quick).changeKey(to: .passphrase("new"))
        #expect(opens(Array("new".utf8)) && !opens(Array(text.utf8)))
    }

    @Test func passphraseOver128BytesEqualsItsHash() throws {
        let long = [UInt8](repeating: UInt8(ascii: "l"), count: 129)
        try makeElsewhere(long)
        let hash = try Python.run("import hashlib; print(hashlib.sha512(b'l' * 129).hexdigest())")
        let digits = hash.map { UInt8($0.hexDigitValue ?? 0) }
        #expect(opens(long))
        #expect(opens(stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }))
        #expect(!opens(Array(long.dropLast())))
    }

    /// Making slots for it gives it a random key.
    @Test func fileWithNullPassphraseAcceptsKeySlots() throws {
        try makeElsewhere([0x61, 0])
        let slots = try KeySlots.create(
            .passphrase("new"), label: "a", for: .file(path), existingKey: .passphrase("a\0").quick, derivation: .quick)
        #expect(try Connection(.file(path), key: .slots(slots)).fetchOne(Int.self, "SELECT count(*) FROM t") == 0)
    }
}
