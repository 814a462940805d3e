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
        SQLExpression<T?>(json.value(JSONPath(list: path)), .atom, formInside)
    }

    /// The form in which values are in the document.
    private var formInside: ValueProfile {
        guard let own = JSONCodingOptions.own(Value.self) else { return .insideJSON(form?.jsonDates.stored) }
        let dates: JSONDateStrategy =
            switch own.dates {
            case .iso8601, .custom: .iso8601
            case .millisecondsSince1970: .millisecondsSince1970
            case .secondsSince1970: .secondsSince1970
            case .deferredToDate: .deferredToDate
            }
        return .insideJSON(dates.stored)
    }
}

/// Arrays that are stored as JSON.
extension SQLExpression {
    /// The condition that an array in JSON contains a value (<https://sqlite.org/json1.html#jeach>). The query reads every array,
    /// because no index can help.
    /// ```swift
    /// let travelling = try db.fetchAll(Note.filter { $0.tags.contains("travel") })
    /// ```
    public func contains<Element: SQLJSONScalar>(_ element: Element) -> SQLPredicate where Value == [Element] { has(element) }

    /// The condition that an array in JSON contains a value. A NULL column counts as an empty array.
    @_documentation(visibility: private)
    public func contains<Element: SQLJSONScalar>(_ element: Element) -> SQLPredicate where Value == [Element]? { has(element) }

    /// The condition that the array in a ``JSONColumn`` contains a value.
    public func contains<Element: SQLJSONScalar>(_ element: Element) -> SQLPredicate where Value == JSONColumn<[Element]> {
        has(element)
    }

    private func has<Element: SQLJSONScalar>(_ element: Element) -> SQLPredicate {
        let each: SQL = "SELECT 1 FROM json_each(\(sql)) AS sqlcipherkit_each WHERE sqlcipherkit_each.value = \(element)"
        return SQLPredicate("EXISTS (\(each))", .atom)
    }
}

/// Comparisons of whole JSON documents: of ``JSONColumn``, ``JSONValue`` and plain `Codable` values that are stored as JSON, with a
/// value or another expression.
///
/// `==`, `!=` and `in` compare documents as minified JSON text, whether they are stored as text or as JSONB. The comparison finds
/// documents that this package has stored from an equal value. The text decides: `1e2` differs from `100.0`, `-0.0` from `0.0`,
/// `"\u0041"` from `"A"`, and the order of members matters. If a column does not contain JSON, the query throws. The comparison
/// cannot use an index on the column itself, only an index on the expression `json(column)`.
extension SQLExpression {
    /// The condition that a value of a `Codable` type, stored as JSON or as a single value, equals `b`; nil is NULL.
    @_disfavoredOverload
    public static func == (a: Self, b: Value) -> SQLPredicate where Value: Codable { a.isStored(.equal, b) ?? a.isNull }

    /// The condition that a value of a `Codable` type, stored as JSON or as a single value, differs from `b`; nil is NULL.
    @_disfavoredOverload
    public static func != (a: Self, b: Value) -> SQLPredicate where Value: Codable { a.isStored(.notEqual, b) ?? a.isNotNull }

    /// The condition that a value of a `Codable` type, stored as JSON or as a single value, equals one of these values. NULL
    /// matches if the list contains nil.
    @_disfavoredOverload
    public func `in`(_ values: some Sequence<Value>) -> SQLPredicate where Value: Codable {
        var (list, hasNil) = ([any SQLValueConvertible](), false)
        for value in values {
            if let stored = Self.stored(value) { list.append(stored) } else { hasNil = true }
        }
        let found = isAmong(list)
        return hasNil ? found || isNull : found
    }

    /// The condition that a value that may be NULL equals one of these values.
    @_disfavoredOverload
    @_documentation(visibility: private)
    public func `in`<T: Codable>(_ values: some Sequence<T>) -> SQLPredicate where Value == T? {
        isAmong(values.compactMap { SQLExpression<T>.stored($0) })
    }

    func isDocument(_ comparison: SQLTerms.Comparison, _ value: SQL) -> SQLPredicate {
        SQLPredicate(
            .comparison(
                SQLCondition.Side(sql: "json(\(sql))", canBeNull: canBeNull), comparison,
                SQLCondition.Side(sql: "json(\(value))", canBeNull: false)))
    }

    func isDocument(in values: [SQL]) -> SQLPredicate {
        let list = values.map { value -> SQL in "json(\(value))" }
        return SQLPredicate(
            .text("json(\(sql)) IN (\(list: list))", .comparison, isLoose: canBeNull && !values.isEmpty))
    }

    private func isAmong(_ values: [any SQLValueConvertible]) -> SQLPredicate {
        if values.contains(where: Self.isDocument) { return isDocument(in: values.map { Self.bound($0, form) }) }
        return among(values.map { ProfiledValue($0, form) }, nil)
    }

    private func isStored(_ comparison: SQLTerms.Comparison, _ value: Value) -> SQLPredicate? where Value: Encodable {
        guard let stored = Self.stored(value) else { return nil }
        let canBeNull = canBeNull
        let comparison = comparison == .notEqual && canBeNull ? .isNot : comparison
        if Self.isDocument(stored) { return isDocument(comparison, Self.bound(stored, form)) }
        return SQLPredicate(
            .comparison(side(canBeNull), comparison, SQLCondition.Side(sql: "\(ProfiledValue(stored, form))", canBeNull: false)))
    }

    /// A document comes as it is stored, any other value as itself.
    private static func isDocument(_ stored: any SQLValueConvertible) -> Bool {
        stored is SQLValue || type(of: stored)._isJSONDocument
    }
}

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
    /// The property must be a stored property, and so must the properties on the way to it: `\.address.city`, `\.address?.city`.
    /// Otherwise running the query throws ``DatabaseError/Reason/invalidArgument``. Each property is looked up under its own name:
    /// if its coding key is different, pass the coding key to ``json(_:as:)`` instead. The type of the property must be a
    /// ``SQLJSONScalar``. For elements of arrays and for other types, see ``json(_:as:)`` as well.
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

    /// Unavailable, because a column stores such a value in the type's own form, not as JSON.
    @available(*, unavailable, message: "the column is not stored as JSON")
    public func json<T>(_ property: KeyPath<Value, T> & Sendable) -> SQLExpression<T?>
    where Value: Codable & SQLValueConvertible { SQLExpression<T?>("NULL", .atom) }

    private func value<Root, Property, T>(_ property: KeyPath<Root, Property> & Sendable) -> SQLExpression<T?> {
        guard let names = PropertyName.path(of: property) else {
            let error = DatabaseError.invalidArgument(
                """
                \(property) names no property of the JSON of \(Root.self): each of its parts must be stored in it, and have a \
                coding key of the same name. Otherwise use json("…", as:)
                """)
            return SQLExpression<T?>("\(RefusedValue(error))", .atom)
        }
        return SQLExpression<T?>(json.value(JSONPath(components: names.map { .key($0) })), .atom)
    }
}
