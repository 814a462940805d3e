import SQLCipherKitCore

extension ByteReader {
    /// Reads bytes of a replica, and throws ``DatabaseError/Reason/replicaDamaged``.
    package init(replica bytes: some Sequence<UInt8>) {
        self.init(bytes) { .damagedReplica("an object is truncated or has an unknown form") }
    }

    /// A number that leaves room for adding to it.
    package mutating func position() throws -> UInt64 { UInt64(try count(atMost: 1 << 60)) }

    package mutating func uint32() throws -> UInt32 { UInt32(try count(atMost: Int(UInt32.max))) }
}

extension UnsafeRawBufferPointer {
    package func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[range]) }
}

extension DatabaseError {
    package static func damagedReplica(_ message: String, underlying: (any Error)? = nil) -> DatabaseError {
        DatabaseError(
            code: .corrupt, reason: .replicaDamaged, message: "the replica cannot be used: \(message)", underlying: underlying)
    }
}
