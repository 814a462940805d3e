/// A query for the records of four tables; see ``SQLQueryable``.
public struct SQLFourWayJoin<A, B, C, D>: Sendable {
    private var clauses: SQLClauses

    init(_ clauses: SQLClauses) { self.clauses = clauses }
}

extension SQLFourWayJoin: SQLRequest, SQLFilterable, SQLQueryable where A: _SQLSource, B: _SQLSource, C: _SQLSource, D: _SQLSource {
    public typealias Columns = (SQLColumns<A>, SQLColumns<B>, SQLColumns<C>, SQLColumns<D>)

    public var columns: Columns {
        (clauses.columns(0), clauses.columns(1), clauses.columns(2), clauses.columns(3))
    }

    public var selection: SQLSelection<(A, B, C, D)> {
        get {
            SQLSelection(
                clauses,
                reader: { row in
                    let sides = try SQLSide.all(row, 4)
                    return { row in
                        (
                            try sides[0].read(row, as: A.self), try sides[1].read(row, as: B.self),
                            try sides[2].read(row, as: C.self), try sides[3].read(row, as: D.self)
                        )
                    }
                })
        }
        set { clauses = newValue.clauses }
    }
}

/// Joins with a fourth table. Without a condition, the tables are joined on the only foreign key between the new table and the
/// others.
extension SQLThreeWayJoin where A: _SQLSource, B: _SQLSource, C: _SQLSource {
    typealias On<D> = (SQLColumns<A>, SQLColumns<B>, SQLColumns<C>, SQLColumns<D>) -> SQLPredicate

    /// An inner join: the matching rows.
    public func join<D: SQLRecord>(
        _ type: D.Type, on condition: ((SQLColumns<A>, SQLColumns<B>, SQLColumns<C>, SQLColumns<D>) -> SQLPredicate)? = nil
    ) -> SQLFourWayJoin<A, B, C, D> {
        SQLFourWayJoin(joined(type, "JOIN", condition))
    }

    /// A left join: the matching rows, and the rows without a match, with nil.
    public func leftJoin<D: SQLRecord>(
        _ type: D.Type, on condition: ((SQLColumns<A>, SQLColumns<B>, SQLColumns<C>, SQLColumns<D>) -> SQLPredicate)? = nil
    ) -> SQLFourWayJoin<A, B, C, D?> {
        SQLFourWayJoin(joined(type, "LEFT JOIN", condition))
    }

    private func joined<D: SQLRecord>(_ type: D.Type, _ keyword: String, _ condition: On<D>?) -> SQLClauses {
        selection.clauses.joined(
            D.source, keyword, condition.map { condition in
                { clauses in
                    condition(clauses.columns(0), clauses.columns(1), clauses.columns(2), clauses.columns(3))
                }
            })
    }
}
