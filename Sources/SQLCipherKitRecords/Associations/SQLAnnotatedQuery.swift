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
        annotated { [expression($0).sql] } read: { record, row, index in (record, try row.get(index)) }
    }

    /// Fetches each record with the values of two expressions.
    /// ```swift
    /// let rows = try db.fetchAll(Folder.all.annotated { folder in
    ///     let notes = Folder.notes.of(folder)
    ///     return (notes.count, notes.select { $0.date.max() }.value())
    /// })
    /// // [(Folder, Int, Date?)]
    /// ```
    public func annotated<A: SQLValueConvertible, B: SQLValueConvertible>(
        with expressions: (SQLColumns<Record>) -> (SQLExpression<A>, SQLExpression<B>)
    ) -> SQLAnnotatedQuery<Record, (Record, A, B)> {
        annotated { columns in
            let made = expressions(columns)
            return [made.0.sql, made.1.sql]
        } read: { record, row, index in
            (record, try row.get(index), try row.get(index + 1))
        }
    }

    /// Fetches each record with the values of three expressions.
    public func annotated<A: SQLValueConvertible, B: SQLValueConvertible, C: SQLValueConvertible>(
        with expressions: (SQLColumns<Record>) -> (SQLExpression<A>, SQLExpression<B>, SQLExpression<C>)
    ) -> SQLAnnotatedQuery<Record, (Record, A, B, C)> {
        annotated { columns in
            let made = expressions(columns)
            return [made.0.sql, made.1.sql, made.2.sql]
        } read: { record, row, index in
            (record, try row.get(index), try row.get(index + 1), try row.get(index + 2))
        }
    }

    private func annotated<Element>(
        _ expressions: (SQLColumns<Record>) -> [SQL],
        read: @escaping @Sendable (Record, borrowing Row, _ first: Int) throws -> Element
    ) -> SQLAnnotatedQuery<Record, Element> {
        let (query, list) = with(expressions)
        let clauses = query.selection.clauses
        let columns: SQL = "\(clauses.records), NULL AS \(identifier: SQLSide.separator), \(list: list)"
        return SQLAnnotatedQuery(
            selection: SQLSelection(
                clauses, columns,
                reader: { row in
                    let sides = try SQLSide.all(row, 2)
                    return { row in try read(try sides[0].withRow(row, Record.readSQL), row, sides[1].range.lowerBound) }
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
