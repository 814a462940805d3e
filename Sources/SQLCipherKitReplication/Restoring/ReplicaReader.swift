import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitFiles

/// Reads the states of a database from a store, and checks everything that it reads.
/// A reader goes only forward: the state that it has seen is in the history of every state that it sees later.
struct ReplicaReader {
    let store: CheckedStore
    private var encryption: DatabaseKey?
    private(set) var key: ReplicaKey?
    /// The keys that were derived for the salts in the head.
    private var keys: [ReplicaKey] = []
    private(set) var contents = ReplicaContents()
    private(set) var head = ReplicaHead()
    private(set) var version = ""
    /// The identity of the section that the key opens, and the names of its objects.
    private(set) var section: [UInt8] = []
    private(set) var names = ReplicaNames([])
    /// True if there is a newer section, which the key does not open.
    private(set) var isSuperseded = false
    /// The links that were stored after the head.
    private(set) var tail = ReplicaTail(after: .none)
    /// The opening of the term.
    private(set) var opening = TermOpening(term: [], ancestry: [])
    /// The sections that have been followed, the present section last.
    private var sections: [[UInt8]] = []
    /// True if a section without a restorable state does not count while another section has one.
    private let needsState: Bool

    /// - Parameters:
    ///   - held: the caller's place, with the sections that the caller has followed.
    ///   - needsState: whether the previous section is read while the newest section has no complete snapshot, as after a
    ///     conversion of the database. Until then, only states of the previous section can be restored.
    /// - Throws: ``DatabaseError/Reason/replicaDamaged`` if the store has no replica that the key opens;
    ///   ``DatabaseError/Reason/replicaRolledBack`` or ``DatabaseError/Reason/replicaForked`` if the held place is not in the
    ///   replica's history.
    init(
        _ store: CheckedStore, key encryption: DatabaseKey, holding held: HeldPlace? = nil, needsState: Bool = false
    ) async throws {
        (self.store, self.encryption, self.needsState) = (store, encryption, needsState)
        if let held {
            (section, sections) = (held.sections.last ?? [], held.sections)
            (tail, opening) = (ReplicaTail(after: held.place), TermOpening(term: held.place.term, ancestry: held.ancestry))
        }
        try await update()
    }

    /// The place of the newest state that was seen.
    var held: HeldPlace {
        HeldPlace(
            sections: sections, place: tail.end, ancestry: opening.ancestry,
            generation: tail.links.last?.entry.generation ?? contents.generation)
    }

    /// Returns the place of a state that was read.
    func held(by plan: Plan) -> HeldPlace {
        var held = held
        if plan.end.term != opening.term {
            held.ancestry = Array(opening.ancestry.drop { $0.term != plan.end.term }.dropFirst())
        }
        (held.place, held.generation) = (plan.end, plan.generation)
        return held
    }

    /// Reads the head again, and the objects stored after it.
    mutating func update() async throws {
        var next = self
        try await next.readHead()
        try await next.extend()
        if !tail.end.isNone { try held.require(in: next.tail.end, next.opening) }
        self = next
    }

    /// Reads the objects that were stored since the last read, without reading the head.
    /// - Parameter isPartial: whether to end when the objects are larger than the limit of kept content.
    mutating func extend(isPartial: Bool = false) async throws {
        guard let key else { return }
        try await tail.extend(store, names, key, isPartial: isPartial)
    }

    private mutating func readHead() async throws {
        guard let (head, object) = try await ReplicaHead.read(store), !head.sections.isEmpty else {
            if !section.isEmpty { throw DatabaseError.rolledBackReplica("its head is missing") }
            throw DatabaseError(
                code: .corrupt, reason: .replicaDamaged, message: "there is no replica in the store: it has no head")
        }
        (self.head, version) = (head, object.version)
        keys.removeAll { key in !head.sections.contains { $0.salt == key.salt } }
        // The newest section that the key opens.
        let before = self
        var newest: ReplicaReader?, passed = 0
        for (index, section) in head.sections.enumerated().reversed() {
            let key = try await key(for: section.salt)
            guard let contents = try section.contents(with: key) else { continue }
            try follow(section.id, contents)
            isSuperseded = index + passed < head.sections.count - 1
            names = ReplicaNames(section.id)
            if section.id != self.section || contents.place.term != opening.term {
                opening = try await TermOpening.read(contents.place.term, store, names, key)
            }
            tail = section.id == self.section ? tail.trimmed(to: contents.place) : ReplicaTail(after: contents.place)
            (self.key, self.contents, self.section) = (key, contents, section.id)
            if sections.last != section.id { sections = (sections + [section.id]).suffix(64) }
            guard needsState, contents.snapshot == nil, try await newestPlan() == nil else { return }
            newest = newest ?? self
            self = before
            passed += 1
        }
        if let newest { return self = newest }
        if head.sections.contains(where: { $0.id == section }) {
            throw DatabaseError.damagedReplica("the head was changed, or is sealed with another key")
        }
        if key != nil { throw DatabaseError.changedReplicaKey("the content under the former key was removed or replaced") }
        throw DatabaseError(
            code: .notADatabase, reason: .replicaDamaged,
            message: "the key does not open the replica: it is a former key or another database's key, or the store was changed")
    }

    /// Makes sure that a section is the followed section or a later section.
    private func follow(_ id: [UInt8], _ contents: ReplicaContents) throws {
        guard let last = sections.last, last != id else { return }
        if sections.contains(id), head.sections.contains(where: { $0.id == last }) {
            throw DatabaseError.changedReplicaKey("this is a former key: give the newest key")
        }
        if sections.contains(id) { throw DatabaseError.rolledBackReplica("it shows the state before the key was changed") }
        guard contents.formers.contains(last) else { throw DatabaseError.forkedReplica("it belongs to another database") }
    }

    /// Derives the key for a salt, once. Sections of one passphrase usually have one salt.
    private mutating func key(for salt: [UInt8]) async throws -> ReplicaKey {
        if let known = keys.first(where: { $0.salt == salt }) { return known }
        try Task.checkCancellation()
        guard let encryption else { throw DatabaseError(code: .misuse, reason: .closed, message: "the follower was stopped") }
        let key = try await BlockingExecutor.run { try ReplicaKey(encryption, salt: salt) }
        keys.append(key)
        return key
    }

    /// Removes all keys from memory. The reader can open nothing after that.
    mutating func dropKeys() { (encryption, key, keys) = (nil, nil, []) }

    // MARK: Reading objects

    /// An object of the log, which may be in memory already.
    struct LogPart {
        let entry: ReplicaIndex.LogEntry
        let content: ReplicaTail.Content?

        init(_ entry: ReplicaIndex.LogEntry, _ link: ReplicaTail.Link? = nil) { (self.entry, content) = (entry, link?.content) }
    }

    /// Reads an object.
    /// - Parameter size: the size in the index; no more bytes are read.
    func object(_ name: String, upTo size: Int) async throws -> [UInt8] {
        try Task.checkCancellation()
        guard let object = try await store.get(name) else {
            throw DatabaseError.damagedReplica("the object \(name) is missing", underlying: Missing())
        }
        guard object.bytes.count <= size else { throw DatabaseError.damagedReplica("the object \(name) is too large") }
        return object.bytes
    }

    /// An object that the index lists is missing: it was removed in the meantime, or the store has lost it.
    struct Missing: Error {}

    /// An object to read: its name, the largest number of bytes to read, and the object itself if it is in memory.
    private struct Wanted: Sendable {
        let name: String
        let size: Int
        var content: ReplicaTail.Content?
    }

    /// Passes objects to `body` in their order. Other cores read and authenticate the next objects meanwhile.
    /// - Parameters:
    ///   - entries: the objects' names, and the largest number of bytes to read.
    ///   - last: the commit after which no block is needed.
    private func eachObject(
        of entries: [Wanted], with key: ReplicaKey, upTo last: UInt64 = .max,
        _ body: (_ number: Int, _ object: ReplicaTail.Content) throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: (Int, Result<ReplicaTail.Content, any Error>).self) { group in
            func begin(_ number: Int) {
                guard number < entries.count else { return }
                let entry = entries[number]
                group.addTask {
                    if let content = entry.content { return (number, .success(content)) }
                    do {
                        let bytes = try await object(entry.name, upTo: entry.size)
                        let blocks = try ReplicaBlock.openAll(bytes, with: key, upTo: last)
                        return (number, .success(ReplicaTail.Content(bytes: bytes, blocks: blocks)))
                    } catch { return (number, .failure(error)) }
                }
            }
            // An error counts in its turn, after everything before it.
            var ready: [Int: Result<ReplicaTail.Content, any Error>] = [:]
            // Small objects cost the time of a request each, and large objects cost memory.
            let ahead = entries.allSatisfy { $0.size <= 1 << 20 } ? Self.smallObjectsAhead : Self.objectsAhead
            for number in 0..<ahead { begin(number) }
            for number in entries.indices {
                while ready[number] == nil, let (number, object) = try await group.next() { ready[number] = object }
                guard let object = try ready.removeValue(forKey: number)?.get() else { return }
                begin(number + ahead)
                try body(number, object)
            }
        }
    }

    /// The number of objects that are read before they are needed. They are in memory together with the object in use.
    private static let objectsAhead = 2, smallObjectsAhead = 8

    /// A place in a snapshot: the number of parts before it, with their pages and bytes, and the tag of the last part.
    struct SnapshotPlace: Codable, Hashable {
        @NotedNumber var parts = 0
        @NotedNumber var pages: UInt64 = 0
        @NotedNumber var bytes = 0
        var tag: [UInt8]
    }

    /// Reads the pages of a snapshot from `place` on.
    /// - Parameter checkpoint: called after each part.
    func readSnapshot(
        _ snapshot: ReplicaIndex.SnapshotEntry, from place: SnapshotPlace? = nil,
        _ body: (_ page: UInt32, _ bytes: UnsafeRawBufferPointer) throws -> Void,
        checkpoint: (SnapshotPlace) throws -> Void = { _ in }
    ) async throws {
        guard let key else { return }
        var place = place ?? SnapshotPlace(tag: snapshot.predecessor)
        let entries = names.names(.snapshot(snapshot)).dropFirst(place.parts)
            .map { Wanted(name: $0, size: min(StoredObject.largestSize, snapshot.size - place.bytes)) }
        try await eachObject(of: entries, with: key) { number, object in
            let name = entries[number].name
            guard object.blocks.count == 1, let (block, range, _, next) = object.blocks.first, block.kind == .snapshot,
                block.generation == snapshot.generation, block.predecessor == place.tag, block.first == place.pages,
                block.pageSize == snapshot.pageSize
            else { throw DatabaseError.damagedReplica("the object \(name) is out of place") }
            try object.bytes.withUnsafeBytes { bytes in
                for (index, frame) in block.frames.enumerated() {
                    let start = range.lowerBound + index * block.pageSize
                    try body(frame.page, bytes.slice(start..<start + block.pageSize))
                }
            }
            place.pages += UInt64(block.frames.count)
            place.tag = next
            place.parts += 1
            place.bytes += object.bytes.count
            try checkpoint(place)
        }
    }

    /// A place in the log: a number of frames and of commits since the start of the generation, and the tag of the block before it.
    struct Place: Codable, Hashable {
        @NotedNumber var frames: UInt64
        @NotedNumber var commits: UInt64
        var predecessor: [UInt8]
        /// The tag of the block that the place is within; nil between two blocks.
        var block: [UInt8]?
    }

    /// Reads the frames of the log from `place` on, up to the end of a commit.
    /// - Parameters:
    ///   - parts: objects without a gap, the first of which continues the place or includes it.
    ///   - last: the number of the last commit to read.
    ///   - checkpoint: called after each object.
    /// - Returns: the place after the last frame that was read, which may be within a block.
    func readLog(
        _ parts: [LogPart], of generation: UInt32, pageSize: Int, from place: Place, upTo last: UInt64,
        _ body: (_ frame: ReplicaBlock.Frame, _ bytes: UnsafeRawBufferPointer) throws -> Void,
        checkpoint: (Place) throws -> Void = { _ in }
    ) async throws -> Place {
        guard let key else { return place }
        var place = place
        let parts = place.commits >= last ? [] : parts
        let entries = parts.map { part in
            Wanted(name: names.link(part.entry.link, of: part.entry.term), size: part.entry.size, content: part.content)
        }
        try await eachObject(of: entries, with: key, upTo: last) { number, object in
            let name = entries[number].name, entry = parts[number].entry
            var before: [UInt8]?, isComplete = true
            try object.bytes.withUnsafeBytes { bytes in
                for (block, range, _, tag) in object.blocks {
                    guard place.commits < last else {
                        isComplete = false
                        break
                    }
                    guard before == nil || block.predecessor == before, block.kind == .log || block.kind == .opening,
                        block.generation == generation, block.kind == .opening || block.pageSize == pageSize
                    else { throw DatabaseError.damagedReplica("the object \(name) is out of place") }
                    before = tag
                    // Blocks that were read already.
                    if block.end < place.frames || block.end == place.frames && block.predecessor != place.predecessor { continue }
                    // The first used block continues the place, or contains it.
                    let continues = block.first == place.frames && place.block == nil && block.predecessor == place.predecessor
                    guard continues || block.first < place.frames && tag == place.block else {
                        throw DatabaseError.damagedReplica("the object \(name) does not continue the log")
                    }
                    for index in Int(place.frames - block.first)..<block.frames.count {
                        let start = range.lowerBound + index * block.pageSize
                        try body(block.frames[index], bytes.slice(start..<start + block.pageSize))
                        place.frames += 1
                        if block.frames[index].size != 0 { place.commits += 1 }
                        if place.commits == last { break }
                    }
                    (place.predecessor, place.block) = place.frames == block.end ? (tag, nil) : (block.predecessor, tag)
                }
            }
            guard place.commits == last || isComplete && before == entry.tag else {
                throw DatabaseError.damagedReplica("the object \(name) is not complete")
            }
            try checkpoint(place)
        }
        guard place.commits == last else { throw DatabaseError.damagedReplica("commits are missing in the log") }
        return place
    }
}

/// Finding states in the index.
extension ReplicaReader {
    /// A state, and the objects that restore it.
    struct Plan {
        let snapshot: ReplicaIndex.SnapshotEntry
        /// The log since the snapshot began, in order.
        let log: [LogPart]
        let commit: UInt64
        /// The place in the chain that has the state. It belongs to a complete generation; a later generation may have begun.
        let end: ChainPlace

        var generation: UInt32 { snapshot.generation }
        var pageSize: Int { snapshot.pageSize }
        var position: Replicator.Position { Replicator.Position(generation: UInt64(generation), commit: commit) }
        var start: Place { Place(frames: snapshot.first, commits: snapshot.commitsBefore, predecessor: snapshot.predecessor) }
    }

    /// Passes the entries to `body` from the newest to the oldest, the tail's entries first, until `body` returns false.
    /// - Parameter skips: whether a page is left out; `older` is the entry before it.
    func walk(
        skipping skips: (_ page: ReplicaIndex.PageEntry, _ older: ReplicaIndex.Entry?) -> Bool = { _, _ in false },
        _ body: (_ entry: ReplicaIndex.Entry, _ link: ReplicaTail.Link?) async throws -> Bool
    ) async throws {
        for link in tail.links.reversed() { guard try await body(.log(link.entry), link) else { return } }
        // The oldest entries have the highest level.
        var stack = contents.index.levels.reversed().flatMap { $0 }, position = contents.index.next
        while let entry = stack.popLast() {
            guard position > contents.index.first, position >= entry.count else { return }
            position -= entry.count
            guard case .page(let page) = entry else {
                guard position >= contents.index.first, try await body(entry, nil) else { return }
                continue
            }
            if skips(page, stack.last) { continue }
            stack += try await entries(of: page)
            position += entry.count
        }
    }

    private func entries(of page: ReplicaIndex.PageEntry) async throws -> [ReplicaIndex.Entry] {
        guard let key else { return [] }
        return try page.entries(await object(names.page(page.number, of: page.term), upTo: page.size), with: key)
    }

    /// Returns the plan to restore the newest state; nil if there is none yet.
    func newestPlan() async throws -> Plan? {
        try await plan { entry, _ in
            switch entry {
            case .log(let log): log.commits
            case .snapshot(let snapshot): snapshot.commits
            case .leftovers, .page: nil
            }
        }
    }

    func plan(for moment: Replicator.RestorePoint) async throws -> Plan {
        switch moment {
        case .newest:
            guard let plan = try await newestPlan() else {
                throw DatabaseError.damagedReplica("the first snapshot is not complete yet")
            }
            return plan
        case .position(let position):
            guard let generation = UInt32(exactly: position.generation) else { throw noSuch(moment) }
            let wanted = (generation, position.commit)
            let plan = try await plan(skipping: { _, older in older.map { $0.newest >= wanted } ?? false }) { entry, _ in
                entry.newest.generation == generation && entry.newest.commits >= position.commit ? position.commit : nil
            }
            guard let plan, plan.position == position else { throw noSuch(moment) }
            return plan
        case .time(let date):
            let time = date.milliseconds
            let plan = try await plan(skipping: { page, _ in page.earliest > time }) { entry, link in
                switch entry {
                case .log(let log): try await lastCommit(of: LogPart(log, link), before: time)
                case .snapshot(let snapshot): snapshot.time <= time ? snapshot.commits : nil
                case .leftovers, .page: nil
                }
            }
            guard let plan else { throw noSuch(moment) }
            return plan
        }
    }

    /// Finds a state, and the snapshot and the log that it needs.
    /// - Parameters:
    ///   - skips: whether a page can have no matching entry.
    ///   - choose: returns the number of the wanted commit if an entry has it. The newest answer with a snapshot counts.
    private func plan(
        skipping skips: @escaping (_ page: ReplicaIndex.PageEntry, _ older: ReplicaIndex.Entry?) -> Bool = { _, _ in false },
        _ choose: (_ entry: ReplicaIndex.Entry, _ link: ReplicaTail.Link?) async throws -> UInt64?
    ) async throws -> Plan? {
        var target: (generation: UInt32, commit: UInt64)?, snapshot: ReplicaIndex.SnapshotEntry?, parts: [LogPart] = []
        var end: ChainPlace?
        try await walk(skipping: { target == nil && skips($0, $1) }) { entry, link in
            if case .leftovers = entry { return true }
            if let known = target, entry.newest.generation != known.generation {
                // The whole generation was seen.
                if snapshot != nil { return false }
                (target, end, parts) = (nil, nil, [])
            }
            if target == nil { target = try await choose(entry, link).map { (entry.newest.generation, $0) } }
            guard let target else { return true }
            end = end ?? entry.place
            switch entry {
            case .snapshot(let found) where snapshot == nil && found.commits <= target.commit:
                snapshot = found
                return parts.last.map { $0.entry.first >= found.first && $0.entry.tag != found.predecessor } ?? true
            case .log(let log):
                if let snapshot, log.tag == snapshot.predecessor || log.end < snapshot.first { return false }
                parts.append(LogPart(log, link))
                if let snapshot, log.first < snapshot.first { return false }
            default: break
            }
            return true
        }
        guard let target, let snapshot, let end else { return nil }
        let needed = parts.reversed().filter { $0.entry.commitsBefore < target.commit }
        return Plan(snapshot: snapshot, log: needed, commit: target.commit, end: end)
    }

    /// The log from a place to the newest state, without a gap.
    /// - Returns: nil if the place is not in the newest generation that can be restored, or if the later log no longer exists.
    func log(from place: Place, of generation: UInt32) async throws -> (parts: [LogPart], commit: UInt64, pageSize: Int)? {
        var parts: [LogPart] = [], isFound = false, commit = place.commits
        if tail.end.tag == place.predecessor, place.block == nil { return ([], commit, contents.pageSize) }
        try await walk { entry, link in
            guard case .log(let log) = entry else {
                // Another generation may have only a snapshot so far.
                if case .snapshot(let snapshot) = entry { return snapshot.generation == generation }
                return true
            }
            if log.tag == place.predecessor, place.block == nil {
                isFound = true
                return false
            }
            guard log.generation == generation else { return false }
            commit = max(commit, log.commits)
            parts.append(LogPart(log, link))
            isFound = log.first < place.frames
            return !isFound
        }
        return isFound ? (parts.reversed(), commit, contents.pageSize) : nil
    }

    private func noSuch(_ moment: Replicator.RestorePoint) -> DatabaseError {
        .invalidArgument("the store has no state for \(moment): it is older than the retention, or not stored yet")
    }

    /// The last commit in a block of at most this time.
    private func lastCommit(of part: LogPart, before time: Int64) async throws -> UInt64? {
        guard let key, part.entry.earliest <= time else { return nil }
        if part.entry.latest <= time { return part.entry.commits }
        let name = names.link(part.entry.link, of: part.entry.term)
        var blocks = part.content?.blocks
        if blocks == nil { blocks = try ReplicaBlock.openAll(await object(name, upTo: part.entry.size), with: key) }
        return blocks?.last { $0.block.time <= time }?.block.endCommits
    }

    /// Returns the generations that can be restored, from the oldest to the newest.
    func generations() async throws -> [Replicator.Generation] {
        var generations: [Replicator.Generation] = [], logs: [ReplicaIndex.LogEntry] = []
        var snapshots: [ReplicaIndex.SnapshotEntry] = []
        func finish() {
            defer { (logs, snapshots) = ([], []) }
            guard let first = snapshots.last else { return }
            let latest = logs.reduce(first.time) { max($0, $1.latest) }, generation = UInt64(first.generation)
            let last = logs.reduce(snapshots[0].commits) { max($0, $1.commits) }
            generations.append(
                Replicator.Generation(
                    first: Replicator.Position(generation: generation, commit: first.commits),
                    last: Replicator.Position(generation: generation, commit: last),
                    firstTime: Date(timeIntervalSince1970: Double(first.time) / 1000),
                    lastTime: Date(timeIntervalSince1970: Double(latest) / 1000),
                    size: snapshots.reduce(0) { $0 + $1.size } + logs.reduce(0) { $0 + $1.size }))
        }
        var generation: UInt32?
        try await walk { entry, _ in
            if case .leftovers = entry { return true }
            if generation != entry.newest.generation { finish() }
            generation = entry.newest.generation
            if case .log(let log) = entry { logs.append(log) }
            if case .snapshot(let snapshot) = entry { snapshots.append(snapshot) }
            return true
        }
        finish()
        return generations.reversed()
    }
}

extension Replicator {
    /// A state to restore.
    public enum RestorePoint: Hashable, Sendable, CustomStringConvertible {
        /// The newest state in the store.
        case newest
        /// The last state that was stored at or before this time, by the clock of the machine that stored it.
        case time(Date)
        /// The state after a commit.
        case position(Position)

        public var description: String {
            switch self {
            case .newest: "the newest state"
            case .time(let date): "the time \(date.shownText)"
            case .position(let position): "the position \(position)"
            }
        }
    }
}
