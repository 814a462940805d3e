import CSQLCipher

/// A key in the form that SQLCipher's C API takes: a passphrase's bytes, or the keyspec `x'…'` with a raw key in hexadecimal.
package struct Keyspec: ~Copyable {
    private let bytes: SecureBytes

    /// - Parameters:
    ///   - key: a key with the settings that the database is opened with.
    ///   - salt: the first 16 bytes of the database's file, if it has any.
    package init(_ key: DatabaseKey, salt: [UInt8]?) throws {
        let cipher = key.settings
        if salt == nil { try key.requireFitForNewFile() }
        let external = try Self.externalSalt(key, cipher)
        bytes = try key.withUnsafeBytes { bytes in
            switch key.form {
            case .plaintext, .deferred: throw CipherConfiguration.invalid("there is no key")
            case .derived: try SecureBytes(copying: bytes)
            case .raw(_, salted: true): try Self.hexadecimal(bytes)
            case .raw(_, salted: false): try Self.hexadecimal(bytes, salt: external)
            // SQLCipher finds no salt in a file with a plaintext header.
            case .passphrase where external != nil: try Self.derived(bytes, external, cipher)
            // SQLCipher would mistake it for a raw key, so derive the key here in the same way.
            case .passphrase where Self.looksRaw(bytes): try Self.derived(bytes, salt, cipher)
            case .passphrase: try SecureBytes(copying: bytes)
            }
        }
    }

    /// The salt that is kept outside the file, for a key that does not include one.
    private static func externalSalt(_ key: DatabaseKey, _ cipher: CipherConfiguration) throws -> [UInt8]? {
        guard cipher.plaintextHeaderSize > 0 else { return nil }
        if case .derived = key.form { return nil }
        if case .raw(_, salted: true) = key.form {
            let own = key.withUnsafeBytes { Array($0.suffix(16)) }
            guard cipher.salt == nil || cipher.salt == own else {
                throw CipherConfiguration.invalid("the raw key and the cipher settings have different salts")
            }
            return nil
        }
        guard let salt = cipher.salt else {
            throw CipherConfiguration.invalid(
                "a database with a plaintext header keeps its salt elsewhere: give it as CipherConfiguration.salt")
        }
        return salt
    }

    package func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { try bytes.withUnsafeBytes(body) }

    /// Returns whether SQLCipher would read the bytes as `x'` hexadecimal digits `'`.
    private static func looksRaw(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count >= 5, bytes[0] | 0x20 == UInt8(ascii: "x"), bytes[1] == UInt8(ascii: "'"),
            bytes[bytes.count - 1] == UInt8(ascii: "'")
        else { return false }
        return bytes[2..<bytes.count - 1].allSatisfy { $0.hexDigit != nil }
    }

    private static func derived(
        _ passphrase: UnsafeRawBufferPointer, _ salt: [UInt8]?, _ cipher: CipherConfiguration
    ) throws -> SecureBytes {
        // A new file has no salt yet, and gets a random one, as from SQLCipher.
        let salt = if let salt { salt } else { try CipherConfiguration.randomSalt() }
        let raw = try SecureBytes(count: 48) { raw in
            let rc = sqlcipherkit_derive_key(
                cipher.kdfAlgorithm.number, passphrase.baseAddress, Int32(passphrase.count), salt, 16,
                Int32(cipher.kdfIterations), raw.baseAddress, 32)
            if rc != SQLITE_OK { throw DatabaseError(code: ResultCode(rawValue: rc), message: "the key could not be derived") }
            UnsafeMutableRawBufferPointer(rebasing: raw[32...]).copyBytes(from: salt)
        }
        return try raw.withUnsafeBytes { bytes in try hexadecimal(bytes) }
    }

    private static func hexadecimal(
        _ raw: UnsafeRawBufferPointer, salt: [UInt8]? = nil
    ) throws -> SecureBytes {
        let salt = salt ?? []
        return try SecureBytes(count: (raw.count + salt.count) * 2 + 3) { text in
            text[0] = UInt8(ascii: "x")
            text[1] = UInt8(ascii: "'")
            for index in 0..<raw.count + salt.count {
                let byte = index < raw.count ? raw[index] : salt[index - raw.count]
                text[2 + 2 * index] = digit(byte >> 4)
                text[3 + 2 * index] = digit(byte & 15)
            }
            text[text.count - 1] = UInt8(ascii: "'")
        }
    }

    /// Uses neither a table nor a branch, so that the digit leaves no trace in the CPU's caches.
    private static func digit(_ value: UInt8) -> UInt8 { value &+ 48 &+ (((9 &- value) >> 4) & 7) }
}
