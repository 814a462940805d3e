import SQLCipherKitCore

/// Values that may be absent.
extension SQLExpression {
    /// The value, or another one where it is NULL.
    /// ```swift
    /// Book.all.select { $0.subtitle ?? $0.title }     // coalesce("book"."subtitle", "book"."title")
    /// ```
    public static func ?? <T>(a: Self, b: SQLExpression<T>) -> SQLExpression<T> where Value == T? {
        coalesce(a, b.converted(to: a.form).sql, isLoose: b.isLoose)
    }
    public static func ?? <T>(a: Self, b: Self) -> Self where Value == T? { coalesce(a, b.converted(to: a.form).sql) }
    public static func ?? <T: SQLValueConvertible>(a: Self, b: T) -> SQLExpression<T> where Value == T? { coalesce(a, a.bound(b)) }

    /// The value, or another one where it is NULL, of a type that codes itself.
    @_disfavoredOverload
    public static func ?? <T: Codable>(a: Self, b: T) -> SQLExpression<T> where Value == T? {
        coalesce(a, "\(ProfiledValue(SQLExpression<T>.stored(b) ?? SQLValue.null, a.form))")
    }

    private static func coalesce<T>(_ a: Self, _ b: SQL, isLoose: Bool = false) -> SQLExpression<T> {
        SQLExpression<T>("coalesce(\(a.sql), \(b))", .atom, a.form, isLoose: isLoose)
    }

    /// The expression as an optional one: for a place that needs one.
    public var optional: SQLExpression<Value?> { typed() }
}

/// A value that is never NULL beside one of Swift's that may be nil.
extension SQLExpression where Value: SQLValueConvertible {
    /// Whether the two are equal. What is never NULL is equal to no nil.
    @_disfavoredOverload
    public static func == (a: Self, b: Value?) -> SQLPredicate { a.optional == b }
    /// Whether the two differ.
    @_disfavoredOverload
    public static func != (a: Self, b: Value?) -> SQLPredicate { a.optional != b }
}
