import SQLCipherKitCore

extension SQLClauses {
    /// The join condition from the only foreign key between a table and the ones before it.
    func keyCondition(_ index: Int, _ db: Connection?) throws(DatabaseError) -> SQL {
        let new = sides[index]
        var found: [(text: String, condition: SQL)] = []
        for other in sides[..<index] {
            found += try Self.conditions(from: new, to: other, db)
            // When a table is joined with itself, count each of its keys only once.
            if !Self.isSame(new.table, other.table) { found += try Self.conditions(from: other, to: new, db) }
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

    static func isSame(_ a: SQLTable, _ b: SQLTable) -> Bool { a.name.isSameName(as: b.name) && a.schema.isSameName(as: b.schema) }

    private static func conditions(
        from child: Side, to parent: Side, _ db: Connection?
    ) throws(DatabaseError) -> [(text: String, condition: SQL)] {
        try links(from: child.table, to: parent.table, db).map { link in
            (link.text, equal(link.pairs.map { (near: $0.child, far: $0.parent) }, child.alias, parent.alias))
        }
    }

    /// The condition that pairs of columns of two tables are equal.
    static func equal(_ pairs: [(near: String, far: String)], _ near: String, _ far: String) -> SQL {
        var condition: SQL = ""
        for pair in pairs {
            if !condition.text.isEmpty { condition = "\(condition) AND " }
            let one: SQL = "\(identifier: near).\(identifier: pair.near) = \(identifier: far).\(identifier: pair.far)"
            condition = "\(condition)\(one)"
        }
        return condition
    }

    /// The foreign keys from one table to another, from its description or else from the database.
    static func links(
        from child: SQLTable, to parent: SQLTable, _ db: Connection?, isNearChild: Bool = false
    ) throws(DatabaseError) -> [ForeignKeyLink] {
        var links: [ForeignKeyLink] = []
        let keys = child.columns.isEmpty ? try place(child, db).foreignKeys(of: child.name) : child.allForeignKeys
        for key in keys where key.parent.isSameName(as: parent.name) {
            let columns = key.parentColumns.isEmpty ? try primaryKey(of: parent, db) : key.parentColumns
            guard columns.count == key.columns.count, !columns.isEmpty else {
                throw .misuse(
                    "the foreign key of \(child.name) to \(parent.name) has \(key.columns.count) columns for \(columns.count)")
            }
            links.append(
                ForeignKeyLink(
                    text: "\(child.name)(\(key.columns.joined(separator: ", "))) to \(parent.name)",
                    pairs: zip(key.columns, columns).map { (child: $0, parent: $1) }, isNearChild: isNearChild))
        }
        return links
    }

    static func primaryKey(of table: SQLTable, _ db: Connection?) throws(DatabaseError) -> [String] {
        table.columns.isEmpty ? try place(table, db).primaryKey(of: table.name) : table.primaryKeyColumns
    }

    /// The database of a table without a description.
    private static func place(_ table: SQLTable, _ db: Connection?) throws(DatabaseError) -> Schema {
        guard let db else { throw .misuse("the table \(table.name) has no description: say what to join on in a subquery") }
        return try db.schema(of: table)
    }
}
