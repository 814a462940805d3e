import SQLCipherKitCore
import SQLCipherKitMaintenance

/// Beginning a term: no other writer can store anything in the former one any more.
extension Replica {
    /// What the store holds of the section with the database's key, and where its chain ends.
    struct Former {
        var contents: ReplicaContents
        var tail: ReplicaTail
        var opening: TermOpening
        /// The version of the head.
        var version: String

        /// Whether its last generation has no snapshot, as its writer has ended before that was complete.
        var lacksSnapshot: Bool {
            contents.snapshot == nil || tail.links.last.map { $0.entry.generation != contents.generation } ?? false
        }
    }

    /// Takes over the store. If it is interrupted, the next call begins again, with another term.
    func claim() async throws {
        guard let source else { return }
        let present = try await ReplicaHead.read(store), key = source.key
        var head = present?.head ?? ReplicaHead(), former: Former?, next = ReplicaContents(), isAhead = false
        var held = ownPlace.map { self.held($0, least) }
        let (memory, known) = try newestMemory(of: head)
        if let section = head.sections.last, section.salt == key.salt, let contents = try section.contents(with: key) {
            names = ReplicaNames(section.id)
            var tail = ReplicaTail(after: contents.place)
            try await tail.extend(store, names, key)
            let opening = try await TermOpening.read(contents.place.term, store, names, key)
            former = Former(contents: contents, tail: tail, opening: opening, version: present?.object.version ?? "")
            held =
                known.first { $0.place.tag == tail.end.tag } ?? known.last { $0.place.term == contents.place.term } ?? held
                ?? known.first { !$0.place.isNone }
            isAhead = try await mayContinue(&held, known, memory, former)
            try await close(tail, names, key)
            next = contents
            if former?.lacksSnapshot == true { (next.snapshot, next.logged, next.pageSize) = (nil, 0, source.pageSize) }
        } else {
            held = try await heldOfFormerSection(present, known, memory)
            isHealing = false
            // As many as a reader accepts.
            let surplus = max(0, head.sections.count + 1 - ReplicaHead.largestSectionCount)
            head.removed += head.sections.prefix(surplus).map(\.id)
            head.sections.removeFirst(surplus)
            next.formers = Array((head.removed + head.sections.map(\.id)).suffix(4 * ReplicaHead.largestSectionCount))
            head.sections.append(ReplicaHead.Section(id: try ReplicaKey.random(8), salt: key.salt))
            names = ReplicaNames(head.sections.last?.id ?? [])
        }
        head.removed = Array(head.removed.suffix(4 * ReplicaHead.largestSectionCount))
        term = try ReplicaKey.random(ChainPlace.termCount)
        // A database that holds nothing of the replica begins a history. One that is ahead of a store that has gone back goes on
        // with its own, and what the store has is a part of that.
        (ancestry, firstGeneration) = ([], 0)
        if let held {
            let newest = max(least, next.generation, former?.tail.links.last?.entry.generation ?? 0)
            firstGeneration = isHealing ? newest + 1 : former?.opening.first ?? 0
            if isAhead {
                ancestry = [held.place] + held.ancestry
            } else if let former {
                ancestry = [former.tail.end] + former.opening.ancestry
            } else {
                ancestry = [held.place] + held.ancestry
            }
        }
        formerTerms.formUnion((ancestry + (former?.opening.ancestry ?? [])).map(\.term) + [term])
        if let former { formerTerms.insert(former.tail.end.term) }
        (counter, unproven) = (0, [])
        try await begin(&next, former?.tail, continuesIt: held != nil)
        let time = options.time
        if let former {
            clock.resume(
                age: max(next.age, former.tail.latest?.age ?? 0), believed: next.believed, time: next.latest, now: time)
            appendLeftovers(of: former.contents, former.tail, to: &next)
        } else {
            clock.resume(age: 0, believed: 0, time: time, now: time)
        }
        next.latest = time
        (next.age, next.believed) = (clock.age, clock.believed)
        try await storePages(&next)
        (next.begun, next.counter, next.joined) = ((0, 0), counter, next.place.link)
        // A claim that cannot be proven is given up, and the next one has another term.
        let bare = try (present?.head ?? ReplicaHead()).marked().bytes
        let touched = try await replaceHead(bare, present?.object.version)
        while let object = unproven.popLast() {
            guard try await isThere(object) else { throw DatabaseError.unavailableStore("the store lacks \(object.name) again") }
        }
        try head.sections[head.sections.count - 1].seal(next, with: key)
        // The answer may be lost: then the store has a term that is this database's all the same.
        let own = ReplicaMemory(of: source.path, section: names.section), claiming = self.held(next.place, next.generation)
        var before = try own.read()
        if before.isEmpty { before = [FollowerState.Held()] }
        try own.write(before + [claiming], isDurable: true)
        version = try await replaceHead(head.bytes, touched)
        (self.head, contents, tail, queue, pendingLink, ownPlace) = (head, next, [], [], nil, nil)
        (isClaimed, isChanged, hasUnlistedSections) = (true, false, !head.removed.isEmpty)
        (needsGeneration, pending, snapshot, removals, retiredAt, pages) = (true, nil, nil, [], nil, [:])
        try own.write([claiming], isDurable: true)
        guard !isAhead, held != nil, next.generation > 0 else { return }
        do {
            try source.resume(at: next.mark)
            needsGeneration = false
            followHold()
        } catch is ReplicaSource.Gap {}
    }

    /// - Returns: the version of the new head.
    private func replaceHead(_ bytes: [UInt8], _ version: String?) async throws -> String {
        count(\.headBytes, bytes.count)
        if let new = try await put(ReplicaHead.name, bytes, if: version.map { .isVersion($0) } ?? .isAbsent) { return new }
        guard let again = try await store.get(ReplicaHead.name), again.bytes == bytes else {
            throw DatabaseError.unavailableStore("the head has changed in the meantime")
        }
        return again.version
    }

    /// Stores the end of a term, so that its writer can store nothing more.
    func close(_ tail: ReplicaTail, _ names: ReplicaNames, _ key: ReplicaKey) async throws {
        if tail.isClosed { return }
        let name = names.link(tail.end.link, of: tail.end.term)
        if try await put(name, try closing(after: tail.end.tag, with: key), if: .isAbsent) == nil {
            // Its writer has stored something, or another one closes it, or this one has: look again.
            throw DatabaseError.unavailableStore("another writer is storing")
        }
    }

    /// Stores the first links of the term: the opening, and everything that the index lacks.
    /// - Parameter continuesIt: whether the states in the store are of this history. If not, they end where their writer has ended,
    ///   and the opening is of the next generation: a reader of the last one must not go on to this history.
    private func begin(_ next: inout ReplicaContents, _ tail: ReplicaTail?, continuesIt: Bool) async throws {
        guard let key = source?.key else { return }
        let last = tail?.links.last?.entry
        next.generation = last?.generation ?? next.generation
        (next.frames, next.commits) = (last?.end ?? next.frames, last?.commits ?? next.commits)
        next.logged += UInt64(tail?.links.reduce(0) { $0 + $1.entry.size } ?? 0)
        next.mark = tail?.mark ?? next.mark
        next.latest = tail?.latest?.time ?? next.latest
        beginsHistory = tail != nil && !continuesIt
        if beginsHistory {
            (next.generation, next.frames, next.commits, next.mark) = (max(least, next.generation) + 1, 0, 0, LogMark())
            (next.snapshot, next.logged, next.pageSize) = (nil, 0, source?.pageSize ?? next.pageSize)
        }
        let opening = ReplicaBlock(
            kind: .opening, generation: next.generation, first: next.frames, pageSize: source?.pageSize ?? 4096,
            predecessor: tail?.end.tag ?? ChainPlace.none.tag, time: options.time, age: next.age, commits: next.commits,
            record: TermOpening(term: term, ancestry: ancestry, first: firstGeneration).record)
        let bytes = try opening.sealed(with: key), tag = Array(bytes.suffix(ReplicaKey.tagCount))
        var links: [ReplicaTail.Content] = []
        if let tail, continuesIt, tail.isWhole { links = tail.links.compactMap(\.content) } else if let tail {
            // They are another history's, or too large for one object, as after a head that is old.
            for link in tail.links {
                next.index.append(.log(link.entry))
                unproven.append(
                    UnprovenObject(names.link(link.number, of: tail.end.term), link.entry.tag, after: link.predecessor))
            }
        }
        let blocks = links.flatMap { $0.blocks.map { ($0.block, $0.tag) } } + [(opening, tag)]
        let joined = links.flatMap(\.bytes) + bytes
        for (number, bytes) in [bytes, joined].enumerated() {
            let name = names.link(UInt64(number), of: term)
            guard try await put(name, bytes, if: .isAbsent) != nil else { throw DatabaseError.refusedObject(name) }
            unproven.append(UnprovenObject(name, bytes))
        }
        next.place = ChainPlace(term: term, link: 2, tag: tag)
        next.index.append(.log(ReplicaIndex.LogEntry(term: term, link: 1, blocks: blocks, size: joined.count)))
    }

    private func appendLeftovers(of former: ReplicaContents, _ tail: ReplicaTail, to next: inout ReplicaContents) {
        let first = max(1, former.joined)
        next.index.append(
            .leftovers(
                ReplicaIndex.LeftoversEntry(
                    term: tail.end.term, links: first..<max(first, tail.end.link + 1), snapshot: former.begun.number,
                    parts: former.begun.parts, age: clock.age)))
    }

    /// Stores what of an index is to be a page.
    func storePages(_ contents: inout ReplicaContents) async throws {
        while let (level, entries) = contents.index.full, let key = source?.key {
            var record: [UInt8] = []
            ReplicaIndex.append(entries, to: &record)
            let block = ReplicaBlock(
                kind: .page, generation: 0, first: 0, pageSize: 4096, predecessor: ChainPlace.none.tag, time: options.time,
                age: clock.age, commits: 0, record: record)
            // Its name is new, and so nothing is replaced.
            let bytes = try block.sealed(with: key), number = nextNumber()
            let name = names.page(number, of: term)
            guard try await put(name, bytes, if: .always) != nil else { throw DatabaseError.refusedObject(name) }
            unproven.append(UnprovenObject(name, bytes))
            count(\.headBytes, bytes.count)
            contents.index.replaceFull(
                by: ReplicaIndex.PageEntry(
                    term: term, number: number, level: level + 1, entries: entries, first: contents.index.first(ofLevel: level),
                    bytes: bytes))
        }
    }

    func nextNumber() -> UInt64 {
        counter += 1
        return counter
    }
}

extension TermOpening {
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
}
