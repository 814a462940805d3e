import CSQLCipher

extension Schema {
    /// How the database is encrypted, with its key and its salt, for another one that opens in the same way.
    var encryptionOrPlaintext: Encryption {
        get throws(DatabaseError) {
            guard let info = try connection.cipherInfo(of: name) else { return .plaintext }
            let handle = try live()
            let bytes = try SecureBytes(count: 48) { memory throws(DatabaseError) in
                try connection.check(sqlcipherkit_copy_key(handle, name, memory.baseAddress))
            }
            let key = try bytes.withUnsafeBytes { bytes throws(DatabaseError) in try EncryptionKey.raw(bytes: bytes) }
            return .key(key, cipher: info.settings)
        }
    }
}

extension Encryption {
    /// Opens a database that is encrypted in this way.
    func open(_ location: DatabaseLocation, _ configuration: DatabaseConfiguration) throws -> Connection {
        switch self {
        case .plaintext: return try Connection(location, configuration: configuration)
        case .key(let key, let cipher):
            var configuration = configuration
            configuration.cipher = cipher
            return try Connection(location, key: key, configuration: configuration)
        }
    }
}
