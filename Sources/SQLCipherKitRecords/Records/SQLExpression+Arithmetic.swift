import SQLCipherKitCore

/// Arithmetic, and text put together (<https://sqlite.org/lang_expr.html#operators_and_parse_affecting_attributes>).
/// ```swift
/// Book.filter { $0.pages * 2 + 1 > 500 }
/// Book.all.select { $0.title + ", " + $0.publisher }
/// ```
/// If either side is NULL, so is the result. A sum, difference or product of integers that does not fit into `Int64` becomes a
/// floating-point number, and reading that as an integer throws.

// Each operator takes expressions and values, on either side, and either may be optional.

/// The sum of two numbers, or two texts, one after the other.
public func + <N: SQLAddable>(a: SQLExpression<N>, b: SQLExpression<N>) -> SQLExpression<N> { infix(a, N.sqlAddition, b) }
public func + <N: SQLAddable>(a: SQLExpression<N>, b: N) -> SQLExpression<N> { infix(a, N.sqlAddition, b) }
public func + <N: SQLAddable>(a: N, b: SQLExpression<N>) -> SQLExpression<N> { infix(a, N.sqlAddition, b) }
public func + <N: SQLAddable>(a: SQLExpression<N?>, b: SQLExpression<N?>) -> SQLExpression<N?> { infix(a, N.sqlAddition, b) }
public func + <N: SQLAddable>(a: SQLExpression<N?>, b: SQLExpression<N>) -> SQLExpression<N?> { infix(a, N.sqlAddition, b) }
public func + <N: SQLAddable>(a: SQLExpression<N>, b: SQLExpression<N?>) -> SQLExpression<N?> { infix(a, N.sqlAddition, b) }
public func + <N: SQLAddable>(a: SQLExpression<N?>, b: N) -> SQLExpression<N?> { infix(a, N.sqlAddition, b) }
public func + <N: SQLAddable>(a: N, b: SQLExpression<N?>) -> SQLExpression<N?> { infix(a, N.sqlAddition, b) }

/// The difference.
public func - <N: SQLSummable>(a: SQLExpression<N>, b: SQLExpression<N>) -> SQLExpression<N> { infix(a, "-", b) }
public func - <N: SQLSummable>(a: SQLExpression<N>, b: N) -> SQLExpression<N> { infix(a, "-", b) }
public func - <N: SQLSummable>(a: N, b: SQLExpression<N>) -> SQLExpression<N> { infix(a, "-", b) }
public func - <N: SQLSummable>(a: SQLExpression<N?>, b: SQLExpression<N?>) -> SQLExpression<N?> { infix(a, "-", b) }
public func - <N: SQLSummable>(a: SQLExpression<N?>, b: SQLExpression<N>) -> SQLExpression<N?> { infix(a, "-", b) }
public func - <N: SQLSummable>(a: SQLExpression<N>, b: SQLExpression<N?>) -> SQLExpression<N?> { infix(a, "-", b) }
public func - <N: SQLSummable>(a: SQLExpression<N?>, b: N) -> SQLExpression<N?> { infix(a, "-", b) }
public func - <N: SQLSummable>(a: N, b: SQLExpression<N?>) -> SQLExpression<N?> { infix(a, "-", b) }

/// The product.
public func * <N: SQLSummable>(a: SQLExpression<N>, b: SQLExpression<N>) -> SQLExpression<N> { infix(a, "*", b) }
public func * <N: SQLSummable>(a: SQLExpression<N>, b: N) -> SQLExpression<N> { infix(a, "*", b) }
public func * <N: SQLSummable>(a: N, b: SQLExpression<N>) -> SQLExpression<N> { infix(a, "*", b) }
public func * <N: SQLSummable>(a: SQLExpression<N?>, b: SQLExpression<N?>) -> SQLExpression<N?> { infix(a, "*", b) }
public func * <N: SQLSummable>(a: SQLExpression<N?>, b: SQLExpression<N>) -> SQLExpression<N?> { infix(a, "*", b) }
public func * <N: SQLSummable>(a: SQLExpression<N>, b: SQLExpression<N?>) -> SQLExpression<N?> { infix(a, "*", b) }
public func * <N: SQLSummable>(a: SQLExpression<N?>, b: N) -> SQLExpression<N?> { infix(a, "*", b) }
public func * <N: SQLSummable>(a: N, b: SQLExpression<N?>) -> SQLExpression<N?> { infix(a, "*", b) }

/// The quotient, of integers without the fraction; NULL for a division by zero.
public func / <N: SQLSummable>(a: SQLExpression<N>, b: SQLExpression<N>) -> SQLExpression<N?> { infix(a, "/", b) }
public func / <N: SQLSummable>(a: SQLExpression<N>, b: N) -> SQLExpression<N?> { infix(a, "/", b) }
public func / <N: SQLSummable>(a: N, b: SQLExpression<N>) -> SQLExpression<N?> { infix(a, "/", b) }
public func / <N: SQLSummable>(a: SQLExpression<N?>, b: SQLExpression<N?>) -> SQLExpression<N?> { infix(a, "/", b) }
public func / <N: SQLSummable>(a: SQLExpression<N?>, b: SQLExpression<N>) -> SQLExpression<N?> { infix(a, "/", b) }
public func / <N: SQLSummable>(a: SQLExpression<N>, b: SQLExpression<N?>) -> SQLExpression<N?> { infix(a, "/", b) }
public func / <N: SQLSummable>(a: SQLExpression<N?>, b: N) -> SQLExpression<N?> { infix(a, "/", b) }
public func / <N: SQLSummable>(a: N, b: SQLExpression<N?>) -> SQLExpression<N?> { infix(a, "/", b) }

/// The remainder, with the sign of the left side; NULL for a division by zero.
public func % <N: SQLSummable & BinaryInteger>(a: SQLExpression<N>, b: SQLExpression<N>) -> SQLExpression<N?> { infix(a, "%", b) }
public func % <N: SQLSummable & BinaryInteger>(a: SQLExpression<N>, b: N) -> SQLExpression<N?> { infix(a, "%", b) }
public func % <N: SQLSummable & BinaryInteger>(a: N, b: SQLExpression<N>) -> SQLExpression<N?> { infix(a, "%", b) }
public func % <N: SQLSummable & BinaryInteger>(a: SQLExpression<N?>, b: SQLExpression<N?>) -> SQLExpression<N?> { infix(a, "%", b) }
public func % <N: SQLSummable & BinaryInteger>(a: SQLExpression<N?>, b: SQLExpression<N>) -> SQLExpression<N?> { infix(a, "%", b) }
public func % <N: SQLSummable & BinaryInteger>(a: SQLExpression<N>, b: SQLExpression<N?>) -> SQLExpression<N?> { infix(a, "%", b) }
public func % <N: SQLSummable & BinaryInteger>(a: SQLExpression<N?>, b: N) -> SQLExpression<N?> { infix(a, "%", b) }
public func % <N: SQLSummable & BinaryInteger>(a: N, b: SQLExpression<N?>) -> SQLExpression<N?> { infix(a, "%", b) }

/// The opposite number.
public prefix func - <N: SQLSummable>(a: SQLExpression<N>) -> SQLExpression<N> {
    SQLExpression("- \(a)", .custom, isLoose: a.isLoose)
}
public prefix func - <N: SQLSummable>(a: SQLExpression<N?>) -> SQLExpression<N?> {
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

/// Whether a result may be no number, which is NULL in SQL: infinity less infinity.
private func isReal(_ type: any Any.Type) -> Bool { type == Double.self || type == Float.self }

/// What `+` works on: numbers and text.
public protocol SQLAddable: SQLValueConvertible {
    /// SQL's operator for it.
    static var sqlAddition: String { get }
}

extension String: SQLAddable {
    public static var sqlAddition: String { "||" }
}
