import Foundation
import SQLCipherKitCore

/// A type that SQL can turn values into (<https://sqlite.org/lang_expr.html#castexpr>).
public protocol _SQLCastable: SQLValueConvertible {
    /// SQL's name for it.
    static var _sqlCastType: String { get }
}

extension Int: _SQLCastable { public static var _sqlCastType: String { "INTEGER" } }
extension Int64: _SQLCastable { public static var _sqlCastType: String { "INTEGER" } }
extension Double: _SQLCastable { public static var _sqlCastType: String { "REAL" } }
extension String: _SQLCastable { public static var _sqlCastType: String { "TEXT" } }
extension Data: _SQLCastable { public static var _sqlCastType: String { "BLOB" } }

extension SQLExpression {
    /// The value turned into another type, as SQLite does it: the number that a text begins with, 0 if it begins with none; a
    /// number without its fraction; a number's text.
    /// ```swift
    /// Book.all.select { $0.pages.cast(to: Double.self) / 3 }     // CAST("book"."pages" AS REAL) / ?
    /// ```
    /// To give an expression another type without changing its value, see ``typed(_:)``.
    public func cast<T: _SQLCastable>(to type: T.Type) -> SQLExpression<T> { cast() }

    /// A value that may be NULL turned into another type.
    @_documentation(visibility: private)
    public func cast<T: _SQLCastable, V>(to type: T.Type) -> SQLExpression<T?> where Value == V? { cast() }

    private func cast<T: _SQLCastable>() -> SQLExpression<T> {
        SQLExpression<T>("CAST(\(sql) AS \(raw: T._sqlCastType))", .atom, isLoose: isLoose)
    }

    private func cast<T: _SQLCastable>() -> SQLExpression<T?> { SQLExpression<T?>("CAST(\(sql) AS \(raw: T._sqlCastType))", .atom) }
}

// MARK: Bits

/// The bits that both have.
public func & <A: SQLNumber>(a: SQLExpression<A>, b: SQLExpression<A>) -> SQLExpression<A>
where A._Plain: BinaryInteger { bits(a, "&", "\(b)") }
public func & <A: SQLNumber>(a: SQLExpression<A>, b: A) -> SQLExpression<A>
where A._Plain: BinaryInteger { bits(a, "&", "\(b)") }

/// The bits that one of them has.
public func | <A: SQLNumber>(a: SQLExpression<A>, b: SQLExpression<A>) -> SQLExpression<A>
where A._Plain: BinaryInteger { bits(a, "|", "\(b)") }
public func | <A: SQLNumber>(a: SQLExpression<A>, b: A) -> SQLExpression<A>
where A._Plain: BinaryInteger { bits(a, "|", "\(b)") }

/// The bits moved towards the higher ones, in 64 bits.
public func << <A: SQLNumber>(a: SQLExpression<A>, b: Int) -> SQLExpression<A>
where A._Plain: BinaryInteger { bits(a, "<<", "\(b)") }

/// The bits moved towards the lower ones; a negative number stays negative.
public func >> <A: SQLNumber>(a: SQLExpression<A>, b: Int) -> SQLExpression<A>
where A._Plain: BinaryInteger { bits(a, ">>", "\(b)") }

/// All bits the other way round.
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
