import CSQLCipher
import SQLCipherKitCore

extension DatabaseDiff {
    /// Returns the changes of rows that turn the first database into the second.
    ///
    /// Compares only tables that both databases have with the same definition and a declared primary key. It leaves out the schema
    /// and the tables that hold the content of virtual tables. If the key is not the row id, rows with equal keys may have
    /// different row ids.
    /// - Parameter tables: the tables to compare; nil, the default, for all.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a table that cannot be compared this way: it has a key with another
    ///   collation than SQLite's own, or a row with NULL in its key.
    public func changeset(tables: [String]? = nil) throws(DatabaseError) -> Changeset {
        try DatabaseError.typed {
            try looking { old, new in
                let keyed = try self.new.database.objects(
                    "m.type = 'table' AND EXISTS (SELECT 1 FROM pragma_table_info(m.name, m.schema) WHERE pk > 0)"
                ).nameSet
                let comparable = new.tables.keys.filter { keyed.contains(SQLName($0.text)) && new.isSame($0.text, in: old) }
                for table in tables ?? [] where !comparable.contains(ExactText(table)) {
                    throw DatabaseError.invalidArgument(
                        "the table \(table) is not in both databases, with the same definition and a primary key")
                }
                let group = try ChangeGroup()
                try group.useSchema(of: self.new.connection, self.new.name)
                let wanted = (tables ?? comparable.map(\.text)).filter { !$0.hasNamePrefix("sqlite_") }
                try self.new.database.requireCanonicalKeys(wanted, for: "a changeset")
                for side in [self.old, self.new] { try side.database.requireKeys(wanted, for: "a changeset") }
                for name in wanted.sorted() { try add(name, to: group) }
                return try group.changeset()
            }
        }
    }

    private func add(_ name: String, to group: ChangeGroup) throws {
        let walk = try TableWalk(name, old, new, byPrimaryKey: true)
        func set(isNew: Bool, _ places: [Int], _ row: RawStatement) throws(DatabaseError) {
            for place in places { try group.set(isNew: isNew, place, to: Int32(place), of: row) }
        }
        let all = Array(walk.list.indices)
        try walk.overOld { finding, a, b in
            if finding == .same { return }
            let changed = finding == .missing ? [] : all.filter { !a.equals(b, column: Int32($0)) }
            if finding == .different, !changed.contains(where: walk.key.contains) {
                try group.add(SQLITE_UPDATE, name) { () throws(DatabaseError) in
                    try set(isNew: false, walk.key + changed, a)
                    try set(isNew: true, changed, b)
                }
                return
            }
            try group.add(SQLITE_DELETE, name) { () throws(DatabaseError) in try set(isNew: false, all, a) }
            // The key is equal by its collation, but its bytes differ.
            if finding == .different {
                try group.add(SQLITE_INSERT, name) { () throws(DatabaseError) in try set(isNew: true, all, b) }
            }
        }
        try walk.overNew { finding, b, _ in
            if finding == .missing {
                try group.add(SQLITE_INSERT, name) { () throws(DatabaseError) in try set(isNew: true, all, b) }
            }
        }
    }
}
