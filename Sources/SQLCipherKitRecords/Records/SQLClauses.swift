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
        case none, foreignKey, association(AssociationLink), predicate(SQLPredicate)
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
    /// True if only the first row is wanted.
    var isFirst = false
    /// The reason why the query cannot be run.
    var failure: (any Error)?

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

    /// Returns the clauses joined with the table of an association.
    func joined(_ table: SQLTable, _ join: String, along path: AssociationPath, _ query: SQLClauses) -> SQLClauses {
        guard case .direct(let link) = path, query.filter == nil, query.orderings.isEmpty, query.isPlain || query.limit == 1 else {
            var copy = joined(table, join, Link.none)
            copy.failure = copy.failure ?? DatabaseError.misuse(
                "an association through a third table, or with a condition, an order or a limit, cannot be joined: use including")
            return copy
        }
        return (renamedForScope ?? self).joined(table, join, .association(link))
    }

    func joined(_ table: SQLTable, _ join: String, _ link: Link) -> SQLClauses {
        var copy = self
        // A table joined with itself needs a second name.
        copy.sides.append(Side(table: table, alias: SQLScope.freeName(table, sides), join: join, link: link))
        return copy
    }

    /// True if the query has at most a condition and an order.
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
        do { return try select(columns, nil) } catch { return "SELECT \(RefusedValue(DatabaseError(wrapping: error)))" }
    }

    enum Form {
        case rows, count, existence
    }

    func request(_ form: Form, _ columns: SQL, _ db: Connection) throws -> SQL {
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

    func select(_ columns: SQL, _ db: Connection?) throws -> SQL {
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
            case .association(let link): sql = "\(sql) ON \(try link.condition(near: sides[0], far: side, db))"
            case .predicate(let predicate): sql = "\(sql) ON \(predicate.condition)"
            }
        }
        return try tail(of: sql)
    }

    /// The beginning of a statement of the query.
    var with: SQL { common.isEmpty ? "" : "WITH RECURSIVE \(list: common) " }

    /// Completes a statement that begins with `sql` by everything from WHERE on.
    func tail(of sql: SQL) throws -> SQL {
        if let failure { throw failure }
        var sql = sql
        if let filter { sql = "\(sql) WHERE \(filter.condition)" }
        if !groups.isEmpty { sql = "\(sql) GROUP BY \(list: groups)" }
        if let having { sql = "\(sql) HAVING \(having.condition)" }
        if !orderings.isEmpty { sql = "\(sql) ORDER BY \(list: orderings)" }
        // SQLite would treat a negative limit as no limit.
        if let limit, limit < 0 { throw DatabaseError.invalidArgument("the limit of a query must not be negative and is \(limit)") }
        if offset < 0 { throw DatabaseError.invalidArgument("the offset of a query must not be negative and is \(offset)") }
        if isFirst, limit ?? 1 > 0 {
            sql = "\(sql) LIMIT 1"
        } else if limit != nil || offset > 0 {
            sql = "\(sql) LIMIT \(limit ?? -1)"
        }
        if offset > 0 { sql = "\(sql) OFFSET \(offset)" }
        return sql
    }
}

extension SQLClauses {
    /// The statement that updates or deletes the rows of the query. It begins with `sql`.
    /// - Parameter returning: what to return for each row; nil for nothing.
    func change(_ sql: SQL, returning columns: SQL? = nil) throws -> SQL {
        guard groups.isEmpty, having == nil, !isDistinct else {
            throw DatabaseError.misuse("a query with groups cannot change rows")
        }
        var copy = self, sql: SQL = "\(with)\(sql)"
        if let columns {
            // SQLite expects RETURNING before the order and the limit.
            if let filter { sql = "\(sql) WHERE \(filter.condition)" }
            sql = "\(sql) RETURNING \(columns)"
            copy.filter = nil
        }
        let all = try copy.tail(of: sql)
        // SQLite accepts an order only together with a limit.
        return orderings.isEmpty || limit != nil || offset > 0 ? all : "\(all) LIMIT -1"
    }

    /// The statement that updates the rows of the query.
    /// - Throws: ``DatabaseError/Reason/misuse`` without assignments.
    func update<Record: SQLRecord>(
        _ type: Record.Type, _ changes: (SQLColumns<Record>, inout SQLAssignments<Record>) -> Void, returning: SQL? = nil
    ) throws -> SQL {
        let side = sides[0]
        var assignments = SQLAssignments<Record>(table: side.table)
        SQLScope.within(self) { changes(columns(0), &assignments) }
        if let failure = assignments.failure { throw failure }
        if assignments.list.isEmpty { throw DatabaseError.misuse("the update of \(side.table.name) has no assignments") }
        return try change("UPDATE \(side.source) SET \(list: assignments.list)", returning: returning)
    }
}

extension SQLClauses {
    /// The join condition from the only foreign key between a table and the tables before it.
    func keyCondition(_ index: Int, _ db: Connection?) throws -> SQL {
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
                throw DatabaseError.misuse("no foreign key links \(new.table.name) with \(tables): name the columns to join on")
            }
            let keys = found.map(\.text).joined(separator: "; ")
            throw DatabaseError.misuse("several foreign keys link \(new.table.name) with \(tables): name the columns (\(keys))")
        }
        return only.condition
    }

    static func isSame(_ a: SQLTable, _ b: SQLTable) -> Bool { a.name.isSameName(as: b.name) && a.schema.isSameName(as: b.schema) }

    private static func conditions(
        from child: Side, to parent: Side, _ db: Connection?
    ) throws -> [(text: String, condition: SQL)] {
        try links(from: child.table, to: parent.table, db).map { link in
            let children = link.pairs.map { pair -> SQL in
                let sql: SQL = "\(identifier: child.alias).\(identifier: pair.child)"
                return child.table.converted(sql, pair.child, to: parent.table, pair.parent)
            }
            return (link.text, equal(parent.alias, link.pairs.map(\.parent), children))
        }
    }

    /// The condition that the columns of a table are equal to these values.
    static func equal(_ alias: String, _ columns: [String], _ values: [SQL]) -> SQL {
        zip(columns, values).reduce("") { sql, pair in
            let one: SQL = "\(identifier: alias).\(identifier: pair.0) = \(pair.1)"
            return sql.text.isEmpty ? one : "\(sql) AND \(one)"
        }
    }

    /// The foreign keys from one table to another, from its description or else from the database.
    static func links(
        from child: SQLTable, to parent: SQLTable, _ db: Connection?, isNearChild: Bool = false
    ) throws -> [ForeignKeyLink] {
        var links: [ForeignKeyLink] = []
        let keys = child.columns.isEmpty ? try place(child, db).foreignKeys(of: child.name) : child.allForeignKeys
        for key in keys where key.parent.isSameName(as: parent.name) {
            let columns = key.parentColumns.isEmpty ? try primaryKey(of: parent, db) : key.parentColumns
            guard columns.count == key.columns.count, !columns.isEmpty else {
                throw DatabaseError.misuse(
                    "the foreign key of \(child.name) to \(parent.name) has \(key.columns.count) columns for \(columns.count)")
            }
            links.append(
                ForeignKeyLink(
                    text: "\(child.name)(\(key.columns.joined(separator: ", "))) to \(parent.name)",
                    pairs: zip(key.columns, columns).map { (child: $0, parent: $1) }, isNearChild: isNearChild))
        }
        return links
    }

    static func primaryKey(of table: SQLTable, _ db: Connection?) throws -> [String] {
        table.columns.isEmpty ? try place(table, db).primaryKey(of: table.name) : table.primaryKeyColumns
    }

    /// The database of a table without a description.
    private static func place(_ table: SQLTable, _ db: Connection?) throws -> Schema {
        guard let db else {
            throw DatabaseError.misuse(
                """
                the table \(table.name) has no description, and a subquery cannot look at the database: name both properties of an \
                association (by: and to:), and the columns to join on
                """)
        }
        return try db.schema(of: table)
    }
}

extension SQLClauses {
    /// The statement that reads the records of one table by a condition alone, as most queries do, written in one go.
    func plainSelect(isFirst: Bool) -> SQL? {
        guard let (_, select) = plainRecords else { return nil }
        guard let filter else { return SQL(raw: select + (isFirst ? " LIMIT 1" : "")) }
        let sql = filter.condition, condition = sql.text
        var text = ""
        text.reserveCapacity(select.utf8.count + condition.utf8.count + 16)
        text += select
        text += " WHERE "
        text += condition
        if isFirst { text += " LIMIT 1" }
        return SQL(raw: text, sql.arguments)
    }

    /// The same as a statement with its values, which is kept for the columns and comparisons of the condition.
    func plainStatement(_ db: Connection, isFirst: Bool) throws -> (Statement, StatementArguments)? {
        guard let filter, case .terms(let terms) = filter.fragment, let (names, _) = plainRecords, terms.names === names else {
            return nil
        }
        let key = StatementKey(PlainSelect.self, ObjectIdentifier(names), terms.code, text: isFirst ? "1" : "")
        if let known: PlainSelect = db.kept(key) { return (known.statement, terms.values) }
        guard let sql = plainSelect(isFirst: isFirst) else { return nil }
        let made = PlainSelect(try PropertyName.explaining { try db.prepareKept(sql.text) }, names)
        db.keep(made.statement, made, key)
        return (made.statement, terms.values)
    }

    /// The names of the first table's columns, and the statement that reads all its records, if the query reads nothing else and
    /// the table has its own name alone.
    private var plainRecords: (RecordNames, String)? {
        guard sides.count == 1, common.isEmpty, failure == nil, !isDistinct, groups.isEmpty, having == nil, orderings.isEmpty,
            limit == nil, offset == 0
        else { return nil }
        let side = sides[0]
        let records = side.table.positions.map { ($0.identity, $0.select) } ?? side.table.plain.map { ($0.names, $0.select) }
        guard let records, side.table.schema == nil, side.query == nil, side.alias.isSameText(as: records.0.table),
            side.table.name.isSameText(as: records.0.table)
        else { return nil }
        return records
    }
}

/// The statement of a plain query. The names are kept with it, so that no other object has their identity.
private final class PlainSelect {
    let statement: Statement
    private let names: RecordNames

    init(_ statement: Statement, _ names: RecordNames) { (self.statement, self.names) = (statement, names) }
}
