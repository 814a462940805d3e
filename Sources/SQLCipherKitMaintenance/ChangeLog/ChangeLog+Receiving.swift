import SQLCipherKitCore

extension ChangeLog {
    /// Applies a message from another peer in one transaction: all of it, or nothing.
    ///
    /// Entries that were received before are skipped. Foreign key actions do not run, and only the triggers that ``triggers``
    /// allows do, because the changes contain what both did. References to deleted rows are repaired only if the connection
    /// enforces foreign keys. See <doc:Synchronise> for how conflicts are resolved.
    /// ```swift
    /// do { try log.receive(message) } catch {
    ///     guard error.reason == .changesMissing else { throw error }
    ///     askAgain(since: try log.position)
    /// }
    /// ```
    /// - Returns: for each table, the number of changes applied, skipped and repaired.
    /// - Throws: ``DatabaseError/Reason/changesMissing`` if entries before the message have not been received;
    ///   ``ResultCode/schema`` if a table, a primary key, a column or a rule is missing or different here; ``ResultCode/abort`` for
    ///   a new row that a constraint of this database refuses, with its table, and its key if that is one integer, and for an entry
    ///   whose time is further ahead of this device's clock than ``clockTolerance``;
    ///   ``ResultCode/corrupt`` for entries that do not follow one another; ``DatabaseError/Reason/misuse`` inside a transaction,
    ///   for a message from a removed peer, if this peer was removed, and if two histories of one peer meet. Then nothing has
    ///   changed.
    @discardableResult
    public func receive(_ message: Message) throws(DatabaseError) -> Outcome {
        try DatabaseError.typed {
            try receive(message, resolvesForks: false)
        }
    }

    /// - Parameter resolvesForks: whether the message may come from another copy with this peer's name, such as this one before it
    ///   was restored from a backup. Entries of this copy that have the same numbers are then logged again after it.
    package func receive(_ message: Message, resolvesForks: Bool) throws -> Outcome {
        try merging { enforces in try apply(message, resolvesForks, enforces) }
    }

    /// Runs `body` in a transaction in which rows are merged.
    func merging<R>(_ body: (_ enforces: Bool) throws -> R) throws -> R {
        if connection.isInTransaction { throw DatabaseError.misuse("a message cannot be received inside a transaction") }
        let enforces = try connection.settings.isEnabled(.foreignKeys)
        func run() throws -> R {
            try connection.withTriggers(triggers) {
                try connection.transaction { _ in
                    try lookOutside()
                    return TransactionEnd.commit(try store.logging(tables()) { try body(enforces) })
                }
            }
        }
        return enforces ? try connection.withoutForeignKeys(run) : try run()
    }

    private func apply(_ message: Message, _ resolvesForks: Bool, _ enforces: Bool) throws -> Outcome {
        let tables = try tables()
        var own = try position
        try check(message, tables, own, resolvesForks)
        var old = try outdated(by: message, own)
        // Their numbers are not used again, as others may have the entries.
        if !old.isEmpty { try store.setPosition(own, of: peer) }
        for entry in old { try store.remove(entry) }
        let isOutdated = !old.isEmpty
        if resolvesForks, let last = try forked(by: message, own) {
            old += try store.entries(of: peer, after: last.sequence)
            try store.removeEntries(of: peer, after: last, for: peer)
            own = try position
        }
        let taken = try takeBack(old)
        var outcome = Outcome()
        let new = try newEntries(message, own, &outcome)
        var merge = ChangeLogMerge(self, tables, horizon: try store.horizon)
        merge.outcome = outcome
        let isNew = !own.includes(message.until)
        if let state = message.state, isNew || message.isMend {
            try merge.add(message, state, own: own)
            try store.setPosition(own.merged(with: message.until), of: peer)
        }
        try finish(&merge, new, taken, enforces)
        outcome = merge.outcome
        outcome.renewed += taken.count
        if isOutdated { try store.setState(ChangeLogStore.lacks, to: .integer(1)) }
        // Rows that it no longer has were deleted here, without a record.
        if message.isWhole, isNew { try store.settle(upTo: message.horizon) }
        guard try position.includes(message.until) else { throw ChangeLogReader.malformed }
        for name in message.removed where name != peer { try store.remove(member: name) }
        let members = try store.members(), time = ChangeStamp.tick(after: 0, now: now())
        for (name, position) in message.peers.merging([message.sender: message.until], uniquingKeysWith: { $1 }) {
            if name == peer || members[name] == true { continue }
            let known = try store.position(of: name), merged = known.merged(with: position)
            try store.add(member: name, at: time)
            if merged != known { try store.setPosition(merged, of: name) }
            if merged != known || name == message.sender { try store.hear(of: name, at: time) }
        }
        return outcome
    }

    /// Merges new entries, and one for what was taken back, and writes the rows and the log.
    func finish(_ merge: inout ChangeLogMerge, _ new: [ChangeLogEntry], _ taken: [TakenRow], _ enforces: Bool) throws {
        var new = new
        for entry in new { try merge.add(entry) }
        var clock = max(try store.clock(at: position), new.map(\.clock).max() ?? 0)
        if !taken.isEmpty {
            let stamp = ChangeStamp(clock: ChangeStamp.tick(after: clock, now: now()), peer: peer)
            let changes = try renewed(taken, stamp, &merge)
            let last = max(
                try position.sequence(of: peer), new.reduce(0) { $1.peer == peer ? max($0, $1.sequence) : $0 })
            let entry = ChangeLogEntry(
                peer: peer, sequence: last + 1, clock: stamp.clock, identity: identity(), bytes: ChangeLogEntry.coded(changes))
            if !changes.isEmpty {
                try merge.add(entry)
                new.append(entry)
                clock = stamp.clock
            }
        }
        try merge.apply(repairs: ChangeStamp(clock: ChangeStamp.tick(after: clock, now: now()), peer: peer), enforces)
        if !new.isEmpty {
            for entry in new { try store.insert(entry) }
            var position = Position()
            for entry in new { position.marks[entry.peer] = entry.mark }
            try store.setPosition(position, of: peer)
        }
        if merge.repairs.isEmpty { return }
        try append(ChangeLogEntry.coded(merge.repairs), at: merge.stamp.clock, after: position.sequence(of: peer))
    }

    /// Throws if the message cannot be received here.
    private func check(
        _ message: Message, _ tables: LoggedTables, _ own: Position, _ resolvesForks: Bool
    ) throws {
        if message.sender == peer, !resolvesForks { throw Self.fork(peer) }
        if message.removed.contains(peer) {
            throw DatabaseError.misuse(
                "this peer was removed: it must start from a copy of another peer's database, under a new name")
        }
        if try store.members()[message.sender] == true {
            throw DatabaseError.misuse("the message comes from the peer \(message.sender), which was removed")
        }
        for (name, rule) in message.rules {
            guard let table = tables[name], table.rule != rule else { continue }
            throw DatabaseError(code: .schema, message: "the rule for the table \(name) is \(table.rule) here, and \(rule) there")
        }
        for (name, key) in message.keys where !key.isEmpty {
            guard let table = tables[name], table.identity.description != key else { continue }
            throw DatabaseError(
                code: .schema,
                message: """
                    the key of the table \(name) is \(table.identity.description.joined(separator: ", ")) here, and \
                    \(key.joined(separator: ", ")) there
                    """)
        }
        for (origin, mark) in message.since.marks {
            // What another copy with this name has stored comes first.
            let isOther = try resolvesForks && origin == peer && !isSame(origin, mark, own)
            guard !isOther, own.sequence(of: origin) >= mark.sequence else {
                throw DatabaseError(
                    code: .error, reason: .changesMissing,
                    message: "entries before the message are missing: ask for the changes since this peer's position")
            }
            try check(origin, mark, own)
        }
        try checkTime(message.horizon, "the log of the peer \(message.sender)")
        if message.isWhole {
            for (name, mark) in message.until.marks {
                try checkTime(mark.clock, "the last entry of the peer \(name)")
                if mark.sequence <= own.sequence(of: name), !resolvesForks || name != peer { try check(name, mark, own) }
            }
        }
    }

    /// The entries that this copy lacks. Each must follow the last entry of its peer.
    private func newEntries(
        _ message: Message, _ own: Position, _ outcome: inout Outcome
    ) throws -> [ChangeLogEntry] {
        var marks = own.marks, new: [ChangeLogEntry] = []
        for entry in message.entries {
            let mark = marks[entry.peer]
            if entry.sequence <= mark?.sequence ?? 0 {
                try check(entry.peer, entry.mark, own)
                outcome.repeated += 1
                continue
            }
            guard entry.sequence == (mark?.sequence ?? 0) + 1, entry.clock > mark?.clock ?? 0 else {
                throw ChangeLogReader.malformed
            }
            try checkTime(entry.clock, "the entry \(entry.sequence) of the peer \(entry.peer)")
            marks[entry.peer] = entry.mark
            new.append(entry)
        }
        outcome.received = new.count
        return new
    }
}
