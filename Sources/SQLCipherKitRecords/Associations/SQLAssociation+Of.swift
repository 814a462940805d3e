import SQLCipherKitCore

/// The associated records of one record, as a query of their own.
extension SQLAssociation {
    /// The records associated with a record in the closure of a query: for a condition, an order or a value.
    /// ```swift
    /// Folder.filter { Folder.notes.of($0).filter { $0.stars > 3 }.exists }
    ///     .order { Folder.notes.of($0).count.descending }
    /// ```
    /// The foreign keys come from the tables' descriptions. For tables without one, the association must name both properties, or
    /// running the query throws ``DatabaseError/Reason/misuse``.
    public func of(_ base: SQLColumns<Base>) -> SQLQuery<Target> {
        matching(base.table) { columns in columns.map { "\(identifier: base.alias).\(identifier: $0)" } }
    }

    /// The records associated with a record.
    /// ```swift
    /// let notes = try db.fetchAll(Folder.notes.of(folder).filter { $0.stars > 3 })
    /// ```
    /// For tables without a description, the association must name both properties, or running the query throws
    /// ``DatabaseError/Reason/misuse``.
    public func of(_ record: Base) -> SQLQuery<Target> {
        matching(Base.source) { columns throws(DatabaseError) in
            let values = try record.values(of: columns)
            return values.map { value in value.map { "\($0)" } ?? "NULL" }
        }
    }

    private func matching(
        _ base: SQLTable, _ values: ([String]) throws(DatabaseError) -> [SQL]
    ) -> SQLQuery<Target> {
        var clauses = query.selection.clauses
        clauses.sides[0].table.schema = clauses.sides[0].table.schema ?? base.schema
        do throws(DatabaseError) {
            clauses = try clauses.free()
            let side = clauses.sides[0]
            let condition = try condition(side, base, values)
            clauses.filter = clauses.filter.map { condition && $0 } ?? condition
        } catch {
            clauses.failure = clauses.failure ?? error
        }
        return SQLQuery(clauses)
    }

    private func condition(
        _ side: SQLClauses.Side, _ base: SQLTable, _ values: ([String]) throws(DatabaseError) -> [SQL]
    ) throws(DatabaseError) -> SQLPredicate {
        func equal(_ alias: String, _ columns: [String], _ values: [SQL]) -> SQL {
            zip(columns, values).reduce("") { sql, pair in
                let one: SQL = "\(identifier: alias).\(identifier: pair.0) = \(pair.1)"
                return sql.text.isEmpty ? one : "\(sql) AND \(one)"
            }
        }
        switch path.in(base.schema) {
        case .direct(let link):
            let pairs = try link.columns(near: base, far: side.table, nil)
            return SQLPredicate(equal(side.alias, pairs.map(\.far), try values(pairs.map(\.near))), .and)
        case .through(let table, let first, let second):
            let near = try first.columns(near: base, far: table, nil)
            let far = try second.columns(near: table, far: side.table, nil)
            let alias = "sqlcipherkit_link"
            func list(_ alias: String, _ columns: [String]) -> SQL {
                let list: SQL = "\(list: columns.map { "\(identifier: alias).\(identifier: $0)" })"
                return columns.count == 1 ? list : "(\(list))"
            }
            return SQLPredicate(
                """
                \(list(side.alias, far.map(\.far))) IN (SELECT \(list: far.map { "\(identifier: alias).\(identifier: $0.near)" }) \
                FROM \(raw: table.qualifiedName) AS \(identifier: alias) \
                WHERE \(equal(alias, near.map(\.far), try values(near.map(\.near)))))
                """, .comparison)
        }
    }
}

extension SQLClauses {
    /// The query of an association under a name that no query around it has.
    fileprivate func free() throws(DatabaseError) -> SQLClauses {
        guard let renamed = renamedForScope else { return self }
        if renamed.failure == nil { return renamed }
        // Its conditions contain its name: they stay in a query of their own.
        if isPlain, orderings.isEmpty {
            return SQLClauses(sides[0].table, query: try select("\(identifier: sides[0].alias).*", nil))
        }
        throw .misuse(
            "an association of \(sides[0].table.name) with an order or a limit is used in a query of the same table: "
                + "write the order and the limit after of(_:)")
    }
}

extension SQLRecord {
    /// The record's values for some columns, in the form in which they are bound.
    fileprivate func values(of columns: [String]) throws(DatabaseError) -> [(any SQLValueConvertible)?] {
        let profiles = Self.columnProfiles
        var stored: [(name: String, value: (any SQLValueConvertible)?)] = []
        if let positions = Self._recordColumns?.positions {
            stored = positions.columns.map { ($0.name, $0.value(of: self)) }
        } else {
            do { stored = try RowEncodingState.collect(self) } catch {
                throw error as? DatabaseError ?? .invalidArgument("a \(Self.self) cannot be encoded: \(error.jsonDescription)")
            }
        }
        return try columns.map { column throws(DatabaseError) in
            guard let found = stored.first(where: { SQLName($0.name) == SQLName(column) }) else {
                throw .misuse("the record has no property for \(column), by which its association is found")
            }
            guard let value = found.value, let profile = profiles[found.name] else { return found.value }
            return ProfiledValue(value, profile)
        }
    }
}

extension SQLQueryable {
    /// The number of rows, as a value in another query. To fetch the number itself, use ``Connection/count(_:)``.
    /// ```swift
    /// Folder.filter { Folder.notes.of($0).count > 10 }
    /// ```
    public var count: SQLExpression<Int> {
        let clauses = selection.clauses
        if clauses.isPlain {
            var unordered = clauses
            unordered.orderings = []
            return SQLExpression("(\(unordered.subquery("count(*)")))", .atom)
        }
        return SQLExpression("(SELECT count(*) FROM (\(selection.subquery)))", .atom)
    }
}
