import SQLCipherKitCore
import SQLCipherKitFiles

/// What the head says of a section, sealed with its key. Its size does not depend on what is stored.
struct ReplicaContents {
    /// Where the chain was when the head was stored. What was stored since are the links from its number on.
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
    /// The first link of the term that may still be there although it was joined.
    var joined: UInt64 = 0
    /// The snapshot that was begun, and how many parts it can have; the number 0 stands for none.
    var begun: (number: UInt64, parts: Int) = (0, 0)
    /// The number of the last snapshot or page of the term.
    var counter: UInt64 = 0
    /// The sections that were there before this one.
    var formers: [[UInt8]] = []
    var index = ReplicaIndex()

    init() {}

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        place.append(to: &bytes)
        for number in [UInt64(generation), frames, commits, UInt64(pageSize)] { bytes.append(short: number) }
        mark.append(to: &bytes)
        bytes.append(signed: latest)
        bytes.append(short: age)
        bytes.append(short: believed)
        bytes.append(short: snapshot == nil ? 0 : 1)
        if let snapshot {
            for number in [snapshot.commits, UInt64(snapshot.size), snapshot.age] { bytes.append(short: number) }
        }
        for number in [logged, joined, begun.number, UInt64(begun.parts), counter] { bytes.append(short: number) }
        bytes.append(short: UInt64(formers.count))
        for id in formers { bytes += id }
        index.append(to: &bytes)
        return bytes
    }

    init(_ bytes: [UInt8]) throws {
        var parser = ByteParser(bytes)
        place = try ChainPlace(&parser)
        generation = UInt32(try parser.count(atMost: Int(UInt32.max) - 1))
        (frames, commits) = (try parser.position(), try parser.position())
        pageSize = try parser.count(atMost: 65536)
        mark = try LogMark(&parser)
        latest = try parser.signed()
        (age, believed) = (try parser.position(), try parser.position())
        if try parser.count(atMost: 1) == 1 { snapshot = (try parser.position(), try parser.count(), try parser.position()) }
        (logged, joined) = (try parser.position(), try parser.position())
        begun = (try parser.position(), try parser.count(atMost: 1 << 32))
        counter = try parser.position()
        for _ in 0..<(try parser.count(atMost: 4 * ReplicaHead.largestSectionCount)) { formers.append(Array(try parser.take(8))) }
        index = try ReplicaIndex(&parser)
        guard parser.isAtEnd else { throw DatabaseError.damagedReplica("the head is of an unknown form") }
    }
}

extension LogMark {
    func append(to bytes: inout [UInt8]) {
        bytes.append(number: salts)
        bytes.append(number: checksum)
        for number in [frame, pages, commits] { bytes.append(short: UInt64(number)) }
    }

    init(_ parser: inout ByteParser) throws {
        self.init()
        (salts, checksum) = (try parser.number(), try parser.number())
        frame = UInt32(try parser.count(atMost: Int(UInt32.max)))
        pages = UInt32(try parser.count(atMost: Int(UInt32.max)))
        commits = UInt32(try parser.count(atMost: Int(UInt32.max)))
    }
}

extension Replica {
    /// A state of a replicated database: a number of commits since the start of a generation. A generation begins with the first
    /// snapshot, and when the log in the store cannot be continued, as after a restart of both the replica and the database's log.
    public struct Position: Hashable, Sendable, Comparable, Codable, CustomStringConvertible {
        /// The number of the generation, counted from 1.
        public let generation: UInt64
        /// The number of commits since its start.
        public let commit: UInt64

        /// Creates a position from its two numbers.
        public init(generation: UInt64, commit: UInt64) { (self.generation, self.commit) = (generation, commit) }

        /// Creates a position from its description; nil if it is none.
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
