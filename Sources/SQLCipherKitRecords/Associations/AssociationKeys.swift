import CSQLCipher
import SQLCipherKitCore

/// A value that associated records have in common, or a column of that value. NULL is associated with nothing.
enum AssociationKey: Hashable {
    case integer(Int64)
    case real(Double)
    case text([UInt8])
    case blob([UInt8])

    /// The kind of binding: values of one kind share an array.
    var kind: Int {
        switch self {
        case .integer: 0
        case .real: 1
        case .text(let bytes): bytes.contains(0) ? 4 : 2
        case .blob: 3
        }
    }

    static let kinds = 0..<5

    init?(_ column: borrowing Row._Column) throws {
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
        var groups = AssociationKey.kinds.map { _ in [AssociationKey]() }
        var known: [AssociationKey: (kind: Int, index: Int)] = [:]
        for case let key? in keys where known[key] == nil {
            let kind = key.kind
            known[key] = (kind, groups[kind].count)
            groups[kind].append(key)
        }
        let starts = groups.indices.map { kind in groups[..<kind].reduce(0) { $0 + $1.count } }
        numbers = keys.map { key in key.flatMap { known[$0] }.map { starts[$0.kind] + $0.index } }
        count = known.count
        columns = ["value"]
        let kinds = known.isEmpty ? [0] : groups.indices.filter { !groups[$0].isEmpty }
        let parts = kinds.map { kind -> SQL in
            """
            SELECT \(Self.number(starts[kind])) AS n, \(Self.value(kind)) AS value \
            FROM carray(\(BoundArray(groups[kind], kind)))
            """
        }
        source = parts.dropFirst().reduce(parts[0]) { "\($0) UNION ALL \($1)" }
    }

    /// The number of an array's element, of which the first has the number after `start`.
    static func number(_ start: Int) -> SQL { start == 0 ? "rowid" : "rowid + \(start)" }

    /// An array's element as the key. It has no affinity, which would convert the other side.
    static func value(_ kind: Int) -> SQL {
        kind == 4 ? "replace(replace(value, char(1, 3), char(0)), char(1, 2), char(1))" : "value"
    }
}

extension BoundArray {
    /// Keys of one kind. The arrays of `carray()` have texts that end with a NUL, so texts with a NUL inside are escaped: casting
    /// bytes instead would take them for text in the database's encoding, which may be UTF-16.
    init(_ keys: [AssociationKey], _ kind: Int) {
        switch kind {
        case 0: self = .integers(keys.compactMap { if case .integer(let value) = $0 { value } else { nil } })
        case 1: self = .reals(keys.compactMap { if case .real(let value) = $0 { value } else { nil } })
        case 2: self = .texts(keys.compactMap(\.bytes))
        case 3: self = .blobs(keys.compactMap(\.bytes))
        default:
            self = .texts(keys.compactMap(\.bytes).map { $0.flatMap { $0 == 0 ? [1, 3] : $0 == 1 ? [1, 2] : [$0] } })
        }
    }
}

extension AssociationKey {
    fileprivate var bytes: [UInt8]? {
        switch self {
        case .text(let bytes), .blob(let bytes): bytes
        case .integer, .real: nil
        }
    }
}

extension AssociationKeys {
    /// Keys of any number of columns.
    init(_ near: NearKeys) {
        if near.values.count == 1 { self.init(near.values[0]) } else { self.init(composite: near.values) }
    }

    /// `carray()` cannot be searched by its row number, so the arrays of the columns are not joined: their elements are grouped by
    /// number, which is one sort.
    private init(composite values: [[AssociationKey?]]) {
        // The keys whose columns have the same kinds of values stand together, because an array holds values of one kind.
        var groups: [[Int]: [[AssociationKey]]] = [:]
        var known: [[AssociationKey]: Int] = [:]
        let keys = (values.first?.indices ?? 0..<0).map { Self.key(values, $0) }
        for case let key? in keys where known[key] == nil {
            let kinds = key.map(\.kind)
            known[key] = groups[kinds]?.count ?? 0
            groups[kinds, default: []].append(key)
        }
        if groups.isEmpty { groups[values.map { _ in 0 }] = [] }
        let names = values.indices.map { "value\($0)" }
        // In order, so that the statement is the same whichever key comes first.
        var starts: [[Int]: Int] = [:]
        var (start, parts): (Int, [SQL]) = (0, [])
        for (kinds, keys) in groups.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            starts[kinds] = start
            for column in kinds.indices {
                let value = Self.value(kinds[column])
                let list = names.indices.map { index -> SQL in
                    "\(index == column ? value : "NULL") AS \(identifier: names[index])"
                }
                let array = BoundArray(keys.map { $0[column] }, kinds[column])
                parts.append("SELECT \(Self.number(start)) AS n, \(list: list) FROM carray(\(array))")
            }
            start += keys.count
        }
        let all = parts.dropFirst().reduce(parts[0]) { "\($0) UNION ALL \($1)" }
        let list = names.map { name -> SQL in "max(\(identifier: name)) AS \(identifier: name)" }
        self.init(
            numbers: keys.map { key in key.flatMap { key in known[key].map { (starts[key.map(\.kind)] ?? 0) + $0 } } },
            count: known.count, columns: names, source: "SELECT n, \(list: list) FROM (\(all)) GROUP BY n")
    }

    /// The key of one record; nil if one of its columns is NULL.
    private static func key(_ values: [[AssociationKey?]], _ row: Int) -> [AssociationKey]? {
        var key: [AssociationKey] = []
        key.reserveCapacity(values.count)
        for column in values {
            guard let value = column[row] else { return nil }
            key.append(value)
        }
        return key
    }
}

/// The values of some records that identify the records associated with them, for one association.
struct NearKeys {
    /// The columns of the records' table that make up the key.
    let columns: [String]
    /// For each column, the value of each record; nil for NULL.
    fileprivate(set) var values: [[AssociationKey?]]

    init(_ columns: [String]) {
        self.columns = columns
        values = columns.map { _ in [] }
    }
}

extension SQLSide {
    /// Appends the keys of a row, of which this side consists, to the keys of each association.
    func appendKeys(_ row: borrowing Row, to lists: inout [NearKeys]) throws {
        var index = range.lowerBound
        for list in lists.indices {
            for column in lists[list].values.indices {
                lists[list].values[column].append(try AssociationKey(Row._Column(row.handle, Int32(truncatingIfNeeded: index))))
                index += 1
            }
        }
    }
}

extension AssociationKey {
    init?(_ value: SQLValue) {
        switch value {
        case .null: return nil
        case .integer(let value): self = .integer(value)
        case .real(let value): self = .real(value)
        case .text(let value): self = .text(Array(value.utf8))
        case .blob(let value): self = .blob(Array(value))
        }
    }
}
