import SQLCipherKitCore

/// Compounds of queries (<https://sqlite.org/lang_select.html#compound_select_statements>).
/// ```swift
/// let words = Book.all.select { $0.title }.union(Author.all.select { $0.name })
/// let first = try db.fetchAll(words.order(byColumn: 1).limit(20))
/// ```
/// The order and the limit of each part are its own; those that follow are the whole's.
extension SQLSelection {
    /// The rows of both, each different row once.
    public func union(_ other: some SQLRequest<Element>) -> Self { compound("UNION", other.selection) }

    /// The rows of both, one after the other.
    public func unionAll(_ other: some SQLRequest<Element>) -> Self { compound("UNION ALL", other.selection) }

    /// The rows that both have, each different row once.
    public func intersect(_ other: some SQLRequest<Element>) -> Self { compound("INTERSECT", other.selection) }

    /// The rows that the other one does not have, each different row once.
    public func except(_ other: some SQLRequest<Element>) -> Self { compound("EXCEPT", other.selection) }

    /// In the order of a column of the result, counted from 1. Further calls add columns that decide where those before are equal.
    public func order(byColumn number: Int, descending: Bool = false) -> Self {
        var copy = self
        copy.clauses.orderings.append("\(raw: String(number))\(raw: descending ? " DESC" : "")")
        return copy
    }

    /// No more than so many rows, after leaving out so many.
    public func limit(_ count: Int, offset: Int = 0) -> Self {
        var copy = self
        (copy.clauses.limit, copy.clauses.offset) = (count, offset)
        return copy
    }

    /// The first row's value as an expression of another query (<https://sqlite.org/lang_expr.html#subq>); NULL if there is no row.
    /// ```swift
    /// Author.all.select { author in (author.name, Book.filter { $0.author == author.id }.select { $0.pages.max() }.value()) }
    /// ```
    @_disfavoredOverload
    public func value() -> SQLExpression<Element?> where Element: SQLValueConvertible { single() }

    /// The first row's value, which may be NULL.
    @_documentation(visibility: private)
    public func value<T: SQLValueConvertible>() -> SQLExpression<Element> where Element == T? { single() }

    private func single<T>() -> SQLExpression<T> { SQLExpression("(\(subquery))", .atom, forms?.first?.profile) }
}

extension SQLQuery {
    /// The records of both, each different one once.
    public func union(_ other: Self) -> Self { with(selection.union(other)) }

    /// The records of both, one after the other.
    public func unionAll(_ other: Self) -> Self { with(selection.unionAll(other)) }

    /// The records that both find.
    public func intersect(_ other: Self) -> Self { with(selection.intersect(other)) }

    /// The records that the other query does not find.
    public func except(_ other: Self) -> Self { with(selection.except(other)) }

    /// The query as a table of its own: for a condition on what its limit, its groups or its order have left.
    /// ```swift
    /// // Of the ten longest books those that Lem wrote.
    /// Book.order { $0.pages.descending }.limit(10).nested.filter { $0.author == lem.id }
    /// ```
    public var nested: Self { SQLQuery(SQLClauses(table, query: selection.subquery)) }

    /// The records of this query, those that belong to one of them, those that belong to one of these, and so on
    /// (<https://sqlite.org/lang_with.html#recursive_common_table_expressions>). Each is found once, so a circle ends.
    /// ```swift
    /// let inside = Folder.filter { $0.id == root }.recursive { folder, found in folder.parent == found.id }
    /// ```
    /// - Parameter belongs: whether a record of the table belongs to one that was found.
    public func recursive(_ belongs: (_ record: SQLColumns<Record>, _ found: SQLColumns<Record>) -> SQLPredicate) -> Self {
        var step = SQLClauses(table)
        step.sides.append(SQLClauses.Side(table: SQLTable(table.name), alias: SQLScope.freeName(table, step.sides)))
        let (next, found) = (step.sides[0], step.sides[1])
        let condition = SQLScope.within(step) { belongs(step.columns(0), SQLColumns(table: table, alias: found.alias)) }
        let name: SQL = "\(identifier: found.alias)"
        return SQLQuery(
            SQLClauses(
                table,
                query: """
                    WITH RECURSIVE \(name) AS (\(nested.selection.subquery) UNION \
                    SELECT \(next.columns) FROM \(next.source) JOIN \(name) ON \(condition.condition)) SELECT * FROM \(name)
                    """))
    }

    private var table: SQLTable { selection.clauses.sides[0].table }

    private func with(_ selection: SQLSelection<Record>) -> Self {
        var copy = self
        copy.selection = selection
        return copy
    }
}
