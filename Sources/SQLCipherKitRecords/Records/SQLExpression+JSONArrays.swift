import SQLCipherKitCore

/// Arrays that are stored as JSON.
extension SQLExpression {
    /// Whether an array that is stored as JSON has an element (<https://sqlite.org/json1.html#jeach>). It reads each array: an index
    /// does not help.
    /// ```swift
    /// let travelling = try db.fetchAll(Note.filter { $0.tags.contains("travel") })
    /// ```
    public func contains<Element: SQLJSONScalar>(_ element: Element) -> SQLPredicate where Value == [Element] { has(element) }

    /// Whether an array that may be NULL, and then has no elements, has an element.
    @_documentation(visibility: private)
    public func contains<Element: SQLJSONScalar>(_ element: Element) -> SQLPredicate where Value == [Element]? { has(element) }

    /// Whether an array in a column of its own has an element.
    public func contains<Element: SQLJSONScalar>(_ element: Element) -> SQLPredicate where Value == JSONColumn<[Element]> {
        has(element)
    }

    private func has<Element: SQLJSONScalar>(_ element: Element) -> SQLPredicate {
        let each: SQL = "SELECT 1 FROM json_each(\(sql)) AS sqlcipherkit_each WHERE sqlcipherkit_each.value = \(element)"
        return SQLPredicate("EXISTS (\(each))", .atom)
    }
}
