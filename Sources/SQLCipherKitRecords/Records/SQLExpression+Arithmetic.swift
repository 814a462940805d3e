import SQLCipherKitCore

/// Arithmetic, and text put together (<https://sqlite.org/lang_expr.html#operators_and_parse_affecting_attributes>).
/// ```swift
/// Book.filter { $0.pages * 2 + 1 > 500 }
/// Book.all.select { $0.title + ", " + $0.publisher }
/// ```
/// If either side is NULL, so is the result. A sum, difference or product of integers that does not fit into `Int64` becomes a
/// floating-point number, and reading that as an integer throws.

// Each operator takes expressions and values, on either side, and either may be optional: a type of numbers may itself be one.

/// The sum of two numbers, or two texts joined.
public func + <A: _SQLAddable>(a: SQLExpression<A>, b: SQLExpression<A>) -> SQLExpression<A> { infix(a, A._sqlAddition, b) }
public func + <A: _SQLAddable>(a: SQLExpression<A>, b: A) -> SQLExpression<A> { infix(a, A._sqlAddition, b) }
public func + <A: _SQLAddable>(a: A, b: SQLExpression<A>) -> SQLExpression<A> { infix(a, A._sqlAddition, b) }
public func + <A: _SQLAddable, B: _SQLAddable>(a: SQLExpression<A>, b: SQLExpression<B>) -> SQLExpression<A._Plain?>
where A._Plain == B._Plain { infix(a, A._sqlAddition, b) }

/// The difference.
public func - <A: SQLNumber>(a: SQLExpression<A>, b: SQLExpression<A>) -> SQLExpression<A> { infix(a, "-", b) }
public func - <A: SQLNumber>(a: SQLExpression<A>, b: A) -> SQLExpression<A> { infix(a, "-", b) }
public func - <A: SQLNumber>(a: A, b: SQLExpression<A>) -> SQLExpression<A> { infix(a, "-", b) }
public func - <A: SQLNumber, B: SQLNumber>(a: SQLExpression<A>, b: SQLExpression<B>) -> SQLExpression<A._Plain?>
where A._Plain == B._Plain { infix(a, "-", b) }

/// The product.
public func * <A: SQLNumber>(a: SQLExpression<A>, b: SQLExpression<A>) -> SQLExpression<A> { infix(a, "*", b) }
public func * <A: SQLNumber>(a: SQLExpression<A>, b: A) -> SQLExpression<A> { infix(a, "*", b) }
public func * <A: SQLNumber>(a: A, b: SQLExpression<A>) -> SQLExpression<A> { infix(a, "*", b) }
public func * <A: SQLNumber, B: SQLNumber>(a: SQLExpression<A>, b: SQLExpression<B>) -> SQLExpression<A._Plain?>
where A._Plain == B._Plain { infix(a, "*", b) }

/// The quotient, without its fraction for integers; NULL for a division by zero.
public func / <A: SQLNumber, B: SQLNumber>(a: SQLExpression<A>, b: SQLExpression<B>) -> SQLExpression<A._Plain?>
where A._Plain == B._Plain { infix(a, "/", b) }
public func / <A: SQLNumber>(a: SQLExpression<A>, b: A._Plain) -> SQLExpression<A._Plain?> { infix(a, "/", b) }
public func / <A: SQLNumber>(a: A._Plain, b: SQLExpression<A>) -> SQLExpression<A._Plain?> { infix(a, "/", b) }

/// The remainder, with the sign of the left side; NULL for a division by zero.
public func % <A: SQLNumber, B: SQLNumber>(a: SQLExpression<A>, b: SQLExpression<B>) -> SQLExpression<A._Plain?>
where A._Plain == B._Plain, A._Plain: BinaryInteger { infix(a, "%", b) }
public func % <A: SQLNumber>(a: SQLExpression<A>, b: A._Plain) -> SQLExpression<A._Plain?>
where A._Plain: BinaryInteger { infix(a, "%", b) }
public func % <A: SQLNumber>(a: A._Plain, b: SQLExpression<A>) -> SQLExpression<A._Plain?>
where A._Plain: BinaryInteger { infix(a, "%", b) }

/// The opposite number.
public prefix func - <A: SQLNumber>(a: SQLExpression<A>) -> SQLExpression<A> {
    SQLExpression("- \(a)", .custom, isLoose: a.isLoose)
}

private func infix<A, B, T>(_ a: SQLExpression<A>, _ name: String, _ b: SQLExpression<B>) -> SQLExpression<T> {
    SQLExpression("\(a) \(raw: name) \(b)", .custom, isLoose: a.isLoose || b.isLoose || isReal(T.self))
}

private func infix<A, B: SQLValueConvertible, T>(_ a: SQLExpression<A>, _ name: String, _ b: B) -> SQLExpression<T> {
    SQLExpression("\(a) \(raw: name) \(b)", .custom, isLoose: a.isLoose || isReal(T.self))
}

private func infix<A: SQLValueConvertible, B, T>(_ a: A, _ name: String, _ b: SQLExpression<B>) -> SQLExpression<T> {
    SQLExpression("\(a) \(raw: name) \(b)", .custom, isLoose: b.isLoose || isReal(T.self))
}

/// Returns whether a result may be no number, which is NULL in SQL: infinity less infinity.
private func isReal(_ type: any Any.Type) -> Bool { type == Double.self || type == Float.self }

/// A type for which `+` is defined: numbers and text.
public protocol _SQLAddable: SQLValueConvertible {
    /// SQL's operator for the addition.
    static var _sqlAddition: String { get }
}

extension String: _SQLAddable {
    public static var _sqlAddition: String { "||" }
}

extension Optional: _SQLAddable where Wrapped: _SQLAddable {
    public static var _sqlAddition: String { Wrapped._sqlAddition }
}

/// A number that SQLite calculates with as Swift does: an integer, or a floating-point number. It may be optional.
public protocol SQLNumber: _SQLAddable {}

extension SQLNumber {
    public static var _sqlAddition: String { "+" }
}

extension Int: SQLNumber {}
extension Int8: SQLNumber {}
extension Int16: SQLNumber {}
extension Int32: SQLNumber {}
extension Int64: SQLNumber {}
extension UInt: SQLNumber {}
extension UInt8: SQLNumber {}
extension UInt16: SQLNumber {}
extension UInt32: SQLNumber {}
extension UInt64: SQLNumber {}
extension Double: SQLNumber {}
extension Float: SQLNumber {}
extension Optional: SQLNumber where Wrapped: SQLNumber {}
