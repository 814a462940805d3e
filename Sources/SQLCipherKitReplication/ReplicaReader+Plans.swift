import Foundation
import SQLCipherKitCore
import SQLCipherKitMaintenance

/// Finding states in the index.
extension ReplicaReader {
    /// A state, and how to get there.
    struct Plan {
        let snapshot: ReplicaIndex.SnapshotEntry
        /// The log since the snapshot began, in order.
        let log: [LogPart]
        let commit: UInt64
        /// The place in the chain that has the state: of a generation that is complete, while another one may have begun.
        let end: ChainPlace

        var generation: UInt32 { snapshot.generation }
        var pageSize: Int { snapshot.pageSize }
        var position: Replica.Position { Replica.Position(generation: UInt64(generation), commit: commit) }
        var start: Place { Place(frames: snapshot.first, commits: snapshot.commitsBefore, predecessor: snapshot.predecessor) }
    }

    /// Gives the entries from the newest to the oldest, those of the tail first, until `body` returns false.
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

    /// How to restore the newest state; nil if there is none yet.
    func newestPlan() async throws -> Plan? {
        try await plan { entry, _ in
            switch entry {
            case .log(let log): log.commits
            case .snapshot(let snapshot): snapshot.commits
            case .leftovers, .page: nil
            }
        }
    }

    func plan(for moment: Replica.Moment) async throws -> Plan {
        switch moment {
        case .newest:
            guard let plan = try await newestPlan() else {
                throw DatabaseError.damagedReplica("the first snapshot is not complete")
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
    ///   - skips: whether a page has nothing that is looked for.
    ///   - choose: the number of the commit that is looked for, if it is in an entry. The newest answer counts for which there is a
    ///     snapshot.
    private func plan(
        skipping skips: @escaping (_ page: ReplicaIndex.PageEntry, _ older: ReplicaIndex.Entry?) -> Bool = { _, _ in false },
        _ choose: (_ entry: ReplicaIndex.Entry, _ link: ReplicaTail.Link?) async throws -> UInt64?
    ) async throws -> Plan? {
        var target: (generation: UInt32, commit: UInt64)?, snapshot: ReplicaIndex.SnapshotEntry?, parts: [LogPart] = []
        var end: ChainPlace?
        try await walk(skipping: { target == nil && skips($0, $1) }) { entry, link in
            if case .leftovers = entry { return true }
            if let known = target, entry.newest.generation != known.generation {
                // All of the generation was seen.
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
    /// - Returns: nil if it is not of the newest generation that can be restored, or if the log since is not there any more.
    func log(from place: Place, of generation: UInt32) async throws -> (parts: [LogPart], commit: UInt64, pageSize: Int)? {
        var parts: [LogPart] = [], isFound = false, commit = place.commits
        if tail.end.tag == place.predecessor, place.block == nil { return ([], commit, contents.pageSize) }
        try await walk { entry, link in
            guard case .log(let log) = entry else {
                // Another generation may have nothing but a snapshot yet.
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

    private func noSuch(_ moment: Replica.Moment) -> DatabaseError {
        .invalidArgument("the store has no state for \(moment): it is beyond the retention, or not there yet")
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

    /// What can be restored, from the oldest generation to the newest.
    func generations() async throws -> [Replica.Generation] {
        var generations: [Replica.Generation] = [], logs: [ReplicaIndex.LogEntry] = [], snapshots: [ReplicaIndex.SnapshotEntry] = []
        func finish() {
            defer { (logs, snapshots) = ([], []) }
            guard let first = snapshots.last else { return }
            let latest = logs.reduce(first.time) { max($0, $1.latest) }, generation = UInt64(first.generation)
            let last = logs.reduce(snapshots[0].commits) { max($0, $1.commits) }
            generations.append(
                Replica.Generation(
                    first: Replica.Position(generation: generation, commit: first.commits),
                    last: Replica.Position(generation: generation, commit: last),
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

extension Replica {
    /// A state to restore.
    public enum Moment: Hashable, Sendable, CustomStringConvertible {
        /// The newest in the store.
        case newest
        /// The last one that was stored at or before this time, by the clock of the machine that stored it.
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
