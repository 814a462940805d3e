import CSQLCipher

extension SecureBytes {
    /// Random bytes from the system's generator, for a key: 32 bytes are a raw key (``Encryption``).
    /// - Parameter count: the number of bytes, from 0 on. Default: 32.
    /// - Throws: ``DatabaseError/Reason/noRandomBytes``, or ``DatabaseError/Reason/invalidArgument`` for a negative number.
    public static func random(count: Int = 32) throws(DatabaseError) -> SecureBytes {
        guard count >= 0, count <= Int(Int32.max) else {
            throw .invalidArgument("\(count) random bytes, and 0 to \(Int32.max) are possible")
        }
        return try SecureBytes(count: count) { memory throws(DatabaseError) in
            let rc = sqlcipherkit_random(memory.baseAddress, Int32(count))
            if rc != SQLITE_OK { throw DatabaseError(rc: rc, database: nil) }
        }
    }

    /// Whether the bytes equal others, compared in a time that depends only on their number.
    package borrowing func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        if count == 0 { return true }
        return withUnsafeBytes { bytes in sqlcipherkit_equal(bytes.baseAddress, other.baseAddress, bytes.count) == 1 }
    }

    /// Whether both hold the same bytes, compared in a time that depends only on their number.
    package borrowing func isEqual(to other: borrowing SecureBytes) -> Bool {
        // The closure of `other` does not escape, so both are lent at once.
        other.withUnsafeBytes { bytes in isEqual(to: bytes) }
    }

    /// Holds the bytes that `read` selects from a buffer of `capacity` bytes, in memory of just their size; the buffer is wiped.
    /// - Parameter read: writes into the buffer and returns the range of the bytes to keep.
    package init(
        upTo capacity: Int, _ read: (UnsafeMutableRawBufferPointer) throws(DatabaseError) -> Range<Int>
    ) throws(DatabaseError) {
        var range = 0..<0
        let whole = try SecureBytes(count: capacity) { memory throws(DatabaseError) in range = try read(memory) }
        self = try whole.withUnsafeBytes { bytes throws(DatabaseError) in
            try SecureBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[range.clamped(to: 0..<capacity)]))
        }
    }
}

/// Secret bytes with several owners, wiped when the last one releases them.
package final class SharedSecureBytes: Sendable {
    private let bytes: SecureBytes

    package init(_ bytes: consuming SecureBytes) { self.bytes = bytes }

    var count: Int { bytes.count }

    package func withUnsafeBytes<R: ~Copyable, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try bytes.withUnsafeBytes(body)
    }
}

/// Random bytes that are not secret, such as a salt.
package func randomBytes(_ count: Int) throws(DatabaseError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let rc = sqlcipherkit_random(&bytes, Int32(count))
    if rc != SQLITE_OK { throw DatabaseError(rc: rc, database: nil) }
    return bytes
}
