import CSQLCipher

/// The encryption of an open database, as the engine reports it.
public struct CipherInfo: Hashable, Sendable {
    /// SQLCipher's version, such as `4.19.0 community`.
    public let version: String
    /// The cryptographic library, such as `libtomcrypt`.
    public let provider: String
    /// The version of that library.
    package let providerVersion: String
    /// The cipher, `aes-256-cbc`.
    public let cipher: String
    /// The settings in effect, which open the database again with the same key.
    public let settings: CipherConfiguration
    /// The database's salt, 16 bytes. It is not a secret.
    public let salt: [UInt8]
}

extension Schema {
    /// The encryption of the database; nil for a plaintext database
    /// (<https://www.zetetic.net/sqlcipher/sqlcipher-api/#cipher_settings>).
    /// ```swift
    /// if let cipher = try db.main.cipher { print(cipher.settings.pageSize, cipher.provider) }
    /// ```
    /// - Throws: ``DatabaseError/Reason/schemaName`` if the database is no longer attached; ``DatabaseError/Reason/misuse`` in a
    ///   closure that a rewrite calls.
    public var cipher: CipherInfo? {
        get throws {
            var cipher = sqlcipherkit_cipher_info()
            // The caller may go on to read pages or keys, which a rewrite in progress is changing.
            _ = try connection.liveForUse()
            let code = try sqlcipherkit_read_cipher(live(), name, &cipher)
            if code == SQLITE_NOTFOUND { return nil }
            try connection.check(code)
            return CipherInfo(
                version: String(cString: cipher.version), provider: String(cString: cipher.provider),
                providerVersion: String(cString: cipher.provider_version),
                // OpenSSL writes it in capitals.
                cipher: String(cString: cipher.name).lowercased(), settings: try CipherConfiguration(cipher),
                salt: withUnsafeBytes(of: cipher.salt) { [UInt8]($0) })
        }
    }
}

extension CipherConfiguration {
    fileprivate init(_ cipher: sqlcipherkit_cipher_info) throws {
        let settings = cipher.settings
        func hash(_ number: Int32) throws -> Hash {
            if let hash = Hash.allCases.first(where: { $0.number == number }) { return hash }
            throw DatabaseError(code: .internal, message: "the engine uses an unknown hash function, \(number)")
        }
        self.init()
        pageSize = Int(settings.page_size)
        kdfIterations = Int(settings.kdf_iterations)
        kdfAlgorithm = try hash(settings.kdf_algorithm)
        hmacAlgorithm = try hash(settings.hmac_algorithm)
        usesHMAC = settings.uses_hmac != 0
        plaintextHeaderSize = Int(settings.plaintext_header_size)
        usesMemorySecurity = settings.uses_memory_security != 0
        if plaintextHeaderSize > 0 { salt = withUnsafeBytes(of: cipher.salt) { [UInt8]($0) } }
    }
}
