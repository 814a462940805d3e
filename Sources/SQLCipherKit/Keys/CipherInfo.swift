import CSQLCipher

/// How an open database is encrypted, as the engine reports it.
public struct CipherInfo: Hashable, Sendable {
    /// SQLCipher's version, such as `4.19.0 community`.
    public let version: String
    /// The library that encrypts, such as `libtomcrypt`.
    public let provider: String
    /// That library's version.
    public let providerVersion: String
    /// The cipher, `aes-256-cbc`.
    public let cipher: String
    /// The settings in effect, fit for opening the database again with the same key.
    public let settings: CipherConfiguration
    /// The database's salt, 16 bytes. It is no secret.
    public let salt: [UInt8]
}

extension Schema {
    /// How the database is encrypted; nil for a plaintext one (<https://www.zetetic.net/sqlcipher/sqlcipher-api/#cipher_settings>).
    /// ```swift
    /// if let cipher = try db.main.cipher { print(cipher.settings.pageSize, cipher.provider) }
    /// ```
    /// - Throws: ``DatabaseError/Reason/schemaName`` if it is no longer attached.
    public var cipher: CipherInfo? {
        get throws(DatabaseError) {
            try live()
            // Only a database with a codec answers.
            guard let provider = try ask("cipher_provider") else { return nil }
            var settings = CipherConfiguration()
            settings.pageSize = try ask("cipher_page_size").flatMap { Int($0) } ?? settings.pageSize
            settings.kdfIterations = try ask("kdf_iter").flatMap { Int($0) } ?? settings.kdfIterations
            settings.kdfAlgorithm = try hash(ask("cipher_kdf_algorithm"), "PBKDF2_HMAC_")
            settings.hmacAlgorithm = try hash(ask("cipher_hmac_algorithm"), "HMAC_")
            settings.usesHMAC = try ask("cipher_use_hmac") != "0"
            settings.plaintextHeaderSize = try ask("cipher_plaintext_header_size").flatMap { Int($0) } ?? 0
            settings.usesMemorySecurity = try ask("cipher_memory_security") == "1"
            var salt = [UInt8](repeating: 0, count: 16)
            try connection.check(sqlcipherkit_copy_salt(live(), name, &salt))
            if settings.plaintextHeaderSize > 0 { settings.salt = salt }
            return CipherInfo(
                version: try ask("cipher_version") ?? "", provider: provider,
                providerVersion: try ask("cipher_provider_version") ?? "",
                // OpenSSL writes it in capitals.
                cipher: try ask("cipher")?.lowercased() ?? "", settings: settings, salt: salt)
        }
    }

    private func ask(_ pragma: String) throws(DatabaseError) -> String? {
        try connection.fetchOne(String.self, SQL(raw: "PRAGMA \(quotedName).\(pragma)"))
    }

    private func hash(_ label: String?, _ prefix: String) throws(DatabaseError) -> CipherConfiguration.Hash {
        guard let label, label.hasPrefix(prefix),
            let hash = CipherConfiguration.Hash(rawValue: String(label.dropFirst(prefix.count)))
        else { throw DatabaseError(code: .internal, message: "the engine uses an unknown hash function, \(label ?? "none")") }
        return hash
    }
}
