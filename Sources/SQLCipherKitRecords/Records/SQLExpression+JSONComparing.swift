import SQLCipherKitCore

/// Comparisons of whole JSON documents: of ``JSONColumn``, ``JSONValue`` and plain `Codable` values that are stored as JSON, with a
/// value or another expression.
///
/// `==`, `!=` and `in` compare documents as minified JSON text, whether they are stored as text or as JSONB. That finds what this
/// package has stored from an equal value. The text decides: `1e2` differs from `100.0`, `-0.0` from `0.0`, `"\u0041"` from `"A"`,
/// and the order of members matters. If a column does not contain JSON, the query throws. The comparison cannot use an index on the
/// column itself, only one on the expression `json(column)`.
extension SQLExpression {
    /// Whether a value stored as JSON equals `b`; nil is NULL.
    @_disfavoredOverload
    public static func == (a: Self, b: Value) -> SQLPredicate where Value: Codable { a.isStored("=", b) ?? a.isNull }

    /// Whether a value stored as JSON differs from `b`; nil is NULL.
    @_disfavoredOverload
    public static func != (a: Self, b: Value) -> SQLPredicate where Value: Codable {
        a.isStored(Value.self is any SQLNullable.Type ? "IS NOT" : "<>", b) ?? a.isNotNull
    }

    func isDocument(_ comparison: String, _ value: some SQLValueConvertible) -> SQLPredicate {
        SQLPredicate("json(\(sql)) \(raw: comparison) json(\(value))", .comparison)
    }

    func isDocument<T>(_ comparison: String, _ other: SQLExpression<T>) -> SQLPredicate {
        SQLPredicate("json(\(sql)) \(raw: comparison) json(\(other.sql))", .comparison)
    }

    func isDocument(in values: [some SQLValueConvertible]) -> SQLPredicate {
        let list = values.map { value -> SQL in "json(\(value))" }
        return SQLPredicate("json(\(sql)) IN (\(list: list))", .comparison)
    }

    private func isStored(_ comparison: String, _ value: some Encodable) -> SQLPredicate? {
        do {
            guard let stored = try ColumnEncoder.encode(value, []) else { return nil }
            // A document comes as it is stored, any other value as itself.
            if stored is SQLValue || type(of: stored)._isJSONDocument { return isDocument(comparison, stored) }
            return SQLPredicate("\(operand(.atom)) \(raw: comparison) \(ProfiledValue(stored, profile))", .comparison)
        } catch {
            let error = error as? DatabaseError ?? .invalidArgument("a \(Value.self) cannot be stored: \(error.jsonDescription)")
            return isDocument(comparison, RefusedValue(error))
        }
    }
}
