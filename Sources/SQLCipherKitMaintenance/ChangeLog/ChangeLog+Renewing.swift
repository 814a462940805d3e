import SQLCipherKitCore

/// Entries that other peers cannot take as they are are replaced by new ones: those with times that are far ahead, those that are
/// older than what others have forgotten, and those with numbers that another copy of this peer has used.
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
        var taken: [TakenRow] = []
        for entry in entries {
            for change in try entry.changes() {
                guard let table = tables[change.table] else { continue }
                let key = table.key.compactMap { name in change.keyColumns.firstIndex(named: name).map { change.key[$0] } }
                guard key.count == table.key.count else { continue }
                taken += try takeBack(table, key, { stamps.contains($0) }, { clocks.contains($0) })
            }
        }
        return taken
    }

    /// Takes stamps from a row.
    private func takeBack(
        _ table: LoggedTable, _ key: [SQLValue], _ isTaken: (ChangeStamp) -> Bool, _ isTakenTime: (Int64) -> Bool
    ) throws -> [TakenRow] {
        var row = try store.row(table, key)
        let now = try current(table, key)?.values
        let isInserted = isTaken(row.insert), isDeleted = row.gone.map { isTakenTime($0) } ?? false
        let columns = row.cells.filter { isTaken($0.value) }.map(\.key)
        if !isInserted, !isDeleted, columns.isEmpty { return [] }
        if isInserted { row = ChangeLogRow() }
        if isDeleted { row.gone = nil }
        for column in columns { row.cells[column] = nil }
        try store.save(row, table, key)
        return [
            TakenRow(
                table: table, key: now.map { now in table.keyPlaces.map { now[$0] } } ?? key, values: now,
                isInserted: isInserted, isDeleted: isDeleted, columns: columns)
        ]
    }

    /// What was taken back, as changes of an entry that follows those which `merge` has already.
    func renewed(_ taken: [TakenRow], _ stamp: ChangeStamp, _ merge: inout ChangeLogMerge) throws -> [LoggedChange] {
        var changes: [LoggedChange] = []
        for row in taken {
            let table = row.table, base = try merge.work(table, row.key).row.insert
            func add(_ kind: RowChange.Kind, _ places: [Int], _ base: ChangeStamp) {
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

    /// This peer's entries that the sender of a message does not have, if the first is older than what it has forgotten.
    func outdated(by message: Message, _ own: Position) throws -> [ChangeLogEntry] {
        let theirs = message.until.sequence(of: peer)
        guard message.horizon > 0, theirs < own.sequence(of: peer), let next = try store.entry(after: theirs, of: peer),
            next.clock <= message.horizon
        else { return [] }
        return try store.entries(of: peer, after: theirs)
    }

    /// The last entry of this peer that is the same in a message of another copy with this peer's name; nil if all are.
    /// - Throws: ``DatabaseError/Reason/misuse`` if others have entries after it already.
    func forked(by message: Message, _ own: Position) throws -> Position.Mark? {
        var last: Position.Mark?
        let mark = own.marks[peer]
        if message.isWhole {
            // It does not say which of the entries that no other peer is known to have are the same.
            if let theirs = message.until.marks[peer], let mark,
                try theirs.sequence > mark.sequence || !isSame(peer, theirs, own)
            { last = try published() }
        } else {
            var same = message.since.marks[peer] ?? .none
            for entry in message.entries where entry.peer == peer && last == nil {
                if entry.sequence <= mark?.sequence ?? 0, try !isSame(peer, entry.mark, own) { last = same }
                same = entry.mark
            }
        }
        guard let last, last.sequence < mark?.sequence ?? 0 else { return nil }
        if try published().sequence > last.sequence { throw Self.fork(peer) }
        return last
    }

    /// The last entry of this peer that another one is known to have.
    func published() throws -> Position.Mark {
        let marks: [(Int64, Int64, Int64)] = try connection.fetchAll(
            "SELECT sequence, clock, identity FROM main.changelog_peer WHERE origin = \(peer) AND peer <> \(peer)")
        // Others may have entries of another copy.
        let own = try position
        return try marks.filter { $0.0 <= own.sequence(of: peer) }.reduce(.none) { last, row in
            let mark = Position.Mark(sequence: row.0, clock: row.1, identity: row.2)
            return try mark.sequence > last.sequence && isSame(peer, mark, own) ? mark : last
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
    public func repairClock() throws(DatabaseError) -> Int {
        try DatabaseError.typed {
            try merging { enforces in
                let limit = clockLimit
                guard try store.clock(at: position) > limit else { return 0 }
                let horizon = min(try store.horizon, limit)
                for (origin, mark) in try position.marks where mark.clock > limit {
                    // The times of a peer grow, so they are its last ones. Those before them may have been pruned.
                    let late = try store.entries(of: origin, after: 0).first { $0.clock > limit }?.sequence ?? mark.sequence + 1
                    let last = try store.mark(ofEntry: late - 1, of: origin)
                    try store.removeEntries(
                        of: origin, after: last ?? Position.Mark(sequence: late - 1, clock: limit, identity: 0), for: peer)
                }
                var taken: [TakenRow] = []
                for table in try tables().all {
                    for (key, _) in try store.rows(of: table) {
                        taken += try takeBack(table, key, { $0.clock > limit }, { $0 > limit })
                    }
                }
                let last = try connection.fetchOne(Int64?.self, "SELECT max(clock) FROM main.changelog") ?? nil
                try store.setState("horizon", to: .integer(horizon))
                try store.setState("clock", to: .integer(max(last ?? 0, horizon)))
                var merge = ChangeLogMerge(self, try tables(), horizon: horizon)
                try finish(&merge, [], taken, enforces)
                return taken.count
            }
        }
    }
}
