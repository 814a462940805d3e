import SQLCipherKitCore
import SQLCipherKitMaintenance

/// Removing what is no longer needed. What that is follows from what this replica has stored itself, and from the index that it
/// took over, which its key authenticates. What a store lists or shows decides nothing. A store that has gone back may need what
/// was joined or retired since: so removals follow a head that was stored just before, which shows that it has not.
extension Replica {
    /// A link whose blocks are in a later one.
    struct Removal {
        let link: UInt64
        let since: ContinuousClock.Instant
    }

    private static let removalsPerTurn = 200, entriesPerSweep = 4096

    func maintain() async throws {
        if isHeadProven { try await removeJoined() }
        isHeadProven = false
        let interval = min(options.sweepInterval, options.retention / 4)
        if let lastSweep, .now - lastSweep < interval { return }
        lastSweep = .now
        try await retire()
        retireFormerSections()
        if isChanged { try await storeHead() }
        try await removeRetired()
        try await removeSections()
        if isChanged { try await storeHead() }
    }

    private func removeJoined() async throws {
        var count = 0
        while let first = removals.first, .now - first.since > options.grace, count < Self.removalsPerTurn {
            try await store.delete(names.link(first.link, of: term))
            removals.removeFirst()
            contents.joined = first.link + 1
            count += 1
        }
    }

    /// Takes what is older than the retention out of the index.
    private func retire() async throws {
        guard let horizon = clock.horizon else { return }
        var old: [(number: UInt64, entry: ReplicaIndex.Entry)] = []
        try await eachOfTheOldest(from: contents.index.first) { number, entry in
            guard entry.age < horizon, old.count < Self.entriesPerSweep else { return false }
            old.append((number, entry))
            return true
        }
        // The newest snapshot from before the horizon is needed for what follows it, with the log since it began.
        let last = old.last { if case .snapshot = $0.entry { true } else { false } }
        guard let last, case .snapshot(let snapshot) = last.entry else { return }
        let needed = old.first { item in
            guard case .log(let log) = item.entry else { return item.number == last.number }
            return log.generation == snapshot.generation && log.end > snapshot.first
        }
        guard let needed, needed.number > contents.index.first else { return }
        contents.index.first = needed.number
        (retiredAt, isChanged) = (.now, true)
    }

    /// Removes what has been out of the index for the time of grace.
    private func removeRetired() async throws {
        let first = contents.index.first
        guard contents.index.kept < first else { return }
        // After a start it is not known since when.
        guard let retiredAt else { return self.retiredAt = .now }
        guard .now - retiredAt > options.grace else { return }
        try await storeHead()
        var names: [String] = [], kept = contents.index.kept
        try await eachOfTheOldest(from: kept) { number, entry in
            guard number < first, names.count < Self.entriesPerSweep else { return false }
            names += self.names.names(entry)
            kept = number + 1
            return true
        }
        for page in passedPages where page.first + page.count <= kept {
            names += self.names.names(.page(page))
            pages[page.tag] = nil
        }
        for name in names { try await store.delete(name) }
        contents.index.drop(before: kept)
        isChanged = true
    }

    /// Gives the entries from a number on, the oldest first, until `body` returns false. Pages are read once. A page that is
    /// missing was removed by this sweep before it was interrupted, or is lost: nothing that it names is removed then.
    private func eachOfTheOldest(
        from number: UInt64, _ body: (_ number: UInt64, _ entry: ReplicaIndex.Entry) -> Bool
    ) async throws {
        passedPages = []
        // The oldest entries have the highest level; those of a level are in order.
        var stack: [ReplicaIndex.Entry] = contents.index.levels.reversed().flatMap { $0 }.reversed()
        var position = contents.index.start
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
            guard let entries = try await read(page) else {
                position = next
                continue
            }
            stack += entries.reversed()
        }
    }

    private func read(_ page: ReplicaIndex.PageEntry) async throws -> [ReplicaIndex.Entry]? {
        if let known = pages[page.tag] { return known }
        guard let key = source?.key, let object = try await store.get(names.page(page.number, of: page.term)) else { return nil }
        let entries = try page.entries(object.bytes, with: key)
        pages[page.tag] = entries
        return entries
    }

    /// Takes the sections of former keys out of the head: nothing in them is newer than the change of the key.
    private func retireFormerSections() {
        let kept = clock.retention + clock.largestStep + UInt64(max(0, options.grace.milliseconds))
        guard clock.age > kept, head.sections.count > 1 else { return }
        head.removed += head.sections.dropLast().map(\.id)
        head.sections.removeFirst(head.sections.count - 1)
        (isChanged, hasUnlistedSections) = (true, true)
    }

    /// Removes the objects of sections that are no longer in the head. They stay named there until a list shows none for the time
    /// of grace, as lists may be late.
    private func removeSections() async throws {
        guard hasUnlistedSections, pending == nil else { return }
        var count = 0
        for id in head.removed { count += try await Self.removeSection(id, in: store) }
        if count > 0 || listedNothingSince == nil { listedNothingSince = .now }
        guard let listedNothingSince, .now - listedNothingSince > options.grace else { return }
        (head.removed, hasUnlistedSections, self.listedNothingSince, isChanged) = ([], false, nil, true)
    }
}

extension ReplicaIndex.PageEntry {
    /// The entries in the page's object.
    /// - Throws: ``DatabaseError/Reason/replicaDamaged`` unless it is that object.
    func entries(_ bytes: [UInt8], with key: ReplicaKey) throws -> [ReplicaIndex.Entry] {
        let blocks = try ReplicaBlock.openAll(bytes, with: key)
        guard blocks.count == 1, blocks[0].block.kind == .page, blocks[0].tag == tag else {
            throw DatabaseError.damagedReplica("a page of the index is out of place")
        }
        var parser = ByteParser(blocks[0].block.record)
        let entries = try ReplicaIndex.entries(&parser)
        guard parser.isAtEnd, entries.reduce(0, { $0 + $1.count }) == count else {
            throw DatabaseError.damagedReplica("a page of the index is of an unknown form")
        }
        return entries
    }
}
