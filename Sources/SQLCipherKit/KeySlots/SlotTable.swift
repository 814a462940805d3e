import CSQLCipher

/// All slots of a database, as the slot file holds them. The format is written down in the article "Key slots".
struct SlotTable: Hashable, Sendable {
    static let magic = Array("SQCKSLOT".utf8)
    static let version = 1
    static let idCount = 16
    static let maximumBytes = 65_536
    private static let macCount = Int(SQLCIPHERKIT_MAC)

    /// Names this set of slots, for good.
    var id: [UInt8]
    /// Grows with every change.
    var generation = 1
    /// The key from before a change of the database key that may not have come to its end.
    var previous: WrappedKey?
    var slots: [SlotRecord] = []

    init() throws(DatabaseError) { id = try randomBytes(Self.idCount) }

    /// Reads a table without knowing the key: its sizes are checked, its truth is not. See `authenticate`.
    init(parsing bytes: [UInt8]) throws(DatabaseError) {
        guard bytes.count <= Self.maximumBytes else { throw .damagedSlots("they are larger than \(Self.maximumBytes) bytes") }
        guard bytes.count > Self.macCount else { throw .damagedSlots("they are cut short") }
        var reader = ByteReader(bytes[..<(bytes.count - Self.macCount)])
        guard try reader.bytes(Self.magic.count) == Self.magic else { throw .damagedSlots("they are no slots of SQLCipherKit") }
        let version = try reader.integer(2)
        guard version == Self.version else { throw .damagedSlots("they have the unknown version \(version)") }
        let flags = try reader.integer(2)
        guard flags & ~1 == 0 else { throw .damagedSlots("they have unknown flags") }
        id = try reader.bytes(Self.idCount)
        generation = try reader.integer(8)
        guard generation > 0 else { throw .damagedSlots("they have no generation") }
        let count = try reader.integer(2)
        guard (1...KeySlots.maximumSlots).contains(count) else { throw .damagedSlots("they claim to be \(count)") }
        if flags & 1 == 1 { previous = try WrappedKey(&reader) }
        for _ in 0..<count {
            let slot = try SlotRecord(&reader)
            guard !slots.contains(where: { $0.label.isSameText(as: slot.label) || $0.id == slot.id }) else {
                throw .damagedSlots("two are the same")
            }
            slots.append(slot)
        }
        guard reader.isAtEnd else { throw .damagedSlots("there is something after them") }
    }

    /// The bytes to be stored, authenticated under the database key.
    func bytes(under key: Encryption) throws(DatabaseError) -> [UInt8] {
        var writer = ByteWriter()
        writer.bytes(Self.magic)
        writer.integer(Self.version, 2)
        writer.integer(previous == nil ? 0 : 1, 2)
        writer.bytes(id)
        writer.integer(generation, 8)
        writer.integer(slots.count, 2)
        previous?.write(to: &writer)
        for slot in slots { slot.write(to: &writer) }
        let body = writer.result
        let bytes = body + (try Self.mac(body[...], key))
        guard bytes.count <= Self.maximumBytes else { throw .invalidArgument("the key slots would be larger than \(Self.maximumBytes) bytes") }
        return bytes
    }

    /// Throws unless a holder of the database key has written these bytes.
    static func authenticate(_ bytes: [UInt8], under key: Encryption) throws(DatabaseError) {
        guard bytes.count > macCount else { throw .damagedSlots("they are cut short") }
        let mac = try mac(bytes[..<(bytes.count - macCount)], key)
        let stored = Array(bytes[(bytes.count - macCount)...])
        guard sqlcipherkit_equal(mac, stored, macCount) == 1 else {
            throw .damagedSlots("they were changed without the database's key, or another process has made a new key")
        }
    }

    private static func mac(_ body: ArraySlice<UInt8>, _ key: Encryption) throws(DatabaseError) -> [UInt8] {
        var mac = [UInt8](repeating: 0, count: macCount)
        let rc = try key.derived(for: "the whole file", count: 64).withUnsafeBytes { key in
            body.withUnsafeBytes { body in sqlcipherkit_mac(key.baseAddress, key.count, body.baseAddress, body.count, &mac) }
        }
        if rc != SQLITE_OK { throw DatabaseError(code: ResultCode(rawValue: rc), message: "the slots could not be authenticated") }
        return mac
    }

    // MARK: The key before this one

    private var associated: [UInt8] { Self.magic + [UInt8(Self.version)] + id }

    mutating func setPrevious(_ previous: Encryption, under key: Encryption) throws(DatabaseError) {
        self.previous = try WrappedKey(previous, under: key.derived(for: "the key before", count: 32), associated: associated)
    }

    func previousKey(under key: Encryption) throws(DatabaseError) -> Encryption? {
        guard let previous else { return nil }
        guard let key = try previous.open(under: key.derived(for: "the key before", count: 32), associated: associated) else {
            throw .damagedSlots("the key from before the last change of keys does not open")
        }
        return key
    }

    func index(of label: String) throws(DatabaseError) -> Int {
        guard let index = slots.firstIndex(where: { $0.label.isSameText(as: label) }) else {
            throw .invalidArgument("there is no key slot labelled \(label)")
        }
        return index
    }
}

/// Reads big-endian integers and bytes, and throws where there are none left.
struct ByteReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func bytes(_ count: Int) throws(DatabaseError) -> [UInt8] {
        guard count >= 0, count <= rest.count else { throw .damagedSlots("they are cut short") }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// An integer of up to 8 bytes; the highest bit of 8 must not be set.
    mutating func integer(_ count: Int) throws(DatabaseError) -> Int {
        let value = try bytes(count).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard let value = Int(exactly: value) else { throw .damagedSlots("a number is too large") }
        return value
    }
}

/// Writes what `ByteReader` reads.
struct ByteWriter {
    private(set) var result: [UInt8] = []

    mutating func bytes(_ bytes: [UInt8]) { result += bytes }

    mutating func integer(_ value: Int, _ count: Int) {
        for index in 0..<count { result.append(UInt8(truncatingIfNeeded: value >> (8 * (count - 1 - index)))) }
    }
}
