/// A query for the records of two tables; see ``SQLQueryable``.
public struct SQLJoin<A, B>: Sendable {
    private var clauses: SQLClauses

    init(_ clauses: SQLClauses) { self.clauses = clauses }
}

extension SQLJoin: SQLRequest, SQLFilterable, SQLQueryable where A: _SQLSource, B: _SQLSource {
    public typealias Columns = (SQLColumns<A>, SQLColumns<B>)

    public var columns: Columns { (clauses.columns(0), clauses.columns(1)) }

    public var selection: SQLSelection<(A, B)> {
        get {
            SQLSelection(
                clauses,
                reader: { row in
                    let sides = try SQLSide.all(row, 2)
                    return { row in (try sides[0].read(row, as: A.self), try sides[1].read(row, as: B.self)) }
                })
        }
        set { clauses = newValue.clauses }
    }
}

/// Joins with a third table. Without a condition, it is joined by the only foreign key between it and the other two.
extension SQLJoin where A: _SQLSource, B: _SQLSource {
    typealias On<C> = (SQLColumns<A>, SQLColumns<B>, SQLColumns<C>) -> SQLPredicate

    /// An inner join: the matching rows.
    public func join<C: SQLRecord>(
        _ type: C.Type, on condition: ((SQLColumns<A>, SQLColumns<B>, SQLColumns<C>) -> SQLPredicate)? = nil
    ) -> SQLThreeWayJoin<A, B, C> {
        SQLThreeWayJoin(joined(type, "JOIN", condition))
    }

    /// A left join: the matching rows, and the pairs without a match, with nil.
    public func leftJoin<C: SQLRecord>(
        _ type: C.Type, on condition: ((SQLColumns<A>, SQLColumns<B>, SQLColumns<C>) -> SQLPredicate)? = nil
    ) -> SQLThreeWayJoin<A, B, C?> {
        SQLThreeWayJoin(joined(type, "LEFT JOIN", condition))
    }

    /// A right join: the matching rows, and the third table's rows without a match, with nil.
    public func rightJoin<C: SQLRecord>(
        _ type: C.Type, on condition: ((SQLColumns<A>, SQLColumns<B>, SQLColumns<C>) -> SQLPredicate)? = nil
    ) -> SQLThreeWayJoin<A._SQLOptional, B._SQLOptional, C> {
        SQLThreeWayJoin(joined(type, "RIGHT JOIN", condition))
    }

    /// A full join: the matching rows, and the rows of both sides without a match.
    public func fullJoin<C: SQLRecord>(
        _ type: C.Type, on condition: ((SQLColumns<A>, SQLColumns<B>, SQLColumns<C>) -> SQLPredicate)? = nil
    ) -> SQLThreeWayJoin<A._SQLOptional, B._SQLOptional, C?> {
        SQLThreeWayJoin(joined(type, "FULL JOIN", condition))
    }

    /// A cross join: each pair with each row of the third table.
    public func crossJoin<C: SQLRecord>(_ type: C.Type) -> SQLThreeWayJoin<A, B, C> {
        SQLThreeWayJoin(clauses.joined(C.source, "CROSS JOIN", SQLClauses.Link.none))
    }

    private func joined<C: SQLRecord>(_ type: C.Type, _ keyword: String, _ condition: On<C>?) -> SQLClauses {
        clauses.joined(
            C.source, keyword, condition.map { condition in
                { clauses in condition(clauses.columns(0), clauses.columns(1), clauses.columns(2)) }
            })
    }
}

/// A query for the records of three tables; see ``SQLQueryable``.
public struct SQLThreeWayJoin<A, B, C>: Sendable {
    private var clauses: SQLClauses

    init(_ clauses: SQLClauses) { self.clauses = clauses }
}

extension SQLThreeWayJoin: SQLRequest, SQLFilterable, SQLQueryable where A: _SQLSource, B: _SQLSource, C: _SQLSource {
    public typealias Columns = (SQLColumns<A>, SQLColumns<B>, SQLColumns<C>)

    public var columns: Columns {
        (clauses.columns(0), clauses.columns(1), clauses.columns(2))
    }

    public var selection: SQLSelection<(A, B, C)> {
        get {
            SQLSelection(
                clauses,
                reader: { row in
                    let sides = try SQLSide.all(row, 3)
                    return { row in
                        (
                            try sides[0].read(row, as: A.self), try sides[1].read(row, as: B.self),
                            try sides[2].read(row, as: C.self)
                        )
                    }
                })
        }
        set { clauses = newValue.clauses }
    }
}
