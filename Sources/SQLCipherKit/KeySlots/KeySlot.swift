import Foundation

/// What is known of a slot without opening it.
public struct KeySlot: Hashable, Sendable {
    /// What opens a slot.
    public enum Kind: UInt8, Hashable, Sendable, CaseIterable, CustomStringConvertible {
        case passphrase = 1
        case recoveryKey = 2

        public var description: String { self == .passphrase ? "passphrase" : "recovery key" }
    }

    /// The name it was given. It stands in the slot file in plain text.
    public let label: String
    /// What opens it.
    public let kind: Kind
    /// The rounds of PBKDF2-HMAC-SHA-512 that an attempt at it costs.
    public let iterations: Int
    /// When it was added, to the second.
    public let created: Date
    /// When its passphrase was last changed, or when it was added.
    public let changed: Date
}

/// A slot as it stands in the file: the database key, wrapped under a key derived from a passphrase or recovery key.
struct SlotRecord: Hashable, Sendable {
    static let saltCount = 32

    var id: [UInt8]
    var kind: KeySlot.Kind
    var iterations: Int
    var salt: [UInt8]
    /// Seconds since 1970.
    var created: Int
    var changed: Int
    var label: String
    var wrapped: WrappedKey

    var slot: KeySlot {
        KeySlot(
            label: label, kind: kind, iterations: iterations, created: Date(timeIntervalSince1970: Double(created)),
            changed: Date(timeIntervalSince1970: Double(changed)))
    }

    /// Wraps the database key for a secret, with a new salt.
    init(
        wrapping key: Encryption, for secret: SlotSecret, label: String, iterations: Int, file: [UInt8],
        id: [UInt8]? = nil, created: Int? = nil
    ) throws(DatabaseError) {
        let now = Int(max(0, Date().timeIntervalSince1970))
        if let id { self.id = id } else { self.id = try randomBytes(SlotTable.idCount) }
        self.label = label
        self.iterations = iterations
        self.created = created ?? now
        kind = secret.kind
        changed = now
        salt = try randomBytes(Self.saltCount)
        wrapped = WrappedKey()
        let derived = try secret.derive(salt: salt, iterations: iterations)
        wrapped = try WrappedKey(key, under: derived, associated: associated(file))
    }

    init(_ reader: inout ByteReader) throws(DatabaseError) {
        id = try reader.bytes(SlotTable.idCount)
        guard let kind = KeySlot.Kind(rawValue: UInt8(try reader.integer(1))) else { throw .damagedSlots("a slot of an unknown kind") }
        self.kind = kind
        guard try reader.integer(1) == 1, try reader.integer(1) == 1 else { throw .damagedSlots("a slot of an unknown algorithm") }
        iterations = try reader.integer(4)
        guard KeySlots.iterationRange.contains(iterations) else {
            throw .damagedSlots("a slot asks for \(iterations) rounds of key derivation")
        }
        salt = try reader.bytes(Self.saltCount)
        created = try reader.integer(8)
        changed = try reader.integer(8)
        let utf8 = try reader.bytes(try reader.integer(2))
        guard let label = String(validating: utf8, as: UTF8.self) else { throw .damagedSlots("a label that is not UTF-8") }
        do throws(DatabaseError) { try KeySlots.validate(label: label) } catch { throw .damagedSlots(error.message) }
        self.label = label
        wrapped = try WrappedKey(&reader)
        guard wrapped.form != .passphrase else { throw .damagedSlots("a slot with a key of an unknown form") }
    }

    func write(to writer: inout ByteWriter) {
        header(to: &writer)
        wrapped.write(to: &writer)
    }

    /// The database key, or nil if the secret is not this slot's.
    func open(with secret: SlotSecret, file: [UInt8]) throws(DatabaseError) -> Encryption? {
        let derived = try secret.derive(salt: salt, iterations: iterations)
        return try wrapped.open(under: derived, associated: associated(file))
    }

    private func header(to writer: inout ByteWriter) {
        writer.bytes(id)
        writer.integer(Int(kind.rawValue), 1)
        writer.integer(1, 1)
        writer.integer(1, 1)
        writer.integer(iterations, 4)
        writer.bytes(salt)
        writer.integer(created, 8)
        writer.integer(changed, 8)
        let utf8 = Array(label.utf8)
        writer.integer(utf8.count, 2)
        writer.bytes(utf8)
    }

    /// All that stands before the wrapped key is authenticated with it, and so is the file that it belongs to.
    private func associated(_ file: [UInt8]) -> [UInt8] {
        var writer = ByteWriter()
        writer.bytes(SlotTable.magic)
        writer.integer(SlotTable.version, 2)
        writer.bytes(file)
        header(to: &writer)
        return writer.result
    }
}
