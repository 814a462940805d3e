import CSQLCipher

/// A value that associated records have in common. NULL is associated with nothing.
enum AssociationKey: Hashable {
    case integer(Int64)
    case real(Double)
    case text([UInt8])
    case blob([UInt8])

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
    /// `SELECT … AS n, … AS value`, counted from 1. Keys are bound as arrays (<https://sqlite.org/carray.html>), so the statement
    /// is the same for any number of keys.
    let source: SQL

    init(_ keys: [AssociationKey?]) {
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
        // The plus removes the cast's affinity, which would convert the other side to text.
        if !texts.isEmpty { add("+CAST(value AS TEXT)", .blobs(texts), 2) }
        if !blobs.isEmpty { add("value", .blobs(blobs), 3) }
        source = parts.dropFirst().reduce(parts[0]) { "\($0) UNION ALL \($1)" }
    }
}

/// An array as the argument of `carray()`, copied when it is bound.
private enum BoundArray: SQLValueConvertible {
    case integers([Int64])
    case reals([Double])
    case blobs([[UInt8]])

    init?(sqlValue: SQLValue) { nil }
    var sqlValue: SQLValue { .null }

    func bindSQL(to parameter: borrowing Statement.Parameter) throws(DatabaseError) {
        try parameter.check(bind(parameter.handle, parameter.index))
    }

    private func bind(_ handle: OpaquePointer, _ index: Int32) -> Int32 {
        switch self {
        case .integers(var values):
            return values.withUnsafeMutableBytes { Self.bind(handle, index, $0, $0.count / 8, SQLITE_CARRAY_INT64) }
        case .reals(var values):
            return values.withUnsafeMutableBytes { Self.bind(handle, index, $0, $0.count / 8, SQLITE_CARRAY_DOUBLE) }
        case .blobs(let values):
            // One more byte, so that no address is nil.
            var bytes: [UInt8] = []
            bytes.reserveCapacity(values.reduce(1) { $0 + $1.count })
            for value in values { bytes += value }
            bytes.append(0)
            return bytes.withUnsafeMutableBytes { bytes in
                var place = 0
                // Laid out as a `struct iovec`.
                var list: [(UnsafeMutableRawPointer?, Int)] = values.map { value in
                    defer { place += value.count }
                    return (bytes.baseAddress.map { $0 + place }, value.count)
                }
                return list.withUnsafeMutableBytes { Self.bind(handle, index, $0, values.count, SQLITE_CARRAY_BLOB) }
            }
        }
    }

    private static func bind(
        _ handle: OpaquePointer, _ index: Int32, _ bytes: UnsafeMutableRawBufferPointer, _ count: Int, _ kind: Int32
    ) -> Int32 {
        // SQLite would take the empty copy for a failed allocation.
        if count == 0 { return sqlite3_carray_bind(handle, index, nil, 0, kind, nil) }
        guard let count = Int32(exactly: count) else { return SQLITE_TOOBIG }
        return sqlite3_carray_bind(handle, index, bytes.baseAddress, count, kind, sqlcipherkit_transient())
    }
}
