import Foundation
import SQLCipherKitCore

/// Writes the bytes of a change log's entries and messages: numbers as LEB128, text and blobs preceded by their length in bytes.
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

    mutating func put(_ text: String) { put(bytes: text.utf8) }

    mutating func put(bytes more: some Collection<UInt8>) {
        put(count: more.count)
        bytes.append(contentsOf: more)
    }

    mutating func put(_ value: SQLValue) {
        switch value {
        case .null: put(count: 0)
        case .integer(let number):
            put(count: 1)
            put(number)
        case .real(let number):
            put(count: 2)
            withUnsafeBytes(of: number.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
        case .text(let text):
            put(count: 3)
            put(text)
        case .blob(let data):
            put(count: 4)
            put(bytes: data)
        }
    }

    mutating func put(_ values: [SQLValue]) {
        put(count: values.count)
        for value in values { put(value) }
    }

    mutating func put(_ names: [String]) {
        put(count: names.count)
        for name in names { put(name) }
    }

    mutating func put(_ stamp: ChangeStamp) {
        put(stamp.clock)
        put(stamp.peer)
    }

    mutating func put(_ position: ChangePosition) {
        put(count: position.marks.count)
        for (peer, mark) in position.marks.sorted(by: { $0.key < $1.key }) {
            put(peer)
            put(mark.sequence)
            put(mark.clock)
        }
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
    mutating func count() throws(DatabaseError) -> Int {
        let number = try unsigned()
        guard number <= UInt64(bytes.count - place) else { throw Self.malformed }
        return Int(number)
    }

    mutating func number() throws(DatabaseError) -> Int64 {
        let number = try unsigned()
        return Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
    }

    mutating func blob() throws(DatabaseError) -> ArraySlice<UInt8> {
        let count = try count()
        defer { place += count }
        return bytes[place..<place + count]
    }

    mutating func text() throws(DatabaseError) -> String {
        let bytes = try blob()
        let text = String(decoding: bytes, as: UTF8.self)
        // Decoding repairs malformed text, which changes its bytes.
        guard text.utf8.elementsEqual(bytes) else { throw Self.malformed }
        return text
    }

    mutating func value() throws(DatabaseError) -> SQLValue {
        switch try unsigned() {
        case 0: return .null
        case 1: return .integer(try number())
        case 2:
            guard bytes.count - place >= 8 else { throw Self.malformed }
            defer { place += 8 }
            let bits = bytes[place..<place + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return .real(Double(bitPattern: bits))
        case 3: return .text(try text())
        case 4: return .blob(Data(try blob()))
        default: throw Self.malformed
        }
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
        let clock = try number()
        guard (0...ChangeStamp.latest).contains(clock) else { throw Self.malformed }
        return clock
    }

    mutating func position() throws(DatabaseError) -> ChangePosition {
        var position = ChangePosition()
        for _ in 0..<(try count()) {
            let peer = try peer(), sequence = try number(), clock = try clock()
            guard ChangePosition.Mark.sequences.contains(sequence), position.marks[peer] == nil else { throw Self.malformed }
            position.marks[peer] = ChangePosition.Mark(sequence: sequence, clock: clock)
        }
        return position
    }
}
