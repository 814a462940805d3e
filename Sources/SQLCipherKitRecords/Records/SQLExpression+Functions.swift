import Foundation
import SQLCipherKitCore

/// Aggregate functions (<https://sqlite.org/lang_aggfunc.html>).
extension SQLExpression {
    /// The number of rows.
    public static var countAll: SQLExpression<Int> { SQLExpression<Int>("count(*)", .function) }

    /// The number of rows in which the expression is not NULL. For the number of characters of a text, use `length`.
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
    public func total() -> SQLExpression<Double> { function("total") }

    /// The average; nil if there are no values.
    public func average() -> SQLExpression<Double?> { function("avg") }

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

    /// See ``SQLForm/orderCheck(_:_:)``.
    var orderCheck: SQL? { SQLForm.orderCheck(Value.self, form) }
}

/// A term of an order (<https://sqlite.org/lang_select.html#orderby>).
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
    public static func buildExpression<A: _SQLOrderingTerm, B: _SQLOrderingTerm>(_ terms: (A, B)) -> [SQLOrdering] {
        [terms.0._ordering, terms.1._ordering]
    }
    public static func buildExpression<A: _SQLOrderingTerm, B: _SQLOrderingTerm, C: _SQLOrderingTerm>(
        _ terms: (A, B, C)
    ) -> [SQLOrdering] {
        [terms.0._ordering, terms.1._ordering, terms.2._ordering]
    }
}

/// A term of an order: an expression, ascending, or an ``SQLOrdering``.
public protocol _SQLOrderingTerm {
    var _ordering: SQLOrdering { get }
}

extension SQLExpression: _SQLOrderingTerm {
    public var _ordering: SQLOrdering { ascending }
}

extension SQLOrdering: _SQLOrderingTerm {
    public var _ordering: SQLOrdering { self }
}

/// A builder of a list, with any kind of elements.
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

/// Functions of text, which are NULL if the text is NULL (<https://sqlite.org/lang_corefunc.html>). Characters are Unicode scalars,
/// and only ASCII letters have a case, as always in SQLite. A NUL character ends the text for `length` and `prefix`.
extension SQLExpression where Value: SQLValueConvertible, Value._Plain == String {
    /// The text in lowercase.
    public func lowercased() -> Self { call("lower", sql) }
    /// The text in uppercase.
    public func uppercased() -> Self { call("upper", sql) }
    /// The text without spaces at its beginning and end.
    public func trimmed() -> Self { call("trim", sql) }

    /// The first characters. A negative count is an error when the query runs.
    public func prefix(_ count: Int) -> Self {
        guard count >= 0 else { return Self("\(RefusedValue(.invalidArgument("a prefix has \(count) characters")))", .atom) }
        return call("substr", "\(sql), 1, \(count)")
    }

    /// The text with every occurrence of one text replaced by another. It is an error if the replaced text begins with a NUL
    /// character, because SQLite would replace nothing.
    public func replacing(_ text: String, with other: String) -> Self {
        let isCut = text.utf8.first == 0
        let place: SQL = isCut ? "\(RefusedValue(.invalidArgument("the text to replace begins with a NUL character")))" : "\(text)"
        return call("replace", "\(sql), \(place), \(other)")
    }
}

extension SQLExpression where Value == String {
    /// The number of characters.
    public var length: SQLExpression<Int> { call("length", sql) }
}

extension SQLExpression where Value == String? {
    /// The number of characters; NULL if the text is NULL.
    @_documentation(visibility: private)
    public var length: SQLExpression<Int?> { call("length", sql) }
}

/// Functions of numbers.
extension SQLExpression where Value: SQLNumber {
    /// The number without its sign. For `Int64.min`, it is an error.
    public var magnitude: Self { call("abs", sql) }

    /// The number rounded to this many digits after the decimal point, with halves away from zero. Default: 0.
    public func rounded(_ digits: Int = 0) -> Self where Value._Plain == Double {
        call("round", "\(sql), \(digits)")
    }
}

extension SQLExpression {
    private func call<T>(_ name: String, _ arguments: SQL) -> SQLExpression<T> {
        SQLExpression<T>("\(raw: name)(\(arguments))", .atom, isLoose: isLoose)
    }
}

/// A type that SQL can convert values to (<https://sqlite.org/lang_expr.html#castexpr>).
public protocol _SQLCastable: SQLValueConvertible {
    /// SQL's name for the type.
    static var _sqlCastType: String { get }
}

extension Int: _SQLCastable { public static var _sqlCastType: String { "INTEGER" } }
extension Int64: _SQLCastable { public static var _sqlCastType: String { "INTEGER" } }
extension Double: _SQLCastable { public static var _sqlCastType: String { "REAL" } }
extension String: _SQLCastable { public static var _sqlCastType: String { "TEXT" } }
extension Data: _SQLCastable { public static var _sqlCastType: String { "BLOB" } }

extension SQLExpression {
    /// The value converted to another type by SQLite's rules. A text becomes the number that it begins with, or 0 without a number;
    /// a number loses its fraction, or becomes text.
    /// ```swift
    /// Book.all.select { $0.pages.cast(to: Double.self) / 3 }     // CAST("book"."pages" AS REAL) / ?
    /// ```
    /// To give an expression another type without changing its value, see ``typed(_:)``.
    public func cast<T: _SQLCastable>(to type: T.Type) -> SQLExpression<T> { cast() }

    /// A value that may be NULL, converted to another type.
    @_documentation(visibility: private)
    public func cast<T: _SQLCastable, V>(to type: T.Type) -> SQLExpression<T?> where Value == V? { cast() }

    private func cast<T: _SQLCastable>() -> SQLExpression<T> {
        SQLExpression<T>("CAST(\(sql) AS \(raw: T._sqlCastType))", .atom, isLoose: isLoose)
    }

    private func cast<T: _SQLCastable>() -> SQLExpression<T?> { SQLExpression<T?>("CAST(\(sql) AS \(raw: T._sqlCastType))", .atom) }
}

// MARK: Bits

/// The bits that are set in both numbers.
public func & <A: SQLNumber>(a: SQLExpression<A>, b: SQLExpression<A>) -> SQLExpression<A>
where A._Plain: BinaryInteger { bits(a, "&", "\(b)") }
public func & <A: SQLNumber>(a: SQLExpression<A>, b: A) -> SQLExpression<A>
where A._Plain: BinaryInteger { bits(a, "&", "\(b)") }

/// The bits that are set in either number.
public func | <A: SQLNumber>(a: SQLExpression<A>, b: SQLExpression<A>) -> SQLExpression<A>
where A._Plain: BinaryInteger { bits(a, "|", "\(b)") }
public func | <A: SQLNumber>(a: SQLExpression<A>, b: A) -> SQLExpression<A>
where A._Plain: BinaryInteger { bits(a, "|", "\(b)") }

/// The bits moved toward the higher bits, in 64 bits.
public func << <A: SQLNumber>(a: SQLExpression<A>, b: Int) -> SQLExpression<A>
where A._Plain: BinaryInteger { bits(a, "<<", "\(b)") }

/// The bits moved toward the lower bits; a negative number stays negative.
public func >> <A: SQLNumber>(a: SQLExpression<A>, b: Int) -> SQLExpression<A>
where A._Plain: BinaryInteger { bits(a, ">>", "\(b)") }

/// The number with all its bits inverted.
public prefix func ~ <A: SQLNumber>(a: SQLExpression<A>) -> SQLExpression<A> where A._Plain: SignedInteger {
    SQLExpression("~ \(a)", .custom, isLoose: a.isLoose)
}

private func bits<N>(_ a: SQLExpression<N>, _ name: String, _ b: SQL) -> SQLExpression<N> {
    SQLExpression("\(a) \(raw: name) \(b)", .custom, isLoose: a.isLoose)
}

// MARK: Numbers of two types

// Where both have one type, the other operators are meant.

/// A sum of numbers of two types, computed as a floating-point number; nil if one of them is NULL.
@_disfavoredOverload
public func + <A: SQLNumber, B: SQLNumber>(a: SQLExpression<A>, b: SQLExpression<B>) -> SQLExpression<Double?> {
    real(a, "+", "\(b)")
}
@_disfavoredOverload
public func + <A: SQLNumber>(a: SQLExpression<A>, b: Double) -> SQLExpression<Double?> { real(a, "+", "\(b)") }

/// A difference of numbers of two types.
@_disfavoredOverload
public func - <A: SQLNumber, B: SQLNumber>(a: SQLExpression<A>, b: SQLExpression<B>) -> SQLExpression<Double?> {
    real(a, "-", "\(b)")
}
@_disfavoredOverload
public func - <A: SQLNumber>(a: SQLExpression<A>, b: Double) -> SQLExpression<Double?> { real(a, "-", "\(b)") }

/// A product of numbers of two types.
@_disfavoredOverload
public func * <A: SQLNumber, B: SQLNumber>(a: SQLExpression<A>, b: SQLExpression<B>) -> SQLExpression<Double?> {
    real(a, "*", "\(b)")
}
@_disfavoredOverload
public func * <A: SQLNumber>(a: SQLExpression<A>, b: Double) -> SQLExpression<Double?> { real(a, "*", "\(b)") }

/// A quotient of numbers of two types; nil for a division by zero.
@_disfavoredOverload
public func / <A: SQLNumber, B: SQLNumber>(a: SQLExpression<A>, b: SQLExpression<B>) -> SQLExpression<Double?> {
    real(a, "/", "\(b)")
}
@_disfavoredOverload
public func / <A: SQLNumber>(a: SQLExpression<A>, b: Double) -> SQLExpression<Double?> { real(a, "/", "\(b)") }

private func real<A>(_ a: SQLExpression<A>, _ name: String, _ b: SQL) -> SQLExpression<Double?> {
    SQLExpression("CAST(\(a.sql) AS REAL) \(raw: name) \(b)", .custom)
}
