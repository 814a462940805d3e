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
    /// The columns that were written, except those of the key, and their values.
    var columns: [String]
    var values: [SQLValue]
    /// The insert that the updated or deleted row comes from.
    var base: ChangeStamp

}

/// The changes of an entry that is being made, as bytes.
struct ChangeLogDraft {
    /// What changes have in common.
    struct Form {
        let kind: RowChange.Kind
        let table: String, keyColumns: [String], columns: [String]

        func isSame(as other: Form) -> Bool { kind == other.kind && hasNames(of: other) }

        func hasNames(of other: Form) -> Bool {
            table.isSameText(as: other.table) && keyColumns.isSame(as: other.keyColumns) && columns.isSame(as: other.columns)
        }
    }

    private(set) var forms: [Form] = []
    /// For each change, its form, and the end of its values.
    private var changes: [(form: Int, end: Int)] = []
    private var values = ChangeLogWriter()

    var count: Int { changes.count }

    func form(of change: Int) -> Int { changes[change].form }

    /// Adds a change.
    /// - Parameter write: writes the values of the key and of the columns.
    mutating func add(_ form: Form, _ write: (inout ChangeLogWriter) throws -> Void) rethrows {
        var number = changes.last?.form ?? 0
        if number >= forms.count || !forms[number].isSame(as: form) {
            number = forms.firstIndex { $0.isSame(as: form) } ?? forms.count
            if number == forms.count { forms.append(form) }
        }
        try write(&values)
        changes.append((number, values.bytes.count))
    }

    mutating func add(_ change: LoggedChange) {
        add(Form(kind: change.kind, table: change.table, keyColumns: change.keyColumns, columns: change.columns)) { writer in
            for value in change.key { writer.put(value) }
            for value in change.values { writer.put(value) }
        }
    }
}

extension [String] {
    /// Whether all texts have the same bytes.
    func isSame(as other: [String]) -> Bool {
        guard count == other.count else { return false }
        let areOne = withUnsafeBufferPointer { a in other.withUnsafeBufferPointer { a.baseAddress == $0.baseAddress } }
        return areOne || zip(self, other).allSatisfy { $0.isSameText(as: $1) }
    }
}

/// One transaction of one peer.
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
    init(peer: String, sequence: Int64, clock: Int64, bytes: Data) {
        mark = ChangeLog.Position.Mark(sequence: sequence, clock: clock, identity: .random(in: 1...Int64.max))
        (self.peer, self.bytes) = (peer, bytes)
    }

    init(_ reader: inout ChangeLogReader) throws(DatabaseError) {
        peer = try reader.peer()
        mark = try reader.mark()
        bytes = Data(try reader.blob())
        // An entry that is stored and passed on must be one that every other peer takes. What its peer had seen is older than it,
        // or in it.
        let changes = try changes(), stamp = stamp
        guard
            mark.identity != 0,
            changes.allSatisfy({
                ($0.base.clock < stamp.clock || $0.base == stamp) && ($0.base.peer.isEmpty || $0.base.peer.isPeerName)
                    && !$0.key.contains(.null)
            })
        else { throw ChangeLogReader.malformed }
    }

    func write(_ writer: inout ChangeLogWriter) {
        writer.put(peer)
        writer.put(mark)
        writer.put(bytes: bytes)
    }

    // MARK: The changes

    /// What the first number of a change has in its upper bits: that it has the names of the change before it, and its insert.
    fileprivate static let sameNames = 4, sameBase = 8

    static func coded(_ changes: [LoggedChange]) -> Data {
        var draft = ChangeLogDraft()
        for change in changes { draft.add(change) }
        return draft.coded { changes[$0].base }
    }

    func changes() throws(DatabaseError) -> [LoggedChange] {
        var reader = ChangeLogReader(bytes)
        let names = try reader.names()
        var body = ChangeLogReader(try reader.blob())
        try reader.end()
        func name(_ reader: inout ChangeLogReader) throws(DatabaseError) -> String {
            let place = try reader.unsigned()
            guard place < UInt64(names.count) else { throw ChangeLogReader.malformed }
            return names[Int(place)]
        }
        var table = "", key: [String] = [], columns: [String] = [], base = ChangeStamp.ancient
        let changes = try body.list { reader throws(DatabaseError) in
            let first = try Int(truncatingIfNeeded: reader.unsigned()), kind = first & 3
            guard kind <= 2, first & ~(3 | Self.sameNames | Self.sameBase) == 0 else { throw ChangeLogReader.malformed }
            if first & Self.sameNames == 0 {
                (table, key, columns) = (try name(&reader), try reader.list(name), try reader.list(name))
            }
            guard !key.isEmpty else { throw ChangeLogReader.malformed }
            var values: [SQLValue] = []
            values.reserveCapacity(columns.count)
            let keyValues = try key.map { _ throws(DatabaseError) in try reader.value() }
            for _ in columns { values.append(try reader.value()) }
            if first & Self.sameBase == 0 { base = ChangeStamp(clock: try reader.clock(), peer: try name(&reader)) }
            return LoggedChange(
                kind: kind == 0 ? .insert : kind == 1 ? .update : .delete, table: table, keyColumns: key, key: keyValues,
                columns: columns, values: values, base: kind == 0 ? .ancient : base)
        }
        try body.end()
        return changes
    }
}

extension ChangeLogDraft {
    /// The bytes of the entry. Each name is written once.
    /// - Parameter base: the insert that a row comes from which is updated or deleted.
    func coded(_ base: (Int) -> ChangeStamp) -> Data {
        var names = ChangeLogNames(), body = ChangeLogWriter(), last = ChangeStamp.ancient, start = 0, lastForm = -1
        body.put(count: changes.count)
        for (place, change) in changes.enumerated() {
            let form = forms[change.form], kind = form.kind == .insert ? 0 : form.kind == .update ? 1 : 2
            let isSame = change.form == lastForm || lastForm >= 0 && forms[lastForm].hasNames(of: form)
            let own = kind == 0 ? last : base(place), isSameBase = own == last
            body.put(
                count: kind | (isSame ? ChangeLogEntry.sameNames : 0) | (isSameBase ? ChangeLogEntry.sameBase : 0))
            if !isSame {
                body.put(count: names.place(form.table))
                for columns in [form.keyColumns, form.columns] {
                    body.put(count: columns.count)
                    for column in columns { body.put(count: names.place(column)) }
                }
            }
            body.append(values.bytes[start..<change.end])
            if !isSameBase {
                body.put(clock: own.clock)
                body.put(count: names.place(own.peer))
                last = own
            }
            (start, lastForm) = (change.end, change.form)
        }
        var writer = ChangeLogWriter()
        writer.put(names.list)
        writer.put(bytes: body.bytes)
        return Data(writer.bytes)
    }
}
