import SQLCipherKitCore

/// The rows of the logged tables with their times in the log, for a peer that lacks pruned entries.
struct ChangeLogState: Hashable, Sendable {
    struct Row: Hashable, Sendable {
        let key: [SQLValue]
        /// The values of the table's other columns; nil for a row that was deleted.
        let values: [SQLValue]?
        let row: ChangeLogRow
    }

    struct Table: Hashable, Sendable {
        let name: String
        let keyColumns: [String]
        /// The columns that are not in the key.
        let columns: [String]
        var rows: [Row] = []
    }

    var tables: [Table] = []

    init() {}

    // MARK: Bytes

    func write(_ writer: inout [UInt8]) {
        var names = ChangeLogNames(), body = [UInt8]()
        func put(_ stamp: ChangeStamp) {
            body.put(clock: stamp.clock)
            body.append(varint: names.place(stamp.peer))
        }
        body.append(varint: tables.count)
        for table in tables {
            body.put(table.name)
            body.put(table.keyColumns)
            body.put(table.columns)
            body.append(varint: table.rows.count)
            for row in table.rows {
                body.put(row.key)
                body.put(row.values.map { [.integer(1)] + $0 } ?? [])
                put(row.row.insert)
                body.append(signed: row.row.gone ?? -1)
                body.append(varint: row.row.cells.count)
                for (column, stamp) in row.row.cells.sorted(by: { $0.key.text < $1.key.text }) {
                    body.append(varint: names.place(column.text))
                    put(stamp)
                }
            }
        }
        writer.put(names.list)
        writer.append(prefixed: body)
    }

    /// - Parameter until: the entries that are in the state. The state has no other times, except the insert times of deleted rows.
    init(_ reader: inout ByteReader, _ until: ChangeLog.Position) throws {
        let names = try reader.names()
        var body = ByteReader(log: try reader.prefixed())
        func stamp(_ reader: inout ByteReader) throws -> ChangeStamp {
            let stamp = ChangeStamp(clock: try reader.clock(), peer: try reader.name(of: names))
            guard stamp == .ancient || stamp.peer.isPeerName else { throw DatabaseError.malformedLog }
            return stamp
        }
        func isIncluded(_ stamp: ChangeStamp) -> Bool { stamp == .ancient || until.includes(stamp) }
        let latest = until.latest
        tables = try body.list { reader in
            var table = Table(name: try reader.text(), keyColumns: try reader.names(), columns: try reader.names())
            table.rows = try reader.list { reader in
                let key = try reader.values(), values = try reader.values()
                var row = ChangeLogRow()
                row.insert = try stamp(&reader)
                let gone = try reader.signed()
                row.gone = gone < 0 ? nil : gone
                for _ in 0..<(try reader.count()) { row.cells[SQLName(try reader.name(of: names))] = try stamp(&reader) }
                // A delete may be known before the insert that it names.
                guard isIncluded(row.insert) || row.insert.clock <= gone, row.cells.values.allSatisfy(isIncluded) else {
                    throw DatabaseError.malformedLog
                }
                guard key.count == table.keyColumns.count, !key.contains(.null),
                    values.isEmpty || values.count == table.columns.count + 1, values.isEmpty == (row.gone != nil),
                    gone <= latest, row.gone == nil || row.cells.isEmpty
                else { throw DatabaseError.malformedLog }
                return Row(key: key, values: values.isEmpty ? nil : Array(values.dropFirst()), row: row)
            }
            return table
        }
        try body.end()
    }
}

/// Names that are written once; later uses are numbers.
struct ChangeLogNames {
    private var places: [ExactText: Int] = [:]
    private(set) var list: [String] = []

    mutating func place(_ name: String) -> Int {
        let key = ExactText(name)
        if let place = places[key] { return place }
        places[key] = list.count
        list.append(name)
        return list.count - 1
    }
}

extension ChangeLog.Position {
    /// The time of the last entry.
    var latest: Int64 { marks.values.reduce(0) { max($0, $1.clock) } }

    /// Returns true if a copy at this position has seen the write with this stamp. The times of a peer grow.
    func includes(_ stamp: ChangeStamp) -> Bool { stamp.clock <= marks[stamp.peer]?.clock ?? 0 }
}
