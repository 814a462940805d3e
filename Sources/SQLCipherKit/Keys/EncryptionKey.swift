import CSQLCipher
import Foundation

/// The key of an encrypted database.
///
/// A key keeps its bytes in ``SecureBytes`` and shows them nowhere. Making one checks it, so that no key reaches the engine
/// that SQLCipher would misunderstand (<https://www.zetetic.net/sqlcipher/sqlcipher-api/#PRAGMA_key>).
public struct EncryptionKey: Sendable {
    enum Form: Sendable {
        case passphrase
        case raw(salted: Bool)
        /// What the engine has derived, in its own spelling: for further connections to the same database.
        case derived
    }

    let form: Form
    private let bytes: SharedSecureBytes

    /// A passphrase, from which SQLCipher derives the key with PBKDF2: slow on purpose. Any text, in UTF-8 as it is, without
    /// normalisation.
    ///
    /// A `String` stays in memory until Swift reuses it; where that matters, hand over bytes and wipe them.
    /// - Throws: ``DatabaseError/Reason/emptyKey``.
    public static func passphrase(_ text: String) throws(DatabaseError) -> EncryptionKey {
        var text = text
        var result: Result<EncryptionKey, DatabaseError>?
        text.withUTF8 { bytes in
            result = Result { () throws(DatabaseError) in try passphrase(bytes: UnsafeRawBufferPointer(bytes)) }
        }
        guard let result else { throw .emptyKey }
        return try result.get()
    }

    /// A passphrase as bytes, `Data` or `[UInt8]` for instance.
    /// - Throws: ``DatabaseError/Reason/emptyKey``.
    public static func passphrase(_ bytes: some ContiguousBytes) throws(DatabaseError) -> EncryptionKey {
        try bytes.withBytes { bytes throws(DatabaseError) in try passphrase(bytes: bytes) }
    }

    /// A key of 32 bytes, used as it is: opens fast, and must come from a good random generator.
    /// - Throws: ``DatabaseError/Reason/invalidKey`` for another length, ``DatabaseError/Reason/emptyKey`` for none.
    public static func raw(_ key: some ContiguousBytes) throws(DatabaseError) -> EncryptionKey {
        try key.withBytes { key throws(DatabaseError) in
            try check(key.count, 32, "a raw key")
            return try EncryptionKey(.raw(salted: false), key, UnsafeRawBufferPointer(start: nil, count: 0))
        }
    }

    /// A key of 32 bytes and the database's salt of 16. The salt of an existing file must be its own.
    /// - Throws: ``DatabaseError/Reason/invalidKey`` for other lengths, ``DatabaseError/Reason/emptyKey`` for none.
    public static func raw(_ key: some ContiguousBytes, salt: some ContiguousBytes) throws(DatabaseError) -> EncryptionKey {
        try key.withBytes { key throws(DatabaseError) in
            try salt.withBytes { salt throws(DatabaseError) in
                try check(key.count, 32, "a raw key")
                guard salt.count == 16 else {
                    throw DatabaseError(
                        code: .misuse, reason: .invalidKey, message: "a salt has 16 bytes, and \(salt.count) were given")
                }
                return try EncryptionKey(.raw(salted: true), key, salt)
            }
        }
    }

    static func passphrase(bytes: UnsafeRawBufferPointer) throws(DatabaseError) -> EncryptionKey {
        if bytes.isEmpty { throw .emptyKey }
        return try EncryptionKey(.passphrase, bytes, UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// A raw key from 32 bytes, or from 48 with the salt behind it.
    static func raw(bytes: UnsafeRawBufferPointer) throws(DatabaseError) -> EncryptionKey {
        if bytes.isEmpty { throw .emptyKey }
        guard bytes.count == 32 || bytes.count == 48 else {
            throw DatabaseError(
                code: .misuse, reason: .invalidKey,
                message: "a raw key has 32 bytes, or 48 with its salt, and \(bytes.count) were given")
        }
        return try EncryptionKey(.raw(salted: bytes.count == 48), bytes, UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// The key that the engine has derived for an open database.
    /// - Returns: nil for a plaintext database.
    static func derived(of schema: String, _ handle: OpaquePointer) throws(DatabaseError) -> EncryptionKey? {
        var rc = SQLITE_OK
        let text = try SecureBytes(upTo: 256) { memory throws(DatabaseError) in
            var count: Int32 = 0
            rc = sqlcipherkit_derived_key(handle, schema, memory.baseAddress, Int32(memory.count), &count)
            return 0..<Int(count)
        }
        if rc == SQLITE_NOTFOUND { return nil }
        if rc != SQLITE_OK { throw DatabaseError(code: ResultCode(rawValue: rc), message: "the derived key could not be read") }
        return try text.withUnsafeBytes { text throws(DatabaseError) in
            try EncryptionKey(.derived, text, UnsafeRawBufferPointer(start: nil, count: 0))
        }
    }

    private static func check(_ count: Int, _ expected: Int, _ what: String) throws(DatabaseError) {
        if count == 0 { throw .emptyKey }
        guard count == expected else {
            throw DatabaseError(
                code: .misuse, reason: .invalidKey, message: "\(what) has \(expected) bytes, and \(count) were given")
        }
    }

    private init(_ form: Form, _ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) throws(DatabaseError) {
        self.form = form
        bytes = SharedSecureBytes(
            try SecureBytes(count: a.count + b.count) { memory throws(DatabaseError) in
                memory.copyBytes(from: a)
                UnsafeMutableRawBufferPointer(rebasing: memory[a.count...]).copyBytes(from: b)
            })
    }

    /// Lends the key's bytes: the passphrase, or the raw key with the salt behind it.
    func withUnsafeBytes<R: ~Copyable, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try bytes.withUnsafeBytes(body)
    }
}

extension EncryptionKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind of key, without its bytes.
    public var description: String {
        switch form {
        case .passphrase: "EncryptionKey(passphrase)"
        case .raw(false): "EncryptionKey(raw)"
        case .raw(true): "EncryptionKey(raw, salt)"
        case .derived: "EncryptionKey(derived)"
        }
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension DatabaseError {
    static let emptyKey = DatabaseError(code: .misuse, reason: .emptyKey, message: "the key is empty")
}

extension ContiguousBytes {
    func withBytes<R>(
        _ body: (UnsafeRawBufferPointer) throws(DatabaseError) -> R
    ) throws(DatabaseError) -> R {
        try withUnsafeBytes { bytes in Result { () throws(DatabaseError) in try body(bytes) } }.get()
    }
}
