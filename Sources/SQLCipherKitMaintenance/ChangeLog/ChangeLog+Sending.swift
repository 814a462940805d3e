import SQLCipherKitCore

extension ChangeLog {
    /// The last entry of each peer that this copy has. Send it to a peer to get the result of ``changes(since:)`` in return.
    /// - Throws: ``DatabaseError``.
    public var position: ChangePosition { get throws(DatabaseError) { try store.position(of: peer) } }

    /// The last known position of another peer, from its own messages and those of others; nil for an unknown or a removed peer.
    /// - Throws: ``DatabaseError``.
    public func position(of peer: String) throws(DatabaseError) -> ChangePosition? {
        try store.members()[peer] == false ? try store.position(of: peer) : nil
    }

    /// The other known peers, sorted by name: registered ones, senders of received messages, and the peers that those senders know.
    /// - Throws: ``DatabaseError``.
    public var peers: [String] {
        get throws(DatabaseError) { try store.members().filter { !$0.value && $0.key != peer }.map(\.key).sorted() }
    }

    /// Registers a peer, so that ``prune()`` keeps the entries that it lacks. Call this before you copy the database for a new
    /// peer: the copy can then be opened under that name. Registering a peer again has no effect.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for an invalid name, and for that of a removed peer.
    public func add(peer name: String) throws {
        guard name.isPeerName else {
            throw DatabaseError.invalidArgument("a peer's name has 1 to 128 printable ASCII characters, without spaces")
        }
        try connection.transaction { _ in
            guard try store.members()[name] != true else {
                throw DatabaseError.invalidArgument("the peer \(name) was removed, and its name cannot be used again")
            }
            try store.add(member: name)
        }
    }

    /// Removes a peer that will not come back, so that ``prune()`` no longer waits for it. This peer's next messages tell the
    /// others, and all of them then refuse the removed peer's messages. To come back, it must start from a copy of another peer's
    /// database, under a new name.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for this peer itself and for an invalid name.
    public func remove(peer name: String) throws {
        if name == peer || !name.isPeerName { throw DatabaseError.invalidArgument("the peer \(name) cannot be removed here") }
        try connection.transaction { _ in try store.remove(member: name) }
    }

    /// Returns a message with the entries that a copy at a position lacks: this peer's own and those received from others.
    ///
    /// An older position than the other copy's does no harm: the message then has more entries than needed. The message is made in
    /// memory.
    /// - Parameter position: the position that the other peer sent, or its last known one, ``position(of:)``. Default: that of a
    ///   copy without entries.
    /// - Throws: ``DatabaseError/Reason/changesMissing`` if entries that the copy lacks have been pruned;
    ///   ``DatabaseError/Reason/misuse`` if the other copy has a different entry under the same peer and number, because two copies
    ///   use the same name or a copy was restored from a backup.
    public func changes(since position: ChangePosition = ChangePosition()) throws -> ChangeMessage {
        try connection.transaction(.deferred) { db in
            try lookOutside()
            let own = try self.position
            if position.sequence(of: peer) > own.sequence(of: peer) { throw Self.fork(peer) }
            var since = ChangePosition()
            var lacking = 0
            for (origin, mark) in own.marks {
                guard let theirs = position.marks[origin] else {
                    lacking += Int(mark.sequence)
                    continue
                }
                since.marks[origin] = theirs.sequence < mark.sequence ? theirs : mark
                lacking += Int(max(mark.sequence - theirs.sequence, 0))
                try check(origin, theirs, own)
            }
            var entries: [ChangeLogEntry] = []
            if lacking > 0 {
                try db.forEach("SELECT peer, sequence, clock, changes FROM main.changelog ORDER BY id") { row in
                    let origin: String = try row[0], sequence: Int64 = try row[1]
                    if sequence <= position.sequence(of: origin) { return }
                    entries.append(ChangeLogEntry(peer: origin, sequence: sequence, clock: try row[2], bytes: try row[3]))
                }
            }
            guard entries.count == lacking else {
                throw DatabaseError(
                    code: .error, reason: .changesMissing,
                    message: "entries that the peer lacks have been pruned: it must start from a copy of this database")
            }
            var peers: [String: ChangePosition] = [:]
            let members = try store.members()
            for (name, isRemoved) in members where !isRemoved && name != peer { peers[name] = try store.position(of: name) }
            let removed = Set(members.filter(\.value).keys)
            return TransactionEnd.commit(
                ChangeMessage(
                    sender: peer, since: since, until: own, tables: try tables().all, peers: peers, removed: removed,
                    entries: entries))
        }
    }

    /// Throws if the entry that a copy has of a peer differs from the entry with the same number here.
    func check(_ origin: String, _ mark: ChangePosition.Mark, _ own: ChangePosition) throws(DatabaseError) {
        let same = own.marks[origin]
        let clock = same?.sequence == mark.sequence ? same?.clock : try store.clock(ofEntry: mark.sequence, of: origin)
        if let clock, clock != mark.clock { throw Self.fork(origin) }
    }

    static func fork(_ peer: String) -> DatabaseError {
        .misuse(
            """
            two different histories of the peer \(peer) have met: two copies use its name, or it was restored from a backup after \
            it had sent its changes. One of them must start from a copy of another peer's database, under a new name
            """)
    }

    /// Deletes the entries that all peers are known to have, and the log's stamps of their rows.
    ///
    /// What a peer has is known from its messages, even from one without entries, and from what other peers' messages say of it.
    /// Nothing is deleted while a peer is known to have entries that this one lacks.
    ///
    /// Register all peers before the first call, with ``add(peer:)`` or by receiving a message: a peer that was unknown then cannot
    /// get the deleted entries, and its own older entries are refused.
    /// - Returns: the number of entries deleted; 0 if no other peer is known.
    /// - Throws: ``DatabaseError``. Then nothing is deleted.
    @discardableResult
    public func prune() throws -> Int {
        try connection.transaction { db in
            let own = try position
            var common = own
            let others = try peers
            for other in others {
                let theirs = try store.position(of: other)
                // The entries that this peer lacks may be older than those that it would delete.
                guard own.includes(theirs) else { return TransactionEnd.commit(0) }
                for (origin, mark) in common.marks where theirs.sequence(of: origin) < mark.sequence {
                    common.marks[origin] = theirs.marks[origin]
                }
            }
            guard !others.isEmpty else { return TransactionEnd.commit(0) }
            var first = Int64.max
            for origin in own.marks.keys {
                let clock = try db.fetchOne(
                    Int64?.self,
                    "SELECT min(clock) FROM main.changelog WHERE peer = \(origin) AND sequence > \(common.sequence(of: origin))")
                if let clock = clock ?? nil { first = min(first, clock) }
            }
            let last = try db.fetchOne(Int64?.self, "SELECT max(clock) FROM main.changelog WHERE clock < \(first)")
            guard let horizon = last ?? nil else { return TransactionEnd.commit(0) }
            try db.execute("DELETE FROM main.changelog WHERE clock <= \(horizon)")
            let count = db.changes
            try db.execute("DELETE FROM main.changelog_cell WHERE clock <= \(horizon)")
            try db.execute("DELETE FROM main.changelog_row WHERE clock <= \(horizon) AND (gone IS NULL OR gone <= \(horizon))")
            try store.setState("horizon", to: .integer(max(horizon, try store.horizon)))
            return TransactionEnd.commit(count)
        }
    }
}
