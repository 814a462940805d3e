import CSQLCipher

/// A key in the form that SQLCipher's C API takes: a passphrase's bytes, or `x'…'` with a raw key in hexadecimal.
struct KeyText: ~Copyable {
    private let bytes: SecureBytes

    /// - Parameters:
    ///   - salt: the first 16 bytes of the database's file, if it has any.
    ///   - cipher: the settings that the database is opened with.
    init(_ key: EncryptionKey, salt: [UInt8]?, _ cipher: CipherConfiguration) throws(DatabaseError) {
        bytes = try key.withUnsafeBytes { bytes throws(DatabaseError) in
            switch key.form {
            case .raw: try Self.hexadecimal(bytes)
            // SQLCipher would take it for a raw key: derive the key as SQLCipher would have.
            case .passphrase where Self.looksRaw(bytes): try Self.derived(bytes, salt, cipher)
            case .passphrase: try SecureBytes(copying: bytes)
            }
        }
    }

    func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { try bytes.withUnsafeBytes(body) }

    /// Whether SQLCipher would read the bytes as `x'` hexadecimal digits `'`.
    private static func looksRaw(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count >= 5, bytes[0] | 0x20 == UInt8(ascii: "x"), bytes[1] == UInt8(ascii: "'"),
            bytes[bytes.count - 1] == UInt8(ascii: "'")
        else { return false }
        return bytes[2..<bytes.count - 1].allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
    }

    private static func derived(
        _ passphrase: UnsafeRawBufferPointer, _ salt: [UInt8]?, _ cipher: CipherConfiguration
    ) throws(DatabaseError) -> SecureBytes {
        var salt = salt ?? [UInt8](repeating: 0, count: 16)
        // A new file has no salt yet: it gets a random one, as SQLCipher would give it.
        if salt.allSatisfy({ $0 == 0 }) {
            let rc = sqlcipherkit_random(&salt, 16)
            if rc != SQLITE_OK { throw DatabaseError(code: ResultCode(rawValue: rc), message: "no random bytes for a salt") }
        }
        let raw = try SecureBytes(count: 48) { raw throws(DatabaseError) in
            let rc = sqlcipherkit_derive_key(
                cipher.kdfAlgorithm.number, passphrase.baseAddress, Int32(passphrase.count), salt, 16,
                Int32(cipher.kdfIterations), raw.baseAddress, 32)
            if rc != SQLITE_OK { throw DatabaseError(code: ResultCode(rawValue: rc), message: "the key could not be derived") }
            UnsafeMutableRawBufferPointer(rebasing: raw[32...]).copyBytes(from: salt)
        }
        return try raw.withUnsafeBytes { bytes throws(DatabaseError) in try hexadecimal(bytes) }
    }

    private static func hexadecimal(_ raw: UnsafeRawBufferPointer) throws(DatabaseError) -> SecureBytes {
        try SecureBytes(count: raw.count * 2 + 3) { text throws(DatabaseError) in
            text[0] = UInt8(ascii: "x")
            text[1] = UInt8(ascii: "'")
            for (index, byte) in raw.enumerated() {
                text[2 + 2 * index] = digit(byte >> 4)
                text[3 + 2 * index] = digit(byte & 15)
            }
            text[text.count - 1] = UInt8(ascii: "'")
        }
    }

    /// Without a table and without a branch, so that no trace of the digit is left in the cache.
    private static func digit(_ value: UInt8) -> UInt8 { value &+ 48 &+ (((9 &- value) >> 4) & 7) }
}
