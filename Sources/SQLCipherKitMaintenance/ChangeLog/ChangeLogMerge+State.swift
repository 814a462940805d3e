import SQLCipherKitCore

/// Merges all rows of another copy as their entries would be, although some of these have been pruned there or here.
///
/// Which entries each copy has seen is known, so a row that only one of them has was either deleted by the other one, if that has
/// seen its insert, or is new to it. Of a row that is older than the log a record is kept when it is deleted.
extension ChangeLogMerge {
    /// - Parameter own: the entries that this copy has.
    mutating func add(_ message: ChangeLog.Message, _ state: ChangeLogState, own: ChangeLog.Position) throws {
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
                if current == nil, work.row.gone == nil {
                    isTaken = their.row.insert == .ancient || !own.includes(their.row.insert)
                    if isTaken { try take(work, key, their, part.columns, current) }
                } else if work.row.insert == their.row.insert {
                    isTaken = mergeValues(work, key, their, part.columns, current)
                } else {
                    isTaken = work.row.insert < their.row.insert
                    if isTaken { try take(work, key, their, part.columns, current) }
                }
                outcome.count(table.name) { if isTaken { $0.applied += 1 } }
            }
            try deleteMissing(table, seen, message)
        }
    }

    /// Replaces a row, and what is known of it.
    private func take(
        _ work: Work, _ key: [SQLValue], _ their: ChangeLogState.Row, _ columns: [String], _ current: [SQLValue]?
    ) throws {
        (work.key, work.row) = (key, their.row)
        if let values = their.values {
            work.take(columns, values, isInsert: true)
            work.isOld = try their.row.insert != .ancient && isOld(work)
        } else if current != nil {
            work.delete()
        }
    }

    /// Merges two states of one row: a delete wins, and else, for each column, the later value. Two values of one time are a
    /// mistake, or malice: of them the greater one is taken, so that all copies have the same.
    private func mergeValues(
        _ work: Work, _ key: [SQLValue], _ their: ChangeLogState.Row, _ columns: [String], _ current: [SQLValue]?
    ) -> Bool {
        guard let values = their.values, let current, work.row.gone == nil else {
            let isDeleted = current != nil && work.row.gone == nil
            (work.row.gone, work.row.cells) = (max(work.row.gone ?? 0, their.row.gone ?? 0), [:])
            if isDeleted { work.delete() }
            return isDeleted
        }
        var isTaken = Self.isLess(work.table.keyPlaces.map { current[$0] }, key)
        if isTaken { (work.key, work.isInsert) = (key, true) }
        func own(_ column: String) -> SQLValue? { work.table.columns.firstIndex(named: column).map { current[$0] } }
        if work.table.rule == .row {
            let whole = ChangeLogRow.wholeRow, isSame = their.row.written(whole) == work.row.written(whole)
            let isGreater = isSame && columns.count == work.table.others.count && Self.isLess(columns.compactMap(own), values)
            guard isGreater || their.row.written(whole) > work.row.written(whole) else { return isTaken }
            work.row.cells[whole] = their.row.cells[whole]
            // With the defaults of columns that it does not have.
            work.take(columns, values, isInsert: work.isInsert)
            return true
        }
        for (column, value) in zip(columns, values) {
            let name = SQLName(column), old = own(column)
            let isSame = their.row.written(name) == work.row.written(name)
            guard isSame ? Self.isLess([old ?? value], [value]) : their.row.written(name) > work.row.written(name) else { continue }
            work.row.cells[name] = their.row.cells[name]
            if old == value { continue }
            work.values[name] = value
            isTaken = true
        }
        return isTaken
    }

    /// An order of values that is the same for all copies.
    private static func isLess(_ a: [SQLValue], _ b: [SQLValue]) -> Bool {
        if a == b { return false }
        func bytes(_ values: [SQLValue]) -> [UInt8] {
            var writer = ChangeLogWriter()
            for value in values { writer.put(value) }
            return writer.bytes
        }
        return bytes(a).lexicographicallyPrecedes(bytes(b))
    }

    /// Deletes the rows that the other copy has seen and no longer has.
    private mutating func deleteMissing(_ table: LoggedTable, _ seen: Set<[UInt8]>, _ message: ChangeLog.Message) throws {
        let names = table.key.map(\.quotedSQLIdentifier).joined(separator: ", ")
        for row in try db.fetchAll(RowCopy.self, SQL(raw: "SELECT \(names) FROM main.\(table.quotedName)")) {
            let key = row.values
            if key.contains(.null) || seen.contains(table.bytes(key)) { continue }
            let insert = try log.store.row(table, key).insert
            guard insert != .ancient, message.until.includes(insert) else { continue }
            let work = try work(table, key)
            // It has forgotten when. What is logged again after this is for no other row.
            _ = work.row.deleted(insert, ChangeStamp(clock: max(insert.clock, message.horizon), peer: message.sender))
            work.delete()
            outcome.count(table.name) { $0.applied += 1 }
        }
    }
}
