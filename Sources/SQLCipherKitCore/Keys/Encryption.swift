/// How a database is encrypted: with which key and which cipher settings, or not at all.
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
public struct Encryption: Sendable {
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
    /// Nil, the default, means SQLCipher 4's, or those of a ``KeyProvider``'s key or of ``KeySlots``. When a key is changed, nil
    /// means that the database keeps its settings. Always nil for ``plaintext``.
    public let cipher: CipherConfiguration?

    package init(_ form: Form, cipher: CipherConfiguration?) {
        self.form = form
        self.cipher = cipher
    }

    /// No encryption.
    public static let plaintext = Encryption(.plaintext, cipher: nil)

    /// Returns the same key with other cipher settings; ``plaintext`` stays plaintext.
    /// ```swift
    /// let key = try Encryption.passphrase("correct horse")
    /// let old = try Connection(.file("old.db"), key: key.with(cipher: .sqlCipher3))
    /// ```
    /// - Parameter cipher: the settings; nil as for ``cipher``.
    public func with(cipher: CipherConfiguration?) -> Encryption { Encryption(form, cipher: isPlaintext ? nil : cipher) }

    /// Whether this means no encryption.
    public var isPlaintext: Bool { if case .plaintext = form { true } else { false } }

    /// Whether the engine uses the key without deriving another one.
    package var isRaw: Bool { if case .raw = form { true } else { false } }

    /// The settings to open a database with.
    package var settings: CipherConfiguration { cipher ?? CipherConfiguration() }

    /// The same key with these settings, unless it has its own. A raw key with a salt needs no salt from them.
    package func adopting(_ settings: CipherConfiguration) -> Encryption {
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

extension Encryption: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind of encryption, without the key's bytes.
    public var description: String {
        switch form {
        case .plaintext: "Encryption(plaintext)"
        case .passphrase: "Encryption(passphrase)"
        case .raw(_, salted: false): "Encryption(raw)"
        case .raw(_, salted: true): "Encryption(raw, salt)"
        case .derived: "Encryption(derived)"
        case .deferred(let key): "Encryption(\(key.kind))"
        }
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: []) }
}
