import SQLCipherKitCore

/// Merges new entries into a database: first all entries in memory, row by row, then each row's result into its table.
///
/// Therefore two rows may share a unique value between two entries. Whatever the constraints refuse in the end is repaired by
/// changes that are logged like any others.
struct ChangeLogMerge {
    /// A row that entries change.
    final class Work {
        let table: LoggedTable
        /// The key, in the spelling of the last insert.
        var key: [SQLValue]
        var row: ChangeLogRow
        /// The same as it is saved.
        let saved: ChangeLogRow
        /// The values to write.
        var values: [SQLName: SQLValue] = [:]
        /// Whether a missing row is to be inserted.
        var isInsert = false
        /// Whether ``values`` are those of a whole row. Columns that the sender does not have get their defaults.
        var isWhole = false
        /// Whether the row is to be deleted.
        var isDelete = false
        /// Whether the insert is so old that others may have forgotten a delete of a later row with its key: then it is logged
        /// again, and comes after both.
        var isOld = false

        init(_ table: LoggedTable, _ key: [SQLValue], _ row: ChangeLogRow) {
            (self.table, self.key, self.row, saved) = (table, key, row, row)
        }

        /// Replaces the whole row with that of a change.
        func take(_ change: LoggedChange, isInsert: Bool) {
            take(change.columns, change.values, isInsert: isInsert)
        }

        func take(_ columns: [String], _ all: [SQLValue], isInsert: Bool) {
            (values, self.isInsert, isWhole, isDelete) = ([:], isInsert, true, false)
            for (column, value) in zip(columns, all) { values[SQLName(column)] = value }
        }

        func delete() { (values, isInsert, isWhole, isDelete) = ([:], false, false, true) }
    }

    struct Place: Hashable {
        let table: String
        let key: [UInt8]
    }

    let log: ChangeLog
    let tables: LoggedTables
    /// Deletes up to this time are forgotten.
    let horizon: Int64
    private(set) var works: [Work] = []
    private var places: [Place: Int] = [:]
    /// The changes that this peer makes in addition to the entries.
    private(set) var repairs: [LoggedChange] = []
    private(set) var stamp = ChangeStamp.ancient
    var outcome = ChangeLog.Outcome()

    var db: Connection { log.connection }

    init(_ log: ChangeLog, _ tables: LoggedTables, horizon: Int64) {
        (self.log, self.tables, self.horizon) = (log, tables, horizon)
    }

    // MARK: In memory

    mutating func add(_ entry: ChangeLogEntry) throws {
        for change in try entry.changes() {
            let (table, key) = try place(change)
            let work = try work(table, key)
            let isApplied: Bool
            switch change.kind {
            case .insert:
                isApplied = work.row.inserted(entry.stamp)
                if isApplied {
                    work.take(change, isInsert: true)
                    work.key = key
                    work.isOld = try isOld(work)
                }
            case .delete:
                isApplied = work.row.deleted(change.base, entry.stamp)
                if isApplied { work.delete() }
            case .update:
                var made = false
                if table.rule == .row {
                    made = work.row.updated(ChangeLogRow.wholeRow, change.base, entry.stamp)
                    if made { work.take(change, isInsert: work.isInsert) }
                } else {
                    for (column, value) in zip(change.columns, change.values)
                    where work.row.updated(SQLName(column), change.base, entry.stamp) {
                        work.values[SQLName(column)] = value
                        made = true
                    }
                }
                isApplied = made
            }
            outcome.count(table.name) { if isApplied { $0.applied += 1 } else { $0.outdated += 1 } }
        }
    }

    /// Whether a row was inserted before the horizon, and nothing is known of its key.
    func isOld(_ work: Work) throws -> Bool {
        try work.row.insert.clock <= horizon && work.saved == ChangeLogRow() && log.current(work.table, work.key) == nil
    }

    /// The table of a change, and the change's key in the order of the table's key here.
    private func place(_ change: LoggedChange) throws -> (LoggedTable, [SQLValue]) {
        let table = try table(change.table, change.keyColumns, change.columns)
        return (table, table.key.map { name in change.keyColumns.firstIndex(named: name).map { change.key[$0] } ?? .null })
    }

    /// A table that has the same key and at least these columns here.
    func table(_ name: String, _ key: [String], _ columns: [String]) throws(DatabaseError) -> LoggedTable {
        guard let table = tables[name] else {
            throw DatabaseError(code: .schema, message: "the table \(name) is not in this log")
        }
        guard key.nameSet == table.key.nameSet, key.count == table.key.count else {
            throw DatabaseError(code: .schema, message: "the table \(table.name) has another primary key here")
        }
        let others = table.others.nameSet
        if let column = columns.first(where: { !others.contains(SQLName($0)) }) {
            throw DatabaseError(
                code: .schema, message: "the table \(table.name) has no column \(column) here: migrate this database first")
        }
        return table
    }

    mutating func work(_ table: LoggedTable, _ key: [SQLValue]) throws -> Work {
        let place = Place(table: table.name, key: table.bytes(key))
        if let found = places[place] { return works[found] }
        let work = Work(table, key, try log.store.row(table, key))
        places[place] = works.count
        works.append(work)
        return work
    }

    // MARK: In the tables

    /// Writes the results, and repairs what the constraints refuse.
    /// - Parameter repairs: the time of the repairs.
    mutating func apply(repairs stamp: ChangeStamp, _ enforces: Bool) throws {
        self.stamp = stamp
        var keys = ChangeLogReferences()
        try write(&keys)
        if enforces { try repairReferences(&keys) }
        for work in works where work.isOld { try asserted(work.table, work.key, isInsert: true) }
        try log.store.save(works.filter { $0.row != $0.saved }.map { ($0.row, $0.table, $0.key) })
    }

    /// Logs, as a change of this peer, that it has just deleted a row.
    mutating func deleted(_ table: LoggedTable, _ key: [SQLValue]) throws {
        let work = try work(table, key)
        repairs.append(
            LoggedChange(
                kind: .delete, table: table.name, keyColumns: table.key, key: key, columns: [], values: [], base: work.row.insert))
        _ = work.row.deleted(work.row.insert, stamp)
        outcome.count(table.name) { $0.deleted += 1 }
    }

    /// Logs the present values of a row's columns as an update or an insert by this peer. Default: all columns except the key.
    mutating func asserted(
        _ table: LoggedTable, _ key: [SQLValue], _ columns: [String]? = nil, isInsert: Bool = false
    ) throws {
        guard let current = try log.current(table, key)?.values else { return }
        let work = try work(table, key)
        let wanted = table.rule == .row ? nil : columns?.nameSet
        let places = table.otherPlaces.filter { wanted?.contains(SQLName(table.columns[$0])) ?? true }
        let names = places.map { table.columns[$0] }
        repairs.append(
            LoggedChange(
                kind: isInsert ? .insert : .update, table: table.name, keyColumns: table.key, key: key, columns: names,
                values: places.map { current[$0] }, base: isInsert ? .ancient : work.row.insert))
        if isInsert {
            _ = work.row.inserted(stamp)
            return outcome.renewed += 1
        }
        for column in table.rule == .row ? [ChangeLogRow.wholeRow] : names.map({ SQLName($0) }) {
            _ = work.row.updated(column, work.row.insert, stamp)
        }
    }
}
