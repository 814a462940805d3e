import Foundation
import SQLCipherKitCore

/// Writes the bytes of a change log's entries and messages: numbers as LEB128, text and blobs preceded by their length in bytes. A
/// value's first number has its type in the two lowest bits: 1 for an integer, 2 for text, 3 for a blob, and 0 for all else.
struct ChangeLogWriter {
    private(set) var bytes: [UInt8] = []

    mutating func put(_ number: UInt64) {
        var number = number
        while number >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: number) | 0x80)
            number >>= 7
        }
        bytes.append(UInt8(number))
    }

    mutating func put(count: Int) { put(UInt64(count)) }

    /// A signed number, with its sign in the lowest bit.
    mutating func put(_ number: Int64) { put(UInt64(bitPattern: (number << 1) ^ (number >> 63))) }

    mutating func append(_ more: some Collection<UInt8>) { bytes.append(contentsOf: more) }

    /// Appends bytes that are there.
    mutating func append(from place: Int, _ count: Int) { for place in place..<place + count { bytes.append(bytes[place]) } }

    mutating func increaseLast() { bytes[bytes.count - 1] += 1 }

    mutating func put(_ text: String) { put(bytes: text.utf8) }

    mutating func put(bytes more: some Collection<UInt8>) {
        put(count: more.count)
        bytes.append(contentsOf: more)
    }

    mutating func put(_ value: SQLValue) {
        switch value {
        case .null: put(count: 0)
        case .real(let number):
            put(count: 4)
            withUnsafeBytes(of: number.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
        case .integer(let number):
            let bits = UInt64(bitPattern: (number << 1) ^ (number >> 63))
            if bits >> 62 == 0 { return put(bits << 2 | 1) }
            put(count: 8)
            put(bits)
        case .text(var text): text.withUTF8 { put(text: UnsafeRawBufferPointer($0)) }
        case .blob(let data): data.withUnsafeBytes { put(blob: $0) }
        }
    }

    mutating func put(text: UnsafeRawBufferPointer) {
        if putUUID(text) { return }
        put(count: text.count << 2 | 2)
        bytes.append(contentsOf: text)
    }

    mutating func put(blob: UnsafeRawBufferPointer) {
        put(count: blob.count << 2 | 3)
        bytes.append(contentsOf: blob)
    }

    /// A UUID, which is what most keys are, in 16 bytes: after 12 if it is in small letters, and after 16 if in capitals.
    private mutating func putUUID(_ text: UnsafeRawBufferPointer) -> Bool {
        guard text.count == 36 else { return false }
        var digits: [UInt8] = [], hasSmall = false, hasCapital = false
        digits.reserveCapacity(32)
        for (place, byte) in text.enumerated() {
            let isDash = place == 8 || place == 13 || place == 18 || place == 23
            switch byte {
            case UInt8(ascii: "-") where isDash: continue
            case UInt8(ascii: "0")...UInt8(ascii: "9") where !isDash: digits.append(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f") where !isDash:
                (hasSmall, _) = (true, digits.append(byte - UInt8(ascii: "a") + 10))
            case UInt8(ascii: "A")...UInt8(ascii: "F") where !isDash:
                (hasCapital, _) = (true, digits.append(byte - UInt8(ascii: "A") + 10))
            default: return false
            }
        }
        if hasSmall, hasCapital { return false }
        put(count: hasCapital ? 16 : 12)
        for place in stride(from: 0, to: 32, by: 2) { bytes.append(digits[place] << 4 | digits[place + 1]) }
        return true
    }

    mutating func put(_ values: [SQLValue]) {
        put(count: values.count)
        for value in values { put(value) }
    }

    /// A value of a row's key. Numbers are in order, so that rows which are inserted after each other are so in `changelog_row`:
    /// 24 and the number of bytes, or 23 less it for a negative number, and the bytes.
    mutating func put(keyValue value: SQLValue) {
        guard case .integer(let number) = value else {
            put(count: Self.otherKeyValue)
            return put(value)
        }
        let count = (71 - (number < 0 ? ~number : number).leadingZeroBitCount) / 8
        put(count: number < 0 ? 23 - count : 24 + count)
        for place in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * Int64(place)))) }
    }

    fileprivate static let otherKeyValue = 40

    mutating func put(_ names: [String]) {
        put(count: names.count)
        for name in names { put(name) }
    }

    /// A time. Its count, which is 0 mostly, comes in the upper bits.
    mutating func put(clock: Int64) { put(UInt64(bitPattern: clock >> 16 | clock << 48)) }

    mutating func put(_ position: ChangeLog.Position) {
        put(count: position.marks.count)
        for (peer, mark) in position.marks.sorted(by: { $0.key < $1.key }) {
            put(peer)
            put(mark)
        }
    }

    mutating func put(_ mark: ChangeLog.Position.Mark) {
        put(mark.sequence)
        put(clock: mark.clock)
        put(mark.identity)
    }
}

/// Reads what ``ChangeLogWriter`` has written. The bytes are untrusted: each read checks them, and throws ``ResultCode/corrupt``.
struct ChangeLogReader {
    private let bytes: [UInt8]
    private var place = 0

    init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    static var malformed: DatabaseError { DatabaseError(code: .corrupt, message: "the bytes are not a message of a change log") }

    var isAtEnd: Bool { place == bytes.count }

    func end() throws(DatabaseError) { if !isAtEnd { throw Self.malformed } }

    mutating func unsigned() throws(DatabaseError) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard place < bytes.count else { throw Self.malformed }
            let byte = UInt64(bytes[place])
            place += 1
            if shift == 63, byte > 1 { throw Self.malformed }
            number |= (byte & 0x7f) << shift
            if byte < 0x80 { return number }
        }
        throw Self.malformed
    }

    /// A number of elements, each of which takes at least one byte.
    mutating func count() throws(DatabaseError) -> Int { try unsigned(upTo: bytes.count - place) }

    mutating func unsigned(upTo limit: Int) throws(DatabaseError) -> Int {
        let number = try unsigned()
        guard number <= UInt64(limit) else { throw Self.malformed }
        return Int(number)
    }

    mutating func number() throws(DatabaseError) -> Int64 { Self.signed(try unsigned()) }

    private static func signed(_ bits: UInt64) -> Int64 { Int64(bitPattern: bits >> 1) ^ -Int64(bitPattern: bits & 1) }

    mutating func blob() throws(DatabaseError) -> ArraySlice<UInt8> { try blob(unsigned()) }

    mutating func blob(_ count: UInt64) throws(DatabaseError) -> ArraySlice<UInt8> {
        guard count <= UInt64(bytes.count - place) else { throw Self.malformed }
        defer { place += Int(count) }
        return bytes[place..<place + Int(count)]
    }

    mutating func text() throws(DatabaseError) -> String { try Self.text(blob()) }

    private static func text(_ bytes: ArraySlice<UInt8>) throws(DatabaseError) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        // Decoding repairs malformed text, which changes its bytes.
        guard text.utf8.elementsEqual(bytes) else { throw malformed }
        return text
    }

    mutating func value() throws(DatabaseError) -> SQLValue {
        let first = try unsigned()
        switch first & 3 {
        case 1: return .integer(Self.signed(first >> 2))
        case 2: return .text(try Self.text(blob(first >> 2)))
        case 3: return .blob(Data(try blob(first >> 2)))
        default: break
        }
        switch first {
        case 0: return .null
        case 4:
            let number = Double(bitPattern: try blob(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
            // It cannot be written, so a peer that has a later value would take it, and others not.
            if number.isNaN { throw Self.malformed }
            return .real(number)
        case 8: return .integer(try number())
        case 12, 16:
            let digits = Array((first == 16 ? "0123456789ABCDEF" : "0123456789abcdef").utf8)
            var text: [UInt8] = []
            for (place, byte) in try blob(16).enumerated() {
                if [4, 6, 8, 10].contains(place) { text.append(UInt8(ascii: "-")) }
                text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
            return .text(String(decoding: text, as: UTF8.self))
        default: throw Self.malformed
        }
    }

    mutating func keyValue() throws(DatabaseError) -> SQLValue {
        let first = try unsigned()
        if first == UInt64(ChangeLogWriter.otherKeyValue) { return try value() }
        guard (15...32).contains(first) else { throw Self.malformed }
        return .integer(try blob(first < 24 ? 23 - first : first - 24).reduce(first < 24 ? -1 : 0) { $0 << 8 | Int64($1) })
    }

    mutating func list<T>(_ read: (inout ChangeLogReader) throws(DatabaseError) -> T) throws(DatabaseError) -> [T] {
        var list: [T] = []
        for _ in 0..<(try count()) { list.append(try read(&self)) }
        return list
    }

    mutating func names() throws(DatabaseError) -> [String] {
        try list { reader throws(DatabaseError) in try reader.text() }
    }

    mutating func values() throws(DatabaseError) -> [SQLValue] {
        try list { reader throws(DatabaseError) in try reader.value() }
    }

    mutating func peer() throws(DatabaseError) -> String {
        let name = try text()
        guard name.isPeerName else { throw Self.malformed }
        return name
    }

    mutating func clock() throws(DatabaseError) -> Int64 {
        let bits = try unsigned(), clock = Int64(bitPattern: bits << 16 | bits >> 48)
        guard (0...ChangeStamp.latest).contains(clock) else { throw Self.malformed }
        return clock
    }

    mutating func position() throws(DatabaseError) -> ChangeLog.Position {
        var position = ChangeLog.Position()
        for _ in 0..<(try count()) {
            let peer = try peer(), mark = try mark()
            guard position.marks[peer] == nil else { throw Self.malformed }
            position.marks[peer] = mark
        }
        return position
    }

    mutating func mark() throws(DatabaseError) -> ChangeLog.Position.Mark {
        let mark = ChangeLog.Position.Mark(sequence: try number(), clock: try clock(), identity: try number())
        guard ChangeLog.Position.Mark.sequences.contains(mark.sequence) else { throw Self.malformed }
        return mark
    }
}
