/// Writes JSONB, element by element, into memory that grows.
package final class JSONBWriter {
    private var bytes: UnsafeMutablePointer<UInt8>
    private(set) var count = 0
    private var capacity: Int

    init(capacity: Int = 256) {
        self.capacity = capacity
        bytes = .allocate(capacity: capacity)
    }

    deinit { bytes.deallocate() }

    package func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        assert(count <= capacity)
        defer { withExtendedLifetime(self) {} }
        return try body(UnsafeRawBufferPointer(start: bytes, count: count))
    }

    var isEmpty: Bool { count == 0 }

    func remove(_ range: Range<Int>) {
        (bytes + range.lowerBound).update(from: bytes + range.upperBound, count: count - range.upperBound)
        count -= range.count
    }

    /// Moves everything from an offset on into another writer.
    func removeTail(from offset: Int) -> JSONBWriter {
        let tail = JSONBWriter(capacity: count - offset + 1)
        tail.append(elements: UnsafeRawBufferPointer(start: bytes + offset, count: count - offset))
        count = offset
        return tail
    }

    func truncate(to offset: Int) { count = offset }

    @inline(__always)
    func reserve(_ more: Int) {
        // What was written before had enough room.
        assert(count <= capacity)
        if capacity - count < more { grow(more) }
    }

    @inline(never)
    private func grow(_ more: Int) {
        capacity = max(capacity * 2, count + more)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        larger.update(from: bytes, count: count)
        bytes.deallocate()
        bytes = larger
    }

    // MARK: Elements

    @inline(__always)
    func appendEmpty(_ kind: JSONB.Kind) {
        reserve(1)
        bytes[count] = kind.rawValue
        count += 1
    }

    @inline(__always)
    func append(_ kind: JSONB.Kind, _ payload: UnsafeBufferPointer<UInt8>) {
        reserve(payload.count + 9)
        appendHeader(kind, payload.count)
        if let base = payload.baseAddress { (bytes + count).update(from: base, count: payload.count) }
        count += payload.count
    }

    func append(_ kind: JSONB.Kind, ascii text: String) {
        var text = text
        text.withUTF8 { append(kind, $0) }
    }

    func append(_ value: Bool) { appendEmpty(value ? .true : .false) }

    @inline(__always)
    func append<T: FixedWidthInteger>(_ value: T) {
        guard T.bitWidth <= 64 else { return append(.integer, ascii: value.description) }
        append(UInt64(truncatingIfNeeded: value.magnitude), isNegative: value < 0)
    }

    private func append(_ magnitude: UInt64, isNegative: Bool) {
        // Two bytes of header and 20 digits.
        reserve(22)
        let length = writeDigits(magnitude, isNegative: isNegative, at: count + 1)
        bytes[count] = JSONB.Kind.integer.rawValue
        count += 1
        finish(length)
    }

    /// Writes the header for the `length` digits that were written one byte after it; more than 11 need one more byte.
    @inline(__always)
    private func finish(_ length: Int) {
        if length <= 11 {
            bytes[count - 1] |= UInt8(length) << 4
        } else {
            (bytes + count + 1).update(from: bytes + count, count: length)
            bytes[count - 1] |= 12 << 4
            bytes[count] = UInt8(length)
            count += 1
        }
        count += length
    }

    private func writeDigits(_ magnitude: UInt64, isNegative: Bool, at start: Int) -> Int {
        var length = isNegative ? 2 : 1
        var rest = magnitude
        while rest >= 10 {
            length += 1
            rest /= 10
        }
        if isNegative { bytes[start] = UInt8(ascii: "-") }
        rest = magnitude
        var position = start + length
        repeat {
            position -= 1
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            bytes[position] = 0x30 + UInt8(digit)
            rest = quotient
        } while rest > 0
        return length
    }

    /// Appends a finite number in the fewest digits that identify it, or an infinity as SQLite writes it.
    func append(_ value: Double) {
        guard value.isFinite else { return append(.real, ascii: value < 0 ? "-9e999" : "9e999") }
        append(.real, ascii: value.description)
    }

    func append(_ value: Float) {
        guard value.isFinite else { return append(Double(value)) }
        append(.real, ascii: value.description)
    }

    func append(_ value: String) {
        var value = value
        value.withUTF8 { append(text: $0) }
    }

    @inline(__always)
    func append(text: UnsafeBufferPointer<UInt8>) {
        append(text.contains(where: JSONEscape.needsEscape) ? .rawText : .text, text)
    }

    /// Appends an object's key. Unlike a value, it is escaped where needed, because `json_tree` copies keys into its paths
    /// unchanged.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a key with U+0000, because SQLite would see only the part before it.
    func append(key: String) throws {
        var key = key
        var hasNull = false
        key.withUTF8 { utf8 in
            guard utf8.contains(where: JSONEscape.needsEscape) else { return append(.text, utf8) }
            hasNull = utf8.contains(0)
            if hasNull { return }
            var escaped: [UInt8] = []
            JSONEscape.append(utf8, to: &escaped)
            escaped.withUnsafeBufferPointer { append(.escapedText, $0) }
        }
        if hasNull { throw DatabaseError.nullInKey }
    }

    func append(elements: UnsafeRawBufferPointer) {
        guard let base = elements.baseAddress else { return }
        reserve(elements.count)
        UnsafeMutableRawPointer(bytes + count).copyMemory(from: base, byteCount: elements.count)
        count += elements.count
    }

    // MARK: Containers

    /// Reserves space for a container's header, usually of the right size. The contents follow, and then ``close(_:at:)``.
    @inline(__always)
    func open() -> Int {
        reserve(2)
        let offset = count
        count += 2
        return offset
    }

    /// Writes the header of the container whose contents begin two bytes after `offset` and end here.
    func close(_ kind: JSONB.Kind, at offset: Int) {
        let size = count - offset - 2
        let length = size <= 11 ? 1 : size <= 0xff ? 2 : size <= 0xffff ? 3 : UInt64(size) <= UInt32.max ? 5 : 9
        if length != 2 {
            reserve(7)
            (bytes + offset + length).update(from: bytes + offset + 2, count: size)
        }
        count = offset
        appendHeader(kind, size)
        count += size
    }

    /// Writes a header. The space must have been reserved.
    @inline(__always)
    private func appendHeader(_ kind: JSONB.Kind, _ size: Int) {
        if size <= 11 {
            bytes[count] = kind.rawValue | UInt8(size) << 4
            count += 1
        } else if size <= 0xff {
            bytes[count] = kind.rawValue | 12 << 4
            bytes[count + 1] = UInt8(size)
            count += 2
        } else {
            appendLongHeader(kind, size)
        }
    }

    private func appendLongHeader(_ kind: JSONB.Kind, _ size: Int) {
        let (code, length): (UInt8, Int) = size <= 0xffff ? (13, 2) : UInt64(size) <= UInt32.max ? (14, 4) : (15, 8)
        bytes[count] = kind.rawValue | code << 4
        for index in 0..<length {
            bytes[count + 1 + index] = UInt8(truncatingIfNeeded: size >> (8 * (length - 1 - index)))
        }
        count += 1 + length
    }
}

/// Reading what has already been written.
extension JSONBWriter {
    /// Copies the contents of the container at an offset; returns nil if the element is of another kind.
    func contents(at offset: Int, of kind: JSONB.Kind) -> JSONBWriter? {
        withBytes { bytes in
            guard let base = bytes.baseAddress, let element = JSONB.element(base, at: offset, limit: bytes.count),
                element.kind == kind
            else { return nil }
            let copy = JSONBWriter(capacity: element.count + 16)
            copy.append(elements: UnsafeRawBufferPointer(rebasing: bytes[element.start..<element.end]))
            return copy
        }
    }

    /// Returns the number of elements from an offset to the end.
    func elementCount(from start: Int) -> Int {
        withBytes { bytes in
            var (count, position) = (0, start)
            while let base = bytes.baseAddress, let element = JSONB.element(base, at: position, limit: bytes.count) {
                count += 1
                position = element.end
            }
            return count
        }
    }

    /// Sorts the members from an offset to the end by the bytes of their keys.
    func sortMembers(from start: Int) {
        let members = withBytes { bytes in
            var members: [(key: Range<Int>, member: Range<Int>)] = []
            var position = start
            while let base = bytes.baseAddress, let key = JSONB.element(base, at: position, limit: bytes.count),
                let value = JSONB.element(base, at: key.end, limit: bytes.count)
            {
                members.append((key.start..<key.end, position..<value.end))
                position = value.end
            }
            return members
        }
        if members.count < 2 { return }
        let former = removeTail(from: start)
        former.withBytes { bytes in
            func key(_ index: Int) -> Slice<UnsafeRawBufferPointer> {
                bytes[members[index].key.lowerBound - start..<members[index].key.upperBound - start]
            }
            for index in members.indices.sorted(by: { key($0).lexicographicallyPrecedes(key($1)) }) {
                let member = members[index].member
                append(elements: UnsafeRawBufferPointer(rebasing: bytes[member.lowerBound - start..<member.upperBound - start]))
            }
        }
    }
}

/// The type of a dictionary's coding keys. It is private in the standard library, so this encodes a dictionary and looks at the
/// container that it requests. A dictionary's own order of members changes from run to run.
enum JSONBDictionaryKey {
    static let type: ObjectIdentifier = {
        let probe = Probe()
        try? [String: Int]().encode(to: probe)
        return probe.type
    }()

    private final class Probe: Encoder {
        var type = ObjectIdentifier(Never.self)
        var codingPath: [any CodingKey] { [] }
        var userInfo: [CodingUserInfoKey: Any] { [:] }

        func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
            self.type = ObjectIdentifier(type)
            return KeyedEncodingContainer(RefusingContainer<Key>(JSONFault()))
        }

        func unkeyedContainer() -> any UnkeyedEncodingContainer { RefusingContainer<NoKey>(JSONFault()) }
        func singleValueContainer() -> any SingleValueEncodingContainer { RefusingContainer<NoKey>(JSONFault()) }
    }
}

/// The keys that an object has so far, to find the value of one that is written again.
///
/// A bit for each key nearly always proves that a key is new. If it does not, and in large objects, keys are compared.
struct JSONBWrittenKeys {
    private var bits: UInt64 = 0
    private var count = 0
    private var all: Set<[UInt8]>?

    /// The range of a member, and the offset of its value.
    typealias Member = (member: Range<Int>, value: Int)

    /// Adds a key.
    /// - Returns: the member that already has it.
    mutating func add(_ key: UnsafeBufferPointer<UInt8>, in sink: JSONBSink, from start: Int) -> Member? {
        count += 1
        if count > 32 {
            if all == nil {
                var names: Set<[UInt8]> = []
                // No two members have the same key, so this visits all of them.
                _ = Self.member(in: sink, from: start) { !names.insert(Array($0.utf8)).inserted }
                all = names
            }
            return all?.insert(Array(key)).inserted == false ? Self.find(key, in: sink, from: start) : nil
        }
        let bit = JSONB.bit(key)
        defer { bits |= bit }
        return bits & bit != 0 ? Self.find(key, in: sink, from: start) : nil
    }

    /// Adds the keys of all existing members.
    mutating func addAll(in sink: JSONBSink, from start: Int) {
        var (bits, count) = (UInt64(0), 0)
        _ = Self.member(in: sink, from: start) { name in
            var name = name
            name.withUTF8 { bits |= JSONB.bit($0) }
            count += 1
            return false
        }
        self.bits = bits
        self.count = count
    }

    private static func find(_ name: UnsafeBufferPointer<UInt8>, in sink: JSONBSink, from start: Int) -> Member? {
        member(in: sink, from: start) { $0.utf8.elementsEqual(name) }
    }

    /// Returns the first member whose key meets a condition.
    private static func member(in sink: JSONBSink, from start: Int, where condition: (String) -> Bool) -> Member? {
        sink.writer.withBytes { bytes in
            var position = start
            while let base = bytes.baseAddress, let key = JSONB.element(base, at: position, limit: bytes.count),
                let value = JSONB.element(base, at: key.end, limit: bytes.count)
            {
                if let name = try? JSONB.string(base, key), condition(name) { return (position..<value.end, value.offset) }
                position = value.end
            }
            return nil
        }
    }
}

extension JSONB {
    /// Returns one of 64 bits for a key, always the same bit for the same key.
    @inline(__always)
    static func bit(_ key: UnsafeBufferPointer<UInt8>) -> UInt64 {
        guard let first = key.first else { return 1 }
        let (last, middle) = (UInt(key[key.count - 1]), UInt(key[key.count / 2]))
        let mixed = UInt(first) &* 0x9e5 ^ last &* 0x51d ^ middle &* 0x2c3 ^ UInt(key.count) &* 0x1f3
        return 1 << UInt64((mixed ^ mixed >> 6) & 63)
    }
}
