import SQLCipherKitCore
import SQLCipherKitMaintenance

/// An object of a chain: a message of a change log, or one of several parts of it.
///
/// A header, which is authenticated, and the sealed part with its tag. The header has the number of the object in its chain, the
/// place and the number of the parts, whether the message has all rows, how many bytes of padding follow the part, and the tag of
/// the object before it.
struct ChangeLink {
    private static let magic = Array("SCKS".utf8) + [2]
    private static let headerCount = 5 + 1 + 8 + 4 + 4 + 2 + 16 + ReplicaKey.nonceCount
    private static let largestPadding = 511
    /// The most that a part adds to what is in it.
    static let overhead = headerCount + ReplicaKey.tagCount + largestPadding
    static let largestNumber: Int64 = 1 << 40
    static let largestPartCount = 1 << 12

    let number: Int64
    let part: Int, partCount: Int
    let isWhole: Bool
    let predecessor: [UInt8]
    let bytes: [UInt8]

    func sealed(_ key: ReplicaKey, _ context: [UInt8], _ random: (Int) throws -> [UInt8]) throws -> [UInt8] {
        let nonce = try random(ReplicaKey.nonceCount)
        var header = Self.magic + [isWhole ? 1 : 0]
        header.append(number: UInt64(number))
        header.append(number: UInt32(part))
        header.append(number: UInt32(partCount))
        let padding = try random(2).reduce(0) { $0 << 8 | Int($1) } & Self.largestPadding
        header.append(number: UInt16(padding))
        header += predecessor + nonce
        let plain = bytes + [UInt8](repeating: 0, count: padding)
        return header + (try (context + header).withUnsafeBytes { try key.seal(plain, with: $0, nonce: nonce) })
    }

    init(number: Int64, part: Int, of count: Int, isWhole: Bool, predecessor: [UInt8], bytes: [UInt8]) {
        (self.number, self.part, partCount, self.isWhole) = (number, part, count, isWhole)
        (self.predecessor, self.bytes) = (predecessor, bytes)
    }

    /// - Parameters:
    ///   - number: what the name of the object says.
    ///   - context: the store and the chain.
    init(_ object: [UInt8], number: Int64, _ key: ReplicaKey, _ context: [UInt8]) throws {
        guard object.count >= Self.headerCount + ReplicaKey.tagCount, object.starts(with: Self.magic) else {
            throw DatabaseError.damagedChanges("an object does not hold what it should")
        }
        var parser = ByteParser(Array(object[5..<Self.headerCount]))
        isWhole = try parser.number(UInt8.self) != 0
        let own = try parser.number(UInt64.self)
        part = Int(try parser.number(UInt32.self))
        partCount = Int(try parser.number(UInt32.self))
        let padding = Int(try parser.number(UInt16.self))
        predecessor = Array(try parser.take(ReplicaKey.tagCount))
        let nonce = Array(try parser.take(ReplicaKey.nonceCount))
        let associated = context + object[..<Self.headerCount]
        let plain = object.withUnsafeBytes { object in
            associated.withUnsafeBytes { associated in
                nonce.withUnsafeBytes { nonce in
                    key.open(object.slice(Self.headerCount..<object.count), with: associated, nonce: nonce)
                }
            }
        }
        guard let plain else { throw DatabaseError.damagedChanges("an object was changed, or sealed with another key") }
        guard own == UInt64(number), padding <= plain.count, (1...Self.largestPartCount).contains(partCount), part < partCount
        else {
            throw DatabaseError.damagedChanges("an object is out of place")
        }
        (self.number, bytes) = (number, Array(plain.dropLast(padding)))
    }

    static func tag(of object: [UInt8]) -> [UInt8] { Array(object.suffix(ReplicaKey.tagCount)) }
}
