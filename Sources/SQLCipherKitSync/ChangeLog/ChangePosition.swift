import Foundation

extension ChangeLog {
    /// The entries that a copy of a database has: for each peer, the last of its entries; see ``ChangeLog/position``.
    ///
    /// A position is small: a name and two numbers for each peer. Send it to a peer to get the result of
    /// ``ChangeLog/changes(since:)`` in return.
    public struct Position: Hashable, Codable, Sendable {
        /// The last entry of a peer that a copy has.
        package struct Mark: Hashable, Codable, Sendable {
            /// The number of the entry. The first entry of a peer is 1.
            package let sequence: Int64
            /// The entry's time by the log's hybrid logical clock: milliseconds since 1970 in the upper 48 bits, and a count in the
            /// lower 16.
            package let clock: Int64
            /// Drawn at random for the entry. It tells apart two entries with the same number, which may have the same time too:
            /// a clock that is slow, or was set back, counts on from the last entry. 0 if it is not known.
            package let identity: Int64

            init(sequence: Int64, clock: Int64, identity: Int64) {
                (self.sequence, self.clock, self.identity) = (sequence, clock, identity)
            }

            package init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                sequence = try container.decode(Int64.self, forKey: .sequence)
                clock = try container.decode(Int64.self, forKey: .clock)
                identity = try container.decode(Int64.self, forKey: .identity)
                guard Self.sequences.contains(sequence), (0...ChangeStamp.latest).contains(clock) else {
                    throw DecodingError.dataCorrupted(
                        DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "not a position of a change log"))
                }
            }

            /// Before the first entry.
            static let none = Mark(sequence: 0, clock: 0, identity: 0)
            static let sequences: ClosedRange<Int64> = 1...ChangeLogStore.perPeer - 1

            /// Returns whether two marks with the same number can be of one entry.
            func isSame(as other: Mark) -> Bool { identity == 0 || other.identity == 0 || self == other }
        }

        /// The last entry of each peer that the copy has. Peers without entries are left out.
        package internal(set) var marks: [String: Mark]

        /// The position of a copy that has no entries.
        public init() { marks = [:] }

        /// The number of a peer's last entry; 0 if the copy has no entry of that peer.
        public func sequence(of peer: String) -> Int64 { marks[peer]?.sequence ?? 0 }

        /// Returns true if the copy has all entries that another copy has.
        public func includes(_ other: Position) -> Bool {
            other.marks.allSatisfy { sequence(of: $0.key) >= $0.value.sequence }
        }

        /// The later mark for each peer.
        package func merged(with other: Position) -> Position {
            var result = self
            result.marks.merge(other.marks) { $0.sequence >= $1.sequence ? $0 : $1 }
            return result
        }
    }
}

/// When and where a row or a value was written. The order of all stamps is the same for all peers.
struct ChangeStamp: Hashable, Comparable, Sendable {
    /// The time of a hybrid logical clock: milliseconds since 1970 in the upper 48 bits, and a count. It is later than any stamp
    /// that the peer has seen.
    let clock: Int64
    let peer: String

    /// The stamp of rows that are older than the log, or that all peers know.
    static let ancient = ChangeStamp(clock: 0, peer: "")

    static func < (a: ChangeStamp, b: ChangeStamp) -> Bool {
        a.clock != b.clock ? a.clock < b.clock : a.peer.utf8.lexicographicallyPrecedes(b.peer.utf8)
    }

    /// The clock's next reading.
    static func tick(after last: Int64, now: Date) -> Int64 {
        // A system clock that is far off must neither trap nor use up the clock's range.
        let milliseconds = Int64(min(max(now.timeIntervalSince1970 * 1000, 0), 0x7fff_ffff_ffff / 2))
        return max(last + 1, milliseconds << 16)
    }

    /// Later times are refused, because the clock could overflow after them.
    static let latest = Int64.max - (1 << 32)
}

extension String {
    /// True if this can be the name of a peer. In ASCII, equal names have the same bytes.
    var isPeerName: Bool { (1...128).contains(utf8.count) && utf8.allSatisfy { (0x21...0x7e).contains($0) } }
}
