import SQLCipherKitCore
import SQLCipherKitMaintenance

/// Beginning a term: no other writer can store anything in the former one any more.
extension Replica {
    /// What the store holds of the section with the database's key, and where its chain ends.
    private struct Former {
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
        if let section = head.sections.last, section.salt == key.salt, let contents = try section.contents(with: key) {
            names = ReplicaNames(section.id)
            var tail = ReplicaTail(after: contents.place)
            try await tail.extend(store, names, key)
            let opening = try await TermOpening.read(contents.place.term, store, names, key)
            former = Former(contents: contents, tail: tail, opening: opening, version: present?.object.version ?? "")
            let known = try ReplicaMemory(of: source.path, section: section.id).read()
            held =
                known.first { $0.place.tag == tail.end.tag } ?? known.last { $0.place.term == contents.place.term } ?? held
                ?? known.first { !$0.place.isNone }
            isAhead = try await mayContinue(held, former)
            if !tail.isClosed { try await close(tail) }
            next = contents
            if former?.lacksSnapshot == true { (next.snapshot, next.logged, next.pageSize) = (nil, 0, source.pageSize) }
        } else {
            try await requireOwnSection(head)
            held = nil
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
        let memory = ReplicaMemory(of: source.path, section: names.section), claiming = self.held(next.place, next.generation)
        var known = try memory.read()
        if known.isEmpty { known = [FollowerState.Held()] }
        try memory.write(known + [claiming], isDurable: true)
        version = try await replaceHead(head.bytes, touched)
        (self.head, contents, tail, queue, pendingLink, ownPlace) = (head, next, [], [], nil, nil)
        (isClaimed, isChanged, hasUnlistedSections) = (true, false, !head.removed.isEmpty)
        (needsGeneration, pending, snapshot, removals, retiredAt, pages) = (true, nil, nil, [], nil, [:])
        try memory.write([claiming], isDurable: true)
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

    /// Makes sure that the database has everything that the store has, or the store nothing that the database lacks.
    /// - Returns: whether the database's place is not the end of what the store has, and a generation begins there all the same:
    ///   the store has gone back, or what it has after the place is of a generation without a snapshot, which no one can restore.
    /// - Throws: ``DatabaseError/Reason/replicaForked``; ``DatabaseError/Reason/replicaRolledBack`` for the first times, as a store
    ///   may be late.
    private func mayContinue(_ held: FollowerState.Held?, _ former: Former?) async throws -> Bool {
        isHealing = false
        guard let source, let held, let former else { return false }
        let end = former.tail.end
        do {
            try held.require(in: end, former.opening)
            if held.place.tag == end.tag { return false }
            // What was stored since is of this database if its log has it: then the process was killed.
            try source.resume(at: former.tail.mark ?? former.contents.mark)
            return false
        } catch let error as DatabaseError where error.reason == .replicaRolledBack {
            sightings += 1
            guard sightings >= 3 else { throw error }
            (sightings, least, isHealing) = (0, max(least, held.generation), true)
            return true
        } catch let error as DatabaseError where error.reason == .replicaForked {
            if try await isNewest(held, former) { return true }
            throw error
        } catch is ReplicaSource.Gap {
            if try await isNewest(held, former) { return true }
            throw lacking(ReplicaMemory(of: source.path, section: names.section))
        }
    }

    private func lacking(_ memory: ReplicaMemory) -> DatabaseError {
        .forkedReplica(
            "it has commits that this database lacks. Restore the newest state; or, to begin another history with this "
                + "database, remove \(memory.path)")
    }

    /// Makes sure that the key was changed in this database, before it begins a section. If another one has gone on from what this
    /// one holds, either that has begun a section, or the chain is longer. The former key is not here, and so only what is there
    /// counts, and not what is in it.
    /// - Throws: ``DatabaseError/Reason/replicaForked``.
    private func requireOwnSection(_ head: ReplicaHead) async throws {
        guard let source, let last = head.sections.last?.id else { return }
        let memory = ReplicaMemory(of: source.path, section: last), known = try memory.read()
        if known.isEmpty {
            for section in head.removed + head.sections.map(\.id) {
                let former = ReplicaMemory(of: source.path, section: section), held = try former.read()
                guard !held.isEmpty, try await !isNewestState(held, of: section) else { continue }
                throw lacking(former)
            }
        }
        for place in known.map(\.place) where !place.isNone {
            guard let next = try await store.get(ReplicaNames(last).link(place.link, of: place.term)) else { continue }
            // It may be this database's, of which it has not heard.
            let isOwn = known.contains { next.bytes.suffix($0.place.tag.count).elementsEqual($0.place.tag) }
            if !isOwn { throw lacking(memory) }
        }
    }

    /// Whether nothing after a place can be restored: its writer has ended before its first snapshot was complete.
    private func isNewest(_ held: FollowerState.Held, _ former: Former) async throws -> Bool {
        guard former.lacksSnapshot else { return false }
        let reader = try await ReplicaReader(store, key: encryption)
        guard reader.version == former.version else { throw DatabaseError.unavailableStore("the store is not up to date") }
        return try await reader.newestPlan().map { $0.end == held.place } ?? true
    }

    /// Whether nothing after what is held of a section can be restored: the one after it has no complete snapshot.
    private func isNewestState(_ held: [FollowerState.Held], of section: [UInt8]) async throws -> Bool {
        let newest = try await ReplicaReader(store, key: encryption)
        guard !newest.isSuperseded, newest.section != section, try await newest.newestPlan() == nil else { return false }
        let reader = try await ReplicaReader(store, key: encryption, needsState: true)
        guard reader.version == newest.version else { throw DatabaseError.unavailableStore("the store is not up to date") }
        let end = try await reader.newestPlan()?.end
        return reader.section == section && held.contains { $0.place == end }
    }

    /// Writes down what the database holds.
    func remember(isDurable: Bool) throws {
        guard let source, isClaimed else { return }
        // Another replica of this database may have taken over.
        let memory = ReplicaMemory(of: source.path, section: names.section)
        if let last = try memory.read().last, last.place.term != term { return }
        var all = [held(contents.place, contents.generation)]
        // The link that is being stored may be in the store. The database has it in either case.
        if let bytes = pendingLink?.bytes {
            let place = ChainPlace(term: term, link: contents.place.link + 1, tag: Array(bytes.suffix(ReplicaKey.tagCount)))
            all.append(held(place, contents.generation))
        }
        try memory.write(all, isDurable: isDurable)
    }

    private func held(_ place: ChainPlace, _ generation: UInt32) -> FollowerState.Held {
        FollowerState.Held(place: place, ancestry: ancestry, generation: generation)
    }

    /// Stores the end of a term, so that its writer can store nothing more.
    private func close(_ tail: ReplicaTail) async throws {
        guard let key = source?.key else { return }
        let name = names.link(tail.end.link, of: tail.end.term)
        let closing = try closing(after: tail.end.tag, with: key)
        if try await put(name, closing, if: .isAbsent) == nil {
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
