import SQLCipherKitCore
import SQLCipherKitMaintenance

/// Replacing the head, and what it means if it is not the one that was stored.
extension Replica {
    struct PendingHead {
        let bytes: [UInt8]
        let head: ReplicaHead
    }

    /// Replaces the head. If that fails, the next call stores the same bytes again: it may have succeeded.
    func storeHead() async throws {
        guard let source else { return }
        try await finishPendingHead()
        try await joinTail()
        var listed = contents
        try await storePages(&listed)
        contents.index = listed.index
        (contents.age, contents.believed, contents.counter) = (clock.age, clock.believed, counter)
        var next = head
        try next.sections[next.sections.count - 1].seal(contents, with: source.key)
        isChanged = false
        pending = PendingHead(bytes: next.bytes, head: next)
        try await finishPendingHead()
    }

    func finishPendingHead() async throws {
        guard let pending, let version else { return }
        count(\.headBytes, pending.bytes.count)
        do {
            self.version = try await put(ReplicaHead.name, pending.bytes, if: .isVersion(version))
        } catch ReplicaStoreError.conditionFailed {
            let present = try await store.get(ReplicaHead.name)
            if let present, present.bytes == pending.bytes {
                self.version = present.version
            } else {
                return try await judge(present, pending)
            }
        }
        (head, self.pending, sightings, isHeadProven) = (pending.head, nil, 0, true)
        try remember(isDurable: true)
    }

    /// Another head is there than the one that was stored.
    private func judge(_ present: ReplicaObject?, _ pending: PendingHead) async throws {
        guard let source else { return }
        guard let present else { return try sawFormerState("there is no head") }
        let other = try ReplicaHead(present.bytes)
        guard let last = other.sections.last, let wanted = pending.head.sections.last else { throw DatabaseError.fencedReplica }
        if last == wanted || last == head.sections.last, other.sections.count < pending.head.sections.count {
            // Former sections were removed, before the pending head was stored, or after.
            (head, version) = (other, present.version)
            var next = other
            next.sections[next.sections.count - 1] = wanted
            self.pending = PendingHead(bytes: next.bytes, head: next)
            hasUnlistedSections = true
            return try await finishPendingHead()
        }
        guard last.salt == source.key.salt, let shown = try last.contents(with: source.key) else {
            if contents.formers.contains(last.id) { return try sawFormerState("it shows the state before the key was changed") }
            throw DatabaseError.fencedReplica
        }
        // A head of this term that is not the last one, or of a term before.
        guard shown.place.term == term || ancestry.contains(where: { $0.term == shown.place.term }) else {
            throw DatabaseError.fencedReplica
        }
        try sawFormerState("it shows an earlier head than the one that was stored")
    }

    /// The store shows an earlier state. A store that is late shows the present one soon; one that was restored from a backup lacks
    /// what was stored since, which this replica stores again, in a new term and with a snapshot.
    func sawFormerState(_ what: String) throws {
        sightings += 1
        guard sightings >= 3 else { throw ReplicaStoreError.unavailable("the store is not up to date: \(what)") }
        giveUpTerm()
        throw DatabaseError.rolledBackReplica("\(what), and this replica goes on with a snapshot")
    }

    /// Gives up the term. The next one goes on from what this one has stored, whatever the store has of it.
    func giveUpTerm() {
        (ownPlace, sightings, isClaimed, pending) = (contents.place, 0, false, nil)
        least = max(least, contents.generation)
        source?.release()
        (queue, tail, pendingLink, snapshot, needsGeneration) = ([], [], nil, nil, true)
    }

    /// A link is there already under the next number.
    func judgeLink(_ name: String, _ bytes: [UInt8]) async throws {
        guard let key = source?.key else { return }
        guard let present = try await store.get(name) else { throw ReplicaStoreError.unavailable("\(name) is there, and is not") }
        // An earlier attempt was successful although it failed.
        if present.bytes == bytes { return }
        if (try? ReplicaBlock.openAll(present.bytes, with: key)) != nil { throw DatabaseError.fencedReplica }
        sightings += 1
        guard sightings >= 3 else { throw DatabaseError.damagedReplica("the object \(name) is not what was stored") }
        giveUpTerm()
        throw DatabaseError.damagedReplica("the object \(name) is another's: this replica goes on without it")
    }
}
