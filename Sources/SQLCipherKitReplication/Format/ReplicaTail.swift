import SQLCipherKitCore
import SQLCipherKitFiles

/// The links that were stored after the head. They are read in order, and each link continues the previous link.
struct ReplicaTail {
    struct Link: Sendable {
        let number: UInt64
        /// The tag before its first block.
        let predecessor: [UInt8]
        /// The entry that an index would have for the link.
        let entry: ReplicaIndex.LogEntry
        /// The link's bytes and its blocks; nil if the earlier links were too large. The link is then read again when it is needed.
        let content: Content?
    }

    struct Content: Sendable {
        let bytes: [UInt8]
        let blocks: [ReplicaBlock.Opened]
    }

    /// The largest number of bytes of links that are kept. A writer stores fewer after a head; a store that shows an old head has
    /// more.
    static let largestContent = 16 << 20

    private(set) var links: [Link] = []
    /// The end of the chain, as far as is known.
    private(set) var end: ChainPlace
    /// True if another writer has closed the term.
    private(set) var isClosed = false
    /// The tag at the place of the head.
    private let start: [UInt8]
    /// The position in the database's log after the last block, and the time of that block.
    private(set) var mark: LogMark?
    private(set) var latest: (time: Int64, age: UInt64)?
    /// The size of the links in bytes.
    private(set) var size = 0

    init(after place: ChainPlace) { (end, start) = (place, place.tag) }

    /// True if all links have their content.
    var isWhole: Bool { links.last?.content != nil || links.isEmpty }

    /// Reads the following links, up to a link that is missing.
    /// - Parameter isPartial: whether to end with the first link whose content is not kept.
    /// - Throws: ``DatabaseError/Reason/replicaDamaged`` for a link that does not continue the chain.
    mutating func extend(
        _ store: CheckedStore, _ names: ReplicaNames, _ key: ReplicaKey, isPartial: Bool = false
    ) async throws {
        while !isClosed, isWhole || !isPartial {
            try Task.checkCancellation()
            let name = names.link(end.link, of: end.term)
            guard let object = try await store.get(name) else { return }
            guard object.bytes.count <= StoredObject.largestSize else {
                throw DatabaseError.damagedReplica("the object \(name) is too large")
            }
            try add(object.bytes, name, key)
        }
    }

    private mutating func add(_ bytes: [UInt8], _ name: String, _ key: ReplicaKey) throws {
        let blocks = try ReplicaBlock.openAll(bytes, with: key)
        guard let first = blocks.first, let last = blocks.last else {
            throw DatabaseError.damagedReplica("the object \(name) is empty")
        }
        if first.block.kind == .closing {
            guard blocks.count == 1, first.block.predecessor == end.tag else { throw outOfPlace(name) }
            isClosed = true
            return
        }
        // The link has only new blocks, or also the blocks of earlier links, which it replaces.
        let from = first.block.predecessor
        let left = from == start ? 0 : links.lastIndex { $0.entry.tag == from }.map { $0 + 1 }
        guard let left else { throw outOfPlace(name) }
        var tag = from, passes = from == end.tag
        for (block, _, _, next) in blocks {
            guard block.kind == .log || block.kind == .opening, block.predecessor == tag else { throw outOfPlace(name) }
            tag = next
            passes = passes || tag == end.tag
        }
        guard passes else { throw outOfPlace(name) }
        size += bytes.count - links[left...].reduce(0) { $0 + $1.entry.size }
        links.removeLast(links.count - left)
        links.append(
            Link(
                number: end.link, predecessor: from,
                entry: ReplicaIndex.LogEntry(
                    term: end.term, link: end.link, blocks: blocks.map { ($0.block, $0.tag) }, size: bytes.count),
                content: size > Self.largestContent ? nil : Content(bytes: bytes, blocks: blocks)))
        end.link += 1
        end.tag = tag
        if let log = blocks.last(where: { $0.block.kind == .log })?.block {
            var reader = ByteReader(replica: log.record)
            mark = try LogMark(&reader)
        }
        latest = (last.block.time, last.block.age)
    }

    private func outOfPlace(_ name: String) -> DatabaseError { .damagedReplica("the object \(name) does not continue the chain") }

    /// Returns the links after the place of a newer head of the same term.
    func trimmed(to place: ChainPlace) -> ReplicaTail {
        guard end.term == place.term, end.link >= place.link else { return ReplicaTail(after: place) }
        // The links that are left continue the head, or the tail begins again.
        let left = links.filter { $0.number >= place.link }
        guard let first = left.first else {
            var tail = ReplicaTail(after: place)
            if end.tag == place.tag { (tail.isClosed, tail.mark, tail.latest) = (isClosed, mark, latest) }
            return tail
        }
        guard first.predecessor == place.tag else { return ReplicaTail(after: place) }
        var tail = ReplicaTail(after: place)
        (tail.links, tail.end, tail.isClosed, tail.mark, tail.latest) = (left, end, isClosed, mark, latest)
        tail.size = left.reduce(0) { $0 + $1.entry.size }
        return tail
    }
}
