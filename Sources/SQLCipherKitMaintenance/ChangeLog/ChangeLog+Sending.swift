import SQLCipherKitCore

extension ChangeLog {
    /// The last entry of each peer that this copy has. Send it to a peer to get the result of ``changes(since:)`` in return.
    /// - Throws: ``DatabaseError``.
    public var position: Position { get throws(DatabaseError) { try store.ownPosition(of: peer) } }

    /// The last known position of another peer, from its own messages and those of others; nil for an unknown or a removed peer.
    /// - Throws: ``DatabaseError``.
    public func position(of peer: String) throws(DatabaseError) -> Position? {
        try store.members()[peer] == false ? try store.position(of: peer) : nil
    }

    /// The other known peers, sorted by name: registered ones, senders of received messages, and the peers that those senders know.
    /// - Throws: ``DatabaseError``.
    public var peers: [String] {
        get throws(DatabaseError) { try store.members().filter { !$0.value && $0.key != peer }.map(\.key).sorted() }
    }

    /// Registers a peer, so that ``prune(patience:)`` keeps the entries that it lacks. Call this before you copy the database for a
    /// new peer: the copy can then be opened under that name. Registering a peer again has no effect.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for an invalid name, and for that of a removed peer.
    public func add(peer name: String) throws(DatabaseError) {
        try DatabaseError.typed {
            guard name.isPeerName else {
                throw Self.invalidPeerName
            }
            try connection.transaction { _ in
                guard try store.members()[name] != true else {
                    throw DatabaseError.invalidArgument("the peer \(name) was removed, and its name cannot be used again")
                }
                try store.add(member: name, at: ChangeStamp.tick(after: 0, now: now()))
            }
        }
    }

    /// Removes a peer that will not come back, so that ``prune(patience:)`` no longer waits for it. This peer's next messages tell
    /// the others, and all of them then refuse the removed peer's messages. To come back, it must start from a copy of another
    /// peer's database, under a new name.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for this peer itself and for an invalid name.
    public func remove(peer name: String) throws(DatabaseError) {
        try DatabaseError.typed {
            if name == peer || !name.isPeerName { throw DatabaseError.invalidArgument("the peer \(name) cannot be removed here") }
            try connection.transaction { _ in try store.remove(member: name) }
        }
    }

    /// Returns a message with the entries that a copy at a position lacks: this peer's own and those received from others.
    ///
    /// An older position than the other copy's does no harm: the message then has more entries than needed. The message is made in
    /// memory.
    /// - Parameter position: the position that the other peer sent, or its last known one, ``position(of:)``. Default: that of a
    ///   copy without entries.
    /// - Throws: ``DatabaseError/Reason/changesMissing`` if entries that the copy lacks have been pruned: ``wholeState()`` replaces
    ///   them;
    ///   ``DatabaseError/Reason/misuse`` if the other copy has a different entry under the same peer and number, because two copies
    ///   use the same name or a copy was restored from a backup.
    public func changes(since position: Position = Position()) throws(DatabaseError) -> Message {
        try DatabaseError.typed {
            try connection.transaction(.deferred) { db in
                try lookOutside()
                let own = try self.position
                if position.sequence(of: peer) > own.sequence(of: peer) { throw Self.fork(peer) }
                var since = Position(), entries: [ChangeLogEntry] = [], lacking = 0
                for (origin, mark) in own.marks {
                    let theirs = position.marks[origin]
                    if let theirs {
                        since.marks[origin] = theirs.sequence < mark.sequence ? theirs : mark
                        try check(origin, theirs, own)
                    }
                    guard (theirs?.sequence ?? 0) < mark.sequence else { continue }
                    lacking += Int(mark.sequence - (theirs?.sequence ?? 0))
                    entries += try store.entries(of: origin, after: theirs?.sequence ?? 0)
                }
                guard entries.count == lacking else {
                    throw DatabaseError(
                        code: .error, reason: .changesMissing,
                        message: "entries that the peer lacks have been pruned: it needs wholeState(), or a copy of this database")
                }
                // Each is later than those that it depends on.
                entries.sort { $0.stamp < $1.stamp }
                return TransactionEnd.commit(try message(since: since, until: own, entries: entries))
            }
        }
    }

    /// Whether the entry that a copy has of a peer is the entry with the same number here, as far as that is known.
    func isSame(_ origin: String, _ mark: Position.Mark, _ own: Position) throws(DatabaseError) -> Bool {
        let last = own.marks[origin]
        let same = last?.sequence == mark.sequence ? last : try store.mark(ofEntry: mark.sequence, of: origin)
        return same?.isSame(as: mark) ?? true
    }

    func check(_ origin: String, _ mark: Position.Mark, _ own: Position) throws(DatabaseError) {
        if try !isSame(origin, mark, own) { throw Self.fork(origin) }
    }

    static func fork(_ peer: String) -> DatabaseError {
        .misuse(
            """
            two different histories of the peer \(peer) have met: two copies use its name, or it was restored from a backup after \
            it had sent its changes. rename(to:) gives one of them a new name
            """)
    }

    /// Deletes the entries that all peers are known to have, and what is kept of the rows that were deleted in them.
    ///
    /// What a peer has is known from its messages, even from one without entries, and from what other peers' messages say of it.
    /// Nothing is deleted while a peer is known to have entries that this one lacks.
    ///
    /// Register all peers before the first call, with ``add(peer:)`` or by receiving a message: a peer that was unknown then cannot
    /// get the deleted entries, and needs a ``wholeState()``. Rows that it has inserted before are logged again, as if they were
    /// inserted when they are received.
    /// - Parameter patience: peers of which nothing was known for longer are not waited for. They too need a ``wholeState()`` when
    ///   they come back; what they have changed meanwhile keeps its times. The keys and times of deleted rows are kept until they
    ///   know of the deletes, or are removed. Default: nil, no limit.
    /// - Returns: the number of entries deleted; 0 if no other peer is known.
    /// - Throws: ``DatabaseError``. Then nothing is deleted.
    @discardableResult
    public func prune(patience: Duration? = nil) throws(DatabaseError) -> Int {
        try DatabaseError.typed {
            try connection.transaction { db in
                store.begin()
                let others = try peers
                guard !others.isEmpty else { return TransactionEnd.commit(0) }
                // Only what all peers know can be forgotten.
                try store.settle(upTo: try common(to: others))
                var heard = others
                if let patience {
                    let limit = ChangeStamp.tick(after: 0, now: now().addingTimeInterval(-(patience / .seconds(1))))
                    heard = try others.filter { try store.heard(of: $0) >= limit }
                }
                try store.setPosition(try position, of: peer)
                try db.execute("DELETE FROM main.changelog WHERE clock <= \(try common(to: heard))")
                return TransactionEnd.commit(db.changes)
            }
        }
    }

    /// The time of the last entry before which this peer and others have all entries; 0 if one of them has others.
    private func common(to others: [String]) throws -> Int64 {
        let own = try position
        var common = own
        for other in others {
            let theirs = try store.position(of: other)
            // The entries that this peer lacks may be older than those that it would delete.
            guard own.includes(theirs) else { return 0 }
            for (origin, mark) in common.marks where theirs.sequence(of: origin) < mark.sequence {
                common.marks[origin] = theirs.marks[origin]
            }
        }
        var first = Int64.max
        for (origin, mark) in own.marks where common.sequence(of: origin) < mark.sequence {
            let last = common.sequence(of: origin), next = try store.entry(after: last, of: origin)
            // What is not in the log, as it came with a whole state or was pruned, is later than the last one before it.
            let isNext = next?.sequence == last + 1
            first = min(first, isNext ? next?.clock ?? 0 : (common.marks[origin]?.clock ?? 0) + 1)
        }
        let last = try connection.fetchOne(Int64?.self, "SELECT max(clock) FROM main.changelog WHERE clock < \(first)")
        return common.marks.values.map(\.clock).filter { $0 < first }.reduce((last ?? nil) ?? 0, max)
    }
}

extension ChangeLogStore {
    /// When something was last known of a peer, by this copy's clock.
    func heard(of peer: String) throws(DatabaseError) -> Int64 {
        try db.fetchOne(Int64.self, "SELECT clock FROM main.changelog_peer WHERE peer = \(peer) AND origin = ''") ?? 0
    }
}
