import SQLCipherKitCore

/// Merges all rows of another copy as their entries would be, although some of these have been pruned there or here.
///
/// Which entries each copy has seen is known, so a row that only one of them has was either deleted by the other one, if that has
/// seen its insert, or is new to it.
extension ChangeLogMerge {
    /// - Parameters:
    ///   - own: the entries that this copy has.
    ///   - isFresh: whether it has none but its own, so that it knows nothing of rows without a stamp.
    mutating func add(_ message: ChangeMessage, _ state: ChangeLogState, own: ChangePosition, isFresh: Bool) throws {
        let (until, theirs) = (message.until, message.horizon)
        for part in state.tables {
            let table = try table(part.name, part.keyColumns, part.columns)
            let places = table.key.map { part.keyColumns.firstIndex(named: $0) ?? 0 }
            var seen: Set<[UInt8]> = []
            for their in part.rows {
                let key = places.map { their.key[$0] }
                guard seen.insert(table.bytes(key)).inserted else { throw ChangeLogReader.malformed }
                let current = try log.current(table, key)?.values
                let work = try work(table, key)
                let isTaken: Bool
                if current == nil, work.row == ChangeLogRow() {
                    let stamp = their.row.insert
                    let isDeletedHere =
                        stamp.clock <= theirs ? horizon >= theirs && !isFresh : own.includes(stamp, horizon)
                    isTaken = !isDeletedHere
                    if isTaken { take(work, their, part.columns, current) }
                } else if work.row.isSame(their.row.insert, max(horizon, theirs)) {
                    isTaken = mergeValues(work, their, part.columns, current, theirs)
                } else {
                    isTaken = work.row.insert < their.row.insert
                    if isTaken { take(work, their, part.columns, current) }
                }
                outcome.count(table.name) { if isTaken { $0.applied += 1 } }
            }
            try deleteMissing(table, seen, until, theirs, isFresh)
        }
    }

    /// Replaces a row, and what is known of it.
    private func take(_ work: Work, _ their: ChangeLogState.Row, _ columns: [String], _ current: [SQLValue]?) {
        work.row = their.row
        (work.values, work.isInsert, work.isWhole, work.isDelete) = ([:], false, false, their.values == nil && current != nil)
        guard let values = their.values else { return }
        (work.isInsert, work.isWhole) = (true, true)
        for (column, value) in zip(columns, values) { work.values[SQLName(column)] = value }
    }

    /// Merges two states of one row: a delete wins, and else, for each column, the later value.
    private func mergeValues(
        _ work: Work, _ their: ChangeLogState.Row, _ columns: [String], _ current: [SQLValue]?, _ theirs: Int64
    ) -> Bool {
        guard let values = their.values, work.row.gone == nil else {
            let wasThere = current != nil && work.row.gone == nil
            if their.row.gone != nil || work.row.gone != nil {
                (work.row.gone, work.row.cells) = (max(work.row.gone ?? 0, their.row.gone ?? 0), [:])
            }
            if wasThere { (work.values, work.isInsert, work.isWhole, work.isDelete) = ([:], false, false, true) }
            return wasThere
        }
        /// Whether the other copy's value is the later one. A stamp that a copy lacks was pruned there, or there was no update.
        func isLater(_ column: SQLName) -> Bool {
            switch (their.row.cells[column], work.row.cells[column]) {
            case (let other?, let own?): other > own
            case (let other?, nil): other.clock > horizon
            case (nil, let own?): own.clock <= theirs
            case (nil, nil): theirs > horizon
            }
        }
        let isWhole = work.table.rule == .row, wins = isWhole && isLater(ChangeLogRow.wholeRow)
        var isTaken = false
        for (column, value) in zip(columns, values) {
            let name = SQLName(column)
            guard isWhole ? wins : isLater(name) else { continue }
            if !isWhole { work.row.cells[name] = their.row.cells[name] }
            let place = work.table.columns.firstIndex(named: column)
            if let current, let place, current[place] == value { continue }
            work.values[name] = value
            isTaken = true
        }
        if wins { work.row.cells[ChangeLogRow.wholeRow] = their.row.cells[ChangeLogRow.wholeRow] }
        return isTaken
    }

    /// Deletes the rows that the other copy has seen and no longer has.
    private mutating func deleteMissing(
        _ table: LoggedTable, _ seen: Set<[UInt8]>, _ until: ChangePosition, _ theirs: Int64, _ isFresh: Bool
    ) throws {
        let names = table.key.map(\.quotedSQLIdentifier).joined(separator: ", ")
        for row in try db.fetchAll(RowCopy.self, SQL(raw: "SELECT \(names) FROM main.\(table.quotedName)")) {
            let key = row.values
            if key.contains(.null) || seen.contains(table.bytes(key)) { continue }
            let known = try log.store.row(table, key)
            let isKnown = known.insert.clock <= horizon ? theirs > horizon && !isFresh : until.includes(known.insert, theirs)
            guard isKnown else { continue }
            let work = try work(table, key)
            work.row = ChangeLogRow()
            (work.values, work.isInsert, work.isWhole, work.isDelete) = ([:], false, false, true)
            outcome.count(table.name) { $0.applied += 1 }
        }
    }
}
