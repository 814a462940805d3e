import SQLCipherKitCore
import SQLCipherKitFiles

/// Removes objects that are no longer needed. The replica knows these objects because it has stored them itself, or because the
/// index that it took over, authenticated with the key, names them. Lists and objects of the store are never the reason. A store
/// that has returned to an older state may need joined or retired objects. So a removal follows a head that was stored just before,
/// which proves that the store has not returned to an older state. This class has the isolation of the ``Replicator`` that owns it.
final class ReplicaUpkeep {
    private static let removalsPerTurn = 200, entriesPerSweep = 4096

    private let store: CheckedStore
    private let options: Replicator.Options
    private var lastSweep: ContinuousClock.Instant?
    /// Links whose blocks are also in a later link, and the time since then.
    private var joined: [(link: UInt64, since: ContinuousClock.Instant)] = []
    /// When entries were last taken out of the index.
    private var retiredAt: ContinuousClock.Instant?
    /// The oldest pages of the index, and the pages that the last walk has passed.
    private var pages: [[UInt8]: [ReplicaIndex.Entry]] = [:], passedPages: [ReplicaIndex.PageEntry] = []
    /// True if objects may exist of sections that were taken out of the head.
    private var hasUnlistedSections = true, listedNothingSince: ContinuousClock.Instant?

    init(_ store: CheckedStore, _ options: Replicator.Options) { (self.store, self.options) = (store, options) }

    /// Begins with a new term.
    /// - Parameter hasRemoved: whether its head names sections that were taken out.
    func begin(hasRemoved: Bool) { (joined, retiredAt, pages, hasUnlistedSections) = ([], nil, [:], hasRemoved) }

    /// Notes that sections were taken out of the head.
    func noteRemovedSections() { hasUnlistedSections = true }

    /// Notes joined links. A reader with a former head may still need them.
    func noteJoined(_ links: Range<UInt64>) {
        let time = ContinuousClock.now
        joined += links.map { ($0, time) }
    }

    /// Returns whether it is time to look for objects that are no longer needed, and sets the next time.
    func isSweepDue() -> Bool {
        let interval = min(options.sweepInterval, options.retention / 4)
        if let lastSweep, .now - lastSweep < interval { return false }
        lastSweep = .now
        return true
    }

    /// Removes links that were joined long enough ago.
    /// - Parameter body: gets the number of each removed link.
    func removeJoined(
        _ names: ReplicaNames, of term: [UInt8], isolation: isolated (any Actor)? = #isolation, _ body: (UInt64) -> Void
    ) async throws {
        var count = 0
        while let first = joined.first, .now - first.since > options.gracePeriod, count < Self.removalsPerTurn {
            try await store.delete(names.link(first.link, of: term))
            joined.removeFirst()
            body(first.link)
            count += 1
        }
    }

    /// Finds the objects that are older than the retention.
    /// - Returns: the number of the first entry that is still needed; nil if the number has not changed.
    func retire(
        _ index: ReplicaIndex, before horizon: UInt64, _ names: ReplicaNames, _ key: ReplicaKey,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> UInt64? {
        var old: [(number: UInt64, entry: ReplicaIndex.Entry)] = []
        try await eachOfTheOldest(of: index, from: index.first, names, key) { number, entry in
            guard entry.age < horizon, old.count < Self.entriesPerSweep else { return false }
            old.append((number, entry))
            return true
        }
        // The newest snapshot from before the horizon is needed for later states, with the log since the snapshot began.
        let last = old.last { if case .snapshot = $0.entry { true } else { false } }
        guard let last, case .snapshot(let snapshot) = last.entry else { return nil }
        let needed = old.first { item in
            guard case .log(let log) = item.entry else { return item.number == last.number }
            return log.generation == snapshot.generation && log.end > snapshot.first
        }
        guard let needed, needed.number > index.first else { return nil }
        retiredAt = .now
        return needed.number
    }

    /// Returns whether the grace period has passed for entries that are out of the index, and whose objects may still exist.
    func isRemovalDue(_ index: ReplicaIndex) -> Bool {
        guard index.kept < index.first else { return false }
        // After a start, that time is not known.
        guard let retiredAt else {
            retiredAt = .now
            return false
        }
        return .now - retiredAt > options.gracePeriod
    }

    /// Removes the objects of these entries.
    /// - Returns: the number of the first entry whose objects may still exist.
    func removeRetired(
        _ index: ReplicaIndex, _ names: ReplicaNames, _ key: ReplicaKey, isolation: isolated (any Actor)? = #isolation
    ) async throws -> UInt64 {
        var objects: [String] = [], kept = index.kept
        try await eachOfTheOldest(of: index, from: kept, names, key) { number, entry in
            guard number < index.first, objects.count < Self.entriesPerSweep else { return false }
            objects += names.names(entry)
            kept = number + 1
            return true
        }
        for page in passedPages where page.first + page.count <= kept {
            objects += names.names(.page(page))
            pages[page.tag] = nil
        }
        for name in objects { try await store.delete(name) }
        return kept
    }

    /// Gives the entries from a number on, the oldest first, until `body` returns false. Pages are read once. A missing page was
    /// removed by this sweep before an interruption, or is lost: the objects that it names are not removed.
    private func eachOfTheOldest(
        of index: ReplicaIndex, from number: UInt64, _ names: ReplicaNames, _ key: ReplicaKey,
        isolation: isolated (any Actor)? = #isolation, _ body: (_ number: UInt64, _ entry: ReplicaIndex.Entry) -> Bool
    ) async throws {
        passedPages = []
        // The oldest entries have the highest level; the entries of a level are in order.
        var stack: [ReplicaIndex.Entry] = index.levels.reversed().flatMap { $0 }.reversed()
        var position = index.start
        while let entry = stack.popLast() {
            let next = position + entry.count
            guard next > number else {
                position = next
                continue
            }
            guard case .page(let page) = entry else {
                guard body(position, entry) else { return }
                position = next
                continue
            }
            passedPages.append(page)
            guard let entries = try await read(page, names, key) else {
                position = next
                continue
            }
            stack += entries.reversed()
        }
    }

    private func read(
        _ page: ReplicaIndex.PageEntry, _ names: ReplicaNames, _ key: ReplicaKey, isolation: isolated (any Actor)? = #isolation
    ) async throws -> [ReplicaIndex.Entry]? {
        if let known = pages[page.tag] { return known }
        guard let object = try await store.get(names.page(page.number, of: page.term)) else { return nil }
        let entries = try page.entries(object.bytes, with: key)
        pages[page.tag] = entries
        return entries
    }

    /// Removes the objects of sections that are no longer in the head. The head names these sections until lists have shown none of
    /// their objects for the grace period, because lists may be late.
    /// - Returns: whether the head no longer has to name them.
    func removeSections(_ ids: [[UInt8]], isolation: isolated (any Actor)? = #isolation) async throws -> Bool {
        guard hasUnlistedSections else { return false }
        var count = 0
        for id in ids { count += try await Replicator.removeSection(id, in: store) }
        if count > 0 || listedNothingSince == nil { listedNothingSince = .now }
        guard let listedNothingSince, .now - listedNothingSince > options.gracePeriod else { return false }
        (hasUnlistedSections, self.listedNothingSince) = (false, nil)
        return true
    }
}
