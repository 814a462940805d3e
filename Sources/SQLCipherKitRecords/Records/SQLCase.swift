import SQLCipherKitCore

/// A value chosen by conditions: the value of the first condition that holds
/// (<https://sqlite.org/lang_expr.html#the_case_expression>).
/// ```swift
/// Book.all.select { book in
///     SQLCase(when: book.pages > 500, then: "long").when(book.pages > 100, then: "usual").otherwise("short")
/// }
/// // CASE WHEN "book"."pages" > ? THEN ? WHEN "book"."pages" > ? THEN ? ELSE ? END
/// ```
/// All values are stored in the form of the first expression among them or, if there is no expression, in the connection's form;
/// see ``ColumnCodingCustomizable/columnProfiles``.
public struct SQLCase<Value>: Sendable {
    /// A value, which is not written until the form of all values is known.
    private enum Part: Sendable {
        case expression(SQLExpression<Value>)
        case value(@Sendable (ValueProfile?) -> SQL)

        func sql(_ form: ValueProfile?) -> SQL {
            switch self {
            case .expression(let expression): expression.converted(to: form).sql
            case .value(let bound): bound(form)
            }
        }
    }

    private var parts: [(condition: SQLPredicate, part: Part)]

    private init(_ condition: SQLPredicate, _ part: Part) { parts = [(condition, part)] }

    /// A value for rows that meet a condition.
    public init(when condition: SQLPredicate, then value: SQLExpression<Value>) { self.init(condition, .expression(value)) }

    /// A value for rows that meet a condition.
    public init(when condition: SQLPredicate, then value: Value) where Value: SQLValueConvertible {
        self.init(condition, Self.part(value))
    }

    /// A value of a `Codable` type for rows that meet a condition.
    @_disfavoredOverload
    public init(when condition: SQLPredicate, then value: Value) where Value: Codable { self.init(condition, Self.coded(value)) }

    /// A value for rows that meet this condition and no earlier condition.
    public func when(_ condition: SQLPredicate, then value: SQLExpression<Value>) -> Self { with(condition, .expression(value)) }

    /// A value for rows that meet this condition and no earlier condition.
    public func when(_ condition: SQLPredicate, then value: Value) -> Self where Value: SQLValueConvertible {
        with(condition, Self.part(value))
    }

    /// A value of a `Codable` type for rows that meet this condition and no earlier condition.
    @_disfavoredOverload
    public func when(_ condition: SQLPredicate, then value: Value) -> Self where Value: Codable {
        with(condition, Self.coded(value))
    }

    /// The value for rows that meet no condition.
    public func otherwise(_ value: SQLExpression<Value>) -> SQLExpression<Value> { made(.expression(value)) }

    /// The value for rows that meet no condition.
    public func otherwise(_ value: Value) -> SQLExpression<Value> where Value: SQLValueConvertible { made(Self.part(value)) }

    /// The value of a `Codable` type for rows that meet no condition.
    @_disfavoredOverload
    public func otherwise(_ value: Value) -> SQLExpression<Value> where Value: Codable { made(Self.coded(value)) }

    /// NULL for rows that meet no condition.
    public var otherwiseNull: SQLExpression<Value?> { made(nil) }

    private static func part(_ value: Value) -> Part where Value: SQLValueConvertible {
        .value { form in SQLExpression<Value>.bound(value, form) }
    }

    private static func coded(_ value: Value) -> Part where Value: Codable {
        let stored = SQLExpression<Value>.stored(value) ?? SQLValue.null
        return .value { form in "\(ProfiledValue(stored, form))" }
    }

    private func with(_ condition: SQLPredicate, _ part: Part) -> Self {
        var copy = self
        copy.parts.append((condition, part))
        return copy
    }

    private func made<T>(_ last: Part?) -> SQLExpression<T> {
        let all = parts.map(\.part) + [last].compactMap { $0 }
        let expressions = all.compactMap { part in if case .expression(let expression) = part { expression } else { nil } }
        let form = expressions.first?.form
        var sql: SQL = "CASE"
        for (condition, part) in parts { sql = "\(sql) WHEN \(condition.condition) THEN \(part.sql(form))" }
        if let last { sql = "\(sql) ELSE \(last.sql(form))" }
        return SQLExpression<T>("\(sql) END", .atom, form, isLoose: expressions.contains(where: \.isLoose))
    }
}
