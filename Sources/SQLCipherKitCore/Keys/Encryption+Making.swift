import CSQLCipher
import Foundation

extension Encryption {
    /// A passphrase, from which SQLCipher derives the key with PBKDF2, which is slow by design. It may be any text; its UTF-8 is
    /// used without normalisation.
    ///
    /// A new file or a new key cannot have a passphrase with a NUL character: creating it throws
    /// ``DatabaseError/Reason/invalidKey``. An existing file that has one opens with it; see <doc:Keys>.
    ///
    /// A `String` stays in memory until Swift reuses it; where that matters, pass bytes and wipe them afterwards.
    /// - Parameters:
    ///   - text: the passphrase.
    ///   - cipher: the cipher settings; see ``Encryption/cipher``.
    /// - Throws: ``DatabaseError/Reason/emptyKey``.
    public static func passphrase(_ text: String, cipher: CipherConfiguration? = nil) throws(DatabaseError) -> Encryption {
        try text.withBytes { bytes throws(DatabaseError) in try passphrase(bytes: bytes) }.with(cipher: cipher)
    }

    /// A passphrase as bytes, such as `Data` or `[UInt8]`.
    /// - Throws: ``DatabaseError/Reason/emptyKey``.
    public static func passphrase(
        _ bytes: some ContiguousBytes, cipher: CipherConfiguration? = nil
    ) throws(DatabaseError) -> Encryption {
        let key = try bytes.withBytes { bytes throws(DatabaseError) in try passphrase(bytes: bytes) }
        return key.with(cipher: cipher)
    }

    /// A key of 32 bytes, used without derivation. It opens a database quickly, and must come from a good random number generator.
    /// - Parameters:
    ///   - key: the 32 bytes.
    ///   - cipher: the cipher settings; see ``Encryption/cipher``.
    /// - Throws: ``DatabaseError/Reason/invalidKey`` for another length, ``DatabaseError/Reason/emptyKey`` for none.
    public static func raw(_ key: some ContiguousBytes, cipher: CipherConfiguration? = nil) throws(DatabaseError) -> Encryption {
        try key.withBytes { key throws(DatabaseError) in
            try check(key)
            return Encryption(.raw(try copy(key), salted: false), cipher: cipher)
        }
    }

    /// A key of 32 bytes with the database's salt of 16 bytes. For an existing file this must be the file's own salt.
    /// - Parameters:
    ///   - key: the 32 bytes.
    ///   - salt: the 16 bytes that a file with this key begins with.
    ///   - cipher: the cipher settings; see ``Encryption/cipher``.
    /// - Throws: ``DatabaseError/Reason/invalidKey`` for other lengths, ``DatabaseError/Reason/emptyKey`` for none.
    public static func raw(
        _ key: some ContiguousBytes, salt: some ContiguousBytes, cipher: CipherConfiguration? = nil
    ) throws(DatabaseError) -> Encryption {
        try key.withBytes { key throws(DatabaseError) in
            try salt.withBytes { salt throws(DatabaseError) in
                try check(key)
                guard salt.count == 16 else {
                    throw CipherConfiguration.invalid("a salt has 16 bytes, and \(salt.count) were given")
                }
                return Encryption(.raw(try copy(key, salt), salted: true), cipher: cipher)
            }
        }
    }

    package static func passphrase(bytes: UnsafeRawBufferPointer) throws(DatabaseError) -> Encryption {
        if bytes.isEmpty { throw .emptyKey }
        return Encryption(.passphrase(try copy(bytes)), cipher: nil)
    }

    /// A raw key from 32 bytes, or from 48 with the salt at their end.
    package static func raw(bytes: UnsafeRawBufferPointer) throws(DatabaseError) -> Encryption {
        if bytes.isEmpty { throw .emptyKey }
        guard bytes.count == 32 || bytes.count == 48 else {
            throw CipherConfiguration.invalid("a raw key has 32 bytes, or 48 with its salt, and \(bytes.count) were given")
        }
        return Encryption(.raw(try copy(bytes), salted: bytes.count == 48), cipher: nil)
    }

    /// The key that the engine has derived for an open database, with the settings that are in effect.
    /// - Returns: ``plaintext`` for a plaintext database.
    package static func derived(of schema: Schema) throws(DatabaseError) -> Encryption {
        let handle = try schema.live()
        _ = try schema.connection.liveOutsideHooks()
        var rc = SQLITE_OK
        let text = try SecureBytes(upTo: 256) { memory throws(DatabaseError) in
            var count: Int32 = 0
            rc = sqlcipherkit_derived_key(handle, schema.name, memory.baseAddress, Int32(memory.count), &count)
            return 0..<Int(count)
        }
        if rc == SQLITE_NOTFOUND { return .plaintext }
        if rc != SQLITE_OK { throw DatabaseError(code: ResultCode(rawValue: rc), message: "the derived key could not be read") }
        return Encryption(.derived(SharedSecureBytes(text)), cipher: try schema.cipher?.settings)
    }

    private static func check(_ key: UnsafeRawBufferPointer) throws(DatabaseError) {
        if key.isEmpty { throw .emptyKey }
        guard key.count == 32 else { throw CipherConfiguration.invalid("a raw key has 32 bytes, and \(key.count) were given") }
    }

    private static func copy(
        _ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) throws(DatabaseError) -> SharedSecureBytes {
        SharedSecureBytes(
            try SecureBytes(count: a.count + b.count) { memory throws(DatabaseError) in
                memory.copyBytes(from: a)
                UnsafeMutableRawBufferPointer(rebasing: memory[a.count...]).copyBytes(from: b)
            })
    }
}

extension DatabaseError {
    package static let emptyKey = DatabaseError(code: .misuse, reason: .emptyKey, message: "the key is empty")
}

extension ContiguousBytes {
    package func withBytes<R>(
        _ body: (UnsafeRawBufferPointer) throws(DatabaseError) -> R
    ) throws(DatabaseError) -> R {
        try withUnsafeBytes { bytes in Result { () throws(DatabaseError) in try body(bytes) } }.get()
    }
}

extension String {
    /// Lends the text's UTF-8.
    package func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws(DatabaseError) -> R) throws(DatabaseError) -> R {
        var text = self
        return try text.withUTF8 { bytes in Result { () throws(DatabaseError) in try body(UnsafeRawBufferPointer(bytes)) } }.get()
    }
}
