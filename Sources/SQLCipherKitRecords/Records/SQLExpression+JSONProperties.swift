import SQLCipherKitCore

/// A type with the same values in JSON and in a column: text, numbers and booleans, which
/// may be optional. Dates are not among them, because their form in
/// JSON depends on ``JSONCodingOptions``.
public protocol SQLJSONScalar: SQLValueConvertible {}

extension String: SQLJSONScalar {}
extension Bool: SQLJSONScalar {}
extension Int: SQLJSONScalar {}
extension Int8: SQLJSONScalar {}
extension Int16: SQLJSONScalar {}
extension Int32: SQLJSONScalar {}
extension Int64: SQLJSONScalar {}
extension UInt8: SQLJSONScalar {}
extension UInt16: SQLJSONScalar {}
extension UInt32: SQLJSONScalar {}
extension Double: SQLJSONScalar {}
extension Float: SQLJSONScalar {}
extension Optional: SQLJSONScalar where Wrapped: SQLJSONScalar {}

/// A property of a document in a column, by its key path.
extension SQLExpression {
    /// A property of a document, as an SQL value; nil if the document lacks it.
    /// ```swift
    /// let romans = try db.fetchAll(Note.filter { $0.meta.json(\.city) == "Roma" })
    /// // ("note"."meta" ->> '$.city') = ?
    /// ```
    /// The property must be a stored one, and so must those on the way to it: `\.address.city`, `\.address?.city`. Each is found
    /// under its coding key. Otherwise running the query throws ``DatabaseError/Reason/invalidArgument``. Its type must be a
    /// ``SQLJSONScalar``. For elements of arrays and other types, see ``json(_:as:)``.
    public func json<Root, T: SQLJSONScalar>(_ property: KeyPath<Root, T> & Sendable) -> SQLExpression<T._Plain?>
    where Value == JSONColumn<Root> { value(property) }

    /// A property of a document that may be NULL, as an SQL value.
    @_documentation(visibility: private)
    public func json<Root, T: SQLJSONScalar>(_ property: KeyPath<Root, T> & Sendable) -> SQLExpression<T._Plain?>
    where Value == JSONColumn<Root>? { value(property) }

    /// A property of a `Codable` value that is stored as JSON, as an SQL value.
    public func json<T: SQLJSONScalar>(_ property: KeyPath<Value, T> & Sendable) -> SQLExpression<T._Plain?>
    where Value: Codable { value(property) }

    /// A property of a `Codable` value that is stored as JSON and may be NULL, as an SQL value.
    @_documentation(visibility: private)
    public func json<Root: Codable, T: SQLJSONScalar>(_ property: KeyPath<Root, T> & Sendable) -> SQLExpression<T._Plain?>
    where Value == Root? { value(property) }

    /// A value with its own form in a column is not JSON.
    @available(*, unavailable, message: "the column is not stored as JSON")
    public func json<T>(_ property: KeyPath<Value, T> & Sendable) -> SQLExpression<T?>
    where Value: Codable & SQLValueConvertible { SQLExpression<T?>("NULL", .atom) }

    private func value<Root, Property, T>(_ property: KeyPath<Root, Property> & Sendable) -> SQLExpression<T?> {
        guard let names = PropertyName.path(of: property) else {
            let error = DatabaseError.invalidArgument(
                """
                \(property) names no property of the JSON of \(Root.self): each of its parts must be stored in it, under a coding \
                key that can be found out. Otherwise use json("…", as:)
                """)
            return SQLExpression<T?>("\(RefusedValue(error))", .atom)
        }
        return SQLExpression<T?>(json.value(JSONPath(components: names.map { .key($0) })), .atom)
    }
}
