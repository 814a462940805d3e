import CSQLCipher

extension Schema {
    /// How the database is encrypted, including its key, salt and settings. Use it to open, attach or create another file in the
    /// same way.
    /// ```swift
    /// let archive = try db.attach(.file("archive.db"), as: "archive", key: db.main.encryption)
    /// ```
    /// An existing file must have been created with this same key and salt. A file that only shares the passphrase has its own
    /// salt, and must be opened with the passphrase.
    /// - Throws: ``DatabaseError/Reason/notEncrypted`` for a plaintext database, so that no other file becomes plaintext by
    ///   accident; ``DatabaseError/Reason/schemaName`` if it is no longer attached.
    public var encryption: Encryption {
        get throws(DatabaseError) {
            let encryption = try encryptionOrPlaintext
            guard !encryption.isPlaintext else {
                throw DatabaseError(
                    code: .misuse, reason: .notEncrypted,
                    message:
                        "the database \(name) is not encrypted and has no key for another one: give that one a key, or .plaintext")
            }
            return encryption
        }
    }

    /// Like ``encryption``, but ``Encryption/plaintext`` for a plaintext database.
    package var encryptionOrPlaintext: Encryption {
        get throws(DatabaseError) {
            guard let info = try cipher else { return .plaintext }
            let handle = try live()
            let bytes = try SecureBytes(count: 48) { memory throws(DatabaseError) in
                try connection.check(sqlcipherkit_copy_key(handle, name, memory.baseAddress))
            }
            let key = try bytes.withUnsafeBytes { bytes throws(DatabaseError) in try Encryption.raw(bytes: bytes) }
            return key.with(cipher: info.settings)
        }
    }
}
