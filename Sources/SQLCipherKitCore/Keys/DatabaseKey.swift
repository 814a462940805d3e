import CSQLCipher
import Foundation

/// The encryption of a database: a key with cipher settings, or no encryption.
///
/// ```swift
/// let db = try Connection(.file("notes.db"), key: .passphrase("correct horse"))
/// let old = try db.attach(.file("old.db"), as: "old", key: .passphrase("correct horse", cipher: .sqlCipher3))
/// try DatabaseConverter.convert(fileAt: "import.db", from: .plaintext, to: .raw(keyBytes))
/// ```
/// The same type is used to open, attach, copy and convert databases. A value is a passphrase, a raw key, a ``KeyProvider`` that is
/// asked when a database is opened, ``KeySlots``, or no encryption at all.
///
/// A key keeps its bytes in ``SecureBytes`` and never shows them. It is checked when it is created, so that SQLCipher never gets a
/// key that it would misinterpret (<https://www.zetetic.net/sqlcipher/sqlcipher-api/#PRAGMA_key>).
public struct DatabaseKey: Sendable {
    package enum Form: Sendable {
        case plaintext
        case passphrase(SharedSecureBytes)
        case raw(SharedSecureBytes, salted: Bool)
        /// A key that the engine has derived, in the engine's own format, for further connections to the same database.
        case derived(SharedSecureBytes)
        case deferred(any DeferredKey)
    }

    package let form: Form

    /// The cipher settings. They are not stored in the file: to open it, give the settings that it was created with.
    ///
    /// Nil, the default, means the settings of SQLCipher 4, of a ``KeyProvider``'s key, or of ``KeySlots``. When a key is changed,
    /// nil means that the database keeps its settings. Always nil for ``plaintext``.
    public let cipher: CipherConfiguration?

    package init(_ form: Form, cipher: CipherConfiguration?) {
        self.form = form
        self.cipher = cipher
    }

    /// No encryption.
    public static let plaintext = DatabaseKey(.plaintext, cipher: nil)

    /// Returns the same key with other cipher settings; ``plaintext`` stays plaintext.
    /// ```swift
    /// let key = try DatabaseKey.passphrase("correct horse")
    /// let old = try Connection(.file("old.db"), key: key.with(cipher: .sqlCipher3))
    /// ```
    /// - Parameter cipher: the settings; nil as for ``cipher``.
    public func with(cipher: CipherConfiguration?) -> DatabaseKey { DatabaseKey(form, cipher: isPlaintext ? nil : cipher) }

    /// True if this means no encryption.
    public var isPlaintext: Bool { if case .plaintext = form { true } else { false } }

    /// True if the engine uses the key without deriving another one.
    package var isRaw: Bool { if case .raw = form { true } else { false } }

    /// The settings to open a database with.
    package var settings: CipherConfiguration { cipher ?? CipherConfiguration() }

    /// The same key with these settings, unless it has its own. A raw key with a salt needs no salt from them.
    package func adopting(_ settings: CipherConfiguration) -> DatabaseKey {
        var settings = cipher ?? settings
        if case .raw(_, salted: true) = form { settings.salt = nil }
        return with(cipher: settings)
    }

    /// Lends the key's bytes: the passphrase, or the raw key followed by its salt. Lends no bytes for plaintext and for a deferred
    /// key.
    package func withUnsafeBytes<R: ~Copyable, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        switch form {
        case .passphrase(let bytes), .raw(let bytes, _), .derived(let bytes): try bytes.withUnsafeBytes(body)
        case .plaintext, .deferred: try body(UnsafeRawBufferPointer(start: nil, count: 0))
        }
    }
}

extension DatabaseKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind of encryption, without the key's bytes.
    public var description: String {
        switch form {
        case .plaintext: "DatabaseKey(plaintext)"
        case .passphrase: "DatabaseKey(passphrase)"
        case .raw(_, salted: false): "DatabaseKey(raw)"
        case .raw(_, salted: true): "DatabaseKey(raw, salt)"
        case .derived: "DatabaseKey(derived)"
        case .deferred(let key): "DatabaseKey(\(key.kind))"
        }
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension DatabaseKey {
    /// A passphrase, from which SQLCipher derives the key with PBKDF2, which is slow by design. It may be any text; its UTF-8 is
    /// used without normalization.
    ///
    /// A new file or a new key cannot have a passphrase with a NUL character: creating it throws
    /// ``DatabaseError/Reason/invalidKey``. An existing file with such a passphrase still opens; see <doc:Keys>.
    ///
    /// A `String` stays in memory until Swift reuses it; where that matters, pass bytes and wipe them afterwards.
    /// - Parameters:
    ///   - text: the passphrase.
    ///   - cipher: the cipher settings; see ``DatabaseKey/cipher``.
    /// - Throws: ``DatabaseError/Reason/emptyKey``.
    public static func passphrase(_ text: String, cipher: CipherConfiguration? = nil) throws -> DatabaseKey {
        try text.withBytes { bytes in try passphrase(bytes: bytes) }.with(cipher: cipher)
    }

    /// A passphrase as bytes, such as `Data` or `[UInt8]`.
    /// - Parameters:
    ///   - bytes: the passphrase, of any length above 0. They are copied; wiping the original is up to the caller.
    ///   - cipher: the cipher settings; see ``DatabaseKey/cipher``. Default: nil.
    /// - Throws: ``DatabaseError/Reason/emptyKey``.
    public static func passphrase(
        _ bytes: some ContiguousBytes, cipher: CipherConfiguration? = nil
    ) throws -> DatabaseKey {
        let key = try bytes.withBytes { bytes in try passphrase(bytes: bytes) }
        return key.with(cipher: cipher)
    }

    /// A key of 32 bytes, used without derivation. It opens a database quickly, and must come from a good random number generator.
    /// - Parameters:
    ///   - key: the 32 bytes.
    ///   - cipher: the cipher settings; see ``DatabaseKey/cipher``.
    /// - Throws: ``DatabaseError/Reason/invalidKey`` for another length, ``DatabaseError/Reason/emptyKey`` for no bytes.
    public static func raw(_ key: some ContiguousBytes, cipher: CipherConfiguration? = nil) throws -> DatabaseKey {
        try key.withBytes { key in
            try check(key)
            return DatabaseKey(.raw(try copy(key), salted: false), cipher: cipher)
        }
    }

    /// A key of 32 bytes with the database's salt of 16 bytes. For an existing file this must be the file's own salt.
    /// - Parameters:
    ///   - key: the 32 bytes.
    ///   - salt: the 16 bytes that a file with this key begins with.
    ///   - cipher: the cipher settings; see ``DatabaseKey/cipher``.
    /// - Throws: ``DatabaseError/Reason/invalidKey`` for other lengths, ``DatabaseError/Reason/emptyKey`` for no bytes.
    public static func raw(
        _ key: some ContiguousBytes, salt: some ContiguousBytes, cipher: CipherConfiguration? = nil
    ) throws -> DatabaseKey {
        try key.withBytes { key in
            try salt.withBytes { salt in
                try check(key)
                guard salt.count == 16 else {
                    throw CipherConfiguration.invalid("a salt has 16 bytes, and \(salt.count) were given")
                }
                return DatabaseKey(.raw(try copy(key, salt), salted: true), cipher: cipher)
            }
        }
    }

    package static func passphrase(bytes: UnsafeRawBufferPointer) throws -> DatabaseKey {
        if bytes.isEmpty { throw DatabaseError.emptyKey }
        return DatabaseKey(.passphrase(try copy(bytes)), cipher: nil)
    }

    /// A raw key from 32 bytes, or from 48 with the salt at their end.
    package static func raw(bytes: UnsafeRawBufferPointer) throws -> DatabaseKey {
        if bytes.isEmpty { throw DatabaseError.emptyKey }
        guard bytes.count == 32 || bytes.count == 48 else {
            throw CipherConfiguration.invalid("a raw key has 32 bytes, or 48 with its salt, and \(bytes.count) were given")
        }
        return DatabaseKey(.raw(try copy(bytes), salted: bytes.count == 48), cipher: nil)
    }

    /// The key that the engine has derived for an open database, with the settings that are in effect.
    /// - Returns: ``plaintext`` for a plaintext database.
    package static func derived(of schema: Schema) throws -> DatabaseKey {
        let handle = try schema.live()
        _ = try schema.connection.liveOutsideHooks()
        var rc = SQLITE_OK
        let text = try SecureBytes(upTo: 256) { memory in
            var count: Int32 = 0
            rc = sqlcipherkit_derived_key(handle, schema.name, memory.baseAddress, Int32(memory.count), &count)
            return 0..<Int(count)
        }
        if rc == SQLITE_NOTFOUND { return .plaintext }
        if rc != SQLITE_OK { throw DatabaseError(code: ResultCode(rawValue: rc), message: "the derived key could not be read") }
        return DatabaseKey(.derived(SharedSecureBytes(text)), cipher: try schema.cipher?.settings)
    }

    private static func check(_ key: UnsafeRawBufferPointer) throws {
        if key.isEmpty { throw DatabaseError.emptyKey }
        guard key.count == 32 else { throw CipherConfiguration.invalid("a raw key has 32 bytes, and \(key.count) were given") }
    }

    private static func copy(
        _ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) throws -> SharedSecureBytes {
        SharedSecureBytes(
            try SecureBytes(count: a.count + b.count) { memory in
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
        _ body: (UnsafeRawBufferPointer) throws -> R
    ) throws -> R {
        try withUnsafeBytes { bytes in Result { () throws in try body(bytes) } }.get()
    }
}

extension String {
    /// Lends the text's UTF-8.
    package func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
        var text = self
        return try text.withUTF8 { bytes in Result { () throws in try body(UnsafeRawBufferPointer(bytes)) } }.get()
    }
}

/// A key that is determined when a database is opened.
package protocol DeferredKey: Sendable {
    /// The kind of key, which ``DatabaseKey/description`` shows.
    var kind: String { get }

    /// Finds the key of a database that is about to be opened.
    /// - Throws: the reason why there is none, such as ``DatabaseError/Reason/keyProvider`` or
    ///   ``DatabaseError/Reason/noSlotOpens``; opening then fails with it.
    func resolve(
        for location: DatabaseLocation, _ cipher: CipherConfiguration?, _ configuration: DatabaseConfiguration
    ) throws -> ResolvedKey

    /// Finds the key for a file that is about to be written.
    /// - Throws: the reason why there is none, before the file is created.
    func resolveForNewFile() throws -> DatabaseKey
}

/// A key that is fully determined, so that it can open a database.
package struct ResolvedKey {
    package let key: DatabaseKey
    /// Runs once the database is open.
    var didOpen: ((Schema) throws -> Void)?

    package init(key: DatabaseKey, didOpen: ((Schema) throws -> Void)? = nil) { (self.key, self.didOpen) = (key, didOpen) }
}

extension DatabaseKey {
    /// The key to open a database with, its cipher settings validated.
    package func resolved(for location: DatabaseLocation, _ configuration: DatabaseConfiguration) throws -> ResolvedKey {
        try cipher?.validate()
        guard case .deferred(let deferred) = form else { return ResolvedKey(key: self) }
        let resolved = try deferred.resolve(for: location, cipher, configuration)
        try resolved.key.cipher?.validate()
        return resolved
    }

    /// The key to encrypt a new or rewritten file with. A provider is asked once, however often the file is opened.
    /// - Throws: ``DatabaseError/Reason/invalidKey`` for settings that SQLCipher would misinterpret, and for a passphrase that a
    ///   new file may not have; ``DatabaseError/Reason/misuse`` for key slots; and any error that a provider throws.
    package func resolvedForNewFile() throws -> DatabaseKey {
        let key = try resolvedForRewriting()
        try key.requireFitForNewFile()
        return key
    }

    /// The current key of a file that is to be rewritten. It may be any key that a file can have.
    package func resolvedForRewriting() throws -> DatabaseKey {
        guard case .deferred(let deferred) = form else {
            try cipher?.validate()
            return self
        }
        let key = try deferred.resolveForNewFile()
        return try key.with(cipher: cipher ?? key.cipher).resolvedForRewriting()
    }

    /// Throws for a passphrase with a NUL byte. HMAC, which PBKDF2 uses, pads a key with NUL bytes to a block of its hash function
    /// (RFC 2104): trailing NUL bytes therefore make no difference, and a passphrase of NUL bytes alone is as good as empty. NUL
    /// bytes elsewhere are refused as well, because many programs take them for the passphrase's end.
    func requireFitForNewFile() throws {
        guard case .passphrase(let bytes) = form, bytes.withUnsafeBytes({ $0.contains(0) }) else { return }
        throw CipherConfiguration.invalid(
            "a new passphrase cannot have NUL characters: at its end they make no difference, and other programs stop at the first")
    }

    /// Like ``resolvedForNewFile()``, but throws for plaintext.
    package func resolvedForNewKey() throws -> DatabaseKey {
        try requireEncryption()
        return try resolvedForNewFile()
    }

    /// Like ``resolvedForRewriting()``, but throws for plaintext.
    package func resolvedForOldKey() throws -> DatabaseKey {
        try requireEncryption()
        return try resolvedForRewriting()
    }

    private func requireEncryption() throws {
        guard isPlaintext else { return }
        throw CipherConfiguration.invalid("a key is needed here, and plaintext was given: DatabaseConverter decrypts a database")
    }

    /// The error for opening a database without the right key.
    /// - Parameters:
    ///   - path: the database.
    ///   - header: the first 16 bytes of its file, if it has any.
    package func refusal(by path: String, header: [UInt8]?, code: ResultCode = .notADatabase) -> DatabaseError {
        let message: String
        if isPlaintext {
            message = "\(path) is encrypted, or is not a database; no key was given"
        } else if case .raw(let bytes, salted: true) = form, settings.plaintextHeaderSize == 0, let header,
            bytes.withUnsafeBytes({ Array($0.suffix(16)) }) != header
        {
            message =
                "\(path) was not encrypted with this raw key and salt: its salt differs; if it only shares a passphrase "
                + "with the database that the key is from, give the passphrase"
        } else {
            message = "the key or the cipher settings are wrong for \(path), or it is not a database of SQLCipher 1 to 4"
        }
        return DatabaseError(code: code, reason: .wrongKeyOrNotADatabase, message: message, path: path)
    }

    /// Throws if a key was given and the file is plaintext.
    func refusePlaintext(_ header: [UInt8]?, _ location: DatabaseLocation) throws {
        guard !isPlaintext, settings.isPlaintext(header) else { return }
        let path = location.path ?? location.name
        throw DatabaseError(
            code: .notADatabase, reason: .notEncrypted,
            message: "a key was given, but \(path) is a plaintext SQLite database", path: path)
    }
}

extension Schema {
    /// The encryption of the database, including its key, salt and settings. Use it to open, attach or create another file in the
    /// same way.
    /// ```swift
    /// let archive = try db.attach(.file("archive.db"), as: "archive", key: db.main.key)
    /// ```
    /// An existing file must have been created with this same key and salt. A file that only shares the passphrase has its own
    /// salt, and must be opened with the passphrase.
    /// - Throws: ``DatabaseError/Reason/notEncrypted`` for a plaintext database, so that no other file becomes plaintext by
    ///   accident; ``DatabaseError/Reason/schemaName`` if it is no longer attached.
    public var key: DatabaseKey {
        get throws {
            let encryption = try encryptionOrPlaintext
            guard !encryption.isPlaintext else {
                throw DatabaseError(
                    code: .misuse, reason: .notEncrypted,
                    message:
                        "the database \(name) is not encrypted and has no key for the other database: give a key or .plaintext")
            }
            return encryption
        }
    }

    /// Like ``encryption``, but ``DatabaseKey/plaintext`` for a plaintext database.
    package var encryptionOrPlaintext: DatabaseKey {
        get throws {
            guard let info = try cipher else { return .plaintext }
            let handle = try live()
            let bytes = try SecureBytes(count: 48) { memory in
                try connection.check(sqlcipherkit_copy_key(handle, name, memory.baseAddress))
            }
            let key = try bytes.withUnsafeBytes { bytes in try DatabaseKey.raw(bytes: bytes) }
            return key.with(cipher: info.settings)
        }
    }
}
