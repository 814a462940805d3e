import Foundation
import SQLCipherKitCore

/// The byte that stands before a key's value that is not an integer.
private let otherKeyValue = 40

/// Writes the bytes of a change log's entries and messages: numbers as LEB128, text and blobs preceded by their length in bytes. A
/// value's first number has its type in the two lowest bits: 1 for an integer, 2 for text, 3 for a blob, and 0 for all else.
extension [UInt8] {
    mutating func put(_ text: String) { append(prefixed: text.utf8) }

    mutating func put(_ value: SQLValue) {
        switch value {
        case .null: append(varint: 0)
        case .real(let number):
            append(varint: 4)
            append(number: number.bitPattern.byteSwapped)
        case .integer(let number):
            let bits = number.signInLowestBit
            if bits >> 62 == 0 { return append(varint: bits << 2 | 1) }
            append(varint: 8)
            append(varint: bits)
        case .text(var text): text.withUTF8 { put(text: UnsafeRawBufferPointer($0)) }
        case .blob(let data): data.withUnsafeBytes { put(blob: $0) }
        }
    }

    mutating func put(text: UnsafeRawBufferPointer) {
        if putUUID(text) { return }
        append(varint: text.count << 2 | 2)
        append(contentsOf: text)
    }

    mutating func put(blob: UnsafeRawBufferPointer) {
        append(varint: blob.count << 2 | 3)
        append(contentsOf: blob)
    }

    /// Writes a UUID, the most common key, as 16 bytes: after the byte 12 if its letters are lowercase, after 16 if they are
    /// uppercase.
    private mutating func putUUID(_ text: UnsafeRawBufferPointer) -> Bool {
        guard text.count == 36 else { return false }
        var digits: [UInt8] = [], hasSmall = false, hasCapital = false
        digits.reserveCapacity(32)
        for (place, byte) in text.enumerated() {
            if place == 8 || place == 13 || place == 18 || place == 23 {
                guard byte == UInt8(ascii: "-") else { return false }
                continue
            }
            guard let digit = byte.hexDigit else { return false }
            digits.append(digit)
            if digit > 9 { (hasSmall, hasCapital) = (hasSmall || byte >= 0x61, hasCapital || byte < 0x61) }
        }
        if hasSmall, hasCapital { return false }
        append(varint: hasCapital ? 16 : 12)
        for place in stride(from: 0, to: 32, by: 2) { append(digits[place] << 4 | digits[place + 1]) }
        return true
    }

    mutating func put(_ values: [SQLValue]) {
        append(varint: values.count)
        for value in values { put(value) }
    }

    /// Writes a value of a row's key. The bytes of numbers sort like the numbers, so that rows with ascending numbers follow each
    /// other in `changelog_row`: first 24 plus the number of bytes, or 23 minus that for a negative number, then the bytes.
    mutating func put(keyValue value: SQLValue) {
        guard case .integer(let number) = value else {
            append(varint: otherKeyValue)
            return put(value)
        }
        let count = (71 - (number < 0 ? ~number : number).leadingZeroBitCount) / 8
        append(varint: number < 0 ? 23 - count : 24 + count)
        append(number: number, bytes: count)
    }

    mutating func put(_ names: [String]) {
        append(varint: names.count)
        for name in names { put(name) }
    }

    /// Writes a time. Its count, which is usually 0, goes to the upper bits.
    mutating func put(clock: Int64) { append(varint: clock >> 16 | clock << 48) }

    mutating func put(_ position: ChangeLog.Position) {
        append(varint: position.marks.count)
        for (peer, mark) in position.marks.sorted(by: { $0.key < $1.key }) {
            put(peer)
            put(mark)
        }
    }

    mutating func put(_ mark: ChangeLog.Position.Mark) {
        append(signed: mark.sequence)
        put(clock: mark.clock)
        append(signed: mark.identity)
    }
}

extension DatabaseError {
    static let malformedLog = DatabaseError(code: .corrupt, message: "the bytes are not a message of a change log")
}

/// Reads the forms that are written above. The bytes are untrusted: each read checks them, and throws ``ResultCode/corrupt``.
extension ByteReader {
    init(log bytes: some Sequence<UInt8>) { self.init(bytes) { .malformedLog } }

    mutating func text() throws -> String { try text(varint()) }

    private mutating func text(_ count: UInt64) throws -> String {
        guard let text = String(validating: try take(count), as: UTF8.self) else { throw damage() }
        return text
    }

    mutating func value() throws -> SQLValue {
        let first = try varint()
        switch first & 3 {
        case 1: return .integer(Int64(signInLowestBit: first >> 2))
        case 2: return .text(try text(first >> 2))
        case 3: return .blob(Data(try take(first >> 2)))
        default: break
        }
        switch first {
        case 0: return .null
        case 4:
            let number = Double(bitPattern: try number(UInt64.self).byteSwapped)
            // NaN cannot be written: a peer with a later value would accept the message, and other peers would not.
            if number.isNaN { throw damage() }
            return .real(number)
        case 8: return .integer(try signed())
        case 12, 16:
            let digits = Array((first == 16 ? "0123456789ABCDEF" : "0123456789abcdef").utf8)
            var text: [UInt8] = []
            for (place, byte) in try take(16).enumerated() {
                if [4, 6, 8, 10].contains(place) { text.append(UInt8(ascii: "-")) }
                text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
            return .text(String(decoding: text, as: UTF8.self))
        default: throw damage()
        }
    }

    mutating func keyValue() throws -> SQLValue {
        let first = try varint()
        if first == UInt64(otherKeyValue) { return try value() }
        guard (15...32).contains(first) else { throw damage() }
        return .integer(try take(first < 24 ? 23 - first : first - 24).reduce(first < 24 ? -1 : 0) { $0 << 8 | Int64($1) })
    }

    mutating func list<T>(_ read: (inout ByteReader) throws -> T) throws -> [T] {
        var list: [T] = []
        for _ in 0..<(try count()) { list.append(try read(&self)) }
        return list
    }

    /// Reads a name, which is stored as its place among `names`.
    mutating func name(of names: [String]) throws -> String {
        let place = try varint()
        guard place < UInt64(names.count) else { throw damage() }
        return names[Int(place)]
    }

    mutating func names() throws -> [String] {
        try list { reader in try reader.text() }
    }

    mutating func values() throws -> [SQLValue] {
        try list { reader in try reader.value() }
    }

    mutating func peer() throws -> String {
        let name = try text()
        guard name.isPeerName else { throw damage() }
        return name
    }

    mutating func clock() throws -> Int64 {
        let bits = try varint(), clock = Int64(bitPattern: bits << 16 | bits >> 48)
        guard (0...ChangeStamp.latest).contains(clock) else { throw damage() }
        return clock
    }

    mutating func logPosition() throws -> ChangeLog.Position {
        var position = ChangeLog.Position()
        for _ in 0..<(try count()) {
            let peer = try peer(), mark = try mark()
            guard position.marks[peer] == nil else { throw damage() }
            position.marks[peer] = mark
        }
        return position
    }

    mutating func mark() throws -> ChangeLog.Position.Mark {
        let mark = ChangeLog.Position.Mark(sequence: try signed(), clock: try clock(), identity: try signed())
        guard ChangeLog.Position.Mark.sequences.contains(mark.sequence) else { throw damage() }
        return mark
    }
}
