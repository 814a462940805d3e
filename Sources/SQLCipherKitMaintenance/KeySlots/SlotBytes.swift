import SQLCipherKitCore

/// Reads big-endian integers and bytes, and throws if there are not enough left.
struct ByteReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func bytes(_ count: Int) throws(DatabaseError) -> [UInt8] {
        guard count >= 0, count <= rest.count else { throw .damagedSlots("they are truncated") }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// Reads an integer of up to 8 bytes; of 8 bytes, the highest bit must not be set.
    mutating func integer(_ count: Int) throws(DatabaseError) -> Int {
        let value = try bytes(count).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard let value = Int(exactly: value) else { throw .damagedSlots("a number is too large") }
        return value
    }
}

/// Writes the format that `ByteReader` reads.
struct ByteWriter {
    private(set) var result: [UInt8] = []

    mutating func bytes(_ bytes: [UInt8]) { result += bytes }

    mutating func integer(_ value: Int, _ count: Int) {
        for index in 0..<count { result.append(UInt8(truncatingIfNeeded: value >> (8 * (count - 1 - index)))) }
    }
}
