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
