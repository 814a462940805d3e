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
        guard ChangePosition.Mark.sequences.contains(sequence),
            changes.allSatisfy({
                ($0.base.clock < clock || $0.base == stamp) && ($0.base.peer.isEmpty || $0.base.peer.isPeerName)
            })
        else { throw ChangeLogReader.malformed }
    }

    func write(_ writer: inout ChangeLogWriter) {
        writer.put(peer)
        writer.put(sequence)
        writer.put(clock)
        writer.put(bytes: bytes)
    }

    // MARK: The changes

    /// The bytes of changes. Each name is written once.
    static func coded(_ changes: [LoggedChange]) -> Data {
        var names = ChangeLogNames()
        var body = ChangeLogWriter()
        body.put(count: changes.count)
        // Most changes have the same names as the one before.
        var last: (table: String, key: [String], columns: [String])?, table = 0, keyPlaces: [Int] = [], places: [Int] = []
        for change in changes {
            let isSame = last.map {
                $0.table.isSameText(as: change.table) && $0.key.isSame(as: change.keyColumns)
                    && $0.columns.isSame(as: change.columns)
            }
            if isSame != true {
                table = names.place(change.table)
                keyPlaces = change.keyColumns.map { names.place($0) }
                places = change.columns.map { names.place($0) }
                last = (change.table, change.keyColumns, change.columns)
            }
            body.put(count: change.kind == .insert ? 0 : change.kind == .update ? 1 : 2)
            body.put(count: table)
            body.put(count: change.key.count)
            for (place, value) in zip(keyPlaces, change.key) {
                body.put(count: place)
                body.put(value)
            }
            body.put(count: change.values.count)
            for (place, value) in zip(places, change.values) {
                body.put(count: place)
                body.put(value)
            }
            if change.kind != .insert { body.put(change.base) }
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
        func pair(_ reader: inout ChangeLogReader) throws(DatabaseError) -> (String, SQLValue) {
            (try name(&reader), try reader.value())
        }
        let changes = try body.list { reader throws(DatabaseError) in
            let kind = try reader.unsigned(), table = try name(&reader)
            let key = try reader.list(pair), values = try reader.list(pair)
            guard kind <= 2, !key.isEmpty else { throw ChangeLogReader.malformed }
            let base = kind == 0 ? ChangeStamp.ancient : ChangeStamp(clock: try reader.clock(), peer: try reader.text())
            return LoggedChange(
                kind: kind == 0 ? .insert : kind == 1 ? .update : .delete, table: table, keyColumns: key.map(\.0),
                key: key.map(\.1), columns: values.map(\.0), values: values.map(\.1), base: base)
        }
        try body.end()
        return changes
    }
}
