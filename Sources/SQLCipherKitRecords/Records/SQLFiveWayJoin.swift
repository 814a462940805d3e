/// A query for the records of five tables; see ``SQLQueryable``.
public struct SQLFiveWayJoin<A, B, C, D, E>: Sendable {
    private var clauses: SQLClauses

    init(_ clauses: SQLClauses) { self.clauses = clauses }

    public var columns: (SQLColumns<A>, SQLColumns<B>, SQLColumns<C>, SQLColumns<D>, SQLColumns<E>) {
        (clauses.columns(0), clauses.columns(1), clauses.columns(2), clauses.columns(3), clauses.columns(4))
    }
}

extension SQLFiveWayJoin: SQLRequest, SQLQueryable where A: SQLSource, B: SQLSource, C: SQLSource, D: SQLSource, E: SQLSource {
    public var selection: SQLSelection<(A, B, C, D, E)> {
        get {
            SQLSelection(
                clauses,
                reader: { row in
                    let sides = try SQLSide.all(row, 5)
                    return { row in
                        (
                            try sides[0].read(row, as: A.self), try sides[1].read(row, as: B.self),
                            try sides[2].read(row, as: C.self), try sides[3].read(row, as: D.self),
                            try sides[4].read(row, as: E.self)
                        )
                    }
                })
        }
        set { clauses = newValue.clauses }
    }
}

/// Joins with a fifth table. Without a condition, the tables are joined on the only foreign key between the new table and the
/// others.
extension SQLFourWayJoin where A: SQLSource, B: SQLSource, C: SQLSource, D: SQLSource {
    /// A condition for a join.
    public typealias On<E> = (SQLColumns<A>, SQLColumns<B>, SQLColumns<C>, SQLColumns<D>, SQLColumns<E>) -> SQLPredicate

    /// An inner join: the matching rows.
    public func join<E: SQLRecord>(_ type: E.Type, on condition: On<E>? = nil) -> SQLFiveWayJoin<A, B, C, D, E> {
        SQLFiveWayJoin(joined(type, "JOIN", condition))
    }

    /// A left join: the matching rows, and the rows without a match, with nil.
    public func leftJoin<E: SQLRecord>(_ type: E.Type, on condition: On<E>? = nil) -> SQLFiveWayJoin<A, B, C, D, E?> {
        SQLFiveWayJoin(joined(type, "LEFT JOIN", condition))
    }

    private func joined<E: SQLRecord>(_ type: E.Type, _ keyword: String, _ condition: On<E>?) -> SQLClauses {
        selection.clauses.joined(
            E.source, keyword, condition.map { condition in
                { clauses in
                    condition(clauses.columns(0), clauses.columns(1), clauses.columns(2), clauses.columns(3), clauses.columns(4))
                }
            })
    }
}
