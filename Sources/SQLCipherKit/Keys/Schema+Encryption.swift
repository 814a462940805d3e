import CSQLCipher

extension Schema {
    /// How the database is encrypted, with its key, its salt and its settings: for another file that shall be opened, attached or
    /// made in the same way.
    /// ```swift
    /// let archive = try db.attach(.file("archive.db"), as: "archive", key: db.main.encryption)
    /// ```
    /// An existing file must have been made that way. One that only shares the passphrase has a salt of its own and needs
    /// its passphrase.
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

    /// The same, with ``Encryption/plaintext`` for a plaintext database.
    var encryptionOrPlaintext: Encryption {
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
