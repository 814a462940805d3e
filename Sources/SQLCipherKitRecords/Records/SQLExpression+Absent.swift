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

/// Sets and ranges.
extension SQLExpression where Value: SQLValueConvertible & Comparable {
    /// Whether it lies in a range, both ends included.
    public func `in`(_ range: ClosedRange<Value>) -> SQLPredicate { between(range) }

    /// Whether it lies in a range, without its end.
    public func `in`(_ range: Range<Value>) -> SQLPredicate { self >= range.lowerBound && self < range.upperBound }

    /// Whether it lies in a range, which has no end.
    public func `in`(_ range: PartialRangeFrom<Value>) -> SQLPredicate { self >= range.lowerBound }

    /// Whether it lies in a range, without its end.
    public func `in`(_ range: PartialRangeUpTo<Value>) -> SQLPredicate { self < range.upperBound }

    /// Whether it lies in a range, its end included.
    public func `in`(_ range: PartialRangeThrough<Value>) -> SQLPredicate { self <= range.upperBound }
}

extension SQLExpression where Value: SQLValueConvertible & Hashable {
    /// Whether it is one of these values. NULL is one of them if the set has a nil.
    public func `in`(_ values: Set<Value>) -> SQLPredicate { self.in(Array(values)) }
}

/// The same for what may be NULL, which is in no list and no range of values.
extension SQLExpression {
    public func `in`<T: SQLValueConvertible>(_ values: [T]) -> SQLPredicate where Value == T? { self.in(values.map(Optional.some)) }
    public func `in`<T: SQLValueConvertible>(_ values: Set<T>) -> SQLPredicate where Value == T? { self.in(Array(values)) }
    public func `in`<T: SQLValueConvertible>(_ range: ClosedRange<T>) -> SQLPredicate where Value == T? { between(range) }
    public func `in`<T: SQLValueConvertible>(_ range: Range<T>) -> SQLPredicate where Value == T? {
        self >= range.lowerBound && self < range.upperBound
    }
    public func `in`<T: SQLValueConvertible>(_ range: PartialRangeFrom<T>) -> SQLPredicate where Value == T? {
        self >= range.lowerBound
    }
    public func `in`<T: SQLValueConvertible>(_ range: PartialRangeUpTo<T>) -> SQLPredicate where Value == T? {
        self < range.upperBound
    }
    public func `in`<T: SQLValueConvertible>(_ range: PartialRangeThrough<T>) -> SQLPredicate where Value == T? {
        self <= range.upperBound
    }
    public func between<T: SQLValueConvertible>(_ lower: T, and upper: T) -> SQLPredicate where Value == T? {
        between(Optional(lower), and: Optional(upper))
    }
    public func between<T: SQLValueConvertible>(_ range: ClosedRange<T>) -> SQLPredicate where Value == T? {
        between(range.lowerBound, and: range.upperBound)
    }
}
