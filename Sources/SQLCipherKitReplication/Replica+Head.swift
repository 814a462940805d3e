import SQLCipherKitCore
import SQLCipherKitMaintenance

/// Replacing the head, and what it means if it is not the one that was stored.
extension Replica {
    struct PendingHead {
        let bytes: [UInt8]
        let head: ReplicaHead

        init(_ head: ReplicaHead) { (bytes, self.head) = (head.bytes, head) }
    }

    /// Replaces the head. If that fails, the next call stores the same bytes again: it may have succeeded.
    func storeHead() async throws {
        guard let source else { return }
        try await finishPendingHead()
        try await joinTail()
        var listed = contents
        try await storePages(&listed)
        (contents.index, isChanged) = (listed.index, true)
        try await prove()
        (contents.age, contents.believed, contents.counter) = (clock.age, clock.believed, counter)
        var next = head
        try next.sections[next.sections.count - 1].seal(contents, with: source.key)
        isChanged = false
        pending = PendingHead(next)
        try await finishPendingHead()
    }

    func finishPendingHead() async throws {
        guard let pending, let version else { return }
        count(\.headBytes, pending.bytes.count)
        if let new = try await put(ReplicaHead.name, pending.bytes, if: .isVersion(version)) {
            self.version = new
        } else {
            let present = try await store.get(ReplicaHead.name)
            guard let present, present.bytes == pending.bytes else { return try await judge(present, pending) }
            self.version = present.version
        }
        let isNew = head.sections != pending.head.sections
        (head, self.pending, sightings, isHeadProven) = (pending.head, nil, 0, true)
        if isNew { try remember(isDurable: true) }
    }

    // MARK: Objects that the head is to name

    /// An object that was stored.
    struct UnprovenObject {
        let name: String
        /// The last bytes of it, and the tag of what is before it.
        let tag: [UInt8], predecessor: [UInt8]
        /// Whether something else may have been stored in its place.
        var isDoubtful = false

        init(_ name: String, _ bytes: [UInt8], after predecessor: [UInt8] = ChainPlace.none.tag) {
            (self.name, tag, self.predecessor) = (name, Array(bytes.suffix(ReplicaKey.tagCount)), predecessor)
        }
    }

    /// Makes sure that the store has what the next head names.
    ///
    /// A store that was restored from a copy of itself may have the version of the head that it had, and lack what was stored
    /// since. So the head gets another version first. If an object is there after that, it was there at that time, as nothing else
    /// stores it; then every state of the store with this version has it. That it is there is not read, as reads may be old: the
    /// store has to refuse to store something in its place.
    func prove() async throws {
        guard !unproven.isEmpty else { return }
        try await finishPendingHead()
        pending = PendingHead(try head.marked())
        try await finishPendingHead()
        while let object = unproven.first {
            // Until there is an answer.
            unproven[0].isDoubtful = true
            guard try await isThere(object) else {
                giveUpTerm()
                throw DatabaseError.rolledBackReplica("it lacks \(object.name), and this replica goes on with a snapshot")
            }
            unproven.removeFirst()
        }
    }

    /// Whether the store has an object. If it has not, it gets the end of the term in its place, which no one reads. If the answer
    /// to that was lost, the object is read, and replaced by itself if it is the present version.
    func isThere(_ object: UnprovenObject) async throws -> Bool {
        guard let key = source?.key else { return true }
        let name = object.name, late = DatabaseError.unavailableStore("the store is not up to date: \(name) is missing")
        guard object.isDoubtful else {
            return try await put(name, try closing(after: object.predecessor, with: key), if: .isAbsent) == nil
        }
        guard let present = try await store.get(name) else { throw late }
        guard present.bytes.suffix(ReplicaKey.tagCount).elementsEqual(object.tag) else { return false }
        if try await put(name, present.bytes, if: .isVersion(present.version)) == nil { throw late }
        return true
    }

    func closing(after tag: [UInt8], with key: ReplicaKey) throws -> [UInt8] {
        let block = ReplicaBlock(
            kind: .closing, generation: 0, first: 0, pageSize: 4096, predecessor: tag, time: options.time, age: 0, commits: 0)
        return try block.sealed(with: key)
    }

    /// Another head is there than the one that was stored.
    private func judge(_ present: ReplicaObject?, _ pending: PendingHead) async throws {
        guard let source else { return }
        guard let present else { return try sawFormerState("there is no head") }
        let other = try ReplicaHead(present.bytes)
        guard let last = other.sections.last else { return try sawFormerState("the head has no section") }
        guard let wanted = pending.head.sections.last else { throw DatabaseError.fencedReplica }
        if last == wanted || last == head.sections.last, other.sections.count < pending.head.sections.count {
            // Former sections were removed, before the pending head was stored, or after.
            (head, version) = (other, present.version)
            var next = try other.marked()
            next.sections[next.sections.count - 1] = wanted
            self.pending = PendingHead(next)
            hasUnlistedSections = true
            return try await finishPendingHead()
        }
        guard last.salt == source.key.salt, let shown = try last.contents(with: source.key) else {
            if contents.formers.contains(last.id) { return try sawFormerState("it shows the state before the key was changed") }
            throw DatabaseError.fencedReplica
        }
        // A head of this term that is not the last one, or of a term before.
        guard formerTerms.contains(shown.place.term) else { throw DatabaseError.fencedReplica }
        try sawFormerState("it shows an earlier head than the one that was stored")
    }

    /// The store shows an earlier state. A store that is late shows the present one soon; one that was restored from a backup lacks
    /// what was stored since, which this replica stores again, in a new term and with a snapshot.
    func sawFormerState(_ what: String) throws {
        sightings += 1
        guard sightings >= 3 else { throw DatabaseError.unavailableStore("the store is not up to date: \(what)") }
        giveUpTerm()
        throw DatabaseError.rolledBackReplica("\(what), and this replica goes on with a snapshot")
    }

    /// Gives up the term. The next one goes on from what this one has stored, whatever the store has of it.
    func giveUpTerm() {
        (ownPlace, sightings, isClaimed, pending) = (contents.place, 0, false, nil)
        least = max(least, contents.generation)
        source?.release()
        (queue, tail, pendingLink, unproven, snapshot, needsGeneration) = ([], [], nil, [], nil, true)
    }

    /// A link is there already under the next number.
    func judgeLink(_ name: String, _ bytes: [UInt8]) async throws {
        guard let key = source?.key else { return }
        guard let present = try await store.get(name) else { throw DatabaseError.unavailableStore("\(name) is there, and is not") }
        // An earlier attempt was successful although it failed.
        if present.bytes == bytes { return }
        if (try? ReplicaBlock.openAll(present.bytes, with: key)) != nil { throw DatabaseError.fencedReplica }
        sightings += 1
        guard sightings >= 3 else { throw DatabaseError.damagedReplica("the object \(name) is not what was stored") }
        giveUpTerm()
        throw DatabaseError.damagedReplica("the object \(name) is another's: this replica goes on without it")
    }
}
