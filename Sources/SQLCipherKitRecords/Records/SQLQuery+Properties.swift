import SQLCipherKitCore

/// Short forms that begin at the record's type, or name properties.
extension SQLQuery {
    /// Sorts the rows by properties, ascending.
    /// ```swift
    /// let notes = try db.fetchAll(Note.all.order(\.title, \.id))
    /// ```
    public func order<each Value>(_ properties: repeat KeyPath<Record, each Value> & Sendable) -> Self {
        order { columns in
            var terms: [SQLOrdering] = []
            for property in repeat each properties { terms.append(columns[dynamicMember: property].ascending) }
            return terms
        }
    }
}

extension SQLRecord {
    /// All records, sorted by properties, ascending.
    public static func order<each Value>(_ properties: repeat KeyPath<Self, each Value> & Sendable) -> SQLQuery<Self> {
        all.order(repeat each properties)
    }

    /// One row for each group of records that are equal in these expressions; see ``SQLQueryable/group(by:)``.
    public static func group(@SQLOrderingBuilder by terms: (SQLColumns<Self>) -> [SQLOrdering]) -> SQLQuery<Self> {
        all.group(by: terms)
    }

    /// Each distinct record once.
    public static func distinct() -> SQLQuery<Self> { all.distinct() }

    /// All records, each with the values of two expressions.
    public static func annotated<A: SQLValueConvertible, B: SQLValueConvertible>(
        with expressions: (SQLColumns<Self>) -> (SQLExpression<A>, SQLExpression<B>)
    ) -> SQLAnnotatedQuery<Self, (Self, A, B)> {
        all.annotated(with: expressions)
    }
}
