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

/// The columns of a join's first table, for a closure that names no others.
extension SQLQueryable {
    /// The rows in which the first table's columns match a condition.
    @_disfavoredOverload
    public func filter<A, B>(_ condition: (SQLColumns<A>) -> SQLPredicate) -> Self where Columns == (SQLColumns<A>, SQLColumns<B>) {
        filter { a, _ in condition(a) }
    }

    /// Sorts the rows by columns of the first table.
    /// ```swift
    /// Author.leftJoin(Book.self).order { $0.name }
    /// ```
    @_disfavoredOverload
    public func order<A, B>(
        @SQLOrderingBuilder by terms: (SQLColumns<A>) -> [SQLOrdering]
    ) -> Self where Columns == (SQLColumns<A>, SQLColumns<B>) {
        order { a, _ in return terms(a) }
    }

    /// The rows in which the first table's columns match a condition.
    @_disfavoredOverload
    public func filter<A, B, C>(
        _ condition: (SQLColumns<A>) -> SQLPredicate
    ) -> Self where Columns == (SQLColumns<A>, SQLColumns<B>, SQLColumns<C>) {
        filter { a, _, _ in condition(a) }
    }

    /// Sorts the rows by columns of the first table.
    @_disfavoredOverload
    public func order<A, B, C>(
        @SQLOrderingBuilder by terms: (SQLColumns<A>) -> [SQLOrdering]
    ) -> Self where Columns == (SQLColumns<A>, SQLColumns<B>, SQLColumns<C>) {
        order { a, _, _ in return terms(a) }
    }
}

extension SQLRecord {
    /// All records, sorted by properties, ascending.
    public static func order<each Value>(_ properties: repeat KeyPath<Self, each Value> & Sendable) -> SQLQuery<Self> {
        all.order(repeat each properties)
    }
}
