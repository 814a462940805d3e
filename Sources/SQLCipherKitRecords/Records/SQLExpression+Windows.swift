import SQLCipherKitCore

/// The argument of an aggregate function, and the rows over which it is computed.
/// The methods follow an aggregate function such as ``SQLExpression/sum()-(_)``. After anything else they are an error when the
/// query runs.
extension SQLExpression {
    /// Applies the function only to the rows that meet a condition (<https://sqlite.org/lang_aggfunc.html>).
    /// ```swift
    /// Book.all.select { (.countAll, .countAll.where($0.pages > 500)) }
    /// ```
    public func `where`(_ condition: SQLPredicate) -> Self { call { "\($0) FILTER (WHERE \(condition.condition))" } }

    /// The function's value for each row, computed over the rows of its window (<https://sqlite.org/windowfunctions.html>).
    /// ```swift
    /// // Each book with its place among its author's, the longest first.
    /// Book.all.select { book in
    ///     let window = SQLWindow(partition: book.author, order: book.pages.descending)
    ///     return (book.title, .rowNumber().over(window))
    /// }
    /// ```
    public func over(_ window: SQLWindow = SQLWindow()) -> Self { call { "\($0) OVER (\(window.sql))" } }

    private func call(_ body: (SQL) -> SQL) -> Self {
        guard precedence == .function else {
            return Self("\(RefusedValue(.misuse("only an aggregate function can have a filter or a window")))", .atom)
        }
        return Self(body(sql), .function, form)
    }

    /// The values of all rows as one text, in an order; nil if there are no values.
    /// - Parameters:
    ///   - separator: the text between two values.
    ///   - order: the order. Default: any.
    public func groupConcat(separator: String = ",", orderedBy order: SQLOrdering...) -> SQLExpression<String?> {
        let list: SQL =
            order.isEmpty ? "\(sql), \(separator)" : "\(sql), \(separator) ORDER BY \(list: order.map(\.sql))"
        return SQLExpression<String?>("group_concat(\(list))", .function)
    }
}

/// The rows that a window function is computed over.
public struct SQLWindow: Sendable {
    let sql: SQL

    /// - Parameters:
    ///   - partition: the value that the rows of a window share. Default: all rows are in one window.
    ///   - order: the order of these rows. With an order, an aggregate function covers the rows up to the current row, and the rows
    ///     that are equal to it in the order. Default: none.
    public init<each Value>(partition: repeat SQLExpression<each Value>, order: SQLOrdering...) {
        var terms: [SQL] = []
        for expression in repeat each partition { terms.append(expression.sql) }
        let (hasPartition, hasOrder) = (!terms.isEmpty, !order.isEmpty)
        let (partition, order): (SQL, SQL) = ("PARTITION BY \(list: terms)", "ORDER BY \(list: order.map(\.sql))")
        switch (hasPartition, hasOrder) {
        case (true, true): sql = "\(partition) \(order)"
        case (true, false): sql = partition
        case (false, true): sql = order
        case (false, false): sql = ""
        }
    }
}

/// A window function, which becomes an expression when you give it a window
/// (<https://sqlite.org/windowfunctions.html#built_in_window_functions>).
/// ```swift
/// Book.all.select { ($0.title, $0.pages.lag().over(SQLWindow(order: $0.pages.ascending))) }
/// ```
public struct SQLWindowValue<Value>: Sendable {
    private let expression: SQLExpression<Value>

    init(_ sql: SQL, _ form: ValueProfile? = nil) { expression = SQLExpression(sql, .function, form) }

    /// The function's value for each row, over the rows of the window.
    public func over(_ window: SQLWindow = SQLWindow()) -> SQLExpression<Value> { expression.over(window) }
}

extension SQLExpression {
    /// The row's number, from 1.
    public static func rowNumber() -> SQLWindowValue<Int> { SQLWindowValue("row_number()") }
    /// The row's rank, from 1. Equal rows have the same rank, and the next row's rank is its row number: after two rows with rank 1
    /// comes rank 3.
    public static func rank() -> SQLWindowValue<Int> { SQLWindowValue("rank()") }
    /// The row's rank, from 1. Equal rows have the same rank, and no rank is left out.
    public static func denseRank() -> SQLWindowValue<Int> { SQLWindowValue("dense_rank()") }

    /// The number of the row's part, from 1, if the rows are divided into parts of about the same size.
    public static func ntile(_ parts: Int) -> SQLWindowValue<Int> { SQLWindowValue("ntile(\(parts))") }

    /// The expression's value in an earlier row; nil if there is none.
    /// - Parameter rows: the distance to the earlier row. Default: 1.
    public func lag(_ rows: Int = 1) -> SQLWindowValue<Value?> { neighbour("lag", rows) }
    @_documentation(visibility: private)
    public func lag<T>(_ rows: Int = 1) -> SQLWindowValue<Value> where Value == T? { neighbour("lag", rows) }
    /// The expression's value in a later row; nil if there is none.
    /// - Parameter rows: the distance to the later row. Default: 1.
    public func lead(_ rows: Int = 1) -> SQLWindowValue<Value?> { neighbour("lead", rows) }
    @_documentation(visibility: private)
    public func lead<T>(_ rows: Int = 1) -> SQLWindowValue<Value> where Value == T? { neighbour("lead", rows) }
    /// The expression's value in the first of the rows.
    public func firstValue() -> SQLWindowValue<Value> { SQLWindowValue("first_value(\(sql))", form) }
    /// The expression's value in the last of the rows.
    public func lastValue() -> SQLWindowValue<Value> { SQLWindowValue("last_value(\(sql))", form) }

    private func neighbour<T>(_ name: String, _ rows: Int) -> SQLWindowValue<T> {
        SQLWindowValue("\(raw: name)(\(sql), \(rows))", form)
    }
}
