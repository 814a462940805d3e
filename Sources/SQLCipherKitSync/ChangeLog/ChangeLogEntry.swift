import CSQLCipher
import Foundation
import SQLCipherKitCore

/// The change to one row in an entry of a change log. It has the names of columns instead of their positions, so that added columns
/// do not matter.
struct LoggedChange: Hashable {
    let kind: RowChange.Kind
    let table: String
    /// The columns of the key and their values.
    let keyColumns: [String]
    let key: [SQLValue]
    /// The written columns outside the key, and their values.
    var columns: [String]
    var values: [SQLValue]
    /// The insert that the updated or deleted row comes from.
    var base: ChangeStamp

}

/// The changes of an entry that is being made, as bytes.
struct ChangeLogDraft {
    /// The form that changes share.
    struct Form {
        let kind: RowChange.Kind
        let table: String, keyColumns: [String], columns: [String]

        func isSame(as other: Form) -> Bool {
            kind == other.kind && table.isSameText(as: other.table) && keyColumns.isSame(as: other.keyColumns)
                && columns.isSame(as: other.columns)
        }
    }

    /// Changes of one form that follow each other, and the end of their values.
    private struct Run {
        let form: Int
        var count = 0, end = 0
    }

    private(set) var forms: [Form] = []
    private var runs: [Run] = []
    private var values = [UInt8]()
    /// For each change, its form.
    private(set) var places: [Int32] = []

    var count: Int { places.count }

    init() {}

    /// Creates the changes that a recorder has found.
    init(_ recording: sqlcipherkit_recording, _ tables: [LoggedTable]) {
        for form in UnsafeBufferPointer(start: recording.forms, count: recording.form_count) {
            let table = tables[Int(form.table)]
            let kind: RowChange.Kind =
                form.kind == SQLITE_INSERT ? .insert : form.kind == SQLITE_DELETE ? .delete : .update
            // One array for all is compared faster.
            let columns = UnsafeBufferPointer(start: form.columns, count: Int(form.column_count))
            forms.append(
                Form(
                    kind: kind, table: table.name, keyColumns: table.key,
                    columns: columns.count == table.others.count ? table.others : columns.map { table.columns[Int($0)] }))
        }
        let changes = UnsafeBufferPointer(start: recording.changes, count: recording.count)
        places.reserveCapacity(changes.count)
        for change in changes { note(change.form, end: change.values_end) }
        values.append(contentsOf: UnsafeBufferPointer(start: recording.values, count: changes.last?.values_end ?? 0))
    }

    private mutating func note(_ form: Int, end: Int) {
        if runs.last?.form != form { runs.append(Run(form: form)) }
        runs[runs.count - 1].count += 1
        runs[runs.count - 1].end = end
        places.append(Int32(form))
    }

    /// Adds a change.
    /// - Parameter write: writes the values of the key and of the columns.
    private mutating func add(_ form: Form, _ write: (inout [UInt8]) -> Void) {
        var number = runs.last?.form ?? 0
        if number >= forms.count || !forms[number].isSame(as: form) {
            number = forms.firstIndex { $0.isSame(as: form) } ?? forms.count
            if number == forms.count { forms.append(form) }
        }
        write(&values)
        note(number, end: values.count)
    }

    mutating func add(_ change: LoggedChange) {
        add(Form(kind: change.kind, table: change.table, keyColumns: change.keyColumns, columns: change.columns)) { writer in
            for value in change.key { writer.put(value) }
            for value in change.values { writer.put(value) }
        }
    }
}

extension [String] {
    /// Returns whether all texts have the same bytes.
    func isSame(as other: [String]) -> Bool {
        guard count == other.count else { return false }
        let areOne = withUnsafeBufferPointer { a in other.withUnsafeBufferPointer { a.baseAddress == $0.baseAddress } }
        return areOne || zip(self, other).allSatisfy { $0.isSameText(as: $1) }
    }
}

/// A transaction of a peer.
struct ChangeLogEntry: Hashable {
    let peer: String
    let mark: ChangeLog.Position.Mark
    /// The changes, from `coded(_:)`.
    let bytes: Data

    var sequence: Int64 { mark.sequence }
    var clock: Int64 { mark.clock }

    var stamp: ChangeStamp { ChangeStamp(clock: clock, peer: peer) }

    init(peer: String, mark: ChangeLog.Position.Mark, bytes: Data) { (self.peer, self.mark, self.bytes) = (peer, mark, bytes) }

    /// An entry that is being made.
    init(peer: String, sequence: Int64, clock: Int64, identity: Int64, bytes: Data) {
        mark = ChangeLog.Position.Mark(sequence: sequence, clock: clock, identity: identity)
        (self.peer, self.bytes) = (peer, bytes)
    }

    init(_ reader: inout ByteReader) throws {
        peer = try reader.peer()
        mark = try reader.mark()
        bytes = Data(try reader.prefixed())
        // Every other peer must accept an entry that is stored and passed on. Changes that its peer had seen are older than the
        // entry, or in it.
        let changes = try changes(), stamp = stamp
        guard
            mark.identity != 0,
            changes.allSatisfy({
                ($0.base.clock < stamp.clock || $0.base == stamp) && ($0.base.peer.isEmpty || $0.base.peer.isPeerName)
                    && !$0.key.contains(.null)
            })
        else { throw DatabaseError.malformedLog }
    }

    func write(_ writer: inout [UInt8]) {
        writer.put(peer)
        writer.put(mark)
        writer.append(prefixed: bytes)
    }

    // MARK: The changes

    static func coded(_ changes: [LoggedChange]) -> Data {
        var draft = ChangeLogDraft()
        for change in changes { draft.add(change) }
        return draft.coded(Array(0..<Int32(changes.count)), changes.map(\.base))
    }

    func changes() throws -> [LoggedChange] {
        var reader = ByteReader(log: bytes)
        let names = try reader.names()
        var body = ByteReader(log: try reader.prefixed())
        try reader.end()
        func list() throws -> [String] {
            try body.list { reader in try reader.name(of: names) }
        }
        var changes: [LoggedChange] = []
        while !body.isAtEnd {
            let kind = try body.varint()
            // A group of changes has the same names, and is followed by the inserts that its rows come from.
            let table = try body.name(of: names), key = try list(), columns = try list(), count = try body.count()
            guard kind <= 2, !key.isEmpty else { throw DatabaseError.malformedLog }
            let first = changes.count
            for _ in 0..<count {
                let keyValues = try key.map { _ in try body.value() }
                var values: [SQLValue] = []
                values.reserveCapacity(columns.count)
                for _ in columns { values.append(try body.value()) }
                changes.append(
                    LoggedChange(
                        kind: kind == 0 ? .insert : kind == 1 ? .update : .delete, table: table, keyColumns: key, key: keyValues,
                        columns: columns, values: values, base: .ancient))
            }
            var place = kind == 0 ? changes.count : first
            while place < changes.count {
                let end = place + (try body.count(atMost: changes.count - place))
                let base = ChangeStamp(clock: try body.clock(), peer: try body.name(of: names))
                guard place < end else { throw DatabaseError.malformedLog }
                while place < end {
                    changes[place].base = base
                    place += 1
                }
            }
        }
        return changes
    }
}

extension ChangeLogDraft {
    /// The bytes of the entry. Each name is written once.
    /// - Parameters:
    ///   - bases: for each update or delete, the place among `stamps` of the insert that made the row.
    ///   - stamps: inserts.
    func coded(_ bases: [Int32], _ stamps: [ChangeStamp]) -> Data {
        var names = ChangeLogNames(), body = [UInt8](), start = 0, place = 0
        for run in runs {
            let form = forms[run.form]
            body.append(varint: form.kind == .insert ? 0 : form.kind == .update ? 1 : 2)
            body.append(varint: names.place(form.table))
            for columns in [form.keyColumns, form.columns] {
                body.append(varint: columns.count)
                for column in columns { body.append(varint: names.place(column)) }
            }
            body.append(varint: run.count)
            body.append(contentsOf: values[start..<run.end])
            start = run.end
            let end = place + run.count
            while form.kind != .insert, place < end {
                let number = bases[place], own = stamps[Int(number)]
                var next = place + 1
                while next < end, bases[next] == number || stamps[Int(bases[next])] == own { next += 1 }
                body.append(varint: next - place)
                body.put(clock: own.clock)
                body.append(varint: names.place(own.peer))
                place = next
            }
            place = end
        }
        var writer = [UInt8]()
        writer.put(names.list)
        writer.append(prefixed: body)
        return Data(writer)
    }
}
