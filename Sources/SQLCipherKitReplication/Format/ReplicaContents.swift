import SQLCipherKitCore
import SQLCipherKitFiles

/// The head's data about a section, sealed with its key. Its size does not depend on the stored content.
struct ReplicaContents {
    /// The end of the chain when the head was stored. Links from the place's number on were stored later.
    var place = ChainPlace.none
    /// The generation of the place: its number, and its end in frames and commits.
    var generation: UInt32 = 0
    var frames: UInt64 = 0, commits: UInt64 = 0
    var pageSize = 4096
    /// The position in the database's own log that `frames` corresponds to, and the time of the last block.
    var mark = LogMark()
    var latest: Int64 = 0
    /// The replica's own clock.
    var age: UInt64 = 0, believed: UInt64 = 0

    /// The last snapshot of the generation, if it has one: its first state, size and age; and the bytes of the log since.
    var snapshot: (commits: UInt64, size: Int, age: UInt64)?
    var logged: UInt64 = 0
    /// The first link of the term that was joined and may still exist.
    var joined: UInt64 = 0
    /// The snapshot that was begun, and its largest number of parts; the number 0 stands for no snapshot.
    var begun: (number: UInt64, parts: Int) = (0, 0)
    /// The number of the last snapshot or page of the term.
    var counter: UInt64 = 0
    /// The earlier sections.
    var formers: [[UInt8]] = []
    var index = ReplicaIndex()

    init() {}

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        place.append(to: &bytes)
        for number in [UInt64(generation), frames, commits, UInt64(pageSize)] { bytes.append(varint: number) }
        mark.append(to: &bytes)
        bytes.append(signed: latest)
        bytes.append(varint: age)
        bytes.append(varint: believed)
        bytes.append(varint: snapshot == nil ? 0 : 1)
        if let snapshot {
            for number in [snapshot.commits, UInt64(snapshot.size), snapshot.age] { bytes.append(varint: number) }
        }
        for number in [logged, joined, begun.number, UInt64(begun.parts), counter] { bytes.append(varint: number) }
        bytes.append(varint: formers.count)
        for id in formers { bytes += id }
        index.append(to: &bytes)
        return bytes
    }

    init(_ bytes: [UInt8]) throws {
        var reader = ByteReader(replica: bytes)
        place = try ChainPlace(&reader)
        generation = UInt32(try reader.count(atMost: Int(HeldPlace.largestGeneration)))
        (frames, commits) = (try reader.position(), try reader.position())
        pageSize = try reader.count(atMost: 65536)
        mark = try LogMark(&reader)
        latest = try reader.signed()
        (age, believed) = (try reader.position(), try reader.position())
        if try reader.count(atMost: 1) == 1 {
            snapshot = (try reader.position(), try reader.count(atMost: 1 << 48), try reader.position())
        }
        (logged, joined) = (try reader.position(), try reader.position())
        begun = (try reader.position(), try reader.count(atMost: ReplicaIndex.mostObjects))
        counter = try reader.position()
        for _ in 0..<(try reader.count(atMost: 4 * ReplicaHead.largestSectionCount)) { formers.append(Array(try reader.take(8))) }
        index = try ReplicaIndex(&reader)
        guard reader.isAtEnd else { throw DatabaseError.damagedReplica("the head has an unknown form") }
    }
}

extension LogMark {
    func append(to bytes: inout [UInt8]) {
        bytes.append(number: salts)
        bytes.append(number: checksum)
        for number in [frame, pages, commits] { bytes.append(varint: number) }
    }

    init(_ reader: inout ByteReader) throws {
        self.init()
        (salts, checksum) = (try reader.number(), try reader.number())
        (frame, pages, commits) = (try reader.uint32(), try reader.uint32(), try reader.uint32())
    }
}

extension Replicator {
    /// A state of a replicated database: a number of commits since the start of a generation. A generation begins with the first
    /// snapshot, and whenever the log in the store cannot be continued, for example after both the replica and the database's log
    /// were restarted.
    public struct Position: Hashable, Sendable, Comparable, Codable, CustomStringConvertible {
        /// The number of the generation, counted from 1.
        public let generation: UInt64
        /// The number of commits since its start.
        public let commit: UInt64

        /// Creates a position from its two numbers.
        /// - Parameters:
        ///   - generation: the number of the generation, counted from 1.
        ///   - commit: the number of commits since its start.
        public init(generation: UInt64, commit: UInt64) { (self.generation, self.commit) = (generation, commit) }

        /// Creates a position from its description, such as `3:120`; nil for any other text.
        public init?(_ description: String) {
            let parts = description.split(separator: ":", omittingEmptySubsequences: false).map { UInt64($0) }
            guard parts.count == 2, let generation = parts[0], let commit = parts[1] else { return nil }
            self.init(generation: generation, commit: commit)
        }

        public static func < (a: Self, b: Self) -> Bool { (a.generation, a.commit) < (b.generation, b.commit) }

        /// The two numbers, with a colon between them.
        public var description: String { "\(generation):\(commit)" }
    }
}
