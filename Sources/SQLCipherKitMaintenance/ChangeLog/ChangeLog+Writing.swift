import Foundation
import SQLCipherKitCore

extension ChangeLog {
    /// Logs the changes of a transaction.
    func log(_ patchset: Changeset) throws {
        if patchset.isEmpty { return }
        let tables = try tables()
        var changes: [LoggedChange] = [], last: LoggedTable?
        try patchset.forEach { change in
            if last.map({ !$0.name.isSameText(as: change.table) }) ?? true { last = tables[change.table] }
            guard let table = last else { return }
            guard change.primaryKey == table.keyPlaces else { throw Changeset.failure(17) }
            let values = change.kind == .insert ? change.new : change.old
            let key = table.keyPlaces.map { (values[$0] ?? nil) ?? .null }
            var columns: [String] = [], written: [SQLValue] = []
            if change.kind == .update, table.rule == .row {
                guard let row = try current(table, key) else { return }
                (columns, written) = (table.others, table.otherPlaces.map { row.values[$0] })
            } else if change.kind != .delete {
                for place in table.otherPlaces {
                    guard let value = change.new[place] else { continue }
                    columns.append(table.columns[place])
                    written.append(value)
                }
            }
            // One array for all is compared and coded faster.
            if columns.count == table.others.count {
                columns = table.others
            } else if let former = changes.last?.columns, former.isSame(as: columns) {
                columns = former
            }
            changes.append(
                LoggedChange(
                    kind: change.kind, table: table.name, keyColumns: table.key, key: key, columns: columns, values: written,
                    base: .ancient))
        }
        try append(changes)
    }

    /// Adds an entry of this peer, and stamps its rows.
    /// - Parameter changes: their ``LoggedChange/base`` is filled in.
    func append(_ changes: [LoggedChange]) throws {
        if changes.isEmpty { return }
        let tables = try tables()
        let stamp = ChangeStamp(clock: ChangeStamp.tick(after: try store.clock, now: now()), peer: peer)
        var changes = changes, keys: [(bytes: [UInt8], place: Int)] = []
        keys.reserveCapacity(changes.count)
        var last: LoggedTable?
        for (place, change) in changes.enumerated() {
            if last.map({ !$0.name.isSameText(as: change.table) }) ?? true { last = tables[change.table] }
            if let last { keys.append((try store.key(last, change.key), place)) }
        }
        // In the order in which they are stored.
        keys.sort { a, b in a.bytes.precedes(b.bytes) }
        let inserted = try store.stamps(ChangeLogRow(insert: stamp))
        for (bytes, place) in keys {
            // Whatever is known of the row, its insert is later.
            if changes[place].kind == .insert {
                try store.save(inserted, gone: nil, bytes)
                continue
            }
            var row = try store.row(bytes) ?? ChangeLogRow()
            changes[place].base = row.insert
            if changes[place].kind == .delete {
                _ = row.deleted(row.insert, stamp)
            } else if tables[changes[place].table]?.rule == .row {
                _ = row.updated(ChangeLogRow.wholeRow, row.insert, stamp)
            } else {
                for column in changes[place].columns { _ = row.updated(SQLName(column), row.insert, stamp) }
            }
            try store.save(row, bytes)
        }
        try append(changes, at: stamp.clock)
    }

    /// Adds an entry of this peer. Its rows have been stamped already.
    func append(_ changes: [LoggedChange], at clock: Int64) throws {
        let sequence = try store.position(of: peer).sequence(of: peer) + 1
        let bytes = ChangeLogEntry.coded(changes)
        try store.insert(ChangeLogEntry(peer: peer, sequence: sequence, clock: clock, bytes: bytes))
        var position = Position()
        position.marks[peer] = Position.Mark(sequence: sequence, clock: clock)
        try store.setPosition(position, of: peer)
        try store.setState("clock", to: .integer(clock))
    }

    /// The row with a key, and its row id if the table has one that is not the key; nil if there is no such row.
    func current(_ table: LoggedTable, _ key: [SQLValue]) throws -> (values: [SQLValue], rowID: SQLValue?)? {
        let names = (table.columns.map(\.quotedSQLIdentifier) + [table.rowID ?? "NULL"]).joined(separator: ", ")
        let row = try connection.fetchOne(
            RowCopy.self,
            SQL(raw: "SELECT \(names) FROM main.\(table.quotedName) WHERE \(table.keyCondition)", StatementArguments(key)))
        guard var values = row?.values, let rowID = values.popLast() else { return nil }
        return (values, table.rowID == nil ? nil : rowID)
    }
}

extension [UInt8] {
    /// Whether these bytes come first, as SQLite orders blobs.
    fileprivate func precedes(_ other: [UInt8]) -> Bool {
        withUnsafeBytes { a in
            other.withUnsafeBytes { b in
                guard let first = a.baseAddress, let second = b.baseAddress else { return a.count < b.count }
                let order = memcmp(first, second, Swift.min(a.count, b.count))
                return order != 0 ? order < 0 : a.count < b.count
            }
        }
    }
}
