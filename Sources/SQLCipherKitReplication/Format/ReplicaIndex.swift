import SQLCipherKitCore
import SQLCipherKitFiles

/// The objects of a section in a store, in the order in which they were stored.
///
/// The newest entries are in the head. As soon as a level has ``fanOut`` entries, these entries become an object, a *page*, and the
/// head gets one entry of the next level instead. So the head stays small, however many objects are stored.
struct ReplicaIndex {
    static let fanOut = 16
    /// The largest number of objects that one entry may name. With parts of 4 MiB, a snapshot can have 16 TiB. A list of so many
    /// names fits in memory.
    static let mostObjects = 1 << 22

    enum Entry: Hashable {
        case log(LogEntry)
        case snapshot(SnapshotEntry)
        case leftovers(LeftoversEntry)
        case page(PageEntry)
    }

    /// An object with blocks of the log. Positions are in frames and commits from the generation's start.
    struct LogEntry: Hashable {
        var term: [UInt8]
        var link: UInt64
        var generation: UInt32
        var first: UInt64, end: UInt64
        /// The number of commits that ended before the object, and up to its end.
        var commitsBefore: UInt64, commits: UInt64
        /// The earliest and the latest time of its blocks, in milliseconds since 1970.
        var earliest: Int64, latest: Int64
        /// The time at which the object was stored, by the replica's clock.
        var age: UInt64
        var size: Int
        /// The tag of the object's last block.
        var tag: [UInt8]

        /// The place after it.
        var place: ChainPlace { ChainPlace(term: term, link: link + 1, tag: tag) }
    }

    /// A copy of all pages, made while programs used the database: it is complete with the log from `first` to `commits`.
    struct SnapshotEntry: Hashable {
        var term: [UInt8]
        var number: UInt64
        var parts: Int
        var size: Int
        var generation: UInt32
        var pageSize: Int
        /// The position from which the log is needed, in frames and in commits, and the tag of the block before it.
        var first: UInt64, commitsBefore: UInt64
        var predecessor: [UInt8]
        /// The first state that can be restored with it.
        var commits: UInt64
        var time: Int64
        var age: UInt64
        /// The number of pages in the database at `first`.
        var pages: UInt32
        /// The place in the chain at which the snapshot is complete.
        var place: ChainPlace
    }

    /// The objects that the writer of a former term may have left: links that were joined, and parts of a snapshot that was begun.
    /// Only their names are known. They are removed with the entry.
    struct LeftoversEntry: Hashable {
        var term: [UInt8]
        var links: Range<UInt64>
        var snapshot: UInt64
        var parts: Int
        var age: UInt64
    }

    /// A page of entries.
    struct PageEntry: Hashable {
        var term: [UInt8]
        var number: UInt64
        var level: Int
        /// The number of the first entry, and the number of entries on all levels.
        var first: UInt64, count: UInt64
        var tag: [UInt8]
        var size: Int
        /// The newest position in the page, the earliest time, and the age of the page's first entry.
        var generation: UInt32, commits: UInt64
        var earliest: Int64
        var age: UInt64
    }

    /// The numbers of the first entry that can be used, of the first entry whose objects may still exist, and of the next entry.
    var first: UInt64 = 0, kept: UInt64 = 0, next: UInt64 = 0
    /// The entries by level, from the oldest to the newest.
    var levels: [[Entry]] = []

    var isEmpty: Bool { first == next }

    mutating func append(_ entry: Entry) {
        if levels.isEmpty { levels.append([]) }
        levels[0].append(entry)
        next += 1
    }

    /// The entries that have to become a page next.
    var full: (level: Int, entries: [Entry])? {
        levels.firstIndex { $0.count >= Self.fanOut }.map { ($0, Array(levels[$0].prefix(Self.fanOut))) }
    }

    /// Replaces the full level's entries by the page's entry.
    mutating func replaceFull(by page: PageEntry) {
        levels[page.level - 1].removeFirst(Self.fanOut)
        if levels.count == page.level { levels.append([]) }
        levels[page.level].append(.page(page))
    }

    /// The number of the oldest entry that is in the head or below it.
    var start: UInt64 { first(ofLevel: levels.count - 1) }

    /// Forgets entries whose objects were removed.
    mutating func drop(before number: UInt64) {
        kept = number
        for level in levels.indices.reversed() {
            var position = first(ofLevel: level)
            while let entry = levels[level].first, position + entry.count <= number {
                position += entry.count
                levels[level].removeFirst()
            }
        }
    }

    /// The number of the first entry of a level; without such a level, of the oldest entry.
    func first(ofLevel level: Int) -> UInt64 {
        levels.prefix(level + 1).reduce(next) { next, entries in next - min(next, entries.reduce(0) { $0 + $1.count }) }
    }
}

extension ReplicaIndex.Entry {
    /// The number of entries in this entry: more than one for a page.
    var count: UInt64 { if case .page(let page) = self { page.count } else { 1 } }

    /// The place in the chain after the entry.
    var place: ChainPlace? {
        switch self {
        case .log(let entry): entry.place
        case .snapshot(let entry): entry.place
        case .leftovers, .page: nil
        }
    }

    var age: UInt64 {
        switch self {
        case .log(let entry): entry.age
        case .snapshot(let entry): entry.age
        case .leftovers(let entry): entry.age
        case .page(let entry): entry.age
        }
    }

    /// The newest position in the entry.
    var newest: (generation: UInt32, commits: UInt64) {
        switch self {
        case .log(let entry): (entry.generation, entry.commits)
        case .snapshot(let entry): (entry.generation, entry.commits)
        case .leftovers: (0, 0)
        case .page(let entry): (entry.generation, entry.commits)
        }
    }

    var earliest: Int64 {
        switch self {
        case .log(let entry): entry.earliest
        case .snapshot(let entry): entry.time
        case .leftovers: .max
        case .page(let entry): entry.earliest
        }
    }
}

extension ReplicaIndex.PageEntry {
    init(term: [UInt8], number: UInt64, level: Int, entries: [ReplicaIndex.Entry], first: UInt64, bytes: [UInt8]) {
        let newest = entries.reduce((generation: UInt32(0), commits: UInt64(0))) { $0 < $1.newest ? $1.newest : $0 }
        self.init(
            term: term, number: number, level: level, first: first, count: entries.reduce(0) { $0 + $1.count },
            tag: Array(bytes.suffix(ReplicaKey.tagCount)), size: bytes.count, generation: newest.generation,
            commits: newest.commits, earliest: entries.reduce(.max) { min($0, $1.earliest) }, age: entries[0].age)
    }

    /// The entries in the page's object.
    /// - Throws: ``DatabaseError/Reason/replicaDamaged`` if the bytes are another object.
    func entries(_ bytes: [UInt8], with key: ReplicaKey) throws -> [ReplicaIndex.Entry] {
        let blocks = try ReplicaBlock.openAll(bytes, with: key)
        guard blocks.count == 1, blocks[0].block.kind == .page, blocks[0].tag == tag else {
            throw DatabaseError.damagedReplica("a page of the index is out of place")
        }
        var reader = ByteReader(replica: blocks[0].block.record)
        let entries = try ReplicaIndex.entries(&reader)
        guard reader.isAtEnd, entries.reduce(0, { $0 + $1.count }) == count else {
            throw DatabaseError.damagedReplica("a page of the index has an unknown form")
        }
        return entries
    }
}

extension ReplicaIndex.LogEntry {
    /// - Parameter blocks: the blocks of the object, at least one, with their tags.
    init(term: [UInt8], link: UInt64, blocks: [(block: ReplicaBlock, tag: [UInt8])], size: Int) {
        let first = blocks[0].block, last = blocks[blocks.count - 1]
        self.init(
            term: term, link: link, generation: last.block.generation, first: first.first, end: last.block.end,
            commitsBefore: first.commits, commits: last.block.endCommits,
            earliest: blocks.reduce(.max) { min($0, $1.block.time) }, latest: blocks.reduce(.min) { max($0, $1.block.time) },
            age: last.block.age, size: size, tag: last.tag)
    }
}

// MARK: Bytes

extension ReplicaIndex {
    func append(to bytes: inout [UInt8]) {
        for number in [first, kept, next, UInt64(levels.count)] { bytes.append(varint: number) }
        for level in levels { Self.append(level, to: &bytes) }
    }

    init(_ reader: inout ByteReader) throws {
        (first, kept, next) = (try reader.position(), try reader.position(), try reader.position())
        for _ in 0..<(try reader.count(atMost: 20)) { levels.append(try Self.entries(&reader)) }
    }

    static func append(_ entries: [Entry], to bytes: inout [UInt8]) {
        bytes.append(varint: entries.count)
        for entry in entries { entry.append(to: &bytes) }
    }

    static func entries(_ reader: inout ByteReader) throws -> [Entry] {
        try (0..<(try reader.count(atMost: 4 * fanOut))).map { _ in try Entry(&reader) }
    }
}

extension ReplicaIndex.Entry {
    func append(to bytes: inout [UInt8]) {
        switch self {
        case .log(let entry):
            bytes += [1] + entry.term
            let numbers = [entry.link, UInt64(entry.generation), entry.first, entry.end - entry.first, entry.commitsBefore]
            for number in numbers + [entry.commits - entry.commitsBefore] { bytes.append(varint: number) }
            bytes.append(signed: entry.earliest)
            bytes.append(signed: entry.latest)
            for number in [entry.age, UInt64(entry.size)] { bytes.append(varint: number) }
            bytes += entry.tag
        case .snapshot(let entry):
            bytes += [2] + entry.term
            let numbers = [entry.number, UInt64(entry.parts), UInt64(entry.size), UInt64(entry.generation), UInt64(entry.pageSize)]
            for number in numbers + [entry.first, entry.commitsBefore, entry.commits] { bytes.append(varint: number) }
            bytes.append(signed: entry.time)
            for number in [entry.age, UInt64(entry.pages)] { bytes.append(varint: number) }
            bytes += entry.predecessor
            entry.place.append(to: &bytes)
        case .leftovers(let entry):
            bytes += [3] + entry.term
            let numbers = [entry.links.lowerBound, UInt64(entry.links.count), entry.snapshot, UInt64(entry.parts), entry.age]
            for number in numbers { bytes.append(varint: number) }
        case .page(let entry):
            bytes += [4] + entry.term
            let numbers = [entry.number, UInt64(entry.level), entry.first, entry.count, UInt64(entry.size)]
            for number in numbers + [UInt64(entry.generation), entry.commits] { bytes.append(varint: number) }
            bytes.append(signed: entry.earliest)
            bytes.append(varint: entry.age)
            bytes += entry.tag
        }
    }

    init(_ reader: inout ByteReader) throws {
        let kind = try reader.number(UInt8.self), term = Array(try reader.take(ChainPlace.termCount))
        switch kind {
        case 1:
            let link = try reader.position(), generation = try reader.uint32(), first = try reader.position()
            let end = first + (try reader.position()), before = try reader.position(), commits = before + (try reader.position())
            self = .log(
                ReplicaIndex.LogEntry(
                    term: term, link: link, generation: generation, first: first, end: end, commitsBefore: before, commits: commits,
                    earliest: try reader.signed(), latest: try reader.signed(), age: try reader.position(),
                    size: try reader.count(atMost: StoredObject.largestSize), tag: Array(try reader.take(ReplicaKey.tagCount))))
        case 2:
            var entry = ReplicaIndex.SnapshotEntry(
                term: term, number: try reader.position(), parts: try reader.count(atMost: ReplicaIndex.mostObjects),
                size: try reader.count(atMost: 1 << 48), generation: try reader.uint32(), pageSize: try reader.count(atMost: 65536),
                first: try reader.position(), commitsBefore: try reader.position(), predecessor: [], commits: try reader.position(),
                time: try reader.signed(), age: try reader.position(), pages: try reader.uint32(), place: .none)
            entry.predecessor = Array(try reader.take(ReplicaKey.tagCount))
            entry.place = try ChainPlace(&reader)
            self = .snapshot(entry)
        case 3:
            let start = try reader.position(), count = try reader.count(atMost: ReplicaIndex.mostObjects)
            self = .leftovers(
                ReplicaIndex.LeftoversEntry(
                    term: term, links: start..<start + UInt64(count), snapshot: try reader.position(),
                    parts: try reader.count(atMost: ReplicaIndex.mostObjects), age: try reader.position()))
        case 4:
            var entry = ReplicaIndex.PageEntry(
                term: term, number: try reader.position(), level: try reader.count(atMost: 20), first: try reader.position(),
                count: UInt64(try reader.count(atMost: 1 << 40)), tag: [], size: try reader.count(atMost: 1 << 20),
                generation: try reader.uint32(), commits: try reader.position(), earliest: try reader.signed(),
                age: try reader.position())
            entry.tag = Array(try reader.take(ReplicaKey.tagCount))
            self = .page(entry)
        default: throw DatabaseError.damagedReplica("an entry of the index has an unknown form")
        }
    }
}
