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
    let generated: Set<String>
    let rowID: RowID
    let uniqueKeys: [UniqueKey]
}

extension Schema {
    /// Reads a table's columns, primary key and unique indexes.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a table that is missing or has no primary key.
    func contentTable(_ table: String) throws(DatabaseError) -> ContentTable {
        // `hidden`: 2 and 3 are generated columns (https://sqlite.org/pragma.html#pragma_table_xinfo).
        let rows: [(String, String, Int, Int)] = try connection.fetchAll(
            "SELECT name, type, pk, hidden FROM pragma_table_xinfo(\(table), \(name)) ORDER BY cid")
        guard !rows.isEmpty else { throw .invalidArgument("there is no table \(name).\(table) to take content from") }
        let indexes: [(String, String)] = try connection.fetchAll(
            "SELECT name, origin FROM pragma_index_list(\(table), \(name)) WHERE \"unique\" ORDER BY seq")
        var uniqueKeys: [ContentTable.UniqueKey] = []
        var primary: ContentTable.UniqueKey?
        for (index, origin) in indexes {
            let terms: [(String?, String)] = try connection.fetchAll(
                "SELECT name, coll FROM pragma_index_xinfo(\(index), \(name)) WHERE key ORDER BY seqno")
            // An expression has no name here. Leaving it out finds more rows than it should, which does no harm.
            let key = terms.compactMap { term in term.0.map { (column: $0, collation: term.1) } }
            guard !key.isEmpty else { continue }
            uniqueKeys.append(key)
            if origin == "pk" { primary = key }
        }
        let rowID: ContentTable.RowID
        let keyColumns = rows.filter { $0.2 > 0 }
        if let primary {
            let types = Dictionary(rows.map { ($0.0, $0.1) }, uniquingKeysWith: { first, _ in first })
            rowID = .mapped(primary.map { (column: $0.column, type: types[$0.column] ?? "", collation: $0.collation) })
        } else if let column = keyColumns.first, keyColumns.count == 1 {
            // A primary key without an index of its own is the row id.
            rowID = .integer(column.0)
        } else {
            throw .invalidArgument(
                "\(table) has no primary key: VACUUM may renumber its rows, so that an index on them would point to others")
        }
        return ContentTable(
            name: table, columns: rows.map(\.0), generated: Set(rows.filter { $0.3 > 1 }.map(\.0)), rowID: rowID,
            uniqueKeys: uniqueKeys)
    }
}
