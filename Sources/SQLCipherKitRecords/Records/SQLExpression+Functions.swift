import SQLCipherKitCore

/// Aggregate functions (<https://sqlite.org/lang_aggfunc.html>).
extension SQLExpression {
    /// The number of rows.
    public static var countAll: SQLExpression<Int> { SQLExpression<Int>("count(*)", .function) }

    /// The number of rows in which the expression is not NULL.
    public var count: SQLExpression<Int> { function("count") }

    /// The number of distinct values, excluding NULL.
    public var countDistinct: SQLExpression<Int> { SQLExpression<Int>("count(DISTINCT \(sql))", .function) }

    /// The minimum; nil if there are no values.
    public func min() -> SQLExpression<Value?> { function("min") }
    public func min<T>() -> SQLExpression<Value> where Value == T? { function("min") }

    /// The maximum; nil if there are no values.
    public func max() -> SQLExpression<Value?> { function("max") }
    public func max<T>() -> SQLExpression<Value> where Value == T? { function("max") }

    /// The sum; nil if there are no values. It is an error if a sum of integers does not fit in `Int64`.
    ///
    /// There is no sum of a `Decimal`, because SQLite adds its numbers as REALs: fetch the values and add them in Swift, or store
    /// whole cents.
    public func sum() -> SQLExpression<Value?> where Value: SQLSummable { function("sum") }
    public func sum<T: SQLSummable>() -> SQLExpression<Value> where Value == T? { function("sum") }

    /// The sum as a floating-point number; 0 if there are no values.
    public var total: SQLExpression<Double> { function("total") }

    /// The average; nil if there are no values.
    public var average: SQLExpression<Double?> { function("avg") }

    private func function<T>(_ name: String) -> SQLExpression<T> { SQLExpression<T>("\(raw: name)(\(sql))", .function, profile) }
}

/// A number that SQLite adds up as Swift does: an integer, or a floating-point number.
public protocol SQLSummable: SQLAddable {}

extension SQLSummable {
    public static var sqlAddition: String { "+" }
}

extension Int: SQLSummable {}
extension Int8: SQLSummable {}
extension Int16: SQLSummable {}
extension Int32: SQLSummable {}
extension Int64: SQLSummable {}
extension UInt: SQLSummable {}
extension UInt8: SQLSummable {}
extension UInt16: SQLSummable {}
extension UInt32: SQLSummable {}
extension UInt64: SQLSummable {}
extension Double: SQLSummable {}
extension Float: SQLSummable {}

// MARK: Order

extension SQLExpression {
    /// Ascending order; NULL comes first.
    public var ascending: SQLOrdering { SQLOrdering(sql: "\(sql)") }

    /// Descending order; NULL comes last.
    public var descending: SQLOrdering { SQLOrdering(sql: "\(sql) DESC") }

    /// The expression compared by a collation, such as `NOCASE` or your own.
    public func collate(_ name: String) -> Self { Self("\(operand(.atom)) COLLATE \(identifier: name)", .atom, profile) }
}

/// One term of an order (<https://sqlite.org/lang_select.html#orderby>).
public struct SQLOrdering: Sendable {
    /// The term's SQL.
    public let sql: SQL

    /// Creates a term from your own SQL, such as `"random()"`.
    public init(sql: SQL) { self.sql = sql }

    /// The same order with NULL before all values.
    public var nullsFirst: SQLOrdering { SQLOrdering(sql: "\(sql) NULLS FIRST") }

    /// The same order with NULL after all values.
    public var nullsLast: SQLOrdering { SQLOrdering(sql: "\(sql) NULLS LAST") }
}

/// Collects the terms of an order, one per line.
@resultBuilder
public enum SQLOrderingBuilder {
    public static func buildExpression(_ term: SQLOrdering) -> [SQLOrdering] { [term] }
    public static func buildExpression<T>(_ term: SQLExpression<T>) -> [SQLOrdering] { [term.ascending] }
    public static func buildBlock(_ terms: [SQLOrdering]...) -> [SQLOrdering] { terms.flatMap { $0 } }
    public static func buildOptional(_ terms: [SQLOrdering]?) -> [SQLOrdering] { terms ?? [] }
    public static func buildEither(first terms: [SQLOrdering]) -> [SQLOrdering] { terms }
    public static func buildEither(second terms: [SQLOrdering]) -> [SQLOrdering] { terms }
    public static func buildArray(_ terms: [[SQLOrdering]]) -> [SQLOrdering] { terms.flatMap { $0 } }
}
