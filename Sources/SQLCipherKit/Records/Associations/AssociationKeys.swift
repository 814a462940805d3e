import CSQLCipher

/// A value that associated records have in common, or one column of it. NULL is associated with nothing.
enum AssociationKey: Hashable {
    case integer(Int64)
    case real(Double)
    case text([UInt8])
    case blob([UInt8])

    /// The storage class, in SQLite's order.
    var kind: Int {
        switch self {
        case .integer: 0
        case .real: 1
        case .text: 2
        case .blob: 3
        }
    }

    init?(_ column: borrowing Row.Column) throws(DatabaseError) {
        switch column.storageClass {
        case .null: return nil
        case .integer: self = .integer(sqlite3_column_int64(column.handle, column.index))
        case .real: self = .real(sqlite3_column_double(column.handle, column.index))
        case .text: self = .text(Array(try column.rawBytes(text: true, blob: false, as: "text")))
        case .blob: self = .blob(Array(try column.rawBytes(text: false, blob: true, as: "bytes")))
        }
    }
}

/// The distinct keys of some records, as a table of numbers and values that a statement can join.
struct AssociationKeys {
    /// The number of each record's key; nil for NULL.
    let numbers: [Int?]
    let count: Int
    /// The names of the columns with the values.
    let columns: [String]
    /// `SELECT … AS n, … AS value`, counted from 1. Keys are bound as arrays (<https://sqlite.org/carray.html>), so the statement
    /// is the same for any number of keys.
    let source: SQL

    init(numbers: [Int?], count: Int, columns: [String], source: SQL) {
        (self.numbers, self.count, self.columns, self.source) = (numbers, count, columns, source)
    }

    init(_ keys: [AssociationKey?]) {
        columns = ["value"]
        var integers: [Int64] = [], reals: [Double] = [], texts: [[UInt8]] = [], blobs: [[UInt8]] = []
        var known: [AssociationKey: (kind: Int, index: Int)] = [:]
        for case let key? in keys where known[key] == nil {
            switch key {
            case .integer(let value):
                known[key] = (0, integers.count)
                integers.append(value)
            case .real(let value):
                known[key] = (1, reals.count)
                reals.append(value)
            case .text(let value):
                known[key] = (2, texts.count)
                texts.append(value)
            case .blob(let value):
                known[key] = (3, blobs.count)
                blobs.append(value)
            }
        }
        let starts = [0, integers.count, integers.count + reals.count, integers.count + reals.count + texts.count]
        numbers = keys.map { key in key.flatMap { known[$0] }.map { starts[$0.kind] + $0.index } }
        count = known.count
        var parts: [SQL] = []
        func add(_ value: SQL, _ list: BoundArray, _ kind: Int) {
            let number: SQL = starts[kind] == 0 ? "rowid" : "rowid + \(starts[kind])"
            parts.append("SELECT \(number) AS n, \(value) AS value FROM carray(\(list))")
        }
        if !integers.isEmpty || known.isEmpty { add("value", .integers(integers), 0) }
        if !reals.isEmpty { add("value", .reals(reals), 1) }
        if !texts.isEmpty { add(Self.text, .blobs(texts), 2) }
        if !blobs.isEmpty { add("value", .blobs(blobs), 3) }
        source = parts.dropFirst().reduce(parts[0]) { "\($0) UNION ALL \($1)" }
    }

    /// The text of an array's bytes. The plus removes the cast's affinity, which would convert the other side to text.
    static var text: SQL { "+CAST(value AS TEXT)" }
}
