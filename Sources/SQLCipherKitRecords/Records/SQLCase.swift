import SQLCipherKitCore

/// A value chosen by conditions, the first that holds (<https://sqlite.org/lang_expr.html#the_case_expression>).
/// ```swift
/// Book.all.select { book in
///     SQLCase(when: book.pages > 500, then: "long").when(book.pages > 100, then: "usual").otherwise("short")
/// }
/// // CASE WHEN "book"."pages" > ? THEN ? WHEN "book"."pages" > ? THEN ? ELSE ? END
/// ```
/// A condition that is neither true nor false does not hold.
public struct SQLCase<Value>: Sendable {
    private let sql: SQL

    private init(_ sql: SQL) { self.sql = sql }

    /// A value for what meets a condition.
    public init(when condition: SQLPredicate, then value: SQLExpression<Value>) {
        self.init("CASE WHEN \(condition.sql) THEN \(value.sql)")
    }

    /// A value for what meets a condition.
    public init(when condition: SQLPredicate, then value: Value) where Value: SQLValueConvertible {
        self.init("CASE WHEN \(condition.sql) THEN \(value)")
    }

    /// A value for what meets this condition and none before it.
    public func when(_ condition: SQLPredicate, then value: SQLExpression<Value>) -> Self {
        Self("\(sql) WHEN \(condition.sql) THEN \(value.sql)")
    }

    /// A value for what meets this condition and none before it.
    public func when(_ condition: SQLPredicate, then value: Value) -> Self where Value: SQLValueConvertible {
        Self("\(sql) WHEN \(condition.sql) THEN \(value)")
    }

    /// The value where no condition holds.
    public func otherwise(_ value: SQLExpression<Value>) -> SQLExpression<Value> {
        SQLExpression("\(sql) ELSE \(value.sql) END", .atom)
    }

    /// The value where no condition holds.
    public func otherwise(_ value: Value) -> SQLExpression<Value> where Value: SQLValueConvertible {
        SQLExpression("\(sql) ELSE \(value) END", .atom)
    }

    /// NULL where no condition holds.
    public var otherwiseNull: SQLExpression<Value?> { SQLExpression<Value?>("\(sql) END", .atom) }
}
