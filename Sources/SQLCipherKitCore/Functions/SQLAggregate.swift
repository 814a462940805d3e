/// An aggregate function: a value of this type accumulates the rows of a group.
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
/// For a group without rows, as in `SELECT product(x) FROM t WHERE 0`, a new value returns its result at once.
public protocol SQLAggregate {
    /// The type of the result: ``SQLValue`` if it varies, an optional if it may be NULL.
    associatedtype Result: SQLValueConvertible

    /// Adds a row.
    /// - Parameter arguments: the arguments of the call for this row, valid only during the call.
    /// - Throws: any error, which fails the statement. A ``DatabaseError`` reaches the caller unchanged; another error is the
    ///   ``DatabaseError/underlyingError`` of an error with the reason ``DatabaseError/Reason/callback``. Reading an argument as
    ///   the wrong type throws.
    mutating func step(_ arguments: borrowing FunctionArguments) throws

    /// Returns the result for the rows added. It is also called, and its result ignored, for a group that an error has interrupted.
    /// - Throws: any error, which fails the statement as in ``step(_:)``; ignored for an interrupted group.
    mutating func finish() throws -> Result
}

/// An aggregate function that can also be used with `OVER`, because it can remove rows again
/// (<https://sqlite.org/windowfunctions.html#udfwinfunc>).
public protocol SQLWindowFunction: SQLAggregate {
    /// Removes the oldest row that was added, as the window moves on.
    /// - Parameter arguments: the arguments that ``SQLAggregate/step(_:)`` got for that row.
    /// - Throws: any error, which fails the statement as in ``SQLAggregate/step(_:)``.
    mutating func inverse(_ arguments: borrowing FunctionArguments) throws

    /// Returns the result for the rows that are in the window now.
    /// - Throws: any error, which fails the statement as in ``SQLAggregate/step(_:)``.
    func value() throws -> Result
}
