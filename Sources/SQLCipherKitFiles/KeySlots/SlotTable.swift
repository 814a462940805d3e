import CSQLCipher
import SQLCipherKitCore

/// All slots of a database, as in the slot file. The article "Key slots" describes the format.
struct SlotTable: Hashable, Sendable {
    static let magic = Array("SQCKSLOT".utf8)
    /// The version that is written. Version 1 can be read.
    static let version = 2
    static let idCount = 16
    static let maximumBytes = 65_536
    /// The number of earlier changes that a table records.
    private static let maximumHistory = 64
    private static let macCount = Int(SQLCIPHERKIT_MAC)

    private(set) var version = Self.version
    /// Identifies this set of slots permanently.
    var id: [UInt8]
    /// Grows with every change.
    var generation = 1
    /// A random name for each of the last changes, with the one of this generation last; empty in version 1.
    private(set) var history: [[UInt8]] = []
    /// True if the slots were created for a database that did not exist, and have not been changed with it since: that database may
    /// have no mark of them.
    var isForNewDatabase = false
    /// True once the database has the mark of this generation durably: a database with an earlier mark is an older state.
    var isSeen = false
    /// The key from before a change of the database key that may be incomplete.
    var previous: WrappedKey?
    var slots: [SlotRecord] = []

    init() throws {
        id = try randomBytes(Self.idCount)
        history = [try randomBytes(Self.idCount)]
    }

    /// Parses a table without the key: this checks its sizes, not its authenticity. See `authenticate`.
    init(parsing bytes: [UInt8]) throws {
        guard bytes.count <= Self.maximumBytes else {
            throw DatabaseError.damagedSlots("they are larger than \(Self.maximumBytes) bytes")
        }
        guard bytes.count > Self.macCount else { throw DatabaseError.damagedSlots("they are truncated") }
        var reader = ByteReader(slots: bytes[..<(bytes.count - Self.macCount)])
        guard try reader.bytes(Self.magic.count) == Self.magic else {
            throw DatabaseError.damagedSlots("they are not SQLCipherKit key slots")
        }
        version = try reader.number(bytes: 2)
        guard (1...Self.version).contains(version) else {
            throw DatabaseError.damagedSlots("they have the unknown version \(version)")
        }
        let flags = try reader.number(bytes: 2)
        guard flags & ~(version == 1 ? 1 : 7) == 0 else { throw DatabaseError.damagedSlots("they have unknown flags") }
        id = try reader.bytes(Self.idCount)
        generation = try reader.number(bytes: 8)
        // Version 1 has no flag for it.
        isForNewDatabase = version == 1 ? generation == 1 : flags & 2 != 0
        isSeen = flags & 4 != 0
        guard generation > 0 else { throw DatabaseError.damagedSlots("they have no generation") }
        if version > 1 {
            let count = try reader.number(bytes: 2)
            guard (1...Self.maximumHistory).contains(count), count <= generation else {
                throw DatabaseError.damagedSlots("their number of changes is invalid: \(count)")
            }
            for _ in 0..<count { history.append(try reader.bytes(Self.idCount)) }
        }
        let count = try reader.number(bytes: 2)
        guard (1...KeySlots.maximumSlots).contains(count) else { throw DatabaseError.damagedSlots("there are \(count) of them") }
        if flags & 1 == 1 { previous = try WrappedKey(&reader) }
        for _ in 0..<count {
            let slot = try SlotRecord(&reader, version: version)
            guard !slots.contains(where: { $0.label.isSameText(as: slot.label) || $0.id == slot.id }) else {
                throw DatabaseError.damagedSlots("two slots are identical")
            }
            slots.append(slot)
        }
        guard reader.isAtEnd else { throw DatabaseError.damagedSlots("bytes follow the last slot") }
    }

    /// Increases the generation, beyond `seen` too, and writes the current version from now on.
    mutating func advance(beyond seen: Int = 0, under key: DatabaseKey) throws {
        let last = max(generation, seen)
        guard last < Int.max else { throw DatabaseError.damagedSlots("they cannot be changed again") }
        // If there is a gap, the changes before it do not belong to these slots.
        if last > generation { history = [] }
        (generation, isSeen) = (last + 1, false)
        history = history.suffix(Self.maximumHistory - 1) + [try randomBytes(Self.idCount)]
        if version == 1, let before = try previousKey(under: key) {
            version = Self.version
            try setPrevious(before, under: key)
        }
        version = Self.version
    }

    /// Returns the name of the change that made a generation, if it is known.
    func change(of generation: Int) -> [UInt8]? {
        let index = history.count - 1 - (self.generation - generation)
        return history.indices.contains(index) ? history[index] : nil
    }

    /// Returns the bytes to store, authenticated under the database key.
    func bytes(under key: DatabaseKey) throws -> [UInt8] {
        var writer = Self.magic
        writer.append(number: Self.version, bytes: 2)
        writer.append(number: (previous == nil ? 0 : 1) | (isForNewDatabase ? 2 : 0) | (isSeen ? 4 : 0), bytes: 2)
        writer += id
        writer.append(number: generation, bytes: 8)
        writer.append(number: history.count, bytes: 2)
        for change in history { writer += change }
        writer.append(number: slots.count, bytes: 2)
        previous?.write(to: &writer)
        for slot in slots { slot.write(to: &writer) }
        let bytes = writer + (try Self.mac(writer[...], key, Self.version))
        guard bytes.count <= Self.maximumBytes else {
            throw DatabaseError.invalidArgument("the key slots would be larger than \(Self.maximumBytes) bytes")
        }
        return bytes
    }

    /// Throws unless a holder of the database key has written these bytes, which this table was parsed from.
    func authenticate(_ bytes: [UInt8], under key: DatabaseKey) throws {
        guard bytes.count > Self.macCount else { throw DatabaseError.damagedSlots("they are truncated") }
        let mac = try Self.mac(bytes[..<(bytes.count - Self.macCount)], key, version)
        let stored = Array(bytes[(bytes.count - Self.macCount)...])
        guard sqlcipherkit_equal(mac, stored, Self.macCount) == 1 else {
            throw DatabaseError.damagedSlots("they were changed without the database's key, or another process has changed the key")
        }
    }

    private static func mac(_ body: ArraySlice<UInt8>, _ key: DatabaseKey, _ version: Int) throws -> [UInt8] {
        var mac = [UInt8](repeating: 0, count: macCount)
        let rc = try key.derived(for: "the whole file", version: version, count: 64).withUnsafeBytes { key in
            body.withUnsafeBytes { body in sqlcipherkit_mac(key.baseAddress, key.count, body.baseAddress, body.count, &mac) }
        }
        if rc != SQLITE_OK { throw DatabaseError(code: ResultCode(rawValue: rc), message: "the slots could not be authenticated") }
        return mac
    }

    // MARK: The previous key

    private var associated: [UInt8] { Self.magic + [UInt8(version)] + id }

    private func wrapping(under key: DatabaseKey) throws -> SecureBytes {
        try key.derived(for: "the key before", version: version, count: 32)
    }

    mutating func setPrevious(_ previous: DatabaseKey, under key: DatabaseKey) throws {
        version = Self.version
        self.previous = try WrappedKey(previous, under: wrapping(under: key), associated: associated)
    }

    func previousKey(under key: DatabaseKey) throws -> DatabaseKey? {
        guard let previous else { return nil }
        guard let key = try previous.open(under: wrapping(under: key), associated: associated) else {
            throw DatabaseError.damagedSlots("the former key cannot be decrypted")
        }
        return key
    }

    func index(of label: String) throws -> Int {
        guard let index = slots.firstIndex(where: { $0.label.isSameText(as: label) }) else {
            throw DatabaseError.invalidArgument("there is no key slot with the label \(label)")
        }
        return index
    }
}

extension ByteReader {
    /// Reads bytes of key slots, and throws ``DatabaseError/Reason/keySlotsDamaged``.
    init(slots bytes: some Sequence<UInt8>) { self.init(bytes) { .damagedSlots("they are truncated, or a number is too large") } }

    mutating func bytes(_ count: Int) throws -> [UInt8] { Array(try take(count)) }

    /// A text after its number of bytes.
    mutating func label() throws -> String {
        guard let label = String(validating: try take(number(Int.self, bytes: 2)), as: UTF8.self) else {
            throw DatabaseError.damagedSlots("a label is not UTF-8")
        }
        return label
    }
}

extension [UInt8] {
    mutating func append(label: String) {
        append(number: label.utf8.count, bytes: 2)
        append(contentsOf: label.utf8)
    }
}
