import CSQLCipher
import SQLCipherKitCore

/// An encryption key wrapped under another one with authenticated encryption, ChaCha20-Poly1305 (RFC 8439), and a random nonce.
struct WrappedKey: Hashable, Sendable {
    /// The kind of the wrapped bytes.
    enum Form: Int, Hashable, Sendable {
        case passphrase = 1
        case raw = 2
    }

    /// More than any passphrase has, and small enough for a file of 64 KiB.
    private static let maximumCount = 16_384

    let form: Form
    private let nonce: [UInt8]
    private let bytes: [UInt8]
    private let tag: [UInt8]

    /// Creates an empty placeholder, to be replaced.
    init() { (form, nonce, bytes, tag) = (.raw, [], [], []) }

    init(_ key: DatabaseKey, under wrapping: borrowing SecureBytes, associated: [UInt8]) throws {
        if case .passphrase = key.form { form = .passphrase } else { form = .raw }
        let nonce = try randomBytes(Int(SQLCIPHERKIT_SEAL_NONCE))
        let associated = associated + [UInt8(form.rawValue)]
        var tag = [UInt8](repeating: 0, count: Int(SQLCIPHERKIT_SEAL_TAG))
        let count = key.withUnsafeBytes { $0.count }
        guard count <= Self.maximumCount else {
            throw DatabaseError.invalidArgument("a passphrase is longer than \(Self.maximumCount) bytes")
        }
        var wrapped = [UInt8](repeating: 0, count: count)
        let rc = key.withUnsafeBytes { plain in
            wrapping.withUnsafeBytes { wrapping in
                sqlcipherkit_seal(
                    wrapping.baseAddress, nonce, associated, associated.count, plain.baseAddress, plain.count, &wrapped, &tag)
            }
        }
        if rc != SQLITE_OK { throw DatabaseError(code: ResultCode(rawValue: rc), message: "a key could not be wrapped") }
        (self.nonce, bytes, self.tag) = (nonce, wrapped, tag)
    }

    init(_ reader: inout ByteReader) throws {
        guard let form = Form(rawValue: try reader.number(bytes: 1)) else {
            throw DatabaseError.damagedSlots("a key has an unknown form")
        }
        let count = try reader.number(bytes: 2)
        guard form == .raw ? count == 32 || count == 48 : (1...Self.maximumCount).contains(count) else {
            throw DatabaseError.damagedSlots("a key has \(count) bytes")
        }
        self.form = form
        nonce = try reader.bytes(Int(SQLCIPHERKIT_SEAL_NONCE))
        bytes = try reader.bytes(count)
        tag = try reader.bytes(Int(SQLCIPHERKIT_SEAL_TAG))
    }

    func write(to writer: inout [UInt8]) {
        writer.append(number: form.rawValue, bytes: 1)
        writer.append(number: bytes.count, bytes: 2)
        writer += nonce + bytes + tag
    }

    /// Returns the key, or nil if it was wrapped under another key or has been changed since.
    func open(under wrapping: borrowing SecureBytes, associated: [UInt8]) throws -> DatabaseKey? {
        let associated = associated + [UInt8(form.rawValue)]
        var rc = SQLITE_OK
        let plain = try SecureBytes(count: bytes.count) { plain in
            rc = wrapping.withUnsafeBytes { wrapping in
                sqlcipherkit_unseal(
                    wrapping.baseAddress, nonce, associated, associated.count, bytes, bytes.count, tag, plain.baseAddress)
            }
        }
        if rc == SQLITE_AUTH { return nil }
        if rc != SQLITE_OK { throw DatabaseError(code: ResultCode(rawValue: rc), message: "a wrapped key could not be opened") }
        return try plain.withUnsafeBytes { plain in
            form == .passphrase ? try .passphrase(bytes: plain) : try .raw(bytes: plain)
        }
    }
}

extension DatabaseKey {
    /// Derives a key for one purpose from this one: the first `count` bytes of HMAC-SHA-512 over the name of the purpose. SQLCipher
    /// derives its own second key with the same function from 20 bytes; a name is longer, so the two never coincide.
    func derived(for purpose: String, version: Int, count: Int) throws -> SecureBytes {
        try withUnsafeBytes { key in
            try SecureBytes(mac: Array("SQLCipherKit key slots \(version): \(purpose)".utf8), under: key, count: count)
        }
    }
}

extension DatabaseError {
    static func damagedSlots(_ message: String) -> DatabaseError {
        DatabaseError(code: .corrupt, reason: .keySlotsDamaged, message: "the key slots cannot be used: \(message)")
    }
}
