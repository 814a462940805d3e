/// Numbers in replicated objects, most significant byte first.
extension Array<UInt8> {
    mutating func append<T: FixedWidthInteger>(number: T) {
        for shift in stride(from: T.bitWidth - 8, through: 0, by: -8) { append(UInt8(truncatingIfNeeded: number >> T(shift))) }
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes must be there.
    func number<T: FixedWidthInteger>(at offset: Int, as type: T.Type = T.self) -> T {
        T(bigEndian: loadUnaligned(fromByteOffset: offset, as: T.self))
    }

    func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[range]) }
}

/// Bytes read in order; nil past the end.
struct ByteParser {
    let bytes: [UInt8]
    private(set) var offset = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func number<T: FixedWidthInteger>(_: T.Type) -> T? {
        guard let part = take(T.bitWidth / 8) else { return nil }
        return part.reduce(0) { $0 << 8 | T(truncatingIfNeeded: $1) }
    }

    mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, count <= bytes.count - offset else { return nil }
        defer { offset += count }
        return bytes[offset..<offset + count]
    }

    var isAtEnd: Bool { offset == bytes.count }
}
