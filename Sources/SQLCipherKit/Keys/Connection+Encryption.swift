import CSQLCipher

extension Connection {
    /// How a database of the connection is encrypted, with its key and its salt, for another one that opens in the same way.
    func encryption(of schema: String) throws(DatabaseError) -> Encryption {
        guard let info = try cipherInfo(of: schema) else { return .plaintext }
        let handle = try live()
        let bytes = try SecureBytes(count: 48) { memory throws(DatabaseError) in
            try check(sqlcipherkit_copy_key(handle, schema, memory.baseAddress))
        }
        let key = try bytes.withUnsafeBytes { bytes throws(DatabaseError) in try EncryptionKey.raw(bytes: bytes) }
        return .key(key, cipher: info.settings)
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
