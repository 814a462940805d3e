import CSQLCipher

extension CipherConfiguration {
    /// 16 random bytes for the ``salt`` of a new database with a plaintext header, from the crypto provider.
    /// - Throws: ``DatabaseError`` if the provider cannot supply random bytes.
    public static func randomSalt() throws(DatabaseError) -> [UInt8] {
        var salt = [UInt8](repeating: 0, count: 16)
        let rc = sqlcipherkit_random(&salt, 16)
        if rc != SQLITE_OK { throw DatabaseError(rc: rc, database: nil) }
        return salt
    }

    /// The number of bytes that SQLCipher reserves at the end of each page for an initialisation vector and the authentication
    /// code, rounded up to a multiple of 16.
    package var reservedBytes: Int { (16 + (usesHMAC ? hmacAlgorithm.size : 0) + 15) / 16 * 16 }

    /// Throws if SQLCipher would not follow these settings.
    ///
    /// Opening and attaching validate the settings before they touch any file.
    /// - Throws: ``DatabaseError/Reason/invalidKey``; the message names the setting and its valid values.
    public func validate() throws(DatabaseError) {
        guard (1024...65536).contains(pageSize), pageSize & (pageSize - 1) == 0 else {
            throw Self.invalid("the page size must be a power of two from 1024 to 65536 and is \(pageSize)")
        }
        guard kdfIterations > 0, kdfIterations <= Int(Int32.max) else {
            throw Self.invalid("the number of key derivation rounds must be from 1 to \(Int32.max) and is \(kdfIterations)")
        }
        // The engine interprets a header that fills the page as a request to continue after damage.
        let room = pageSize - reservedBytes
        guard plaintextHeaderSize >= 0, plaintextHeaderSize % 16 == 0, plaintextHeaderSize < room else {
            throw Self.invalid(
                "the plaintext header must be a multiple of 16 bytes and shorter than \(room), and is \(plaintextHeaderSize)")
        }
        if let salt {
            guard salt.count == 16 else { throw Self.invalid("a salt has 16 bytes, and \(salt.count) were given") }
            guard plaintextHeaderSize > 0 else {
                throw Self.invalid("a salt is only given for a database with a plaintext header: others have theirs in the file")
            }
        }
    }

    /// Whether a file that begins with these bytes is a plaintext database. With a plaintext header this cannot be known, as an
    /// encrypted file then begins with the same bytes.
    package func isPlaintext(_ header: [UInt8]?) -> Bool { plaintextHeaderSize == 0 && header == DatabaseFile.plaintextHeader }

    /// Whether a file with these settings can also be read with `other`, given its salt.
    package func isSameFormat(as other: CipherConfiguration) -> Bool {
        var (own, other) = (self, other)
        (own.salt, own.usesMemorySecurity, other.salt, other.usesMemorySecurity) = (nil, false, nil, false)
        return own == other
    }

    package static func invalid(_ message: String) -> DatabaseError {
        DatabaseError(code: .misuse, reason: .invalidKey, message: message)
    }

    /// All settings, in the form that the engine takes.
    var engineSettings: sqlcipherkit_cipher_settings {
        sqlcipherkit_cipher_settings(
            page_size: Int32(clamping: pageSize), kdf_iterations: Int32(clamping: kdfIterations),
            kdf_algorithm: kdfAlgorithm.number, hmac_algorithm: hmacAlgorithm.number, uses_hmac: usesHMAC ? 1 : 0,
            plaintext_header_size: Int32(clamping: plaintextHeaderSize), uses_memory_security: usesMemorySecurity ? 1 : 0)
    }
}
