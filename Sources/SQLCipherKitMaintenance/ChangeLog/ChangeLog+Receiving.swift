import SQLCipherKitCore

extension ChangeLog {
    /// Applies a message from another peer in one transaction: all of it, or nothing.
    ///
    /// Entries that were received before are skipped. Foreign key actions do not run, and only the triggers that ``triggers``
    /// allows do, because the changes contain what both did. References to deleted rows are repaired only if the connection
    /// enforces foreign keys. See <doc:Synchronise> for how conflicts are resolved.
    /// ```swift
    /// do { try log.receive(message) } catch let error as DatabaseError where error.reason == .changesMissing {
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
    public func receive(_ message: ChangeMessage) throws -> ChangeLogOutcome {
        if connection.isInTransaction { throw DatabaseError.misuse("a message cannot be received inside a transaction") }
        let enforces = try connection.settings.isEnabled(.foreignKeys)
        func run() throws -> ChangeLogOutcome {
            try connection.withTriggers(triggers) {
                try connection.transaction { _ in
                    try lookOutside()
                    return TransactionEnd.commit(try store.logging { try apply(message, enforces) })
                }
            }
        }
        return enforces ? try connection.withoutForeignKeys(run) : try run()
    }

    private func apply(_ message: ChangeMessage, _ enforces: Bool) throws -> ChangeLogOutcome {
        let tables = try tables(), own = try position
        try check(message, tables, own)
        var outcome = ChangeLogOutcome()
        let new = try newEntries(message, own, &outcome)
        if !new.isEmpty {
            var merge = ChangeLogMerge(self, tables, horizon: try store.horizon)
            merge.outcome = outcome
            for entry in new { try merge.add(entry) }
            let clock = max(try store.clock, new.map(\.clock).max() ?? 0)
            try merge.apply(repairs: ChangeStamp(clock: ChangeStamp.tick(after: clock, now: now()), peer: peer), enforces)
            outcome = merge.outcome
            for entry in new { try store.insert(entry) }
            var position = ChangePosition()
            for entry in new { position.marks[entry.peer] = ChangePosition.Mark(sequence: entry.sequence, clock: entry.clock) }
            try store.setPosition(position, of: peer)
            try store.setState("clock", to: .integer(clock))
            if !merge.repairs.isEmpty { try append(merge.repairs, at: merge.stamp.clock) }
        }
        guard try position.includes(message.until) else { throw ChangeLogReader.malformed }
        for name in message.removed where name != peer { try store.remove(member: name) }
        let members = try store.members()
        for (name, position) in message.peers.merging([message.sender: message.until], uniquingKeysWith: { $1 }) {
            if name == peer || members[name] == true { continue }
            try store.add(member: name)
            try store.setPosition(try store.position(of: name).merged(with: position), of: name)
        }
        return outcome
    }

    /// Throws if the message cannot be received here.
    private func check(_ message: ChangeMessage, _ tables: LoggedTables, _ own: ChangePosition) throws {
        if message.sender == peer { throw Self.fork(peer) }
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
            guard own.sequence(of: origin) >= mark.sequence else {
                throw DatabaseError(
                    code: .error, reason: .changesMissing,
                    message: "entries before the message are missing: ask for the changes since this peer's position")
            }
            try check(origin, mark, own)
        }
    }

    /// The entries that this copy lacks. Each must follow the last entry of its peer.
    private func newEntries(
        _ message: ChangeMessage, _ own: ChangePosition, _ outcome: inout ChangeLogOutcome
    ) throws -> [ChangeLogEntry] {
        var marks = own.marks, new: [ChangeLogEntry] = []
        let horizon = try store.horizon
        for entry in message.entries {
            let mark = marks[entry.peer]
            if entry.sequence <= mark?.sequence ?? 0 {
                try check(entry.peer, ChangePosition.Mark(sequence: entry.sequence, clock: entry.clock), own)
                outcome.repeated += 1
                continue
            }
            guard entry.sequence == (mark?.sequence ?? 0) + 1, entry.clock > mark?.clock ?? 0 else {
                throw ChangeLogReader.malformed
            }
            try checkTime(entry)
            if entry.clock <= horizon {
                throw DatabaseError(
                    code: .error, reason: .changesMissing,
                    message: """
                        the entry \(entry.sequence) of the peer \(entry.peer) is older than what has been pruned: the peer was not \
                        known then, and must start from a copy of another peer's database
                        """)
            }
            marks[entry.peer] = ChangePosition.Mark(sequence: entry.sequence, clock: entry.clock)
            new.append(entry)
        }
        outcome.received = new.count
        return new
    }
}
