import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitMaintenance

/// Reads the states of a database from a store, and checks everything that it reads.
struct ReplicaReader {
    let store: any ReplicaStore
    private let encryption: Encryption
    private(set) var key: ReplicaKey?
    /// The keys that were derived for the salts in the manifest.
    private var keys: [ReplicaKey] = []
    private(set) var contents = ReplicaContents()
    private(set) var manifest = ReplicaManifest()
    private(set) var version = ""
    /// The identity of the section that the key opens.
    private(set) var section: [UInt8] = []
    /// Whether there is a newer section, which the key does not open.
    private(set) var isSuperseded = false

    /// - Throws: ``DatabaseError/Reason/replicaDamaged`` if there is no replica, or none that the key opens.
    init(_ store: any ReplicaStore, key encryption: Encryption) async throws {
        (self.store, self.encryption) = (store, encryption)
        try await update()
    }

    /// Reads the manifest again.
    mutating func update() async throws {
        guard let object = try await store.get(ReplicaManifest.name) else {
            throw DatabaseError(
                code: .corrupt, reason: .replicaDamaged, message: "there is no replica in the store: it has no manifest")
        }
        let manifest = try ReplicaManifest(object.bytes)
        (self.manifest, version) = (manifest, object.version)
        keys.removeAll { key in !manifest.sections.contains { $0.salt == key.salt } }
        // The newest section that the key opens.
        for (index, section) in manifest.sections.enumerated().reversed() {
            let key = try await key(for: section.salt)
            guard let contents = try section.contents(with: key) else { continue }
            (self.key, self.contents, self.section) = (key, contents, section.id)
            isSuperseded = index < manifest.sections.count - 1
            return
        }
        if key != nil { throw DatabaseError.changedReplicaKey("what it opened was removed, or replaced by something else") }
        throw DatabaseError(
            code: .notADatabase, reason: .replicaDamaged,
            message: "the key does not open the replica: it is that of another database or a former one, or the store has changed")
    }

    /// Derives the key for a salt, once. Sections of one passphrase usually have one salt.
    private mutating func key(for salt: [UInt8]) async throws -> ReplicaKey {
        if let known = keys.first(where: { $0.salt == salt }) { return known }
        try Task.checkCancellation()
        let encryption = encryption
        let key = try await BlockingExecutor.run { try ReplicaKey(encryption, salt: salt) }
        keys.append(key)
        return key
    }

    // MARK: Reading objects

    /// Reads an object.
    /// - Parameter size: what the manifest says, as the most that is looked at.
    func object(_ name: String, upTo size: Int) async throws -> [UInt8] {
        try Task.checkCancellation()
        guard let object = try await store.get(name) else { throw Missing(name: name) }
        guard object.bytes.count <= size else { throw DatabaseError.damagedReplica("the object \(name) is too large") }
        return object.bytes
    }

    /// An object that the manifest lists is not there: either it was removed since, or the store has lost it.
    struct Missing: Error {
        let name: String
    }

    /// An object whose blocks are authentic.
    private struct OpenedObject: Sendable {
        let bytes: [UInt8]
        let blocks: [ReplicaBlock.Opened]
    }

    /// Gives objects to `body` in their order. The next ones are read and authenticated meanwhile, on other cores.
    /// - Parameters:
    ///   - entries: their names, and the most that is looked at.
    ///   - last: the commit after which no block is needed.
    private func eachObject(
        of entries: [(name: String, size: Int)], with key: ReplicaKey, upTo last: UInt64 = .max,
        _ body: (_ number: Int, _ object: OpenedObject) throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: (Int, Result<OpenedObject, any Error>).self) { group in
            func begin(_ number: Int) {
                guard number < entries.count else { return }
                let entry = entries[number]
                group.addTask {
                    do {
                        let bytes = try await object(entry.name, upTo: entry.size)
                        let blocks = try ReplicaBlock.openAll(bytes, with: key, upTo: last)
                        return (number, .success(OpenedObject(bytes: bytes, blocks: blocks)))
                    } catch { return (number, .failure(error)) }
                }
            }
            // An error counts in its turn, after everything before it.
            var ready: [Int: Result<OpenedObject, any Error>] = [:]
            for number in 0..<Self.objectsAhead { begin(number) }
            for number in entries.indices {
                while ready[number] == nil, let (number, object) = try await group.next() { ready[number] = object }
                guard let object = try ready.removeValue(forKey: number)?.get() else { return }
                begin(number + Self.objectsAhead)
                try body(number, object)
            }
        }
    }

    /// The number of objects that are read before they are needed. With the one in use, they are in memory.
    private static let objectsAhead = 2

    /// A place in a snapshot: the number of parts before it, with their pages and bytes, and the tag of the last one.
    struct SnapshotPlace: Codable, Hashable {
        var parts = 0
        var pages: UInt64 = 0
        var bytes = 0
        var tag: [UInt8]
    }

    /// Reads the pages of a snapshot from `place` on.
    /// - Parameter checkpoint: called after each part.
    func readSnapshot(
        _ snapshot: ReplicaContents.Snapshot, of generation: UInt64, from place: SnapshotPlace? = nil,
        _ body: (_ page: UInt32, _ bytes: UnsafeRawBufferPointer) throws -> Void,
        checkpoint: (SnapshotPlace) throws -> Void = { _ in }
    ) async throws {
        guard let key else { return }
        var place = place ?? SnapshotPlace(tag: snapshot.predecessor)
        let names = Array(snapshot.names.dropFirst(place.parts)), left = snapshot.size - place.bytes
        try await eachObject(of: names.map { ($0, left) }, with: key) { number, object in
            let name = names[number]
            guard object.blocks.count == 1, let (block, range, _, next) = object.blocks.first, block.kind == .snapshot,
                block.generation == generation, block.predecessor == place.tag, block.first == place.pages
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
        var frames: UInt64
        var commits: UInt64
        var predecessor: [UInt8]
    }

    /// Reads the frames of the log from `place` on, up to the end of a commit.
    /// - Parameters:
    ///   - last: the number of that commit.
    ///   - checkpoint: called after each object.
    /// - Returns: the place after the last block that was read. Its `frames` may be within that block.
    func readLog(
        of generation: ReplicaContents.Generation, from place: Place, upTo last: UInt64,
        _ body: (_ frame: ReplicaBlock.Frame, _ bytes: UnsafeRawBufferPointer) throws -> Void,
        checkpoint: (Place) throws -> Void = { _ in }
    ) async throws -> Place {
        guard let key else { return place }
        var place = place
        let entries = place.commits >= last ? [] : generation.log.filter { $0.end > place.frames && $0.commitsBefore < last }
        try await eachObject(of: entries.map { ($0.name, $0.size) }, with: key, upTo: last) { number, object in
            let entry = entries[number]
            var offset = 0, tag = entry.predecessor, first = entry.first
            try object.bytes.withUnsafeBytes { bytes in
                for (block, range, end, next) in object.blocks where place.commits < last {
                    guard block.kind == .log, block.generation == generation.number, block.predecessor == tag, block.first == first
                    else { throw DatabaseError.damagedReplica("the object \(entry.name) is out of place") }
                    first += UInt64(block.frames.count)
                    (tag, offset) = (next, end)
                    guard first > place.frames else { continue }
                    // The first block that is used continues what is there already.
                    guard block.first <= place.frames, block.first < place.frames || block.predecessor == place.predecessor
                    else {
                        throw DatabaseError.damagedReplica("the object \(entry.name) does not continue the log")
                    }
                    let skipped = Int(place.frames - block.first)
                    for index in skipped..<block.frames.count {
                        let start = range.lowerBound + index * block.pageSize
                        try body(block.frames[index], bytes.slice(start..<start + block.pageSize))
                        place.frames += 1
                        if block.frames[index].size != 0 { place.commits += 1 }
                        if place.commits == last { break }
                    }
                    if place.frames == first { place.predecessor = next }
                }
            }
            guard offset < object.bytes.count || (tag == entry.tag && first == entry.end) else {
                throw DatabaseError.damagedReplica("the object \(entry.name) is not complete")
            }
            try checkpoint(place)
        }
        guard place.commits == last else { throw DatabaseError.damagedReplica("commits are missing in the log") }
        return place
    }

    // MARK: Choosing a state

    /// A state, and how to get there.
    struct Plan {
        let generation: ReplicaContents.Generation
        let snapshot: ReplicaContents.Snapshot
        let commit: UInt64

        var position: ReplicaPosition { ReplicaPosition(generation: generation.number, commit: commit) }
        var start: Place {
            Place(frames: snapshot.first, commits: snapshot.commitsBefore, predecessor: snapshot.predecessor)
        }
        var bytes: Int {
            generation.log.filter { $0.end > snapshot.first && $0.commitsBefore < commit }.reduce(snapshot.size) { $0 + $1.size }
        }
    }

    func plan(for moment: ReplicaMoment) async throws -> Plan {
        switch moment {
        case .newest:
            guard let generation = contents.newest else { throw DatabaseError.damagedReplica("the first snapshot is not complete") }
            return try plan(generation, generation.commits)
        case .position(let position):
            let generation = contents.generations.first { $0.number == position.generation }
            guard let generation else { throw noSuch(moment) }
            return try plan(generation, position.commit)
        case .time(let date):
            let time = date.milliseconds
            for generation in contents.generations.reversed() where generation.isRestorable {
                if let commit = try await lastCommit(of: generation, before: time) { return try plan(generation, commit) }
            }
            throw noSuch(moment)
        }
    }

    private func plan(_ generation: ReplicaContents.Generation, _ commit: UInt64) throws -> Plan {
        guard commit <= generation.commits, let snapshot = generation.snapshots.last(where: { $0.commits <= commit }) else {
            throw noSuch(.position(ReplicaPosition(generation: generation.number, commit: commit)))
        }
        return Plan(generation: generation, snapshot: snapshot, commit: commit)
    }

    private func noSuch(_ moment: ReplicaMoment) -> DatabaseError {
        .invalidArgument("the store has no state for \(moment): it is beyond the retention, or not there yet")
    }

    /// The last commit in a block of at most this time, or the first state of the last snapshot of at most this time.
    private func lastCommit(of generation: ReplicaContents.Generation, before time: Int64) async throws -> UInt64? {
        guard let key, let oldest = generation.snapshots.first else { return nil }
        var found = generation.snapshots.last { $0.time <= time }?.commits
        for entry in generation.log.reversed() where entry.earliest <= time {
            if entry.latest <= time {
                found = max(found ?? 0, entry.commits)
                break
            }
            let bytes = try await object(entry.name, upTo: entry.size)
            let commit: UInt64? = try bytes.withUnsafeBytes { bytes in
                var offset = 0, last: UInt64?
                while offset < bytes.count {
                    let (block, _, end, _) = try ReplicaBlock.open(bytes, at: offset, with: key)
                    if block.time <= time { last = block.commits + UInt64(block.commitCount) }
                    offset = end
                }
                return last
            }
            if let commit {
                found = max(found ?? 0, commit)
                break
            }
        }
        return found.flatMap { $0 >= oldest.commits ? $0 : nil }
    }
}

/// A state to restore.
public enum ReplicaMoment: Hashable, Sendable, CustomStringConvertible {
    /// The newest in the store.
    case newest
    /// The last one that was stored at or before this time, by the clock of the machine that stored it.
    case time(Date)
    /// The state after a commit.
    case position(ReplicaPosition)

    public var description: String {
        switch self {
        case .newest: "the newest state"
        case .time(let date): "the time \(date.shownText)"
        case .position(let position): "the position \(position)"
        }
    }
}
