import SQLCipherKitCore
import SQLCipherKitMaintenance

/// Some pages of a replica, sealed: frames of the log in order, or pages of a snapshot. Objects are sequences of blocks.
///
/// A header of 64 bytes, the pages as they are encrypted in the database, the sealed table with their numbers, and the tag, which
/// authenticates all of that and the tag of the block before it. The header tells sizes and the order of blocks, and nothing else.
struct ReplicaBlock {
    static let headerCount = 64
    private static let magic = Array("SCKB".utf8) + [1]

    enum Kind: UInt8 {
        case log = 1
        case snapshot = 2
    }

    struct Frame: Equatable {
        /// The number of the page, counted from 1.
        var page: UInt32
        /// The number of pages in the database after the commit that the frame ends; 0 within a commit, and in snapshots.
        var size: UInt32
    }

    var kind: Kind
    /// The generation's number.
    var generation: UInt64
    /// The number of frames before the block since the generation began; in a snapshot, the number of pages before it.
    var first: UInt64
    var pageSize: Int
    /// The tag of the block before it.
    var predecessor: [UInt8]
    /// When the block was made, in milliseconds since 1970.
    var time: Int64
    /// The number of commits that ended before the block since the generation began.
    var commits: UInt64
    var frames: [Frame] = []
    /// The bytes of the pages; empty in a block that was made by reading an object.
    var pages: [UInt8] = []

    /// The number of commits that end in the block.
    var commitCount: Int { frames.reduce(0) { $0 + ($1.size == 0 ? 0 : 1) } }

    /// - Returns: the bytes to store. Their last ``ReplicaKey/tagCount`` are the tag.
    func sealed(with key: ReplicaKey) throws -> [UInt8] {
        let nonce = try ReplicaKey.random(ReplicaKey.nonceCount)
        var table: [UInt8] = []
        table.reserveCapacity(16 + 8 * frames.count)
        table.append(number: time)
        table.append(number: commits)
        for frame in frames {
            table.append(number: frame.page)
            table.append(number: frame.size)
        }
        var bytes = Self.magic + [kind.rawValue, 0, 0]
        bytes.reserveCapacity(Self.headerCount + pages.count + table.count + ReplicaKey.tagCount)
        bytes.append(number: generation)
        bytes.append(number: first)
        bytes.append(number: UInt32(frames.count))
        bytes.append(number: UInt32(pageSize))
        bytes += predecessor + nonce
        bytes += [UInt8](repeating: 0, count: Self.headerCount - bytes.count)
        bytes += pages
        let sealed = try bytes.withUnsafeBytes { try key.seal(table, with: $0, nonce: nonce) }
        return bytes + sealed
    }

    /// A block that was read: without its pages, and with the places of these and of its end.
    typealias Opened = (block: ReplicaBlock, pages: Range<Int>, end: Int, tag: [UInt8])

    /// Reads the block at `offset` of an object.
    /// - Throws: ``DatabaseError/Reason/replicaDamaged``.
    static func open(_ object: UnsafeRawBufferPointer, at offset: Int, with key: ReplicaKey) throws -> Opened {
        guard object.count - offset >= headerCount, object.slice(offset..<offset + 5).elementsEqual(magic),
            let kind = Kind(rawValue: object[offset + 5])
        else { throw DatabaseError.damagedReplica("an object does not hold what it should") }
        let header = object.slice(offset..<offset + headerCount)
        let count = Int(header.number(at: 24, as: UInt32.self)), pageSize = Int(header.number(at: 28, as: UInt32.self))
        guard (512...65536).contains(pageSize) else { throw DatabaseError.damagedReplica("an object has an impossible page size") }
        let pages = offset + headerCount..<offset + headerCount + count * pageSize
        let end = pages.upperBound + 16 + 8 * count + ReplicaKey.tagCount
        guard end <= object.count else { throw DatabaseError.damagedReplica("an object is cut off") }
        let table = key.open(
            object.slice(pages.upperBound..<end), with: object.slice(offset..<pages.upperBound), nonce: header.slice(48..<60))
        guard let table else { throw DatabaseError.damagedReplica("an object was changed, or sealed with another key") }
        var block = ReplicaBlock(
            kind: kind, generation: header.number(at: 8), first: header.number(at: 16), pageSize: pageSize,
            predecessor: Array(header.slice(32..<48)), time: 0, commits: 0)
        table.withUnsafeBytes { table in
            block.time = table.number(at: 0)
            block.commits = table.number(at: 8)
            block.frames = (0..<count).map { Frame(page: table.number(at: 16 + 8 * $0), size: table.number(at: 20 + 8 * $0)) }
        }
        return (block, pages, end, Array(object.slice(end - ReplicaKey.tagCount..<end)))
    }

    /// Reads the blocks of an object, up to the one in which that commit ends.
    /// - Throws: ``DatabaseError/Reason/replicaDamaged``.
    static func openAll(_ object: [UInt8], with key: ReplicaKey, upTo last: UInt64 = .max) throws -> [Opened] {
        try object.withUnsafeBytes { object in
            var blocks: [Opened] = [], offset = 0
            while offset < object.count {
                let opened = try open(object, at: offset, with: key)
                blocks.append(opened)
                if opened.block.commits &+ UInt64(opened.block.commitCount) >= last { break }
                offset = opened.end
            }
            return blocks
        }
    }
}

extension ReplicaContents.LogObject {
    /// - Throws: ``DatabaseError/Reason/replicaDamaged`` unless these are the object's blocks.
    func check(_ bytes: [UInt8], of generation: UInt64, with key: ReplicaKey) throws {
        try bytes.withUnsafeBytes { bytes in
            var offset = 0, last = predecessor, position = first
            while offset < bytes.count {
                let (block, _, next, tag) = try ReplicaBlock.open(bytes, at: offset, with: key)
                guard block.kind == .log, block.generation == generation, block.predecessor == last, block.first == position
                else { throw DatabaseError.damagedReplica("the object \(name) is out of place") }
                position += UInt64(block.frames.count)
                (offset, last) = (next, tag)
            }
            guard bytes.count == size, last == tag, position == end else {
                throw DatabaseError.damagedReplica("the object \(name) is not complete")
            }
        }
    }
}

extension DatabaseError {
    static func damagedReplica(_ message: String) -> DatabaseError {
        DatabaseError(code: .corrupt, reason: .replicaDamaged, message: "the replica cannot be used: \(message)")
    }

    static func changedReplicaKey(_ message: String) -> DatabaseError {
        DatabaseError(
            code: .authorization, reason: .replicaKeyChanged, message: "the key of the replicated database was changed: \(message)")
    }

    static let fencedReplica = DatabaseError(
        code: .busy, reason: .replicaFenced, message: "another writer has taken over the replica in the store")
}
