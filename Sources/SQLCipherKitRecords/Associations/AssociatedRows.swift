import SQLCipherKitCore

/// Fetches the records at the far end of an association, with one statement for all records at the near end.
struct AssociatedRows<Target: SQLRecord> {
    let path: AssociationPath
    let base: SQLTable
    let clauses: SQLClauses

    /// - Parameter base: the table at the near end. The other tables are in the same database, as with foreign keys.
    init(_ path: AssociationPath, _ query: SQLQuery<Target>, _ base: SQLTable) {
        (self.path, self.base) = (path.in(base.schema), base)
        var clauses = query.selection.clauses
        clauses.sides[0].table.schema = clauses.sides[0].table.schema ?? base.schema
        self.clauses = clauses
    }

    var target: SQLTable { clauses.sides[0].table }

    /// The base's columns that identify the associated records.
    func nearColumns(_ db: Connection) throws -> [String] {
        switch path {
        case .direct(let link): return try link.columns(near: base, far: target, db).map(\.near)
        case .through(let table, let link, _): return try link.columns(near: base, far: table, db).map(\.near)
        }
    }

    /// The rows that belong to each of the keys.
    func fetch<Row>(_ reading: AssociationReading<Target, Row>, _ keys: NearKeys, _ db: Connection) throws -> [[Row]] {
        let list = AssociationKeys(keys)
        var further = try reading.columns(target, db)
        let beside = further.flatMap(\.columns)
        var (numbers, records): ([Int], [Target]) = ([], [])
        // The statement runs even without keys, so that an observation knows its tables.
        try db.forEachRow(of: try sql(list, beside, db)) { row in
            let sides = try SQLSide.all(row, beside.isEmpty ? 2 : 3)
            return { row in
                numbers.append(try row.get(0, as: Int.self))
                records.append(try sides[1].read(row, as: Target.self))
                if !beside.isEmpty { try sides[2].appendKeys(row, to: &further) }
            }
        }
        let rows = try reading.rows(records, further, db, target)
        var groups = [[Row]](repeating: [], count: list.count)
        for (number, row) in zip(numbers, rows) { groups[number].append(row) }
        return list.numbers.map { number in number.map { groups[$0] } ?? [] }
    }

    var alias: String { clauses.sides[0].alias }

    /// For each row: the number of its key, the record, and the record's keys for further associations.
    private func sql(_ keys: AssociationKeys, _ beside: [String], _ db: Connection) throws -> SQL {
        let (source, condition) = try linked(keys, db)
        var clauses = clauses
        let (limit, offset) = (clauses.limit, clauses.offset)
        (clauses.limit, clauses.offset) = (nil, 0)
        if let limit, limit < 0 {
            throw DatabaseError.invalidArgument("the limit of an association must not be negative and is \(limit)")
        }
        if offset < 0 { throw DatabaseError.invalidArgument("the offset of an association must not be negative and is \(offset)") }
        let key: SQL = "\(identifier: Self.key).n"
        let from: SQL = """
            FROM (\(source)) AS \(identifier: Self.key) JOIN \(clauses.sides[0].source) \
            ON \(condition)
            """
        guard limit != nil || offset > 0 else { return try clauses.tail(of: "SELECT \(columns(key, beside)) \(from)") }
        if let sql = try correlated(keys, beside, limit, offset, db) { return sql }

        // The inner query numbers the rows of each key. The outer one keeps the rows with numbers within the limit.
        let order: SQL = clauses.orderings.isEmpty ? "" : " ORDER BY \(list: clauses.orderings)"
        clauses.orderings = []
        let inner = try clauses.tail(
            of: """
                SELECT \(key) AS \(identifier: Self.key), row_number() OVER (PARTITION BY \(key)\(order)) \
                AS \(identifier: Self.place), \(identifier: alias).* \(from)
                """)
        let place: SQL = "\(identifier: alias).\(identifier: Self.place)"
        let outer = columns("\(identifier: alias).\(identifier: Self.key)", beside)
        let sql: SQL = "SELECT \(outer) FROM (\(inner)) AS \(identifier: alias) WHERE \(place) > \(offset)"
        let upper = limit.map { $0.addingReportingOverflow(offset) }
        guard let upper, !upper.overflow else { return "\(sql) ORDER BY \(place)" }
        return "\(sql) AND \(place) <= \(upper.partialValue) ORDER BY \(place)"
    }

    /// A query for the keys' numbers and the values that the target's columns must equal, and the condition that they do.
    private func linked(_ keys: AssociationKeys, _ db: Connection) throws -> (source: SQL, condition: SQL) {
        switch path {
        case .direct(let link):
            let pairs = try link.columns(near: base, far: target, db)
            return (
                "SELECT n - 1 AS n, \(list: values(keys, pairs, target, nil)) FROM (\(keys.source))",
                equal(pairs.map(\.far), keys.columns)
            )
        case .through(let table, let first, let second):
            let near = try first.columns(near: base, far: table, db)
            let far = try second.columns(near: table, far: target, db)
            let names = far.indices.map { "value\($0)" }
            let own = AssociationLink.values(far, near: table, far: target, far.map { "link.\(identifier: $0.near)" })
            let link: SQL = """
                SELECT DISTINCT k.n - 1 AS n, \(list: zip(own, names).map { "\($0) AS \(identifier: $1)" as SQL }) \
                FROM (\(keys.source)) AS k JOIN \(raw: table.qualifiedName) AS link \
                ON \(SQLClauses.equal("link", near.map(\.far), values(keys, near, table, "k")))
                """
            return (link, equal(far.map(\.far), names))
        }
    }

    /// The values of the keys in the form of the table's columns that they are compared with.
    private func values(
        _ keys: AssociationKeys, _ pairs: [AssociationLink.Pair], _ table: SQLTable, _ alias: String?
    ) -> [SQL] {
        let own = keys.columns.map { name -> SQL in
            alias.map { "\(identifier: $0).\(identifier: name)" } ?? "\(identifier: name)"
        }
        let values = AssociationLink.values(pairs, near: base, far: table, own)
        return alias == nil ? zip(values, keys.columns).map { "\($0) AS \(identifier: $1)" } : values
    }

    private func equal(_ columns: [String], _ names: [String]) -> SQL {
        SQLClauses.equal(alias, columns, names.map { "\(identifier: Self.key).\(identifier: $0)" })
    }

    func columns(_ key: SQL, _ beside: [String]) -> SQL {
        let separator: SQL = "NULL AS \(identifier: SQLSide.separator)"
        let records: SQL = "\(key), \(separator), \(clauses.sides[0].columns)"
        if beside.isEmpty { return records }
        return "\(records), \(separator), \(list: beside.map { "\(identifier: alias).\(identifier: $0)" })"
    }

    static var key: String { "sqlcipherkit_key" }
    private static var place: String { "sqlcipherkit_place" }
}

extension AssociationPath {
    /// The path with the linking table in a database, unless the table names one itself.
    func `in`(_ schema: String?) -> AssociationPath {
        guard case .through(var table, let first, let second) = self else { return self }
        table.schema = table.schema ?? schema
        return .through(table, first, second)
    }
}

extension Connection {
    /// Runs a statement. The closure gets the first row, and returns a closure that reads each row, including the first.
    func forEachRow(of sql: SQL, _ reader: (borrowing Row) throws -> (borrowing Row) throws -> Void) throws {
        let statement = try cached(sql)
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        try statement.bindAll(sql.arguments, handle)
        guard try statement.advance(handle) else { return }
        let row = Row(handle, statement.names(handle))
        let read = try reader(row)
        repeat { try read(row) } while try statement.advance(handle)
    }
}

/// A limit for each record: the rows of each key are found by a query of their own, which stops at the limit. With an index on the
/// key and the order, it reads no other row. Numbering all rows by a window would read, and sort, every row of every key.
extension AssociatedRows {
    /// The statement; nil where the rows cannot be found again by an identity, as in views, or are not single rows, as of groups.
    private func correlated(
        _ keys: AssociationKeys, _ beside: [String], _ limit: Int?, _ offset: Int, _ db: Connection
    ) throws -> SQL? {
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

    /// The columns that identify a row of the target: its row id, or the primary key of a table without row ids.
    private func identity(_ db: Connection) throws -> [String]? {
        let schema = try db.schema(of: target)
        guard let form = try schema.form(of: target.name), form.kind == .table else { return nil }
        if let rowID = try schema.rowIDName(of: target.name) { return [rowID] }
        let key = try schema.primaryKey(of: target.name)
        return key.isEmpty ? nil : key
    }

    /// Returns whether the rows of one key can be found without reading all: without an index, each key would read the table again.
    private func isIndexed(_ db: Connection) throws -> Bool {
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

    /// The condition that a row of the target belongs to the keys.
    private func condition(_ keys: AssociationKeys, _ db: Connection) throws -> SQLPredicate {
        switch path {
        case .direct(let link):
            let pairs = try link.columns(near: base, far: target, db)
            return SQLPredicate(SQLClauses.equal(alias, pairs.map(\.far), values(keys, pairs, target, Self.key)), .and)
        case .through(let table, let first, let second):
            let near = try first.columns(near: base, far: table, db)
            let far = try second.columns(near: table, far: target, db)
            let condition = SQLClauses.equal(Self.link, near.map(\.far), values(keys, near, table, Self.key))
            return AssociationLink.linked(far, alias, target, through: table, as: Self.link, where: condition)
        }
    }

    private static var link: String { "sqlcipherkit_link" }
}
