import SQLCipherKitCore
import SQLCipherKitFiles

/// A sealed block of pages, or of a writer's record. Objects are sequences of blocks.
///
/// A block has a header of 60 bytes, the pages, encrypted as in the database, the sealed table, and a tag. The tag authenticates
/// the whole block, including the tag of the previous block in the header. So a tag stands for all blocks up to its own, and
/// identifies the block's place in the chain.
struct ReplicaBlock {
    static let headerCount = 60
    static let magic = Array("SCKR".utf8) + [2]

    enum Kind: UInt8 {
        /// Frames of the log, in order.
        case log = 1
        /// Pages of a snapshot.
        case snapshot = 2
        /// The beginning of a term, which is its link 0: a ``TermOpening``.
        case opening = 3
        /// The end of a term, stored by the writer that takes over: the identity of its term.
        case closing = 4
        /// Entries of the index that are no longer in the head.
        case page = 5
    }

    struct Frame: Equatable {
        /// The number of the page, counted from 1.
        var page: UInt32
        /// The number of pages in the database after the commit that the frame ends; 0 within a commit, and in snapshots.
        var size: UInt32
    }

    var kind: Kind
    /// The generation's number.
    var generation: UInt32
    /// The number of frames before the block since the generation began; in a snapshot, the number of pages before it.
    var first: UInt64
    var pageSize: Int
    /// The tag of the previous block.
    var predecessor: [UInt8]
    /// When the block was made, in milliseconds since 1970.
    var time: Int64
    /// The time of the block by the replica's own clock: see ``ChainClock``.
    var age: UInt64
    /// The number of commits that ended before the block since the generation began.
    var commits: UInt64
    var frames: [Frame] = []
    /// The data that depends on the kind; for the log, the position in the database's log after it.
    var record: [UInt8] = []
    /// The bytes of the pages; empty in a block that was made by reading an object.
    var pages: [UInt8] = []

    /// The number of commits that end in the block.
    var commitCount: Int { frames.reduce(0) { $0 + ($1.size == 0 ? 0 : 1) } }
    var end: UInt64 { first + UInt64(frames.count) }
    var endCommits: UInt64 { commits + UInt64(commitCount) }

    /// - Returns: the bytes to store. Their last ``ReplicaKey/tagCount`` are the tag.
    func sealed(with key: ReplicaKey) throws -> [UInt8] {
        let nonce = try ReplicaKey.random(ReplicaKey.nonceCount)
        var table: [UInt8] = []
        table.reserveCapacity(64 + 8 * frames.count + record.count)
        table.append(signed: time)
        for number in [age, commits] { table.append(varint: number) }
        for frame in frames {
            table.append(varint: frame.page)
            table.append(varint: frame.size)
        }
        table += record
        var bytes = Self.magic + [kind.rawValue, 0, 0]
        bytes.reserveCapacity(Self.headerCount + pages.count + table.count + ReplicaKey.tagCount)
        bytes.append(number: generation)
        bytes.append(number: UInt32(frames.count))
        bytes.append(number: UInt32(pageSize))
        bytes.append(number: UInt32(table.count))
        bytes.append(number: first)
        bytes += predecessor + nonce
        bytes += pages
        return bytes + (try key.seal(table, with: bytes, nonce: nonce))
    }

    /// A block that was read, without its pages, and the places of the pages and of the block's end.
    typealias Opened = (block: ReplicaBlock, pages: Range<Int>, end: Int, tag: [UInt8])

    /// Reads the block at `offset` of an object.
    /// - Throws: ``DatabaseError/Reason/replicaDamaged``.
    static func open(_ object: UnsafeRawBufferPointer, at offset: Int, with key: ReplicaKey) throws -> Opened {
        guard object.count - offset >= headerCount, object.slice(offset..<offset + 5).elementsEqual(magic),
            let kind = Kind(rawValue: object[offset + 5])
        else { throw DatabaseError.damagedReplica("an object does not have the expected content") }
        var header = ByteReader(replica: object.slice(offset + 8..<offset + headerCount))
        let generation = try header.number(UInt32.self), count = try header.number(Int.self, bytes: 4)
        let pageSize = try header.number(Int.self, bytes: 4), size = try header.number(Int.self, bytes: 4)
        guard (512...65536).contains(pageSize) else { throw DatabaseError.damagedReplica("an object has an invalid page size") }
        let first = try header.number(UInt64.self), predecessor = Array(try header.take(ReplicaKey.tagCount))
        guard first < 1 << 60 else { throw DatabaseError.damagedReplica("an object has an invalid position") }
        let pages = offset + headerCount..<offset + headerCount + count * pageSize
        let end = pages.upperBound + size + ReplicaKey.tagCount
        guard end <= object.count else { throw DatabaseError.damagedReplica("an object is truncated") }
        let table = header.rest().withUnsafeBytes { nonce in
            key.open(object.slice(pages.upperBound..<end), with: object.slice(offset..<pages.upperBound), nonce: nonce)
        }
        guard let table else { throw DatabaseError.damagedReplica("an object was changed, or sealed with another key") }
        var reader = ByteReader(replica: table)
        let time = try reader.signed(), age = try reader.position(), commits = try reader.position()
        var block = ReplicaBlock(
            kind: kind, generation: generation, first: first, pageSize: pageSize, predecessor: predecessor, time: time, age: age,
            commits: commits)
        block.frames.reserveCapacity(count)
        for _ in 0..<count {
            block.frames.append(Frame(page: try reader.uint32(), size: try reader.uint32()))
        }
        block.record = reader.rest()
        return (block, pages, end, Array(object.slice(end - ReplicaKey.tagCount..<end)))
    }

    /// Reads the blocks of an object, up to the block in which the commit `last` ends.
    /// - Throws: ``DatabaseError/Reason/replicaDamaged``.
    static func openAll(_ object: [UInt8], with key: ReplicaKey, upTo last: UInt64 = .max) throws -> [Opened] {
        try object.withUnsafeBytes { object in
            var blocks: [Opened] = [], offset = 0
            while offset < object.count {
                let opened = try open(object, at: offset, with: key)
                blocks.append(opened)
                if opened.block.kind == .log, opened.block.endCommits >= last { break }
                offset = opened.end
            }
            return blocks
        }
    }
}

extension DatabaseError {
    static func changedReplicaKey(_ message: String) -> DatabaseError {
        DatabaseError(
            code: .authorization, reason: .replicaKeyChanged, message: "the key of the replicated database was changed: \(message)")
    }

    static let fencedReplica = DatabaseError(
        code: .busy, reason: .replicaFenced, message: "another writer has taken over the replica in the store")

    static func rolledBackReplica(_ message: String) -> DatabaseError {
        DatabaseError(code: .mismatch, reason: .replicaRolledBack, message: "the store is in an earlier state: \(message)")
    }

    static func forkedReplica(_ message: String) -> DatabaseError {
        DatabaseError(code: .mismatch, reason: .replicaForked, message: "the store has another history: \(message)")
    }
}
