extension SQLClauses {
    /// The join condition from the only foreign key between a table and the ones before it.
    func keyCondition(_ index: Int, _ db: Connection?) throws(DatabaseError) -> SQL {
        let new = sides[index]
        var found: [(text: String, condition: SQL)] = []
        for other in sides[..<index] {
            found += try Self.links(from: new, to: other, db)
            // When a table is joined with itself, count each of its keys only once.
            if !Self.isSame(new.table, other.table) { found += try Self.links(from: other, to: new, db) }
        }
        guard found.count == 1, let only = found.first else {
            let tables = sides[..<index].map(\.table.name).joined(separator: ", ")
            if found.isEmpty {
                throw .misuse("no foreign key links \(new.table.name) with \(tables): say what to join on")
            }
            let keys = found.map(\.text).joined(separator: "; ")
            throw .misuse("several foreign keys link \(new.table.name) with \(tables): say what to join on (\(keys))")
        }
        return only.condition
    }

    private static func isSame(_ a: SQLTable, _ b: SQLTable) -> Bool {
        a.name.isSameName(as: b.name) && a.schema.isSameName(as: b.schema)
    }

    /// A condition for each foreign key from one table to another.
    private static func links(
        from child: Side, to parent: Side, _ db: Connection?
    ) throws(DatabaseError) -> [(text: String, condition: SQL)] {
        var links: [(text: String, condition: SQL)] = []
        let table = child.table
        let keys = table.columns.isEmpty ? try place(table, db).foreignKeyList(of: table.name) : table.allForeignKeys
        for key in keys where key.parent.isSameName(as: parent.table.name) {
            var columns = key.parentColumns
            if columns.isEmpty {
                let table = parent.table
                columns = table.columns.isEmpty ? try place(table, db).primaryKey(of: table.name) : table.primaryKeyColumns
            }
            guard columns.count == key.columns.count, !columns.isEmpty else {
                throw .misuse(
                    "the foreign key of \(child.table.name) to \(parent.table.name) has \(key.columns.count) columns "
                        + "for \(columns.count)"
                )
            }
            var condition: SQL = ""
            for (from, to) in zip(key.columns, columns) {
                if !condition.text.isEmpty { condition = "\(condition) AND " }
                let pair: SQL = "\(identifier: child.alias).\(identifier: from) = \(identifier: parent.alias).\(identifier: to)"
                condition = "\(condition)\(pair)"
            }
            links.append(("\(child.table.name)(\(key.columns.joined(separator: ", "))) to \(parent.table.name)", condition))
        }
        return links
    }

    /// The database of a table without a description.
    private static func place(_ table: SQLTable, _ db: Connection?) throws(DatabaseError) -> Schema {
        guard let db else { throw .misuse("the table \(table.name) has no description: say what to join on in a subquery") }
        return try db.schema(of: table)
    }
}
