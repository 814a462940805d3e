import SQLCipherKitCore
import SQLCipherKitMaintenance

/// What the store holds of a database, as its manifest says.
struct ReplicaContents: Codable {
    /// An object with blocks of the log.
    struct LogObject: Codable, Hashable {
        var name: String
        /// 0 as it was stored first; one more each time that several were joined.
        var level: Int
        /// Positions in frames, from the generation's start.
        var first: UInt64, end: UInt64
        /// The number of commits that ended before it, and at its end.
        var commitsBefore: UInt64, commits: UInt64
        /// The earliest and the latest time of its blocks, in milliseconds since 1970.
        var earliest: Int64, latest: Int64
        var size: Int
        /// The tags of the block before it, and of its last block.
        var predecessor: [UInt8], tag: [UInt8]
    }

    /// A copy of all pages, made while the database went on: it is complete with the log from `first` to `commits`.
    struct Snapshot: Codable, Hashable {
        /// The objects are called `name` with `.` and a number from 0.
        var name: String
        var parts: Int
        var size: Int
        /// The position from which the log is needed, in frames and in commits, and the tag of the block before it.
        var first: UInt64, commitsBefore: UInt64
        var predecessor: [UInt8]
        /// The first state that can be restored with it.
        var commits: UInt64
        var time: Int64
        /// The number of pages in the database at `first`.
        var pages: UInt32
    }

    /// A snapshot and the log since, without a gap.
    struct Generation: Codable {
        var number: UInt64
        var time: Int64
        var pageSize: Int
        /// The end of the log in frames and in commits, and the end of the last commit.
        var frames: UInt64 = 0, commits: UInt64 = 0, committedFrames: UInt64 = 0
        /// The tag of the last block.
        var tag: [UInt8]
        /// The position in the database's own log that `frames` corresponds to.
        var mark: LogMark
        var log: [LogObject] = []
        var snapshots: [Snapshot] = []
        /// The time of the last commit.
        var latest: Int64

        var isRestorable: Bool { !snapshots.isEmpty }
    }

    /// An object that is no longer used, and the time since when.
    struct Removed: Codable {
        var name: String
        var time: Int64
    }

    var generations: [Generation] = []
    var removed: [Removed] = []
    /// Numbers the manifests of a writer.
    var serial = 0

    /// The newest generation that can be restored.
    var newest: Generation? { generations.last { $0.isRestorable } }
}

/// A state of a replicated database: a number of commits since the start of a generation. A generation begins with the first
/// snapshot, and when the log in the store cannot be continued, as after a restart of both the replica and the database's log.
public struct ReplicaPosition: Hashable, Sendable, Comparable, Codable, CustomStringConvertible {
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
