import SQLCipherKitCore

/// Entries that other peers cannot take any more are replaced by new ones: those with times that are far ahead, those that are
/// older than what others have pruned, and those with numbers that another copy of this peer has used.
extension ChangeLog {
    /// What entries have done to a row and no later entry has undone.
    struct TakenRow {
        let table: LoggedTable
        let key: [SQLValue]
        /// The row as it is; nil if it is gone.
        let values: [SQLValue]?
        let isInserted: Bool, isDeleted: Bool
        /// The columns that were updated.
        let columns: [SQLName]
    }

    /// Takes entries out of the log, and their stamps from the rows. The rows stay as they are.
    func takeBack(_ entries: [ChangeLogEntry]) throws -> [TakenRow] {
        let stamps = Set(entries.map(\.stamp)), clocks = Set(entries.map(\.clock)), tables = try tables()
        var seen: Set<[UInt8]> = [], taken: [TakenRow] = []
        for entry in entries {
            for change in try entry.changes().changes {
                guard let table = tables[change.table] else { continue }
                var key: [SQLValue] = []
                for name in table.key {
                    guard let place = change.keyColumns.firstIndex(named: name) else { break }
                    key.append(change.key[place])
                }
                guard key.count == table.key.count else { continue }
                let bytes = try store.key(table, key)
                guard seen.insert(bytes).inserted else { continue }
                var row = try store.row(bytes) ?? ChangeLogRow()
                let now = try current(table, key)?.values
                let isInserted = stamps.contains(row.insert), isDeleted = row.gone.map { clocks.contains($0) } ?? false
                let columns = row.cells.filter { stamps.contains($0.value) }.map(\.key)
                if !isInserted, !isDeleted, columns.isEmpty { continue }
                taken.append(
                    TakenRow(
                        table: table, key: now.map { now in table.keyPlaces.map { now[$0] } } ?? key, values: now,
                        isInserted: isInserted, isDeleted: isDeleted, columns: columns))
                if isInserted { row = ChangeLogRow() }
                if isDeleted { row.gone = nil }
                for column in columns { row.cells[column] = nil }
                try store.save(row, bytes)
            }
        }
        return taken
    }

    /// What was taken back, as changes of an entry that follows those which `merge` has already.
    func renewed(_ taken: [TakenRow], _ stamp: ChangeStamp, _ merge: inout ChangeLogMerge) throws -> [LoggedChange] {
        var changes: [LoggedChange] = []
        for row in taken {
            let table = row.table, base = try merge.work(table, row.key).row.insert
            func add(_ kind: Changeset.Change.Kind, _ places: [Int], _ base: ChangeStamp) {
                changes.append(
                    LoggedChange(
                        kind: kind, table: table.name, keyColumns: table.key, key: row.key,
                        columns: places.map { table.columns[$0] }, values: places.compactMap { row.values?[$0] }, base: base))
            }
            if row.values != nil {
                let isWhole = row.isInserted || row.columns.contains(ChangeLogRow.wholeRow)
                let columns = Set(row.columns)
                let places = table.otherPlaces.filter { isWhole || columns.contains(SQLName(table.columns[$0])) }
                if row.isInserted || !places.isEmpty { add(row.isInserted ? .insert : .update, places, base) }
            } else if row.isInserted {
                // It was inserted in place of another one, of which nothing is known any more.
                add(.insert, [], .ancient)
                add(.delete, [], stamp)
            } else if row.isDeleted {
                add(.delete, [], base)
            }
        }
        return changes
    }

    /// The last entry of each peer that stays, for the peers of which entries are to be renewed, as the sender of a message does
    /// not have them and has pruned everything of their time.
    func outdated(by message: ChangeMessage, _ own: ChangePosition) throws -> [String: Int64] {
        var result: [String: Int64] = [:]
        for (origin, mark) in own.marks where message.horizon > 0 {
            let theirs = message.until.sequence(of: origin)
            guard theirs < mark.sequence, let next = try store.entry(after: theirs, of: origin),
                next.clock <= message.horizon
            else { continue }
            result[origin] = next.sequence - 1
        }
        return result
    }

    /// The last entry of this peer that is the same in a message of another copy with this peer's name; nil if all are.
    /// - Throws: ``DatabaseError/Reason/misuse`` if others have entries after it already.
    func forked(by message: ChangeMessage, _ own: ChangePosition) throws -> Int64? {
        var last: Int64?
        let mark = own.marks[peer]
        if message.isWhole {
            // It does not say which of the entries that no other peer is known to have are the same.
            if let theirs = message.until.marks[peer], let mark,
                try theirs.sequence > mark.sequence
                    || store.clock(ofEntry: theirs.sequence, of: peer).map({ $0 != theirs.clock }) ?? false
            { last = try published() }
        } else {
            for entry in message.entries where entry.peer == peer && last == nil {
                let clock = entry.sequence == mark?.sequence ? mark?.clock : try store.clock(ofEntry: entry.sequence, of: peer)
                if let clock, clock != entry.clock { last = entry.sequence - 1 }
            }
        }
        guard let last, last < mark?.sequence ?? 0 else { return nil }
        if try published() > last { throw Self.fork(peer) }
        return last
    }

    /// The last entry of this peer that another one is known to have.
    private func published() throws -> Int64 {
        let marks: [(Int64, Int64)] = try connection.fetchAll(
            "SELECT sequence, clock FROM main.changelog_peer WHERE origin = \(peer) AND peer <> \(peer)")
        // Others may have entries of another copy.
        let own = try position.sequence(of: peer)
        return try marks.filter { $0.0 <= own }.reduce(0) { last, mark in
            try store.clock(ofEntry: mark.0, of: peer).map { $0 == mark.1 } ?? true ? max(last, mark.0) : last
        }
    }

    // MARK: The clock

    /// Takes times back that are further ahead of this device's clock than ``clockTolerance``, after this device's clock was wrong.
    /// Call it only when the clock is right.
    ///
    /// The entries with such times are removed: other peers refuse them. The rows that they changed are logged again, as they are
    /// now, as one entry of this peer.
    /// - Returns: the number of rows that were logged again; 0 if there was nothing to mend.
    /// - Throws: ``DatabaseError/Reason/misuse`` inside a transaction, and any other ``DatabaseError``. Then nothing has changed.
    @discardableResult
    public func repairClock() throws -> Int {
        try merging { enforces in
            let limit = clockLimit
            guard try store.clock > limit else { return 0 }
            let horizon = min(try store.horizon, limit)
            var entries: [ChangeLogEntry] = []
            for origin in try position.marks.keys {
                let late = try store.entries(of: origin, after: 0).filter { $0.clock > limit }
                guard let first = late.first else { continue }
                // The times of a peer grow, so they are its last ones. Those before them may have been pruned.
                try store.removeEntries(of: origin, after: first.sequence - 1, clock: horizon, for: peer)
                entries += late
            }
            let taken = try takeBack(entries)
            let last = try connection.fetchOne(Int64?.self, "SELECT max(clock) FROM main.changelog") ?? nil
            try store.setState("horizon", to: .integer(horizon))
            try store.setState("clock", to: .integer(max(last ?? 0, horizon)))
            var merge = ChangeLogMerge(self, try tables(), horizon: horizon)
            try finish(&merge, [], taken, enforces)
            return taken.count
        }
    }
}
