import SQLCipherKitCore

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

// A type for each number of tables: one with a parameter pack compiles, but Swift 6.3 does not infer what its closures take.

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

/// The columns of a result that belong to one of its tables.
struct SQLSide {
    private let names: ColumnNames

    /// The name of the column that separates two tables' columns.
    static let separator = "sqlcipherkit_next"

    /// The sides of a result, in order, as divided by the separators.
    static func all(_ row: borrowing Row, _ count: Int) throws -> [SQLSide] {
        var sides: [SQLSide] = []
        var start = 0
        let names = row.columnNames
        for index in 0...names.count where index == names.count || names[index] == separator {
            sides.append(SQLSide(row, start..<index))
            start = index + 1
        }
        guard sides.count == count else {
            throw DatabaseError.misuse("a column is named \(separator), which is reserved for joins")
        }
        return sides
    }

    /// All sides except the last, as one side, and the last side.
    static func divided(_ row: borrowing Row) throws -> (first: SQLSide, last: SQLSide) {
        let names = row.columnNames
        let end = names.lastIndex(of: separator) ?? 0
        return (SQLSide(row, 0..<end), SQLSide(row, end + 1..<names.count))
    }

    var range: Range<Int> { names.range }

    private init(_ row: borrowing Row, _ columns: Range<Int>) {
        names = ColumnNames(row.handle, only: columns)
    }

    /// Reads a record from the columns of this side.
    func read<T: SQLRowConvertible>(_ row: borrowing Row, as type: T.Type) throws -> T { try withRow(row) { try T(row: $0) } }

    /// Lends the row with only the columns of this side.
    func withRow<R>(_ row: borrowing Row, _ body: (borrowing Row) throws -> R) rethrows -> R {
        try body(Row(row.handle, Unmanaged.passUnretained(names)))
    }
}
