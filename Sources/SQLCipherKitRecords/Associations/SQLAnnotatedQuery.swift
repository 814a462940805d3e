import SQLCipherKitCore

/// A query for records with computed values, from `annotated(with:)`. Each element is a tuple of the record and its values.
public struct SQLAnnotatedQuery<Record: SQLRecord, Element>: SQLQueryable {
    public var selection: SQLSelection<Element>

    public var columns: SQLColumns<Record> { selection.clauses.columns(0) }

    /// Fetches each row with an association: `((folder, count), notes)`.
    public func including<A: SQLRecord, X>(_ a: SQLAssociation<Record, A, X>) -> SQLIncludingQuery<Record, (Element, X)> {
        SQLIncludingQuery(selection, .one(a))
    }

    /// Fetches each row with two associations.
    public func including<A: SQLRecord, X, B: SQLRecord, Y>(
        _ a: SQLAssociation<Record, A, X>, _ b: SQLAssociation<Record, B, Y>
    ) -> SQLIncludingQuery<Record, (Element, X, Y)> {
        SQLIncludingQuery(selection, .two(a, b))
    }
}

extension SQLQuery {
    /// Fetches each record with the value of an expression, such as the number of its associated records.
    /// ```swift
    /// let rows = try db.fetchAll(Folder.order { $0.name }.annotated { Folder.notes.of($0).count })
    /// // [(Folder, Int)]
    /// ```
    public func annotated<A: SQLValueConvertible>(
        with expression: (SQLColumns<Record>) -> SQLExpression<A>
    ) -> SQLAnnotatedQuery<Record, (Record, A)> {
        annotated { SQLValueList(expression($0)) } read: { record, row, list, first in (record, try list.read(row, from: first)) }
    }

    /// Fetches each record with the values of two expressions.
    /// ```swift
    /// let rows = try db.fetchAll(Folder.all.annotated { folder in
    ///     let notes = Folder.notes.of(folder)
    ///     return (notes.count, notes.select { $0.date.max() }.scalarSubquery())
    /// })
    /// // [(Folder, Int, Date?)]
    /// ```
    public func annotated<A: SQLValueConvertible, B: SQLValueConvertible>(
        with expressions: (SQLColumns<Record>) -> (SQLExpression<A>, SQLExpression<B>)
    ) -> SQLAnnotatedQuery<Record, (Record, A, B)> {
        annotated { columns in
            let made = expressions(columns)
            return SQLValueList(made.0, made.1)
        } read: { record, row, list, first in
            let (a, b): (A, B) = try list.read(row, from: first)
            return (record, a, b)
        }
    }

    /// Fetches each record with the values of three expressions.
    public func annotated<A: SQLValueConvertible, B: SQLValueConvertible, C: SQLValueConvertible>(
        with expressions: (SQLColumns<Record>) -> (SQLExpression<A>, SQLExpression<B>, SQLExpression<C>)
    ) -> SQLAnnotatedQuery<Record, (Record, A, B, C)> {
        annotated { columns in
            let made = expressions(columns)
            return SQLValueList(made.0, made.1, made.2)
        } read: { record, row, list, first in
            let (a, b, c): (A, B, C) = try list.read(row, from: first)
            return (record, a, b, c)
        }
    }

    private func annotated<Element>(
        _ expressions: (SQLColumns<Record>) -> SQLValueList,
        read: @escaping @Sendable (Record, borrowing Row, SQLValueList, _ first: Int) throws -> Element
    ) -> SQLAnnotatedQuery<Record, Element> {
        let (query, list) = with(expressions)
        let clauses = query.selection.clauses
        let columns: SQL = "\(clauses.records), NULL AS \(identifier: SQLSide.separator), \(list.sql)"
        return SQLAnnotatedQuery(
            selection: SQLSelection(
                clauses, columns,
                reader: { row in
                    let sides = try SQLSide.all(row, 2)
                    return { row in try read(try sides[0].read(row, as: Record.self), row, list, sides[1].range.lowerBound) }
                }))
    }
}

extension SQLRecord {
    /// All records, each with the value of an expression; see ``SQLAnnotatedQuery``.
    public static func annotated<A: SQLValueConvertible>(
        with expression: (SQLColumns<Self>) -> SQLExpression<A>
    ) -> SQLAnnotatedQuery<Self, (Self, A)> {
        all.annotated(with: expression)
    }
}
