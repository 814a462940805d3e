import SQLCipherKitCore

/// Comparisons of whole JSON documents: of ``JSONColumn``, ``JSONValue`` and plain `Codable` values that are stored as JSON, with a
/// value or another expression.
///
/// `==`, `!=` and `in` compare documents as minified JSON text, whether they are stored as text or as JSONB. That finds what this
/// package has stored from an equal value. The text decides: `1e2` differs from `100.0`, `-0.0` from `0.0`, `"\u0041"` from `"A"`,
/// and the order of members matters. If a column does not contain JSON, the query throws. The comparison cannot use an index on the
/// column itself, only one on the expression `json(column)`.
extension SQLExpression {
    /// Whether a value stored as JSON, or another one that codes itself, equals `b`; nil is NULL.
    @_disfavoredOverload
    public static func == (a: Self, b: Value) -> SQLPredicate where Value: Codable { a.isStored(.equal, b) ?? a.isNull }

    /// Whether a value stored as JSON, or another one that codes itself, differs from `b`; nil is NULL.
    @_disfavoredOverload
    public static func != (a: Self, b: Value) -> SQLPredicate where Value: Codable { a.isStored(.notEqual, b) ?? a.isNotNull }

    /// Whether a value stored as JSON, or another one that codes itself, is one of these. NULL matches if the list contains nil.
    @_disfavoredOverload
    public func `in`(_ values: some Sequence<Value>) -> SQLPredicate where Value: Codable {
        var (list, hasNil) = ([any SQLValueConvertible](), false)
        for value in values {
            if let stored = Self.stored(value) { list.append(stored) } else { hasNil = true }
        }
        let found = isAmong(list)
        return hasNil ? found || isNull : found
    }

    /// Whether a value that may be NULL is one of these.
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
        let isDocument = DocumentTypes.contains(Value.self)
        return isDocument ? self.isDocument(in: values.map(Self.argument)) : among(values.map { ProfiledValue($0, form) }, nil)
    }

    private func isStored(_ comparison: SQLTerms.Comparison, _ value: Value) -> SQLPredicate? where Value: Encodable {
        guard let stored = Self.stored(value) else { return nil }
        let canBeNull = canBeNull
        let comparison = comparison == .notEqual && canBeNull ? .isNot : comparison
        // A document comes as it is stored, any other value as itself.
        if stored is SQLValue || type(of: stored)._isJSONDocument { return isDocument(comparison, Self.argument(stored)) }
        return SQLPredicate(
            .comparison(side(canBeNull), comparison, SQLCondition.Side(sql: "\(ProfiledValue(stored, form))", canBeNull: false)))
    }

    private static func argument(_ value: any SQLValueConvertible) -> SQL { "\(value)" }
}
