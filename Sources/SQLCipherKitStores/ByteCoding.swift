import SQLCipherKitCore

/// How numbers are written in replicated objects: of a fixed size with the most significant byte first, or in as many bytes as they
/// need (unsigned LEB128; a signed number is folded so that its sign is the lowest bit).
extension Array<UInt8> {
    package mutating func append<T: FixedWidthInteger>(number: T) {
        for shift in stride(from: T.bitWidth - 8, through: 0, by: -8) { append(UInt8(truncatingIfNeeded: number >> T(shift))) }
    }

    package mutating func append(short number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    package mutating func append(signed number: Int64) { append(short: UInt64(bitPattern: number << 1 ^ number >> 63)) }

    /// 16 digits for 8 bytes, as in the names of objects.
    package var hexadecimal: String { map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }

    /// Bytes from ``hexadecimal``; nil if it is none.
    package init?(hexadecimal text: some StringProtocol) {
        let digits = Array<UInt8>(text.utf8)
        self = stride(from: 0, to: digits.count - 1, by: 2).compactMap { place in
            UInt8(String(decoding: digits[place...place + 1], as: UTF8.self), radix: 16)
        }
        guard hexadecimal.utf8.elementsEqual(digits) else { return nil }
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes must be there.
    package func number<T: FixedWidthInteger>(at offset: Int, as type: T.Type = T.self) -> T {
        T(bigEndian: loadUnaligned(fromByteOffset: offset, as: T.self))
    }

    package func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[range]) }
}

/// Bytes read in order. What is not there, or no number of the wanted size, throws ``DatabaseError/Reason/replicaDamaged``.
package struct ByteParser {
    package let bytes: [UInt8]
    package private(set) var offset = 0

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    private static var cutOff: DatabaseError { .damagedReplica("something is cut off, or of an unknown form") }

    package mutating func number<T: FixedWidthInteger>(_: T.Type = T.self) throws(DatabaseError) -> T {
        try take(T.bitWidth / 8).reduce(0) { $0 << 8 | T(truncatingIfNeeded: $1) }
    }

    package mutating func take(_ count: Int) throws(DatabaseError) -> ArraySlice<UInt8> {
        guard count >= 0, count <= bytes.count - offset else { throw Self.cutOff }
        defer { offset += count }
        return bytes[offset..<offset + count]
    }

    package mutating func short() throws(DatabaseError) -> UInt64 {
        var result: UInt64 = 0
        for shift in stride(from: UInt64(0), through: 63, by: 7) {
            let byte = try number(UInt8.self)
            guard shift < 63 || byte <= 1 else { throw Self.cutOff }
            result |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return result }
        }
        throw Self.cutOff
    }

    /// A short number that is at most `limit`.
    package mutating func count(atMost limit: Int = 1 << 48) throws(DatabaseError) -> Int {
        let number = try short()
        guard number <= UInt64(limit) else { throw Self.cutOff }
        return Int(number)
    }

    /// A short number that leaves room for adding to it.
    package mutating func position() throws(DatabaseError) -> UInt64 { UInt64(try count(atMost: 1 << 60)) }

    package mutating func signed() throws(DatabaseError) -> Int64 {
        let number = try short()
        return Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
    }

    package var isAtEnd: Bool { offset == bytes.count }

    package mutating func rest() -> [UInt8] {
        defer { offset = bytes.count }
        return Array(bytes[offset...])
    }
}

extension DatabaseError {
    package static func damagedReplica(_ message: String, underlying: (any Error)? = nil) -> DatabaseError {
        DatabaseError(
            code: .corrupt, reason: .replicaDamaged, message: "the replica cannot be used: \(message)", underlying: underlying)
    }
}
