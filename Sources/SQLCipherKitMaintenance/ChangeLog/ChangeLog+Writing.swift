import Foundation
import SQLCipherKitCore

extension ChangeLog {
    /// Logs the changes of a transaction.
    /// - Parameter names: of the tables that the recorder has.
    func log(_ recorder: RowRecorder, _ names: [String]) throws {
        let (draft, keys) = try recorder.changes(names, tables()) { name in try store.number(of: name) }
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
        let tables = try tables(), position = try position
        let stamp = ChangeStamp(clock: ChangeStamp.tick(after: try store.clock(at: position), now: now()), peer: peer)
        // Whatever is known of an inserted row, its insert is later.
        let inserted = try store.state(ChangeLogRow(insert: stamp))
        var bases = draft.forms.allSatisfy { $0.kind == .insert } ? [] : [Int32](repeating: 0, count: draft.count)
        var stamps = [ChangeStamp.ancient], known: [Int: (base: Int32, state: Int)] = [:]
        var last = (question: -1, base: Int32(0), state: 0)
        try store.change(keys) { place, state in
            let number = Int(draft.places[place]), question = number << 32 | state
            if question != last.question {
                if draft.forms[number].kind == .insert { return inserted }
                let answer: (base: Int32, state: Int)
                if let found = known[question] { answer = found } else {
                    let (base, next) = try stamped(state, draft.forms[number], stamp, tables)
                    var place = stamps.lastIndex(of: base) ?? stamps.count
                    if place < stamps.count - 32 { place = stamps.count }
                    if place == stamps.count { stamps.append(base) }
                    answer = (Int32(place), next)
                    known[question] = answer
                }
                last = (question, answer.base, answer.state)
            }
            bases[place] = last.base
            return last.state
        }
        try append(draft.coded(bases, stamps), at: stamp.clock, after: position.sequence(of: peer))
    }

    /// - Returns: the insert of a row, and what is known of the row after a change.
    private func stamped(
        _ state: Int, _ form: ChangeLogDraft.Form, _ stamp: ChangeStamp, _ tables: LoggedTables
    ) throws -> (base: ChangeStamp, state: Int) {
        var row = try store.row(ofState: state)
        let base = row.insert
        if form.kind == .delete {
            _ = row.deleted(base, stamp)
        } else if tables[form.table]?.rule == .row {
            _ = row.updated(ChangeLogRow.wholeRow, base, stamp)
        } else {
            for column in form.columns { _ = row.updated(SQLName(column), base, stamp) }
        }
        return (base, try store.state(row))
    }

    /// Adds an entry of this peer. Its rows have been stamped already.
    func append(_ bytes: Data, at clock: Int64, after last: Int64) throws {
        let entry = ChangeLogEntry(peer: peer, sequence: last + 1, clock: clock, identity: identity(), bytes: bytes)
        try store.insert(entry)
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
