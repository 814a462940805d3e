import CSQLCipher
import Foundation
import SQLCipherKitCore

extension KeySlots {
    /// The secret that opens a slot of ``KeySlots``: a passphrase or a recovery key. Like every secret here, it is never shown.
    public struct Secret: Sendable {
        let kind: Slot.Kind
        private let bytes: SharedSecureBytes

        /// A passphrase: any text, in UTF-8, without normalization. A `String` stays in memory until Swift reuses that memory; if
        /// that matters, pass bytes and wipe them.
        /// - Throws: ``DatabaseError/Reason/emptyKey``.
        public static func passphrase(_ text: String) throws -> Secret {
            try text.withBytes { bytes in try passphrase(copying: bytes) }
        }

        /// A passphrase as bytes, such as `Data` or `[UInt8]`.
        /// - Throws: ``DatabaseError/Reason/emptyKey``.
        public static func passphrase(_ bytes: some ContiguousBytes) throws -> Secret {
            try bytes.withBytes { bytes in try passphrase(copying: bytes) }
        }

        /// A recovery key.
        public static func recoveryKey(_ key: RecoveryKey) -> Secret { Secret(kind: .recoveryKey, bytes: key.bytes) }

        /// A recovery key as a user typed it.
        /// - Throws: ``DatabaseError/Reason/invalidKey``.
        public static func recoveryKey(_ text: String) throws -> Secret {
            recoveryKey(try RecoveryKey(text: text))
        }

        /// The passphrase that a ``KeySource`` has returned as a key, so that a slot's passphrase can come from the same sources as
        /// a key.
        /// - Throws: ``DatabaseError/Reason/invalidKey`` for a raw key.
        public static func passphrase(of key: DatabaseKey) throws -> Secret {
            try bytes(of: key) { bytes in try passphrase(copying: bytes) }
        }

        /// The recovery key whose text a ``KeySource`` has returned as a passphrase.
        /// - Throws: ``DatabaseError/Reason/invalidKey`` for a raw key or a text that is not a recovery key.
        public static func recoveryKey(of key: DatabaseKey) throws -> Secret {
            try bytes(of: key) { bytes in recoveryKey(try RecoveryKey(utf8: bytes)) }
        }

        private static func bytes(
            of key: DatabaseKey, _ body: (UnsafeRawBufferPointer) throws -> Secret
        ) throws -> Secret {
            guard case .passphrase = key.form else {
                let given = key.isRaw ? "a raw key" : "\(key)"
                throw CipherConfiguration.invalid("a key slot opens with a passphrase or a recovery key, not with \(given)")
            }
            return try key.withUnsafeBytes(body)
        }

        private static func passphrase(copying bytes: UnsafeRawBufferPointer) throws -> Secret {
            if bytes.isEmpty { throw DatabaseError.emptyKey }
            guard bytes.count <= Int(Int32.max) else { throw DatabaseError.invalidArgument("a passphrase is longer than 2 GB") }
            return Secret(kind: .passphrase, bytes: SharedSecureBytes(try SecureBytes(copying: bytes)))
        }

        /// Derives 64 bytes for a slot. The secret is hashed with its kind, its length and a separate name, so that no two secrets
        /// are the same; HMAC alone does not distinguish "abc" from "abc" followed by a zero.
        func derive(_ salt: [UInt8], _ derivation: Derivation) throws -> SecureBytes {
            let name = Array("SQLCipherKit key slots 2: secret".utf8)
            let digest = try bytes.withUnsafeBytes { bytes in
                let prefix = [kind.number] + (0..<8).map { UInt8(truncatingIfNeeded: bytes.count >> (8 * (7 - $0))) }
                let message = try SecureBytes(count: prefix.count + bytes.count) { memory in
                    memory.copyBytes(from: prefix)
                    UnsafeMutableRawBufferPointer(rebasing: memory[prefix.count...]).copyMemory(from: bytes)
                }
                return try SecureBytes(count: Int(SQLCIPHERKIT_MAC)) { digest in
                    let rc = message.withUnsafeBytes { message in
                        sqlcipherkit_mac(name, name.count, message.baseAddress, message.count, digest.baseAddress)
                    }
                    guard rc == SQLITE_OK else {
                        throw DatabaseError(code: ResultCode(rawValue: rc), message: "a key could not be derived")
                    }
                }
            }
            return try digest.withUnsafeBytes { digest in try derivation.derive(digest, salt: salt) }
        }

        /// Derives the 32-byte key that wraps the key in a slot of version 1.
        func deriveUncommitted(_ salt: [UInt8], _ derivation: Derivation) throws -> SecureBytes {
            try bytes.withUnsafeBytes { bytes in
                try derivation.derive(bytes, salt: salt, count: Int(SQLCIPHERKIT_SEAL_KEY))
            }
        }
    }
}

extension KeySlots.Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind of secret, without its bytes.
    public var description: String { "KeySlots.Secret(\(kind))" }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: []) }
}
