import Foundation

extension SQLExpression {
    /// Whether it has no value.
    public var isNull: SQLPredicate { SQLPredicate("\(operand(.atom)) IS NULL", .comparison) }

    /// Whether it has a value.
    public var isNotNull: SQLPredicate { SQLPredicate("\(operand(.atom)) IS NOT NULL", .comparison) }

    private func compare<T>(_ name: String, _ other: SQLExpression<T>) -> SQLPredicate {
        SQLPredicate("\(operand(.atom)) \(raw: name) \(other.operand(.atom))", .comparison)
    }

    private func compare(_ name: String, _ value: any SQLValueConvertible) -> SQLPredicate {
        SQLPredicate("\(operand(.atom)) \(raw: name) \(value)", .comparison)
    }

    /// What is bound for a value that is compared with this.
    private func bound<T: SQLValueConvertible>(_ value: T, ordered: Bool = false) -> any SQLValueConvertible {
        let isOrderedDecimal = ordered && (T.self == Decimal.self || T.self == Decimal?.self)
        return profile == nil && !isOrderedDecimal ? value : ProfiledValue(value, profile, isOrderedDecimal: isOrderedDecimal)
    }
}

/// With a value, which is bound.
extension SQLExpression where Value: SQLValueConvertible {
    public static func == (a: Self, b: Value) -> SQLPredicate { b.isSQLNull ? a.isNull : a.compare("=", a.bound(b)) }
    public static func != (a: Self, b: Value) -> SQLPredicate {
        b.isSQLNull ? a.isNotNull : a.compare(Value.self is any SQLNullable.Type ? "IS NOT" : "<>", a.bound(b))
    }
    public static func < (a: Self, b: Value) -> SQLPredicate { a.compare("<", a.bound(b, ordered: true)) }
    public static func <= (a: Self, b: Value) -> SQLPredicate { a.compare("<=", a.bound(b, ordered: true)) }
    public static func > (a: Self, b: Value) -> SQLPredicate { a.compare(">", a.bound(b, ordered: true)) }
    public static func >= (a: Self, b: Value) -> SQLPredicate { a.compare(">=", a.bound(b, ordered: true)) }

    /// Whether it is one of these values. NULL is one of them if the list has a nil.
    public func `in`(_ values: [Value]) -> SQLPredicate {
        let present = values.filter { !$0.isSQLNull }
        let list: SQL = profile.map { profile in "\(present.map { ProfiledValue($0, profile) })" } ?? "\(present)"
        let found = SQLPredicate("\(operand(.atom)) IN \(list)", .comparison)
        return present.count == values.count ? found : found || isNull
    }

    /// Whether it lies between two values, both included.
    public func between(_ lower: Value, and upper: Value) -> SQLPredicate {
        SQLPredicate("\(operand(.atom)) BETWEEN \(bound(lower, ordered: true)) AND \(bound(upper, ordered: true))", .comparison)
    }

    /// Whether it lies in a range, both ends included.
    public func between(_ range: ClosedRange<Value>) -> SQLPredicate where Value: Comparable {
        between(range.lowerBound, and: range.upperBound)
    }
}

/// With another expression; one side may be optional.
extension SQLExpression {
    public static func == (a: Self, b: Self) -> SQLPredicate { a.compare(Value.self is any SQLNullable.Type ? "IS" : "=", b) }
    public static func == (a: SQLExpression<Value?>, b: Self) -> SQLPredicate { a.compare("=", b) }
    public static func == (a: Self, b: SQLExpression<Value?>) -> SQLPredicate { a.compare("=", b) }
    public static func != (a: Self, b: Self) -> SQLPredicate { a.compare(Value.self is any SQLNullable.Type ? "IS NOT" : "<>", b) }
    public static func != (a: SQLExpression<Value?>, b: Self) -> SQLPredicate { a.compare("IS NOT", b) }
    public static func != (a: Self, b: SQLExpression<Value?>) -> SQLPredicate { a.compare("IS NOT", b) }
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

/// With a query's values. A NULL among these makes the opposite, by `!`, true for nothing: leave it out, or ask
/// ``SQLQueryable/exists``.
/// ```swift
/// Book.filter { $0.author.in(Author.filter { $0.country == "IT" }.select { $0.id }) }
/// ```
extension SQLExpression {
    /// Whether it is one of a query's values.
    public func `in`(_ selection: SQLSelection<Value>) -> SQLPredicate { among(selection.subquery) }

    /// Whether it is one of a query's values, of which some may be NULL.
    public func `in`(_ selection: SQLSelection<Value?>) -> SQLPredicate { among(selection.subquery) }

    /// Whether it has a value that is one of a query's.
    public func `in`<T>(_ selection: SQLSelection<T>) -> SQLPredicate where Value == T? { among(selection.subquery) }

    private func among(_ subquery: SQL) -> SQLPredicate { SQLPredicate("\(operand(.atom)) IN (\(subquery))", .comparison) }
}

/// Text (<https://sqlite.org/lang_expr.html#like>). Only ASCII letters match without regard to case.
extension SQLExpression {
    /// Whether it matches a pattern, in which `%` stands for any text and `_` for any character.
    public func like(_ pattern: String) -> SQLPredicate {
        let isWhole = !pattern.utf8.contains(0)
        return isWhole ? compare("LIKE", pattern) : SQLPredicate("\(operand(.atom)) LIKE \(LikePattern.cut)", .comparison)
    }

    /// Whether it matches a pattern in which text stands for itself, such as `.contains("100%")`.
    public func like(_ pattern: LikePattern) -> SQLPredicate {
        SQLPredicate(pattern.condition(on: operand(.atom)), .comparison)
    }
}

/// What may be NULL.
protocol SQLNullable {}
extension Optional: SQLNullable {}

extension SQLValueConvertible {
    /// Whether it is a nil, or stored as NULL.
    var isSQLNull: Bool { (try? sqlValue) == .null }
}
