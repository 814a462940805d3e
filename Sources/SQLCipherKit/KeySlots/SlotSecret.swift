import CSQLCipher
import Foundation

/// What opens a slot of ``KeySlots``: a passphrase or a recovery key. Like every secret here it shows itself nowhere.
public struct SlotSecret: Sendable {
    let kind: KeySlot.Kind
    private let bytes: SharedSecureBytes

    /// A passphrase: any text, in UTF-8 as it is, without normalisation. A `String` stays in memory until Swift reuses it; where
    /// that matters, hand over bytes and wipe them.
    /// - Throws: ``DatabaseError/Reason/emptyKey``.
    public static func passphrase(_ text: String) throws(DatabaseError) -> SlotSecret {
        try text.withBytes { bytes throws(DatabaseError) in try passphrase(copying: bytes) }
    }

    /// A passphrase as bytes, `Data` or `[UInt8]` for instance.
    /// - Throws: ``DatabaseError/Reason/emptyKey``.
    public static func passphrase(_ bytes: some ContiguousBytes) throws(DatabaseError) -> SlotSecret {
        try bytes.withBytes { bytes throws(DatabaseError) in try passphrase(copying: bytes) }
    }

    /// A recovery key.
    public static func recoveryKey(_ key: RecoveryKey) -> SlotSecret { SlotSecret(kind: .recoveryKey, bytes: key.bytes) }

    /// A recovery key as it was typed.
    /// - Throws: ``DatabaseError/Reason/invalidKey``.
    public static func recoveryKey(_ text: String) throws(DatabaseError) -> SlotSecret {
        recoveryKey(try RecoveryKey(text: text))
    }

    /// The passphrase that a ``KeySource`` has given as a key, so that a slot's passphrase can come from wherever a key can.
    /// - Throws: ``DatabaseError/Reason/invalidKey`` for a raw key.
    public static func passphrase(of key: Encryption) throws(DatabaseError) -> SlotSecret {
        try bytes(of: key) { bytes throws(DatabaseError) in try passphrase(copying: bytes) }
    }

    /// The recovery key whose text a ``KeySource`` has given as a passphrase.
    /// - Throws: ``DatabaseError/Reason/invalidKey`` for a raw key or a text that is no recovery key.
    public static func recoveryKey(of key: Encryption) throws(DatabaseError) -> SlotSecret {
        try bytes(of: key) { bytes throws(DatabaseError) in recoveryKey(try RecoveryKey(utf8: bytes)) }
    }

    private static func bytes(
        of key: Encryption, _ body: (UnsafeRawBufferPointer) throws(DatabaseError) -> SlotSecret
    ) throws(DatabaseError) -> SlotSecret {
        guard case .passphrase = key.form else {
            let given = key.isRaw ? "a raw key" : "\(key)"
            throw CipherConfiguration.invalid("a key slot opens with a passphrase or a recovery key, not with \(given)")
        }
        return try key.withUnsafeBytes(body)
    }

    private static func passphrase(copying bytes: UnsafeRawBufferPointer) throws(DatabaseError) -> SlotSecret {
        if bytes.isEmpty { throw .emptyKey }
        guard bytes.count <= Int(Int32.max) else { throw .invalidArgument("a passphrase is longer than 2 GB") }
        return SlotSecret(kind: .passphrase, bytes: SharedSecureBytes(try SecureBytes(copying: bytes)))
    }

    /// The key that wraps a slot's: PBKDF2-HMAC-SHA-512 (RFC 8018), 32 bytes.
    func derive(salt: [UInt8], iterations: Int) throws(DatabaseError) -> SecureBytes {
        try SecureBytes(count: Int(SQLCIPHERKIT_SEAL_KEY)) { key throws(DatabaseError) in
            let rc = bytes.withUnsafeBytes { bytes in
                sqlcipherkit_derive_key(
                    2, bytes.baseAddress, Int32(bytes.count), salt, Int32(salt.count), Int32(iterations), key.baseAddress,
                    SQLCIPHERKIT_SEAL_KEY)
            }
            if rc != SQLITE_OK { throw DatabaseError(code: ResultCode(rawValue: rc), message: "the key of a slot could not be derived") }
        }
    }
}

extension SlotSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind of secret, without its bytes.
    public var description: String { "SlotSecret(\(kind))" }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: []) }
}
