import SQLCipherKitCore
import SQLCipherKitFiles

/// A place in a replica's history: a number of links of a term, and the tag of the last block in them.
///
/// A *term* is the period of one writer: it begins when a writer claims the store, with a random identity. Its *links* are objects
/// that are numbered from 0. Each link is stored only if no object has its name, so no two writers can continue one term.
struct ChainPlace: Codable, Hashable {
    static let termCount = 8

    /// The identity of the term.
    var term: [UInt8]
    /// The number of links up to the place, which is the number of the next link.
    @NotedNumber var link: UInt64
    var tag: [UInt8]

    /// The place before the first link.
    static let none = ChainPlace(term: [UInt8](repeating: 0, count: termCount), link: 0, tag: [UInt8](repeating: 0, count: 16))

    var isNone: Bool { self == .none }

    func append(to bytes: inout [UInt8]) {
        bytes += term
        bytes.append(varint: link)
        bytes += tag
    }

    init(term: [UInt8], link: UInt64, tag: [UInt8]) { (self.term, self.link, self.tag) = (term, link, tag) }

    init(_ reader: inout ByteReader) throws {
        term = Array(try reader.take(Self.termCount))
        link = try reader.position()
        tag = Array(try reader.take(ReplicaKey.tagCount))
    }
}

/// The record that a writer makes when it begins a term.
struct TermOpening {
    /// The number of terms that a reader may have missed without being taken for a reader of another history.
    static let largestAncestry = 128

    var term: [UInt8]
    /// The places at which the earlier terms ended, the latest term first.
    var ancestry: [ChainPlace]
    /// The first generation whose states come after these places. A store that has returned to an older state may still have
    /// earlier generations.
    var first: UInt32 = 0

    var record: [UInt8] {
        var bytes = term
        bytes.append(varint: ancestry.count)
        for place in ancestry { place.append(to: &bytes) }
        bytes.append(varint: first)
        return bytes
    }

    init(term: [UInt8], ancestry: [ChainPlace], first: UInt32 = 0) {
        (self.term, self.ancestry, self.first) = (term, Array(ancestry.prefix(Self.largestAncestry)), first)
    }

    init(_ record: some Sequence<UInt8>) throws {
        var reader = ByteReader(replica: record)
        term = Array(try reader.take(ChainPlace.termCount))
        ancestry = []
        for _ in 0..<(try reader.count(atMost: Self.largestAncestry)) { ancestry.append(try ChainPlace(&reader)) }
        first = try reader.uint32()
    }

    /// Reads the opening of a term.
    static func read(
        _ term: [UInt8], _ store: CheckedStore, _ names: ReplicaNames, _ key: ReplicaKey
    ) async throws -> TermOpening {
        let name = names.link(0, of: term)
        guard let object = try await store.get(name) else { throw DatabaseError.damagedReplica("the object \(name) is missing") }
        let blocks = try ReplicaBlock.openAll(object.bytes, with: key)
        guard blocks.count == 1, blocks[0].block.kind == .opening else {
            throw DatabaseError.damagedReplica("the object \(name) is out of place")
        }
        let opening = try TermOpening(blocks[0].block.record)
        guard opening.term == term else { throw DatabaseError.damagedReplica("the object \(name) is out of place") }
        return opening
    }

    /// Makes sure that a place is in the history of this term.
    /// - Parameter known: the terms before the place's own term.
    /// - Throws: ``DatabaseError/Reason/replicaRolledBack`` or ``DatabaseError/Reason/replicaForked``.
    func require(_ place: ChainPlace, known: [ChainPlace]) throws {
        if place.isNone || place.term == term { return }
        guard let end = ancestry.first(where: { $0.term == place.term }) else {
            if known.contains(where: { $0.term == term }) {
                throw DatabaseError.rolledBackReplica("it lacks the commits of its last writer")
            }
            throw DatabaseError.forkedReplica("it does not contain the commits of this database")
        }
        guard place.link < end.link || place == end else {
            throw DatabaseError.forkedReplica("another writer continued from an earlier state than this database has")
        }
    }
}

/// The newest place of a replica that a reader has seen. The reader accepts only a continuation of it.
struct HeldPlace: Codable {
    /// The identities of the sections that were followed, the present section last.
    var sections: [[UInt8]] = []
    var place = ChainPlace.none
    /// The terms before the place's own term.
    var ancestry: [ChainPlace] = []
    /// The number of the place's generation: later generations have greater numbers.
    var generation: UInt32 = 0

    /// The number of the next generation. A note or an object may claim any number.
    /// - Throws: ``DatabaseError/Reason/replicaDamaged`` if the number is the largest.
    static func generation(after number: UInt32) throws -> UInt32 {
        guard number < largestGeneration else { throw DatabaseError.damagedReplica("no generation can follow \(number)") }
        return number + 1
    }

    static let largestGeneration = UInt32.max - 1

    /// Makes sure that this place is in a history.
    /// - Parameters:
    ///   - end: the end of the history; `opening` is the opening of its last term.
    /// - Throws: ``DatabaseError/Reason/replicaRolledBack`` or ``DatabaseError/Reason/replicaForked``.
    func require(in end: ChainPlace, _ opening: TermOpening) throws {
        guard place.term == end.term else { return try opening.require(place, known: ancestry) }
        if place.link > end.link { throw DatabaseError.rolledBackReplica("it lacks commits that it had before") }
        if place.link == end.link, place.tag != end.tag {
            throw DatabaseError.forkedReplica("its last commits differ from the last commits of this database")
        }
    }
}

/// The time that has certainly passed for a replica, in milliseconds since its first term. This clock decides which objects are
/// older than the retention, so a wrong clock of the machine neither removes nor keeps an object. The clock runs with the system's
/// uptime. Between two terms, the machine's clock gives the time, up to ``largestStep``. Objects are kept for this limit longer
/// than the retention. If the machine's clock later shows an earlier time, the believed time is subtracted again.
struct ChainClock {
    let retention: UInt64
    /// The greatest pause between two terms that counts in full.
    var largestStep: UInt64 { min(24 * 3_600_000, retention / 4) }
    private var base: UInt64 = 0
    private var start = ContinuousClock.now
    /// The believed part of a pause that was longer.
    private(set) var believed: UInt64 = 0

    init(retention: Duration) { self.retention = UInt64(max(0, retention.milliseconds)) }

    var age: UInt64 { base + UInt64(max(0, (ContinuousClock.now - start).milliseconds)) }

    /// The time before which all objects are beyond the retention; nil while no object is.
    var horizon: UInt64? {
        let age = age, kept = retention + largestStep
        return age > kept ? age - kept : nil
    }

    /// Continues after a pause.
    /// - Parameters:
    ///   - age: the clock's time before the pause.
    ///   - time: the machine's time before the pause; `now` is its present time.
    mutating func resume(age: UInt64, believed: UInt64, time: Int64, now: Int64) {
        let (pause, overflows) = now.subtractingReportingOverflow(time)
        start = .now
        if pause < 0, !overflows {
            (base, self.believed) = (age - min(age, believed), 0)
        } else if overflows || UInt64(pause) > largestStep {
            (base, self.believed) = (age + largestStep, largestStep)
        } else {
            (base, self.believed) = (age + UInt64(pause), believed)
        }
    }
}
