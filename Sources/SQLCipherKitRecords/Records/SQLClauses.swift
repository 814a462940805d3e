import SQLCipherKitCore

/// The parts of a query that do not depend on the record types.
struct SQLClauses: Sendable {
    struct Side: Sendable {
        var table: SQLTable
        var alias: String
        /// The query whose rows these are, in place of the table's.
        var query: SQL?
        var join = ""
        var link = Link.none

        var source: SQL {
            if let query { return "(\(query)) AS \(identifier: alias)" }
            let name: SQL = "\(raw: table.qualifiedName)"
            return alias.isSameText(as: table.name) ? name : "\(name) AS \(identifier: alias)"
        }

        /// All columns of the record.
        var columns: SQL {
            if let positions = table.positions {
                if alias.isSameText(as: positions.table) { return SQL(raw: positions.selection) }
                return "\(list: positions.names.map { "\(identifier: alias).\(identifier: $0)" })"
            }
            if table.columns.isEmpty {
                return table.readsRowID ? "\(identifier: alias).rowid, \(identifier: alias).*" : "\(identifier: alias).*"
            }
            return "\(list: table.columns.map { "\(identifier: alias).\(identifier: $0.name)" })"
        }
    }

    enum Link: Sendable {
        case none, foreignKey, predicate(SQLPredicate)
    }

    /// The tables of WITH, each with its query.
    var common: [SQL] = []
    var sides: [Side]
    var filter: SQLPredicate?
    var groups: [SQL] = []
    var having: SQLPredicate?
    var orderings: [SQL] = []
    var limit: Int?
    var offset = 0
    var isDistinct = false
    /// Whether only the first row is wanted.
    var isFirst = false
    /// The reason why the query cannot be run.
    var failure: DatabaseError?

    init(_ table: SQLTable, query: SQL? = nil) { sides = [Side(table: table, alias: SQLScope.freeName(table), query: query)] }

    func columns<Source>(_ index: Int) -> SQLColumns<Source> {
        SQLColumns(table: sides[index].table, alias: sides[index].alias)
    }

    /// Returns the clauses joined with another table, by a condition on its columns or by the foreign key.
    func joined(_ table: SQLTable, _ join: String, _ condition: ((SQLClauses) -> SQLPredicate)?) -> SQLClauses {
        let own = renamedForScope ?? self
        let copy = own.joined(table, join, .foreignKey)
        guard let condition else { return copy }
        return own.joined(table, join, .predicate(SQLScope.within(copy) { condition(copy) }))
    }

    func joined(_ table: SQLTable, _ join: String, _ link: Link) -> SQLClauses {
        var copy = self
        // A table joined with itself needs a second name.
        copy.sides.append(Side(table: table, alias: SQLScope.freeName(table, sides), join: join, link: link))
        return copy
    }

    /// Whether the query has at most a condition and an order.
    var isPlain: Bool { !isDistinct && groups.isEmpty && having == nil && limit == nil && offset == 0 }

    /// The columns of all tables, with a separator between two tables.
    var records: SQL {
        var list: [SQL] = []
        for side in sides {
            if !list.isEmpty { list.append("NULL AS \(identifier: SQLSide.separator)") }
            list.append(side.columns)
        }
        return "\(list: list)"
    }

    /// The query as part of another statement. Foreign keys are only looked up in the descriptions, because no connection is
    /// available.
    func subquery(_ columns: SQL) -> SQL {
        do throws(DatabaseError) { return try select(columns, nil) } catch { return "SELECT \(RefusedValue(error))" }
    }

    enum Form {
        case rows, count, existence
    }

    func request(_ form: Form, _ columns: SQL, _ db: Connection) throws(DatabaseError) -> SQL {
        switch form {
        case .rows: return try select(columns, db)
        case .existence: return "SELECT EXISTS (\(try select("1", db)))"
        case .count:
            guard isPlain else { return "SELECT count(*) FROM (\(try select(isDistinct ? columns : "1", db)))" }
            var unordered = self
            unordered.orderings = []
            return try unordered.select("count(*)", db)
        }
    }

    func select(_ columns: SQL, _ db: Connection?) throws(DatabaseError) -> SQL {
        var sql: SQL = "\(with)SELECT \(raw: isDistinct ? "DISTINCT " : "")\(columns) FROM "
        for (index, side) in sides.enumerated() {
            if index == 0 {
                sql = "\(sql)\(side.source)"
                continue
            }
            sql = "\(sql) \(raw: side.join) \(side.source)"
            switch side.link {
            case .none: break
            case .foreignKey: sql = "\(sql) ON \(try keyCondition(index, db))"
            case .predicate(let predicate): sql = "\(sql) ON \(predicate.condition)"
            }
        }
        return try tail(of: sql)
    }

    /// What a statement of the query begins with.
    var with: SQL { common.isEmpty ? "" : "WITH RECURSIVE \(list: common) " }

    /// Completes a statement that begins with `sql` by everything from WHERE on.
    func tail(of sql: SQL) throws(DatabaseError) -> SQL {
        if let failure { throw failure }
        var sql = sql
        if let filter { sql = "\(sql) WHERE \(filter.condition)" }
        if !groups.isEmpty { sql = "\(sql) GROUP BY \(list: groups)" }
        if let having { sql = "\(sql) HAVING \(having.condition)" }
        if !orderings.isEmpty { sql = "\(sql) ORDER BY \(list: orderings)" }
        // SQLite would treat a negative limit as no limit.
        if let limit, limit < 0 { throw .invalidArgument("the limit of a query must not be negative and is \(limit)") }
        if offset < 0 { throw .invalidArgument("the offset of a query must not be negative and is \(offset)") }
        if isFirst, limit ?? 1 > 0 {
            sql = "\(sql) LIMIT 1"
        } else if limit != nil || offset > 0 {
            sql = "\(sql) LIMIT \(limit ?? -1)"
        }
        if offset > 0 { sql = "\(sql) OFFSET \(offset)" }
        return sql
    }
}
