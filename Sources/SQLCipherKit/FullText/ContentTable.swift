/// What the schema says about the table that external content lives in.
struct ContentTable {
    /// A column list whose values no two rows share, with the collation that decides what is the same.
    typealias UniqueKey = [(column: String, collation: String)]

    enum RowID {
        /// This column is the row id itself.
        case integer(String)
        /// The key is something else, and row ids come from a table of keys.
        case mapped([(column: String, type: String, collation: String)])
    }

    let name: String
    let columns: [String]
    let generated: Set<SQLName>
    let rowID: RowID
    let uniqueKeys: [UniqueKey]
}

extension Schema {
    /// Reads a table's columns, primary key and unique indexes.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a table that is missing or has no primary key.
    func contentTable(_ table: String) throws(DatabaseError) -> ContentTable {
        let columns = try columns(of: table)
        guard !columns.isEmpty else { throw .invalidArgument("there is no table \(name).\(table) to take content from") }
        var uniqueKeys: [ContentTable.UniqueKey] = []
        var primary: ContentTable.UniqueKey?
        for (index, origin) in try uniqueIndexes(of: table) {
            // Leaving expressions out finds more rows than it should, which does no harm.
            let key = try keyColumns(ofIndex: index)
            guard !key.isEmpty else { continue }
            uniqueKeys.append(key)
            if origin == .primaryKey { primary = key }
        }
        let rowID: ContentTable.RowID
        if let primary {
            let types = Dictionary(columns.map { (SQLName($0.name), $0.type) }, uniquingKeysWith: { first, _ in first })
            rowID = .mapped(primary.map { (column: $0.column, type: types[SQLName($0.column)] ?? "", collation: $0.collation) })
        } else if let column = columns.primaryKey.first, columns.primaryKey.count == 1 {
            // A primary key without an index of its own is the row id.
            rowID = .integer(column.name)
        } else {
            throw .invalidArgument(
                "\(table) has no primary key: VACUUM may renumber its rows, so that an index on them would point to others")
        }
        return ContentTable(
            name: table, columns: columns.map(\.name), generated: columns.filter(\.isGenerated).map(\.name).nameSet, rowID: rowID,
            uniqueKeys: uniqueKeys)
    }
}
