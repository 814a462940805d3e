/// A query for the records of six tables; see ``SQLQueryable``.
public struct SQLSixWayJoin<A, B, C, D, E, F>: Sendable {
    private var clauses: SQLClauses

    init(_ clauses: SQLClauses) { self.clauses = clauses }

    public var columns: (SQLColumns<A>, SQLColumns<B>, SQLColumns<C>, SQLColumns<D>, SQLColumns<E>, SQLColumns<F>) {
        (clauses.columns(0), clauses.columns(1), clauses.columns(2), clauses.columns(3), clauses.columns(4), clauses.columns(5))
    }
}

extension SQLSixWayJoin: SQLRequest, SQLQueryable
where A: SQLSource, B: SQLSource, C: SQLSource, D: SQLSource, E: SQLSource, F: SQLSource {
    public var selection: SQLSelection<(A, B, C, D, E, F)> {
        get {
            SQLSelection(
                clauses,
                reader: { row in
                    let sides = try SQLSide.all(row, 6)
                    return { row in
                        (
                            try sides[0].read(row, as: A.self), try sides[1].read(row, as: B.self),
                            try sides[2].read(row, as: C.self), try sides[3].read(row, as: D.self),
                            try sides[4].read(row, as: E.self), try sides[5].read(row, as: F.self)
                        )
                    }
                })
        }
        set { clauses = newValue.clauses }
    }
}

/// Joins with a sixth table. Without a condition, the tables are joined on the only foreign key between the new table and the
/// others.
extension SQLFiveWayJoin where A: SQLSource, B: SQLSource, C: SQLSource, D: SQLSource, E: SQLSource {
    /// A condition for a join.
    public typealias On<F> = (
        SQLColumns<A>, SQLColumns<B>, SQLColumns<C>, SQLColumns<D>, SQLColumns<E>, SQLColumns<F>
    ) -> SQLPredicate

    /// An inner join: the matching rows.
    public func join<F: SQLRecord>(_ type: F.Type, on condition: On<F>? = nil) -> SQLSixWayJoin<A, B, C, D, E, F> {
        SQLSixWayJoin(joined(type, "JOIN", condition))
    }

    /// A left join: the matching rows, and the rows without a match, with nil.
    public func leftJoin<F: SQLRecord>(_ type: F.Type, on condition: On<F>? = nil) -> SQLSixWayJoin<A, B, C, D, E, F?> {
        SQLSixWayJoin(joined(type, "LEFT JOIN", condition))
    }

    private func joined<F: SQLRecord>(_ type: F.Type, _ keyword: String, _ condition: On<F>?) -> SQLClauses {
        selection.clauses.joined(
            F.source, keyword, condition.map { condition in
                { clauses in
                    condition(
                        clauses.columns(0), clauses.columns(1), clauses.columns(2), clauses.columns(3), clauses.columns(4),
                        clauses.columns(5))
                }
            })
    }
}
