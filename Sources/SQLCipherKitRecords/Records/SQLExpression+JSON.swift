import SQLCipherKitCore

/// JSON in a column (<https://sqlite.org/json1.html>), from a ``JSONColumn`` or a property that is stored as JSON.
extension SQLExpression {
    /// The document, for SQLite's JSON functions.
    public var json: JSONExpression { JSONExpression(sql) }

    /// The value at a path of the document, as an SQL value; nil if there is none.
    /// ```swift
    /// let romans = try db.fetchAll(Note.filter { $0.meta.json("city", as: String.self) == "Roma" })
    /// // ("note"."meta" ->> '$.city') = ?
    /// ```
    /// An index on the same path is used; see ``Schema/createJSONIndex(_:on:column:_:isUnique:where:)``.
    public func json<T: SQLValueConvertible>(_ path: any JSONPathComponent..., as type: T.Type) -> SQLExpression<T?> {
        SQLExpression<T?>(json.value(JSONPath(list: path)), .atom, Self.formInside)
    }

    /// The form in which values are in the document.
    static var formInside: ValueProfile {
        var form = ValueProfile(dates: .iso8601, uuids: .uppercaseText, decimals: .number)
        if case .secondsSince1970 = JSONCodingOptions.of(Value.self).dates { form.dates = .realSeconds }
        return form
    }
}
