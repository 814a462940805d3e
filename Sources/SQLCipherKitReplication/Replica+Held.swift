import SQLCipherKitCore
import SQLCipherKitMaintenance

/// What the database holds of the replica: from there alone it goes on.
extension Replica {
    /// What the database holds of the newest section of which it holds something, and where that is written.
    func newestMemory(of head: ReplicaHead) throws -> (memory: ReplicaMemory?, known: [FollowerState.Held]) {
        guard let source else { return (nil, []) }
        for section in (head.removed + head.sections.map(\.id)).reversed() {
            let memory = ReplicaMemory(of: source.path, section: section), known = try memory.read()
            if !known.isEmpty { return (memory, known) }
        }
        return (nil, [])
    }

    /// Makes sure that the database has everything that the store has, or the store nothing that the database lacks.
    /// - Returns: whether the database's place is not the end of what the store has, and a generation begins there all the same:
    ///   the store has gone back, or what it has after the place is of a generation without a snapshot, which no one can restore.
    /// - Throws: ``DatabaseError/Reason/replicaForked``; ``DatabaseError/Reason/replicaRolledBack`` for the first times, as a store
    ///   may be late.
    func mayContinue(
        _ held: inout FollowerState.Held?, _ known: [FollowerState.Held], _ memory: ReplicaMemory?, _ former: Former?
    ) async throws -> Bool {
        isHealing = false
        guard let source, let place = held, let former else { return false }
        func goesOnBefore() async throws -> Bool {
            guard former.lacksSnapshot, let newest = try await newest(of: [place] + known, former.version) else { return false }
            held = newest
            return true
        }
        let end = former.tail.end
        do {
            try place.require(in: end, former.opening)
            if place.place.tag == end.tag { return false }
            // What was stored since is of this database if its log has it: then the process was killed.
            try source.resume(at: former.tail.mark ?? former.contents.mark)
            return false
        } catch let error as DatabaseError where error.reason == .replicaRolledBack {
            sightings += 1
            guard sightings >= 3 else { throw error }
            (sightings, least, isHealing) = (0, max(least, place.generation), true)
            return true
        } catch let error as DatabaseError where error.reason == .replicaForked {
            if try await goesOnBefore() { return true }
            throw error
        } catch is ReplicaSource.Gap {
            if try await goesOnBefore() { return true }
            throw lacking(memory)
        }
    }

    private func lacking(_ memory: ReplicaMemory?) -> DatabaseError {
        .forkedReplica(
            "it has commits that this database lacks. Restore the newest state; or, to begin another history with this "
                + "database, remove \(memory?.path ?? "")")
    }

    /// What the database holds of the newest section that is there, from which it goes on in another one: its key or its salt was
    /// changed. Another machine must not have gone on from what this one holds.
    /// - Returns: nil if the database holds nothing of the replica.
    /// - Throws: as ``mayContinue(_:_:_:_:)``.
    func heldOfFormerSection(
        _ present: (head: ReplicaHead, object: ReplicaObject)?, _ known: [FollowerState.Held], _ memory: ReplicaMemory?
    ) async throws -> FollowerState.Held? {
        guard let memory, let present, let last = present.head.sections.last?.id else { return nil }
        let version = present.object.version
        if memory.section != last {
            guard let newest = try await newest(of: known, version) else { throw lacking(memory) }
            return newest
        }
        if let reader = try await reader(version), reader.section == last, let key = reader.key {
            let tail = reader.tail
            var held = known.first { $0.place.tag == tail.end.tag } ?? known.first { !$0.place.isNone }
            let former = Former(contents: reader.contents, tail: tail, opening: reader.opening, version: version)
            _ = try await mayContinue(&held, known, memory, former)
            try await close(tail, reader.names, key)
            return held
        }
        // The former key is not here, and so the names count, and not what is in the objects.
        for place in known.map(\.place) where !place.isNone {
            let prefix = ReplicaNames(last).link(0, of: place.term).dropLast()
            for object in try await store.list(prefix: String(prefix)) {
                guard let number = UInt64(object.name.dropFirst(prefix.count)), number >= place.link else { continue }
                // It may be this database's, of which it has not heard.
                let tag = try await store.get(object.name)?.bytes.suffix(place.tag.count)
                guard let tag, !known.contains(where: { tag.elementsEqual($0.place.tag) }) else { continue }
                throw lacking(memory)
            }
        }
        return known.last { !$0.place.isNone }
    }

    /// A reader of what the key opens; nil if that is nothing.
    private func reader(_ version: String, needsState: Bool = false) async throws -> ReplicaReader? {
        do {
            let reader = try await ReplicaReader(store, key: encryption, needsState: needsState)
            if reader.version != version { throw DatabaseError.unavailableStore("the store is not up to date") }
            return reader
        } catch let error as DatabaseError {
            // Anything else may be an old read.
            if error.code == .notADatabase { return nil }
            throw error
        }
    }

    /// What of several places has the newest state, if nothing after it can be restored: who has stored that has ended before its
    /// first snapshot was complete.
    /// - Parameter version: the version of the head that was read.
    private func newest(of held: [FollowerState.Held], _ version: String) async throws -> FollowerState.Held? {
        guard let reader = try await reader(version, needsState: true), !reader.isSuperseded else { return nil }
        // Reads may be old: what the former section has is known when its end is there.
        if let key = reader.key, reader.section != reader.head.sections.last?.id {
            try await close(reader.tail, reader.names, key)
        }
        guard let plan = try await reader.newestPlan() else { return held.first }
        return held.first { $0.place == plan.end }
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

    func held(_ place: ChainPlace, _ generation: UInt32) -> FollowerState.Held {
        FollowerState.Held(place: place, ancestry: ancestry, generation: generation)
    }
}
