/// Numbers at places of bytes that may be untrusted. Each is nil unless all its bytes are there; an offset counts from the start.
extension RandomAccessCollection<UInt8> where Index == Int {
    /// A number of so many bytes, the most significant first.
    @inlinable
    package func bigEndian<T: FixedWidthInteger>(at offset: Int, bytes width: Int = T.bitWidth / 8, as _: T.Type = Int.self) -> T? {
        guard offset >= 0, width >= 0, width <= count - offset else { return nil }
        let start = startIndex + offset
        return self[start..<start + width].reduce(0) { $0 << 8 | T(truncatingIfNeeded: $1) }
    }

    /// A variable-length integer as in SQLite's formats, and the offset of its end
    /// (<https://sqlite.org/fileformat2.html#varint>).
    @inlinable
    package func variableLength(at offset: Int) -> (value: UInt64, end: Int)? {
        guard offset >= 0 else { return nil }
        var value: UInt64 = 0, end = offset
        while end < count {
            let byte = UInt64(self[startIndex + end]), isLast = end - offset == 8
            end += 1
            value = isLast ? value << 8 | byte : value << 7 | byte & 0x7f
            if isLast || byte < 0x80 { return (value, end) }
        }
        return nil
    }
}

/// Bytes read in order. They may be untrusted: a read throws unless all its bytes are there and the number is one that it allows.
package struct ByteReader {
    @usableFromInline package let bytes: [UInt8]
    @usableFromInline package var offset = 0
    /// The error that a read throws, which says what is damaged.
    @usableFromInline package let damage: @Sendable () -> DatabaseError

    @inlinable
    package init(_ bytes: some Sequence<UInt8>, orThrow damage: @escaping @Sendable () -> DatabaseError) {
        (self.bytes, self.damage) = (Array(bytes), damage)
    }

    @inlinable package var isAtEnd: Bool { offset == bytes.count }

    @inlinable
    package mutating func take(_ count: some BinaryInteger) throws -> ArraySlice<UInt8> {
        guard let count = Int(exactly: count), count >= 0, count <= bytes.count - offset else { throw damage() }
        defer { offset += count }
        return bytes[offset..<offset + count]
    }

    @inlinable package mutating func rest() -> [UInt8] {
        defer { offset = bytes.count }
        return Array(bytes[offset...])
    }

    /// Throws unless all bytes have been read.
    @inlinable package func end() throws { if !isAtEnd { throw damage() } }

    /// A number of a fixed size, the most significant byte first, without a sign.
    @inlinable
    package mutating func number<T: FixedWidthInteger>(
        _: T.Type = T.self, bytes width: Int = T.bitWidth / 8
    ) throws -> T {
        guard let bits = bytes.bigEndian(at: offset, bytes: width, as: UInt64.self), let number = T(exactly: bits) else {
            throw damage()
        }
        offset += width
        return number
    }

    @inlinable
    package mutating func number(bytes width: Int) throws -> Int { try number(Int.self, bytes: width) }

    /// A number in as many bytes as it needs (unsigned LEB128).
    @inlinable
    package mutating func varint() throws -> UInt64 {
        var number: UInt64 = 0, shift: UInt64 = 0
        while shift < 64, offset < bytes.count {
            let byte = UInt64(bytes[offset])
            offset += 1
            if shift == 63, byte > 1 { break }
            number |= (byte & 0x7f) << shift
            if byte < 0x80 { return number }
            shift += 7
        }
        throw damage()
    }

    /// A number in LEB128 that is at most `limit`; by default, a number of elements that each take at least one byte.
    @inlinable
    package mutating func count(atMost limit: Int? = nil) throws -> Int {
        let number = try varint()
        guard number <= UInt64(limit ?? bytes.count - offset) else { throw damage() }
        return Int(number)
    }

    /// A signed number, with its sign in the lowest bit.
    @inlinable package mutating func signed() throws -> Int64 { Int64(signInLowestBit: try varint()) }

    /// Bytes after their number.
    @inlinable package mutating func prefixed() throws -> ArraySlice<UInt8> { try take(varint()) }
}

/// Writes what ``ByteReader`` reads.
extension Array<UInt8> {
    @inlinable
    package mutating func append<T: FixedWidthInteger>(number: T, bytes width: Int = T.bitWidth / 8) {
        for index in (0..<width).reversed() { append(UInt8(truncatingIfNeeded: number >> T(8 * index))) }
    }

    /// Appends a number in LEB128: its 64 bits, if it is negative.
    @inlinable
    package mutating func append(varint number: some FixedWidthInteger) {
        var rest = UInt64(truncatingIfNeeded: number)
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    @inlinable package mutating func append(signed number: Int64) { append(varint: number.signInLowestBit) }

    @inlinable
    package mutating func append(prefixed bytes: some Collection<UInt8>) {
        append(varint: bytes.count)
        append(contentsOf: bytes)
    }
}

extension Int64 {
    /// The number with its sign moved to the lowest bit, so that LEB128 is short for negative numbers too.
    @inlinable package var signInLowestBit: UInt64 { UInt64(bitPattern: self << 1 ^ self >> 63) }

    @inlinable package init(signInLowestBit bits: UInt64) { self = Int64(bitPattern: bits >> 1) ^ -Int64(bitPattern: bits & 1) }
}
