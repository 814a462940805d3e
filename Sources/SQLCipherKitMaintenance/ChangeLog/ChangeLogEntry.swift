import Foundation
import SQLCipherKitCore

/// The change to one row in an entry of a change log. It has the names of columns instead of their positions, so that added columns
/// do not matter.
struct LoggedChange: Hashable {
    let kind: Changeset.Change.Kind
    let table: String
    /// The columns of the key and their values.
    let keyColumns: [String]
    let key: [SQLValue]
    /// The columns that were written, except those of the key, and their values.
    var columns: [String]
    var values: [SQLValue]
    /// The insert that the updated or deleted row comes from.
    var base: ChangeStamp

    func hasNames(of other: LoggedChange) -> Bool {
        table.isSameText(as: other.table) && keyColumns.isSame(as: other.keyColumns) && columns.isSame(as: other.columns)
    }
}

extension [String] {
    /// Whether all texts have the same bytes.
    func isSame(as other: [String]) -> Bool { count == other.count && zip(self, other).allSatisfy { $0.isSameText(as: $1) } }
}

/// One transaction of one peer.
struct ChangeLogEntry: Hashable {
    let peer: String
    let sequence: Int64
    let clock: Int64
    /// The changes, from `coded(_:)`.
    let bytes: Data

    var stamp: ChangeStamp { ChangeStamp(clock: clock, peer: peer) }

    init(peer: String, sequence: Int64, clock: Int64, bytes: Data) {
        (self.peer, self.sequence, self.clock, self.bytes) = (peer, sequence, clock, bytes)
    }

    init(_ reader: inout ChangeLogReader) throws(DatabaseError) {
        peer = try reader.peer()
        sequence = try reader.number()
        clock = try reader.clock()
        bytes = Data(try reader.blob())
        // An entry that is stored and passed on must be one that every other peer takes. What its peer had seen is older than it,
        // or in it.
        let changes = try changes(), stamp = stamp
        guard ChangeLog.Position.Mark.sequences.contains(sequence),
            changes.allSatisfy({
                ($0.base.clock < clock || $0.base == stamp) && ($0.base.peer.isEmpty || $0.base.peer.isPeerName)
                    && !$0.key.contains(.null)
            })
        else { throw ChangeLogReader.malformed }
    }

    func write(_ writer: inout ChangeLogWriter) {
        writer.put(peer)
        writer.put(sequence)
        writer.put(clock: clock)
        writer.put(bytes: bytes)
    }

    // MARK: The changes

    /// What the first number of a change has in its upper bits: that it has the names of the change before it, and its insert.
    private static let sameNames = 4, sameBase = 8

    /// The bytes of changes. Each name is written once.
    static func coded(_ changes: [LoggedChange]) -> Data {
        var names = ChangeLogNames()
        var body = ChangeLogWriter()
        body.put(count: changes.count)
        var last: LoggedChange?, base = ChangeStamp.ancient
        for change in changes {
            let isSame = last?.hasNames(of: change) ?? false, kind = change.kind == .insert ? 0 : change.kind == .update ? 1 : 2
            let isSameBase = kind == 0 || change.base == base
            body.put(count: kind | (isSame ? sameNames : 0) | (isSameBase ? sameBase : 0))
            if !isSame {
                body.put(count: names.place(change.table))
                for columns in [change.keyColumns, change.columns] {
                    body.put(count: columns.count)
                    for column in columns { body.put(count: names.place(column)) }
                }
            }
            for value in change.key { body.put(value) }
            for value in change.values { body.put(value) }
            if !isSameBase {
                body.put(clock: change.base.clock)
                body.put(count: names.place(change.base.peer))
                base = change.base
            }
            last = change
        }
        var writer = ChangeLogWriter()
        writer.put(names.list)
        writer.put(bytes: body.bytes)
        return Data(writer.bytes)
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
