import Foundation
import SQLCipherKitCore

/// Aggregate functions (<https://sqlite.org/lang_aggfunc.html>).
extension SQLExpression {
    /// The number of rows.
    public static var countAll: SQLExpression<Int> { SQLExpression<Int>("count(*)", .function) }

    /// The number of rows in which the expression is not NULL. The characters of a text are its `length`.
    public func count() -> SQLExpression<Int> { function("count") }

    /// The number of distinct values, excluding NULL.
    public func countDistinct() -> SQLExpression<Int> { SQLExpression<Int>("count(DISTINCT \(sql))", .function) }

    /// The minimum; nil if there are no values.
    public func min() -> SQLExpression<Value?> { extreme("min") }
    @_documentation(visibility: private)
    public func min<T>() -> SQLExpression<Value> where Value == T? { extreme("min") }

    /// The maximum; nil if there are no values.
    public func max() -> SQLExpression<Value?> { extreme("max") }
    @_documentation(visibility: private)
    public func max<T>() -> SQLExpression<Value> where Value == T? { extreme("max") }

    /// The sum; nil if there are no values. It is an error if a sum of integers does not fit in `Int64`.
    ///
    /// There is no sum of a `Decimal`, because SQLite adds its numbers as REALs: fetch the values and add them in Swift, or store
    /// whole cents.
    public func sum() -> SQLExpression<Value._Plain?> where Value: SQLNumber { function("sum") }

    /// The sum as a floating-point number; 0 if there are no values.
    public var total: SQLExpression<Double> { function("total") }

    /// The average; nil if there are no values.
    public var average: SQLExpression<Double?> { function("avg") }

    private func extreme<T>(_ name: String) -> SQLExpression<T> {
        guard let check = orderCheck else { return function(name) }
        return SQLExpression<T>("\(raw: name)(ifnull(\(sql), \(check)))", .function, form)
    }

    private func function<T>(_ name: String) -> SQLExpression<T> { SQLExpression<T>("\(raw: name)(\(sql))", .function, form) }
}

// MARK: Order

extension SQLExpression {
    /// Ascending order; NULL comes first.
    public var ascending: SQLOrdering { SQLOrdering(sql, orderCheck) }

    /// Descending order; NULL comes last.
    public var descending: SQLOrdering { SQLOrdering("\(sql) DESC", orderCheck) }

    /// The expression compared by a collation, such as `NOCASE` or your own.
    public func collate(_ name: String) -> Self {
        Self("\(operand(.atom)) COLLATE \(identifier: name)", .atom, form, isLoose: isLoose)
    }

    /// A parameter that is NULL, or an error where these are decimals that are stored as text, which has no order of numbers. Only
    /// the connection knows.
    var orderCheck: SQL? {
        guard SQLForm.isDecimal(Value.self), form?.decimals != .number else { return nil }
        return "\(ProfiledValue(Decimal?.none, form, isOrderedDecimal: true))"
    }
}

/// One term of an order (<https://sqlite.org/lang_select.html#orderby>).
public struct SQLOrdering: Sendable {
    /// The term alone.
    let term: SQL
    /// A parameter that must be NULL for the order to exist.
    let check: SQL?

    /// The term's SQL.
    public var sql: SQL { check.map { "\(term), \($0)" } ?? term }

    /// Creates a term from your own SQL, such as `"random()"`.
    public init(sql: SQL) { self.init(sql, nil) }

    init(_ term: SQL, _ check: SQL?) { (self.term, self.check) = (term, check) }

    /// The same order with NULL before all values.
    public var nullsFirst: SQLOrdering { SQLOrdering("\(term) NULLS FIRST", check) }

    /// The same order with NULL after all values.
    public var nullsLast: SQLOrdering { SQLOrdering("\(term) NULLS LAST", check) }
}

/// Collects the terms of an order, one per line.
@resultBuilder
public enum SQLOrderingBuilder: _SQLListBuilder {
    public typealias _Element = SQLOrdering

    public static func buildExpression(_ term: SQLOrdering) -> [SQLOrdering] { [term] }
    public static func buildExpression<T>(_ term: SQLExpression<T>) -> [SQLOrdering] { [term.ascending] }
}

/// What a builder of a list does with the elements, however they are made.
public protocol _SQLListBuilder<_Element> {
    associatedtype _Element
}

extension _SQLListBuilder {
    public static func buildBlock(_ parts: [_Element]...) -> [_Element] { parts.flatMap { $0 } }
    public static func buildOptional(_ part: [_Element]?) -> [_Element] { part ?? [] }
    public static func buildEither(first part: [_Element]) -> [_Element] { part }
    public static func buildEither(second part: [_Element]) -> [_Element] { part }
    public static func buildArray(_ parts: [[_Element]]) -> [_Element] { parts.flatMap { $0 } }
}
