import CSQLCipher
import Foundation
import SQLCipherKitCore

/// A slot in the file's format: the database key, wrapped under a key derived from a passphrase or recovery key.
struct SlotRecord: Hashable, Sendable {
    static let saltCount = 32
    fileprivate static let commitmentCount = 32

    /// Slots made by version 1 have no commitment. They stay as they are until their secret is available.
    enum Form: Int, Hashable, Sendable {
        case uncommitted = 1
        case committed = 2
    }

    let form: Form
    let id: [UInt8]
    let kind: KeySlots.Slot.Kind
    let derivation: KeySlots.Derivation
    let salt: [UInt8]
    /// Seconds since 1970.
    let created: Int
    let changed: Int
    let label: String
    /// A MAC over everything before it, which only the derived key gives; empty in the first form.
    private(set) var commitment: [UInt8] = []
    private(set) var wrapped = WrappedKey()

    var slot: KeySlots.Slot {
        KeySlots.Slot(
            label: label, kind: kind, derivation: derivation, createdAt: Date(timeIntervalSince1970: Double(created)),
            changedAt: Date(timeIntervalSince1970: Double(changed)))
    }

    /// Wraps the database key for a secret, with a new salt.
    init(
        wrapping key: DatabaseKey, for secret: KeySlots.Secret, label: String, derivation: KeySlots.Derivation, file: [UInt8],
        id: [UInt8]? = nil, created: Int? = nil, changed: Int? = nil
    ) throws {
        let now = Int(max(0, Date().timeIntervalSince1970))
        form = .committed
        if let id { self.id = id } else { self.id = try randomBytes(SlotTable.idCount) }
        kind = secret.kind
        self.derivation = derivation
        salt = try randomBytes(Self.saltCount)
        self.created = created ?? now
        self.changed = changed ?? now
        self.label = label
        let keys = try SlotKeys(secret, salt, derivation)
        commitment = try keys.commitment(to: associated(file))
        wrapped = try WrappedKey(key, under: keys.wrapping, associated: associated(file))
    }

    init(_ reader: inout ByteReader, version: Int) throws {
        guard let form = version == 1 ? .uncommitted : Form(rawValue: try reader.number(bytes: 1)) else {
            throw DatabaseError.damagedSlots("a slot has an unknown form")
        }
        self.form = form
        id = try reader.bytes(SlotTable.idCount)
        let number: UInt8 = try reader.number()
        guard let kind = KeySlots.Slot.Kind.allCases.first(where: { $0.number == number }) else {
            throw DatabaseError.damagedSlots("a slot has an unknown kind")
        }
        self.kind = kind
        if form == .uncommitted {
            guard try reader.bytes(2) == [1, 1] else {
                throw DatabaseError.damagedSlots("a slot has an unknown algorithm")
            }
            derivation = .pbkdf2(iterations: try reader.number(bytes: 4))
            do { try derivation.validate() } catch let error as DatabaseError { throw DatabaseError.damagedSlots(error.message) }
        } else {
            derivation = try KeySlots.Derivation(&reader)
            guard try reader.bytes(1) == [1] else { throw DatabaseError.damagedSlots("a slot has an unknown algorithm") }
        }
        salt = try reader.bytes(Self.saltCount)
        created = try reader.number(bytes: 8)
        changed = try reader.number(bytes: 8)
        let label = try reader.label()
        do { try KeySlots.validate(label: label) } catch let error as DatabaseError {
            throw DatabaseError.damagedSlots(error.message)
        }
        self.label = label
        if form == .committed { commitment = try reader.bytes(Self.commitmentCount) }
        wrapped = try WrappedKey(&reader)
        guard wrapped.form != .passphrase else { throw DatabaseError.damagedSlots("the key in a slot has an unknown form") }
    }

    func write(to writer: inout [UInt8]) {
        writer.append(number: form.rawValue, bytes: 1)
        header(to: &writer)
        writer += commitment
        wrapped.write(to: &writer)
    }

    /// Returns the database key, or nil if the secret is not this slot's. Only one derived key opens a committed slot, even a
    /// malicious slot, so the result reveals nothing else about the secret.
    func open(with secret: KeySlots.Secret, file: [UInt8]) throws -> DatabaseKey? {
        if form == .uncommitted {
            return try wrapped.open(under: secret.deriveUncommitted(salt, derivation), associated: associated(file))
        }
        let keys = try SlotKeys(secret, salt, derivation)
        let expected = try keys.commitment(to: associated(file))
        guard sqlcipherkit_equal(expected, commitment, Self.commitmentCount) == 1 else { return nil }
        return try wrapped.open(under: keys.wrapping, associated: associated(file))
    }

    private func header(to writer: inout [UInt8]) {
        writer += id
        writer.append(number: kind.number)
        if form == .uncommitted {
            writer += [1, 1]
            writer.append(number: derivation.cost, bytes: 4)
        } else {
            derivation.write(to: &writer)
            writer.append(1)
        }
        writer += salt
        writer.append(number: created, bytes: 8)
        writer.append(number: changed, bytes: 8)
        writer.append(label: label)
    }

    /// Everything before the wrapped key, and the file that the slot belongs to, are authenticated with it.
    private func associated(_ file: [UInt8]) -> [UInt8] {
        var writer = SlotTable.magic
        writer.append(number: form.rawValue, bytes: 2)
        writer += file
        header(to: &writer)
        return writer
    }
}

/// The two keys of one slot, from one derivation of a secret: one for the visible commitment and one for wrapping.
private struct SlotKeys: ~Copyable {
    private let derived: SecureBytes
    let wrapping: SecureBytes

    init(_ secret: KeySlots.Secret, _ salt: [UInt8], _ derivation: KeySlots.Derivation) throws {
        let derived = try secret.derive(salt, derivation)
        let wrapping = try derived.withUnsafeBytes { key in
            try SecureBytes(mac: Array("SQLCipherKit key slots 2: wrap".utf8), under: key, count: Int(SQLCIPHERKIT_SEAL_KEY))
        }
        self.derived = derived
        self.wrapping = wrapping
    }

    borrowing func commitment(to bytes: [UInt8]) throws -> [UInt8] {
        try derived.withUnsafeBytes { key in
            let mac = try SecureBytes(
                mac: Array("SQLCipherKit key slots 2: commit".utf8) + bytes, under: key, count: SlotRecord.commitmentCount)
            return mac.withUnsafeBytes { Array($0) }
        }
    }
}
