import Foundation

/// How far a copy of a database has got: for each peer, which of its entries the copy has; see ``ChangeLog/position``.
///
/// A position is small: a number for each peer. Send it to a peer that is to answer with ``ChangeLog/changes(since:)``.
public struct ChangePosition: Hashable, Codable, Sendable {
    /// The last entry of a peer.
    public struct Mark: Hashable, Codable, Sendable {
        /// The number of the entry. The first entry of a peer is 1.
        public let sequence: Int64
        /// The entry's time, by the log's own clock: it identifies the entry.
        public let clock: Int64
    }

    /// The last entry of each peer that the copy has. Peers without entries are left out.
    public internal(set) var marks: [String: Mark]

    /// The position of a copy that has no entries.
    public init() { marks = [:] }

    /// The number of the last entry of a peer; 0 without one.
    public func sequence(of peer: String) -> Int64 { marks[peer]?.sequence ?? 0 }

    /// Whether the copy has all entries that another one has.
    public func includes(_ other: ChangePosition) -> Bool {
        other.marks.allSatisfy { sequence(of: $0.key) >= $0.value.sequence }
    }

    /// The later one for each peer.
    func merged(with other: ChangePosition) -> ChangePosition {
        var result = self
        result.marks.merge(other.marks) { $0.sequence >= $1.sequence ? $0 : $1 }
        return result
    }
}

/// When and where a row or a value was written. The order of all stamps is the same for all peers.
struct ChangeStamp: Hashable, Comparable, Sendable {
    /// By a hybrid logical clock: milliseconds since 1970 in the upper 48 bits, and a count. It is later than any stamp that the
    /// peer has seen.
    let clock: Int64
    let peer: String

    /// The stamp of what was there before the log, or is known to all peers.
    static let ancient = ChangeStamp(clock: 0, peer: "")

    static func < (a: ChangeStamp, b: ChangeStamp) -> Bool {
        a.clock != b.clock ? a.clock < b.clock : a.peer.utf8.lexicographicallyPrecedes(b.peer.utf8)
    }

    /// The next time of the clock.
    static func tick(after last: Int64, now: Date) -> Int64 {
        // A clock of the system that is out of range must not trap, nor may it use up the times that are left.
        let milliseconds = Int64(min(max(now.timeIntervalSince1970 * 1000, 0), 0x7fff_ffff_ffff / 2))
        return max(last + 1, milliseconds << 16)
    }

    /// Times after this one are refused: with them, the clock could run out.
    static let latest = Int64.max - (1 << 32)
}

extension String {
    /// Whether this can be the name of a peer: two equal names have the same bytes.
    var isPeerName: Bool { (1...128).contains(utf8.count) && utf8.allSatisfy { (0x21...0x7e).contains($0) } }
}
