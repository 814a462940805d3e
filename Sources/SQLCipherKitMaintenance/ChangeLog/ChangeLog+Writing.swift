import Foundation
import SQLCipherKitCore

extension ChangeLog {
    /// Logs the changes of a transaction.
    func log(_ patchset: Changeset) throws {
        if patchset.isEmpty { return }
        let tables = try tables()
        var draft = ChangeLogDraft(), keys = ChangeLogKeys(), last: LoggedTable?, number: Int64 = 0, former: [String] = []
        try patchset.readPatchset { change in
            if last.map({ !$0.name.isSameText(as: change.table) }) ?? true {
                guard let table = tables[change.table] else { return }
                (last, number) = (table, try store.number(of: table.name))
            }
            guard let table = last else { return }
            guard change.key == table.keyPlaces else { throw Changeset.failure(17) }
            let key = try table.keyPlaces.map { try change[$0] }
            var columns: [String] = [], row: [SQLValue]?
            if change.kind == .update, table.rule == .row {
                row = try current(table, key)?.values
                if row == nil { return }
                columns = table.others
            } else if change.kind != .delete {
                // One array for all is compared faster.
                columns = table.others
                if !table.otherPlaces.allSatisfy({ change.has($0) }) {
                    columns = table.otherPlaces.filter { change.has($0) }.map { table.columns[$0] }
                    if former.isSame(as: columns) { columns = former } else { former = columns }
                }
            }
            keys.append(number, table, key)
            let form = ChangeLogDraft.Form(kind: change.kind, table: table.name, keyColumns: table.key, columns: columns)
            try draft.add(form) { writer in
                for place in table.keyPlaces { try change.copy(place, to: &writer) }
                if change.kind == .delete { return }
                for place in table.otherPlaces {
                    if let row { writer.put(row[place]) } else if change.has(place) { try change.copy(place, to: &writer) }
                }
            }
        }
        try append(draft, keys)
    }

    /// Adds an entry of this peer, and stamps its rows.
    /// - Parameter changes: without their ``LoggedChange/base``.
    func append(_ changes: [LoggedChange]) throws {
        let tables = try tables()
        var draft = ChangeLogDraft(), keys = ChangeLogKeys()
        for change in changes {
            guard let table = tables[change.table] else { throw ChangeLogReader.malformed }
            keys.append(try store.number(of: table.name), table, change.key)
            draft.add(change)
        }
        try append(draft, keys)
    }

    private func append(_ draft: ChangeLogDraft, _ keys: ChangeLogKeys) throws {
        if draft.count == 0 { return }
        let tables = try tables()
        let stamp = ChangeStamp(clock: ChangeStamp.tick(after: try store.clock, now: now()), peer: peer)
        // Whatever is known of an inserted row, its insert is later.
        let inserted = try store.state(ChangeLogRow(insert: stamp))
        var bases = draft.forms.allSatisfy { $0.kind == .insert } ? [] : Array(repeating: ChangeStamp.ancient, count: draft.count)
        var known: [Int: (base: ChangeStamp, state: Int)] = [:]
        try store.change(keys) { place, state in
            let number = draft.form(of: place), form = draft.forms[number]
            if form.kind == .insert { return inserted }
            let question = number << 32 | state
            if let known = known[question] {
                bases[place] = known.base
                return known.state
            }
            var row = try store.row(ofState: state)
            bases[place] = row.insert
            if form.kind == .delete {
                _ = row.deleted(row.insert, stamp)
            } else if tables[form.table]?.rule == .row {
                _ = row.updated(ChangeLogRow.wholeRow, row.insert, stamp)
            } else {
                for column in form.columns { _ = row.updated(SQLName(column), row.insert, stamp) }
            }
            let next = try store.state(row)
            known[question] = (bases[place], next)
            return next
        }
        try append(draft.coded { bases[$0] }, at: stamp.clock)
    }

    /// Adds an entry of this peer. Its rows have been stamped already.
    func append(_ bytes: Data, at clock: Int64) throws {
        let sequence = try store.position(of: peer).sequence(of: peer) + 1
        let entry = ChangeLogEntry(peer: peer, sequence: sequence, clock: clock, bytes: bytes)
        try store.insert(entry)
        var position = Position()
        position.marks[peer] = entry.mark
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
