import SQLCipherKitCore

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
