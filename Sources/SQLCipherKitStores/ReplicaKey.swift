import CSQLCipher
import SQLCipherKitCore

/// Seals the data that replication stores besides encrypted pages, with a key derived from the database's own: ChaCha20-Poly1305
/// (RFC 8439).
package final class ReplicaKey: Sendable {
    package static let nonceCount = Int(SQLCIPHERKIT_SEAL_NONCE), tagCount = Int(SQLCIPHERKIT_SEAL_TAG)

    /// The salt of the database, which is not secret. A passphrase gives the key only with it.
    package let salt: [UInt8]
    private let key: SecureBytes

    /// - Parameters:
    ///   - encryption: how the database is encrypted.
    ///   - salt: the salt of the database. A raw key does not depend on it.
    /// - Throws: ``DatabaseError/Reason/notEncrypted`` for plaintext.
    package init(_ encryption: DatabaseKey, salt: [UInt8]) throws {
        self.salt = salt
        key = try Self.rawKey(encryption, salt).withUnsafeBytes { raw in
            try SecureBytes(mac: Array("SQLCipherKit replication 2".utf8), under: raw, count: Int(SQLCIPHERKIT_SEAL_KEY))
        }
    }

    /// The key that a database with this salt has, to give it to a copy of another salt.
    package static func encryption(_ encryption: DatabaseKey, salt: [UInt8]) throws -> DatabaseKey {
        try rawKey(encryption, salt).withUnsafeBytes { raw in
            try DatabaseKey.raw(raw, salt: salt, cipher: encryption.cipher)
        }
    }

    private static func rawKey(_ encryption: DatabaseKey, _ salt: [UInt8]) throws -> SecureBytes {
        // A provider is asked without a database to open: key slots need theirs, and give the key as for any copy.
        let encryption = try encryption.resolvedForRewriting()
        let settings = encryption.settings
        return try SecureBytes(count: 32) { memory in
            try encryption.withUnsafeBytes { bytes in
                switch encryption.form {
                case .plaintext, .deferred:
                    throw DatabaseError(code: .misuse, reason: .notEncrypted, message: "replication requires an encrypted database")
                case .raw: memory.copyBytes(from: bytes[..<32])
                case .derived:
                    // x'…', which begins with the raw key in hexadecimal.
                    guard bytes.count >= 67 else {
                        throw DatabaseError(code: .internal, message: "a derived key has an unknown form")
                    }
                    for index in 0..<32 { memory[index] = digit(bytes[2 + 2 * index]) << 4 | digit(bytes[3 + 2 * index]) }
                case .passphrase:
                    let rc = sqlcipherkit_derive_key(
                        settings.kdfAlgorithm.number, bytes.baseAddress, Int32(bytes.count), salt, Int32(salt.count),
                        Int32(settings.kdfIterations), memory.baseAddress, 32)
                    if rc != SQLITE_OK { throw DatabaseError(rc: rc, database: nil) }
                }
            }
        }
    }

    private static func digit(_ character: UInt8) -> UInt8 { character < 0x3a ? character & 0xf : (character & 0xf) + 9 }

    package static let nameCount = 8

    /// A name for something that the names of objects must not tell: the same for the same key.
    package func name(of bytes: [UInt8]) throws -> [UInt8] {
        let label = Array("SQLCipherKit name".utf8) + bytes
        let name = try key.withUnsafeBytes { key in
            try SecureBytes(mac: label, under: key, count: Self.nameCount)
        }
        return name.withUnsafeBytes { Array($0) }
    }

    /// Encrypts `plain`, and authenticates it together with `associated`.
    /// - Returns: the sealed bytes, followed by the tag.
    package func seal(_ plain: [UInt8], with associated: [UInt8], nonce: [UInt8]) throws -> [UInt8] {
        var sealed = [UInt8](repeating: 0, count: plain.count + Self.tagCount)
        let rc = key.withUnsafeBytes { key in
            sealed.withUnsafeMutableBytes { sealed in
                sqlcipherkit_seal(
                    key.baseAddress, nonce, associated, associated.count, plain, plain.count, sealed.baseAddress,
                    sealed.baseAddress.map { $0 + plain.count })
            }
        }
        if rc != SQLITE_OK { throw DatabaseError(code: ResultCode(rawValue: rc), message: "replicated bytes could not be sealed") }
        return sealed
    }

    /// Returns the sealed data; nil for another key, or if anything was changed.
    package func open(
        _ sealed: UnsafeRawBufferPointer, with associated: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer
    ) -> [UInt8]? {
        guard sealed.count >= Self.tagCount, nonce.count == Self.nonceCount, let base = sealed.baseAddress else { return nil }
        let count = sealed.count - Self.tagCount
        var plain = [UInt8](repeating: 0, count: max(1, count))
        let rc = key.withUnsafeBytes { key in
            sqlcipherkit_unseal(
                key.baseAddress, nonce.baseAddress, associated.baseAddress, associated.count, base, count, base + count, &plain)
        }
        if rc != SQLITE_OK { return nil }
        plain.removeLast(plain.count - count)
        return plain
    }

    package func open(_ sealed: ArraySlice<UInt8>, with associated: [UInt8], nonce: [UInt8]) -> [UInt8]? {
        sealed.withUnsafeBytes { sealed in
            associated.withUnsafeBytes { associated in nonce.withUnsafeBytes { open(sealed, with: associated, nonce: $0) } }
        }
    }

    /// Random bytes that are not secret.
    package static func random(_ count: Int) throws -> [UInt8] { try randomBytes(count) }
}
