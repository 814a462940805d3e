/// An aggregate function: one value of this type gathers the rows of one group.
/// ```swift
/// struct Product: SQLAggregate {
///     var product = 1.0
///     mutating func step(_ arguments: borrowing FunctionArguments) throws {
///         if let value: Double = try arguments[0] { product *= value }
///     }
///     func finish() -> Double { product }
/// }
/// try db.register(.aggregate("product", arguments: 1, .deterministic) { Product() })
/// ```
/// A group without a row, as in `SELECT product(x) FROM t WHERE 0`, is a new value that is finished at once.
public protocol SQLAggregate {
    /// What the function gives: ``SQLValue`` if it varies, an optional if it may be NULL.
    associatedtype Result: SQLValueConvertible

    /// Takes a row in.
    mutating func step(_ arguments: borrowing FunctionArguments) throws

    /// The result for the rows taken in. It is also called, and its result thrown away, for a group that was cut off by an
    /// error elsewhere.
    mutating func finish() throws -> Result
}

/// An aggregate function that can be used with `OVER` as well: it can give rows back
/// (<https://sqlite.org/windowfunctions.html#udfwinfunc>).
public protocol SQLWindowFunction: SQLAggregate {
    /// Gives back the oldest row that was taken in, as the window moves on.
    mutating func inverse(_ arguments: borrowing FunctionArguments) throws

    /// The result for the rows that are in the window now.
    func value() throws -> Result
}
