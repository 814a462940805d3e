import SQLCipherKitCore

/// Merges new entries into a database: first all entries in memory, row by row, then each row's result into its table.
///
/// Therefore two rows may share a unique value between two entries. Rows that the constraints refuse in the end are repaired by
/// changes that are logged like any others.
struct ChangeLogMerge {
    /// A row that entries change.
    private final class Work {
        let table: LoggedTable
        /// The key, in the spelling of the last insert.
        var key: [SQLValue]
        var row: ChangeLogRow
        /// The same as it is saved.
        let saved: ChangeLogRow
        /// The values to write.
        var values: [SQLName: SQLValue] = [:]
        /// True if a missing row is to be inserted.
        var isInsert = false
        /// True if ``values`` are a whole row's values. Columns that the sender does not have get their defaults.
        var isWhole = false
        /// True if the row is to be deleted.
        var isDelete = false
        /// True if the insert is so old that others may have forgotten a delete of a later row with its key: then it is logged
        /// again, and comes after both.
        var isOld = false

        init(_ table: LoggedTable, _ key: [SQLValue], _ row: ChangeLogRow) {
            (self.table, self.key, self.row, saved) = (table, key, row, row)
        }

        /// Replaces the whole row with a change's row.
        func take(_ change: LoggedChange, isInsert: Bool) {
            take(change.columns, change.values, isInsert: isInsert)
        }

        func take(_ columns: [String], _ all: [SQLValue], isInsert: Bool) {
            (values, self.isInsert, isWhole, isDelete) = ([:], isInsert, true, false)
            for (column, value) in zip(columns, all) { values[SQLName(column)] = value }
        }

        func delete() { (values, isInsert, isWhole, isDelete) = ([:], false, false, true) }
    }

    private struct Place: Hashable {
        let table: String
        let key: [UInt8]
    }

    let store: ChangeLogStore
    private let db: Connection
    private let tables: LoggedTables
    /// Deletes up to this time are forgotten.
    private let horizon: Int64
    private var works: [Work] = []
    private var places: [Place: Int] = [:]
    /// The changes that this peer makes in addition to the entries.
    private(set) var repairs: [LoggedChange] = []
    private(set) var stamp = ChangeStamp.ancient
    var outcome = ChangeLog.Outcome()
    /// The entries that the sender of the message has seen; nil if no conflicts are looked for.
    var seen: ChangeLog.Position?
    var conflicts: [Conflict] = []

    init(_ db: Connection, _ store: ChangeLogStore, _ tables: LoggedTables, horizon: Int64) {
        (self.db, self.store, self.tables, self.horizon) = (db, store, tables, horizon)
    }

    /// The last insert of a row, with the changes added so far.
    mutating func insert(of table: LoggedTable, _ key: [SQLValue]) throws -> ChangeStamp { try work(table, key).row.insert }

    // MARK: In memory

    mutating func add(_ entry: ChangeLogEntry) throws {
        for change in try entry.changes() {
            let (table, key) = try place(change)
            let work = try work(table, key)
            try noteConflict(change, entry, work, key)
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

    /// Notes the values that lose between a received change and a change here that the sender has not seen. The sender has seen all
    /// changes in its message, so only rows in the tables can have unseen changes.
    private mutating func noteConflict(_ change: LoggedChange, _ entry: ChangeLogEntry, _ work: Work, _ key: [SQLValue]) throws {
        guard seen != nil else { return }
        let (table, row) = (work.table, work.row), new = Self.values(change.columns, change.values)
        switch change.kind {
        case .delete:
            if change.base == row.insert, row.gone == nil, row.cells.values.contains(where: isUnseen) {
                try loseRow(table, key, to: entry.peer, kept: nil)
            }
        case .insert where entry.stamp > row.insert:
            if row.gone == nil, isUnseen(row.version) { try loseRow(table, key, to: entry.peer, kept: new) }
        case .insert:
            if isUnseen(row.insert) { lose(table, key, change.columns, change.values, to: row.insert.peer, kept: try kept(work)) }
        case .update:
            if change.base != row.insert {
                // Of an earlier row.
                guard change.base < row.insert, isUnseen(row.insert) else { return }
                lose(table, key, change.columns, change.values, to: row.insert.peer, kept: try kept(work))
            } else if let gone = row.gone {
                let peer = try store.peer(ofEntryAt: gone)
                if let peer, !isUnseen(ChangeStamp(clock: gone, peer: peer)) { return }
                lose(table, key, change.columns, change.values, to: peer, kept: nil)
            } else {
                let names = table.rule == .row ? [ChangeLogRow.wholeRow] : change.columns.map { SQLName($0) }
                var giving: [String] = [], given: [String: [String]] = [:]
                for (place, name) in names.enumerated() where isUnseen(row.written(name)) {
                    let columns = table.rule == .row ? change.columns : [change.columns[place]]
                    let stamp = row.written(name)
                    if stamp < entry.stamp { giving += columns } else { given[stamp.peer, default: []] += columns }
                }
                if !giving.isEmpty { try loseRow(table, key, giving, to: entry.peer, kept: new) }
                for (peer, columns) in given.sorted(by: { $0.key < $1.key }) {
                    lose(table, key, columns, columns.map { new[SQLName($0)] ?? .null }, to: peer, kept: try kept(work))
                }
            }
        }
    }

    /// The values of a row with the changes merged into it so far.
    private func kept(_ work: Work) throws -> [SQLName: SQLValue]? {
        if work.isDelete { return nil }
        let current = try store.current(work.table, work.key)?.values
        return current.map { Self.values(work.table.columns, $0).merging(work.values) { $1 } } ?? work.values
    }

    /// Returns whether a row was inserted before the horizon, and nothing is known of its key.
    private func isOld(_ work: Work) throws -> Bool {
        try work.row.insert.clock <= horizon && work.saved == ChangeLogRow() && store.current(work.table, work.key) == nil
    }

    /// The table of a change, and the change's key in the order of the table's key here.
    private func place(_ change: LoggedChange) throws -> (LoggedTable, [SQLValue]) {
        let table = try table(change.table, change.keyColumns, change.columns)
        return (table, table.key.map { name in change.keyColumns.firstIndex(named: name).map { change.key[$0] } ?? .null })
    }

    /// A table that has the same key and at least these columns here.
    private func table(_ name: String, _ key: [String], _ columns: [String]) throws -> LoggedTable {
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

    private mutating func work(_ table: LoggedTable, _ key: [SQLValue]) throws -> Work {
        let place = Place(table: table.name, key: table.bytes(key))
        if let found = places[place] { return works[found] }
        let work = Work(table, key, try store.row(table, key))
        places[place] = works.count
        works.append(work)
        return work
    }

    // MARK: In the tables

    /// Writes the results, and repairs rows that the constraints refuse.
    /// - Parameter repairs: the time of the repairs.
    mutating func apply(repairs stamp: ChangeStamp, _ enforces: Bool) throws {
        self.stamp = stamp
        var keys = ChangeLogReferences()
        try write(&keys)
        if enforces { try repairReferences(&keys) }
        for work in works where work.isOld { try asserted(work.table, work.key, isInsert: true) }
        try store.save(works.filter { $0.row != $0.saved }.map { ($0.row, $0.table, $0.key) })
    }

    /// Logs, as a change of this peer, that it has just deleted a row.
    private mutating func deleted(_ table: LoggedTable, _ key: [SQLValue]) throws {
        let work = try work(table, key)
        repairs.append(
            LoggedChange(
                kind: .delete, table: table.name, keyColumns: table.key, key: key, columns: [], values: [], base: work.row.insert))
        _ = work.row.deleted(work.row.insert, stamp)
        outcome.count(table.name) { $0.deleted += 1 }
    }

    /// Logs the present values of a row's columns as an update or an insert by this peer. Default: all columns except the key.
    private mutating func asserted(
        _ table: LoggedTable, _ key: [SQLValue], _ columns: [String]? = nil, isInsert: Bool = false
    ) throws {
        guard let current = try store.current(table, key)?.values else { return }
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

/// Merges all rows of another copy as their entries would be, although some of these have been pruned there or here. The entries
/// that each copy has seen are known. So a row that only one copy has was deleted by the other, if the other has seen its insert,
/// or else is new to it. For a row that is older than the log, a record stays after the delete.
extension ChangeLogMerge {
    /// - Parameter own: the entries that this copy has.
    mutating func add(_ message: ChangeLog.Message, _ state: ChangeLogState, own: ChangeLog.Position) throws {
        for part in state.tables {
            let table = try table(part.name, part.keyColumns, part.columns)
            let places = table.key.map { part.keyColumns.firstIndex(named: $0) ?? 0 }
            var seen: Set<[UInt8]> = []
            for their in part.rows {
                let key = places.map { their.key[$0] }
                guard seen.insert(table.bytes(key)).inserted else { throw DatabaseError.malformedLog }
                let current = try store.current(table, key)?.values
                let work = try work(table, key)
                let isTaken: Bool
                try noteConflict(work, key, their, part.columns, own)
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

    /// Notes the losing state or the losing values of a row, if neither copy has seen the other copy's state.
    private mutating func noteConflict(
        _ work: Work, _ key: [SQLValue], _ their: ChangeLogState.Row, _ columns: [String], _ own: ChangeLog.Position
    ) throws {
        guard seen != nil, let current = try store.current(work.table, key)?.values else {
            // Other peers have changed a row that was deleted here.
            if seen != nil, work.row.gone != nil, work.row.insert == their.row.insert, let values = their.values,
                their.row.cells.values.contains(where: { !own.includes($0) })
            { lose(work.table, key, columns, values, to: nil, kept: nil) }
            return
        }
        let (table, row) = (work.table, work.row), new = their.values.map { Self.values(columns, $0) }
        let isNew = !own.includes(their.row.version)
        if row.insert != their.row.insert {
            guard isUnseen(row.version) else { return }
            if row.insert < their.row.insert {
                try loseRow(table, key, to: new == nil ? nil : their.row.insert.peer, kept: new)
            } else if isNew, let values = their.values {
                lose(table, key, columns, values, to: row.insert.peer, kept: Self.values(table.columns, current))
            }
        } else if their.values == nil {
            if row.cells.values.contains(where: isUnseen) { try loseRow(table, key, to: nil, kept: nil) }
        } else {
            for column in table.rule == .row ? [ChangeLogRow.wholeRow] : columns.map({ SQLName($0) }) {
                let (ours, theirs) = (row.written(column), their.row.written(column))
                let names = table.rule == .row ? columns : columns.filter { SQLName($0) == column }
                guard ours != theirs, isUnseen(ours) else { continue }
                if ours < theirs {
                    try loseRow(table, key, names, to: theirs.peer, kept: new)
                } else if !own.includes(theirs) {
                    let values = names.map { new?[SQLName($0)] ?? .null }
                    lose(table, key, names, values, to: ours.peer, kept: Self.values(table.columns, current))
                }
            }
        }
    }

    /// Replaces a row, and the knowledge of it.
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

    /// Merges two states of one row: a delete wins, and else, for each column, the later value. Two values with the same time come
    /// from a mistake or an attack: the greater value wins, so that all copies have the same value.
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
            // Columns that the sender does not have get their defaults.
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
            var writer = [UInt8]()
            for value in values { writer.put(value) }
            return writer
        }
        return bytes(a).lexicographicallyPrecedes(bytes(b))
    }

    /// Deletes the rows that the other copy has seen and no longer has.
    private mutating func deleteMissing(_ table: LoggedTable, _ seen: Set<[UInt8]>, _ message: ChangeLog.Message) throws {
        let names = table.key.map(\.quotedSQLIdentifier).joined(separator: ", ")
        for row in try db.fetchAll(OwnedRow.self, SQL(raw: "SELECT \(names) FROM main.\(table.quotedName)")) {
            let key = row.values
            if key.contains(.null) || seen.contains(table.bytes(key)) { continue }
            let insert = try store.row(table, key).insert
            guard insert != .ancient, message.until.includes(insert) else { continue }
            let work = try work(table, key)
            if work.row.cells.values.contains(where: isUnseen) { try loseRow(table, key, to: nil, kept: nil) }
            // The sender has forgotten when. Changes that are logged again after this are for no other row.
            _ = work.row.deleted(insert, ChangeStamp(clock: max(insert.clock, message.horizon), peer: message.sender))
            work.delete()
            outcome.count(table.name) { $0.applied += 1 }
        }
    }
}

/// Repairs rows that refer to a row that another peer has deleted. `ON DELETE SET NULL` sets the reference to NULL, as SQLite's own
/// action does. With any other action the row is deleted.
extension ChangeLogMerge {
    private mutating func repairReferences(_ keys: inout ChangeLogReferences) throws {
        while true {
            if let (table, key) = keys.written.popLast() {
                for reference in table.references {
                    let condition = "\(table.keyCondition) AND \(Self.dangles(reference, table.quotedName))"
                    guard try hasRow(table.quotedName, condition, key) else { continue }
                    try repair(table, key, reference, &keys)
                }
            } else if let (table, values) = keys.former.popLast() {
                for reference in table.referrers { try repairReferrers(of: values, table, reference, &keys) }
            } else {
                return
            }
        }
    }

    /// The condition for a row of the child that refers to a missing row. `+` removes the affinity of the child's column, so that
    /// SQLite compares with the affinity of the parent's column.
    private static func dangles(_ reference: LoggedTable.Reference, _ child: String) -> String {
        let pairs = zip(reference.columns, reference.parentColumns)
        let isSet = reference.columns.map { "\(child).\($0.quotedSQLIdentifier) IS NOT NULL" }.joined(separator: " AND ")
        let equal = pairs.map { "p.\($1.quotedSQLIdentifier) = +\(child).\($0.quotedSQLIdentifier)" }.joined(separator: " AND ")
        return "\(isSet) AND NOT EXISTS (SELECT 1 FROM main.\(reference.parent.quotedSQLIdentifier) AS p WHERE \(equal))"
    }

    private func hasRow(_ table: String, _ condition: String, _ values: [SQLValue]) throws -> Bool {
        try db.fetchOne(
            Bool.self, SQL(raw: "SELECT EXISTS (SELECT 1 FROM main.\(table) WHERE \(condition))", StatementArguments(values)))
            ?? false
    }

    /// Repairs the rows that refer to a former row.
    private mutating func repairReferrers(
        of values: [SQLValue], _ parent: LoggedTable, _ reference: LoggedTable.Reference, _ keys: inout ChangeLogReferences
    ) throws {
        var wanted: [SQLValue] = []
        for column in reference.parentColumns {
            // A generated column is not among the values, so there is nothing to look for.
            guard let place = parent.columns.firstIndex(named: column), values[place] != .null else { return }
            wanted.append(values[place])
        }
        let child = reference.child.quotedSQLIdentifier
        let equal = reference.columns.enumerated().map { "\(child).\($1.quotedSQLIdentifier) = ?\($0 + 1)" }
        let condition = "\(equal.joined(separator: " AND ")) AND \(Self.dangles(reference, child))"
        guard let table = tables[reference.child] else {
            // The table is not logged, so neither is the repair.
            let list = reference.columns.map { "\($0.quotedSQLIdentifier) = NULL" }.joined(separator: ", ")
            let sql = reference.setsNull ? "UPDATE main.\(child) SET \(list)" : "DELETE FROM main.\(child)"
            return try db.execute(SQL(raw: "\(sql) WHERE \(condition)", StatementArguments(wanted)))
        }
        let names = table.key.map(\.quotedSQLIdentifier).joined(separator: ", ")
        let rows = try db.fetchAll(
            OwnedRow.self, SQL(raw: "SELECT \(names) FROM main.\(child) WHERE \(condition)", StatementArguments(wanted)))
        for row in rows { try repair(table, row.values, reference, &keys) }
    }

    private mutating func repair(
        _ table: LoggedTable, _ key: [SQLValue], _ reference: LoggedTable.Reference, _ keys: inout ChangeLogReferences
    ) throws {
        guard let old = try store.current(table, key)?.values else { return }
        // A row with NULL in its key cannot be logged.
        let isLogged = !key.contains(.null)
        keys.former.append((table, old))
        if reference.setsNull, try setNull(table, key, reference.columns) {
            if isLogged { try asserted(table, key, reference.columns) }
            return outcome.count(table.name) { $0.detached += 1 }
        }
        try loseRow(table, key, to: stamp.peer, kept: nil)
        try delete(table, key)
        if isLogged { try deleted(table, key) }
    }

    /// - Returns: whether the columns were set: false if one belongs to the key or a constraint refuses NULL.
    private func setNull(_ table: LoggedTable, _ key: [SQLValue], _ columns: [String]) throws -> Bool {
        let list = columns.map { "\($0.quotedSQLIdentifier) = NULL" }.joined(separator: ", ")
        let keyNames = table.key.nameSet
        if columns.contains(where: { keyNames.contains(SQLName($0)) }) { return false }
        do {
            try db.execute(
                SQL(
                    raw: "UPDATE OR ABORT main.\(table.quotedName) SET \(list) WHERE \(table.keyCondition)",
                    StatementArguments(key)))
            return true
        } catch let error as DatabaseError where error.code.primary == .constraint { return false }
    }
}

extension ChangeLogMerge {
    private enum Result {
        case done, conflict
    }

    /// Writes the rows: first the deletes, then the rows without a conflict, then the rest.
    private mutating func write(_ keys: inout ChangeLogReferences) throws {
        for work in works where work.isDelete {
            guard let old = try store.current(work.table, work.key) else { continue }
            try delete(work.table, work.key)
            keys.former.append((work.table, old.values))
        }
        var waiting = works.filter { !$0.isDelete && ($0.isInsert || !$0.values.isEmpty) }
        var before = waiting.count + 1
        // A row may have to wait until another row gives up a unique value.
        while !waiting.isEmpty, waiting.count < before {
            before = waiting.count
            var still: [Work] = []
            for work in waiting where try write(work, &keys) == .conflict { still.append(work) }
            waiting = still
        }
        try writeConflicting(waiting, &keys)
    }

    private func delete(_ table: LoggedTable, _ key: [SQLValue]) throws {
        try db.execute(SQL(raw: "DELETE FROM main.\(table.quotedName) WHERE \(table.keyCondition)", StatementArguments(key)))
    }

    private mutating func write(_ work: Work, _ keys: inout ChangeLogReferences) throws -> Result {
        let table = work.table
        let old = try store.current(table, work.key)
        do {
            if let old {
                let columns = table.others.filter { work.values[SQLName($0)] != nil }
                if work.isInsert && work.key != table.keyPlaces.map({ old.values[$0] })
                    || work.isWhole && columns.count < table.others.count {
                    try db.savepoint { _ in
                        try delete(table, work.key)
                        return TransactionEnd.commit(try insert(work, old, replaces: false))
                    }
                } else if !columns.isEmpty {
                    let first = work.key.count + 1
                    let list = columns.enumerated().map { "\($1.quotedSQLIdentifier) = ?\($0 + first)" }.joined(separator: ", ")
                    let values = columns.map { work.values[SQLName($0)] ?? .null }
                    try db.execute(
                        SQL(
                            raw: "UPDATE OR ABORT main.\(table.quotedName) SET \(list) WHERE \(table.keyCondition)",
                            StatementArguments(work.key + values)))
                }
                keys.former.append((table, old.values))
            } else {
                // A row that was deleted without the log stays deleted.
                guard work.isInsert else { return .done }
                try insert(work, nil, replaces: false)
            }
        } catch let error as DatabaseError where error.code.primary == .constraint {
            if Self.isUnique(error) { return .conflict }
            guard let old, !work.isInsert else { throw refused(work, error) }
            let columns = table.others.filter { work.values[SQLName($0)] != nil }
            let values = columns.map { work.values[SQLName($0)] ?? .null }
            lose(table, work.key, columns, values, to: stamp.peer, kept: Self.values(table.columns, old.values))
            try asserted(table, work.key)
            outcome.count(table.name) { $0.kept += 1 }
            return .done
        }
        keys.written.append((table, work.key))
        return .done
    }

    private static func isUnique(_ error: DatabaseError) -> Bool {
        [.constraintUnique, .constraintPrimaryKey, .constraintRowID].contains(error.code)
    }

    private func refused(_ work: Work, _ error: DatabaseError) -> DatabaseError {
        var row = "a row"
        if work.key.count == 1, case .integer(let id) = work.key[0] { row = "row \(id)" }
        return DatabaseError(
            code: .abort, message: "\(row) of \(work.table.name) cannot be written here: \(error.message)", underlying: error)
    }

    /// - Parameter parked: the row as it was before it was removed from the table.
    private func insert(_ work: Work, _ parked: (values: [SQLValue], rowID: SQLValue?)?, replaces: Bool) throws {
        let table = work.table
        // A row keeps the spelling of its key until it is inserted again.
        var names = table.key
        var values = work.isInsert ? work.key : parked.map { row in table.keyPlaces.map { row.values[$0] } } ?? work.key
        for (place, name) in zip(table.otherPlaces, table.others) {
            guard let value = work.values[SQLName(name)] ?? (work.isWhole ? nil : parked?.values[place]) else { continue }
            names.append(name)
            values.append(value)
        }
        if let name = table.rowID, let rowID = parked?.rowID {
            names.append(name)
            values.append(rowID)
        }
        let list = names.map(\.quotedSQLIdentifier).joined(separator: ", ")
        let marks = names.map { _ in "?" }.joined(separator: ", ")
        let resolution = replaces ? "REPLACE" : "ABORT"
        try db.execute(
            SQL(
                raw: "INSERT OR \(resolution) INTO main.\(table.quotedName)(\(list)) VALUES (\(marks))",
                StatementArguments(values)))
    }

    /// Writes rows with unique values that other rows have. The row that was written last stays, and the other is deleted.
    private mutating func writeConflicting(_ works: [Work], _ keys: inout ChangeLogReferences) throws {
        // Rows that swap unique values do not conflict if all of them are removed first.
        var parked: [(work: Work, old: (values: [SQLValue], rowID: SQLValue?)?)] = []
        for work in works {
            let old = try store.current(work.table, work.key)
            if old != nil { try delete(work.table, work.key) }
            parked.append((work, old))
        }
        for (work, old) in parked.sorted(by: { Self.isBefore($1.work, $0.work) }) {
            if let old { keys.former.append((work.table, old.values)) }
            do {
                try insert(work, old, replaces: false)
                keys.written.append((work.table, work.key))
                continue
            } catch let error as DatabaseError where error.code.primary == .constraint {
                guard Self.isUnique(error) else { throw refused(work, error) }
            }
            if let losers = try replace(work, old) {
                for loser in losers {
                    let values = work.table.otherPlaces.map { loser.values[$0] }
                    lose(work.table, loser.key, work.table.others, values, to: work.row.version.peer, kept: nil)
                    try deleted(work.table, loser.key)
                    keys.former.append((work.table, loser.values))
                }
                keys.written.append((work.table, work.key))
            } else {
                let values = work.table.others.indices.map { place in
                    work.values[SQLName(work.table.others[place])] ?? old?.values[work.table.otherPlaces[place]] ?? .null
                }
                lose(work.table, work.key, work.table.others, values, to: stamp.peer, kept: nil)
                try deleted(work.table, work.key)
            }
        }
    }

    /// The order of two rows: by the time of their last write, then by their keys.
    private static func isBefore(_ a: Work, _ b: Work) -> Bool {
        if a.row.version != b.row.version { return a.row.version < b.row.version }
        return a.table.bytes(a.key).lexicographicallyPrecedes(b.table.bytes(b.key))
    }

    /// Inserts a row in place of the rows with the same unique values, if it was written after all of them.
    /// - Returns: the replaced rows; nil if the row was not inserted.
    private mutating func replace(
        _ work: Work, _ old: (values: [SQLValue], rowID: SQLValue?)?
    ) throws -> [(key: [SQLValue], values: [SQLValue])]? {
        let recorder = try ChangeRecorder(db.main, checked: [work.table.name])
        defer { recorder.close() }
        var merge = self
        defer { self = merge }
        return try db.savepoint { _ -> TransactionEnd<[(key: [SQLValue], values: [SQLValue])]?> in
            try merge.insert(work, old, replaces: true)
            var losers: [(key: [SQLValue], values: [SQLValue])] = []
            for change in try recorder.changeset().changes() where change.kind == .delete {
                let values = change.old.map { $0 ?? .null }
                let key = work.table.keyPlaces.map { values[$0] }
                let other = Work(work.table, key, try merge.work(work.table, key).row)
                if Self.isBefore(work, other) { return .rollback(nil) }
                losers.append((key, values))
            }
            return .commit(losers)
        }
    }
}

/// The rows with foreign keys to check after the changes.
private struct ChangeLogReferences {
    /// Rows that were written, which may refer to missing rows.
    var written: [(table: LoggedTable, key: [SQLValue])] = []
    /// Rows as they were before a change, which other rows may refer to.
    var former: [(table: LoggedTable, values: [SQLValue])] = []
}
