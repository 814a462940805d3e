import Foundation
import SQLCipherKitCore

extension SQLExpression {
    /// Whether the expression is NULL.
    public var isNull: SQLPredicate {
        term(.isNull) ?? SQLPredicate("\(operand(.atom)) IS NULL", .comparison)
    }

    /// Whether the expression is not NULL.
    public var isNotNull: SQLPredicate {
        term(.isNotNull) ?? SQLPredicate("\(operand(.atom)) IS NOT NULL", .comparison)
    }

    private func compare<T>(_ name: String, _ other: SQLExpression<T>) -> SQLPredicate {
        SQLPredicate("\(operand(.atom)) \(raw: name) \(other.operand(.atom))", .comparison)
    }

    private func same<T>(_ name: String, _ other: SQLExpression<T>) -> SQLPredicate {
        DocumentTypes.contains(Value.self) ? isDocument(name, other) : compare(name, other)
    }

    private func compare(_ name: String, _ value: some SQLValueConvertible) -> SQLPredicate {
        SQLPredicate("\(operand(.atom)) \(raw: name) \(value)", .comparison)
    }

    private func compare<T: SQLValueConvertible>(
        _ comparison: SQLTerms.Comparison, _ value: T, ordered: Bool = false
    ) -> SQLPredicate {
        let isOrderedDecimal = ordered && (T.self == Decimal.self || T.self == Decimal?.self)
        if profile == nil, !isOrderedDecimal {
            return term(comparison, value) ?? compare(comparison.text, value)
        }
        let value = ProfiledValue(value, profile, isOrderedDecimal: isOrderedDecimal)
        return term(comparison, value) ?? compare(comparison.text, value)
    }

    /// The comparison of a column with a value.
    private func term(_ comparison: SQLTerms.Comparison, _ value: some SQLValueConvertible) -> SQLPredicate? {
        guard case .column(let column) = fragment else { return nil }
        var values = StatementArguments()
        values.append(value)
        return SQLTerms(column, comparison, values).map { SQLPredicate(.terms($0), .comparison) }
    }

    /// The comparison of a column with NULL.
    private func term(_ comparison: SQLTerms.Comparison) -> SQLPredicate? {
        guard case .column(let column) = fragment else { return nil }
        return SQLTerms(column, comparison, StatementArguments()).map { SQLPredicate(.terms($0), .comparison) }
    }

    /// The value to bind when it is compared with this expression.
    private func bound<T: SQLValueConvertible>(_ value: T, ordered: Bool = false) -> any SQLValueConvertible {
        let isOrderedDecimal = ordered && (T.self == Decimal.self || T.self == Decimal?.self)
        return profile == nil && !isOrderedDecimal ? value : ProfiledValue(value, profile, isOrderedDecimal: isOrderedDecimal)
    }
}

/// Comparisons with a value, which is bound.
extension SQLExpression where Value: SQLValueConvertible {
    public static func == (a: Self, b: Value) -> SQLPredicate {
        if b.isSQLNull { return a.isNull }
        return Value._isJSONDocument ? a.isDocument("=", b) : a.compare(.equal, b)
    }
    public static func != (a: Self, b: Value) -> SQLPredicate {
        if b.isSQLNull { return a.isNotNull }
        let isNullable = Value.self is any SQLNullable.Type
        if Value._isJSONDocument { return a.isDocument(isNullable ? "IS NOT" : "<>", b) }
        return a.compare(isNullable ? .isNot : .notEqual, b)
    }
    public static func < (a: Self, b: Value) -> SQLPredicate { a.compare(.less, b, ordered: true) }
    public static func <= (a: Self, b: Value) -> SQLPredicate { a.compare(.lessOrEqual, b, ordered: true) }
    public static func > (a: Self, b: Value) -> SQLPredicate { a.compare(.greater, b, ordered: true) }
    public static func >= (a: Self, b: Value) -> SQLPredicate { a.compare(.greaterOrEqual, b, ordered: true) }

    /// Whether the expression is one of these values. NULL matches if the list contains nil.
    public func `in`(_ values: [Value]) -> SQLPredicate {
        let present = values.filter { !$0.isSQLNull }
        let found: SQLPredicate
        if Value._isJSONDocument {
            found = isDocument(in: present)
        } else {
            let list: SQL = profile.map { profile in "\(present.map { ProfiledValue($0, profile) })" } ?? "\(present)"
            found = SQLPredicate("\(operand(.atom)) IN \(list)", .comparison)
        }
        return present.count == values.count ? found : found || isNull
    }

    /// Whether the expression lies between two values, inclusive.
    public func between(_ lower: Value, and upper: Value) -> SQLPredicate {
        SQLPredicate("\(operand(.atom)) BETWEEN \(bound(lower, ordered: true)) AND \(bound(upper, ordered: true))", .comparison)
    }

    /// Whether the expression lies in a range, inclusive of both ends.
    public func between(_ range: ClosedRange<Value>) -> SQLPredicate where Value: Comparable {
        between(range.lowerBound, and: range.upperBound)
    }
}

/// Comparisons with another expression; one side may be optional.
extension SQLExpression {
    public static func == (a: Self, b: Self) -> SQLPredicate { a.same(Value.self is any SQLNullable.Type ? "IS" : "=", b) }
    public static func == (a: SQLExpression<Value?>, b: Self) -> SQLPredicate { a.same("=", b) }
    public static func == (a: Self, b: SQLExpression<Value?>) -> SQLPredicate { a.same("=", b) }
    public static func != (a: Self, b: Self) -> SQLPredicate { a.same(Value.self is any SQLNullable.Type ? "IS NOT" : "<>", b) }
    public static func != (a: SQLExpression<Value?>, b: Self) -> SQLPredicate { a.same("IS NOT", b) }
    public static func != (a: Self, b: SQLExpression<Value?>) -> SQLPredicate { a.same("IS NOT", b) }
    public static func < (a: Self, b: Self) -> SQLPredicate { a.compare("<", b) }
    public static func < (a: SQLExpression<Value?>, b: Self) -> SQLPredicate { a.compare("<", b) }
    public static func < (a: Self, b: SQLExpression<Value?>) -> SQLPredicate { a.compare("<", b) }
    public static func <= (a: Self, b: Self) -> SQLPredicate { a.compare("<=", b) }
    public static func <= (a: SQLExpression<Value?>, b: Self) -> SQLPredicate { a.compare("<=", b) }
    public static func <= (a: Self, b: SQLExpression<Value?>) -> SQLPredicate { a.compare("<=", b) }
    public static func > (a: Self, b: Self) -> SQLPredicate { a.compare(">", b) }
    public static func > (a: SQLExpression<Value?>, b: Self) -> SQLPredicate { a.compare(">", b) }
    public static func > (a: Self, b: SQLExpression<Value?>) -> SQLPredicate { a.compare(">", b) }
    public static func >= (a: Self, b: Self) -> SQLPredicate { a.compare(">=", b) }
    public static func >= (a: SQLExpression<Value?>, b: Self) -> SQLPredicate { a.compare(">=", b) }
    public static func >= (a: Self, b: SQLExpression<Value?>) -> SQLPredicate { a.compare(">=", b) }
}

/// Comparisons with a query's values. If these include a NULL, the negation with `!` is never true: exclude NULL, or use
/// ``SQLQueryable/exists``.
/// ```swift
/// Book.filter { $0.author.in(Author.filter { $0.country == "IT" }.select { $0.id }) }
/// ```
extension SQLExpression {
    /// Whether the expression is one of a query's values.
    public func `in`(_ selection: SQLSelection<Value>) -> SQLPredicate { among(selection.subquery) }

    /// Whether the expression is one of a query's values, some of which may be NULL.
    public func `in`(_ selection: SQLSelection<Value?>) -> SQLPredicate { among(selection.subquery) }

    /// Whether the expression is not NULL and is one of a query's values.
    public func `in`<T>(_ selection: SQLSelection<T>) -> SQLPredicate where Value == T? { among(selection.subquery) }

    private func among(_ subquery: SQL) -> SQLPredicate { SQLPredicate("\(operand(.atom)) IN (\(subquery))", .comparison) }
}

/// Text matching (<https://sqlite.org/lang_expr.html#like>). Case is ignored for ASCII letters only.
extension SQLExpression {
    /// Whether the text matches a pattern in which `%` stands for any text and `_` for any character.
    public func like(_ pattern: String) -> SQLPredicate {
        let isWhole = !pattern.utf8.contains(0)
        return isWhole ? compare("LIKE", pattern) : SQLPredicate("\(operand(.atom)) LIKE \(LikePattern.cut)", .comparison)
    }

    /// Whether the text matches a pattern in which text is taken literally, such as `.contains("100%")`.
    public func like(_ pattern: LikePattern) -> SQLPredicate {
        SQLPredicate(pattern.condition(on: operand(.atom)), .comparison)
    }
}

/// A type whose values may be NULL.
protocol SQLNullable {
    static var wrapped: any Any.Type { get }
}

extension Optional: SQLNullable {
    static var wrapped: any Any.Type { Wrapped.self }
}

extension SQLValueConvertible {
    /// Whether the value is nil or stored as NULL.
    var isSQLNull: Bool {
        // The most frequent types, whose values need not be made to know that they are not NULL.
        if Self.self == Int64.self || Self.self == Int.self || Self.self == String.self { return false }
        return (try? sqlValue) == .null
    }
}
