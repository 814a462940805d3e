import SQLCipherKitCore

/// A limit for each record: the rows of each key are found by a query of their own, which stops at the limit. With an index on the
/// key and the order, it reads no other row. Numbering all rows by a window would read, and sort, every row of every key.
extension AssociatedRows {
    /// The statement; nil where the rows cannot be found again by an identity, as in views, or are not single rows, as of groups.
    func correlated(
        _ keys: AssociationKeys, _ beside: [String], _ limit: Int?, _ offset: Int, _ db: Connection
    ) throws(DatabaseError) -> SQL? {
        var inner = clauses
        guard inner.sides.count == 1, inner.sides[0].query == nil, !inner.isDistinct, inner.groups.isEmpty, inner.having == nil,
            try isIndexed(db), let identity = try identity(db)
        else { return nil }
        let condition = try condition(keys, db)
        inner.filter = inner.filter.map { condition && $0 } ?? condition
        (inner.limit, inner.offset) = (limit, offset)
        let list = identity.map { "\(identifier: alias).\(identifier: $0)" as SQL }
        let source = clauses.sides[0].source
        let rows = try inner.tail(of: "SELECT \(list: list) FROM \(source)")
        let found: SQL = list.count == 1 ? list[0] : "(\(list: list))"
        var outer = clauses
        (outer.filter, outer.limit, outer.offset) = (nil, nil, 0)
        return try outer.tail(
            of: """
                SELECT \(columns("\(identifier: Self.key).n", beside)) \
                FROM (SELECT n - 1 AS n, \(list: keys.columns.map { "\(identifier: $0)" as SQL }) FROM (\(keys.source))) \
                AS \(identifier: Self.key) CROSS JOIN \(source) ON \(found) IN (\(rows))
                """)
    }

    /// The columns that identify a row of the target: its row id, or the primary key of a table without one.
    private func identity(_ db: Connection) throws(DatabaseError) -> [String]? {
        let schema = try db.schema(of: target)
        guard let form = try schema.form(of: target.name), form.kind == .table else { return nil }
        if let rowID = try schema.rowIDName(of: target.name) { return [rowID] }
        let key = try schema.primaryKey(of: target.name)
        return key.isEmpty ? nil : key
    }

    /// Whether the rows of one key can be found without reading all: without an index, each key would read the table again.
    private func isIndexed(_ db: Connection) throws(DatabaseError) -> Bool {
        let (table, columns) =
            switch path {
            case .direct(let link): (target, try link.columns(near: base, far: target, db).map(\.far))
            case .through(let table, let link, _): (table, try link.columns(near: base, far: table, db).map(\.far))
            }
        let schema = try db.schema(of: table)
        if try schema.primaryKey(of: table.name).first.map(columns.contains(name:)) == true { return true }
        let indexes: [(Int, String, Bool, String, Bool)] = try db.fetchAll(
            SQL(raw: "PRAGMA \(schema.quotedName).index_list(\(table.name.quotedSQLIdentifier))"))
        for (_, index, _, _, isPartial) in indexes where !isPartial {
            let terms: [(Int, Int, String?)] = try db.fetchAll(
                SQL(raw: "PRAGMA \(schema.quotedName).index_info(\(index.quotedSQLIdentifier))"))
            if let name = terms.first?.2, columns.contains(name: name) { return true }
        }
        return false
    }

    /// Whether a row of the target belongs to the key.
    private func condition(_ keys: AssociationKeys, _ db: Connection) throws(DatabaseError) -> SQLPredicate {
        switch path {
        case .direct(let link):
            let pairs = zip(try link.columns(near: base, far: target, db).map(\.far), keys.columns).map { (near: $0, far: $1) }
            return SQLPredicate(SQLClauses.equal(pairs, alias, Self.key), .and)
        case .through(let table, let first, let second):
            let near = zip(try first.columns(near: base, far: table, db).map(\.far), keys.columns).map { (near: $0, far: $1) }
            let far = try second.columns(near: table, far: target, db)
            let own = far.map { "\(identifier: alias).\(identifier: $0.far)" as SQL }
            let linked = far.map { "\(identifier: Self.link).\(identifier: $0.near)" as SQL }
            let row: SQL = own.count == 1 ? own[0] : "(\(list: own))"
            return SQLPredicate(
                """
                \(row) IN (SELECT \(list: linked) FROM \(raw: table.qualifiedName) AS \(identifier: Self.link) \
                WHERE \(SQLClauses.equal(near, Self.link, Self.key)))
                """, .comparison)
        }
    }

    private static var link: String { "sqlcipherkit_link" }
}
