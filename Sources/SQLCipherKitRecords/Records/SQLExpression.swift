import SQLCipherKitCore

/// A part of a query with a value of a known type, such as a column, a function of a column or a condition.
///
/// The closures of a query provide the columns, which operators combine into expressions; compared values are bound. Write anything
/// that has no operator here as SQL:
/// ```swift
/// Note.filter { $0.stars > 3 && $0.title != "Plan" }     // "note"."stars" > ? AND "note"."title" <> ?
/// Note.filter { SQLPredicate("\($0.stars) % 2 = \(1)") }  // "note"."stars" % 2 = ?
/// ```
/// Comparing an optional property with `==` and `!=` works as in Swift: nil equals nil and differs from everything else. All other
/// comparisons with NULL, and their negations with `!`, are neither true nor false, as in SQL (<https://sqlite.org/nulls.html>).
public struct SQLExpression<Value>: Sendable {
    let fragment: SQLFragment
    let precedence: SQLPrecedence
    /// The profile for binding values that are compared with it, if it is a column with its own profile.
    let profile: ValueProfile?

    /// The expression's SQL, with its values.
    public var sql: SQL { fragment.sql }

    init(_ sql: SQL, _ precedence: SQLPrecedence, _ profile: ValueProfile? = nil) {
        self.init(.text(SQLFragment.Text(sql)), precedence, profile)
    }

    init(_ fragment: SQLFragment, _ precedence: SQLPrecedence, _ profile: ValueProfile? = nil) {
        self.fragment = fragment
        self.precedence = precedence
        self.profile = profile
    }

    /// Creates an expression from your own SQL.
    /// ```swift
    /// Note.all.select { SQLExpression<Int>("length(\($0.title))") }
    /// ```
    public init(_ sql: SQL) { self.init(sql, .custom) }

    /// The SQL, in parentheses if it would otherwise be parsed incorrectly next to an operator.
    func operand(_ least: SQLPrecedence) -> SQL { precedence >= least ? sql : "(\(sql))" }

    /// The expression with another type, for a column whose values differ from its property's type.
    public func typed<T>(_ type: T.Type = T.self) -> SQLExpression<T> { SQLExpression<T>(fragment, precedence, profile) }
}

/// How tightly an expression binds, from the loosest to the tightest. A function over several rows is set apart from other atoms.
enum SQLPrecedence: Int, Comparable, Sendable {
    case custom, or, and, comparison, atom, function

    static func < (a: SQLPrecedence, b: SQLPrecedence) -> Bool { a.rawValue < b.rawValue }
}

/// A condition.
public typealias SQLPredicate = SQLExpression<Bool>

extension SQL.StringInterpolation {
    /// Inserts an expression with its values.
    public mutating func appendInterpolation<T>(_ expression: SQLExpression<T>) {
        appendInterpolation(expression.operand(.atom))
    }
}

// MARK: And, or, not

extension SQLExpression where Value == Bool {
    /// Whether both conditions are true.
    public static func && (a: Self, b: Self) -> Self {
        if case .terms(let first) = a.fragment, case .terms(let second) = b.fragment, let both = first.and(second) {
            return Self(.terms(both), .and)
        }
        return Self("\(a.operand(.and)) AND \(b.operand(.and))", .and)
    }

    /// Whether at least one of the conditions is true.
    public static func || (a: Self, b: Self) -> Self {
        Self("\(a.either) OR \(b.either)", .or)
    }

    /// The negation. If the condition is neither true nor false, so is its negation.
    public static prefix func ! (a: Self) -> Self { Self("NOT \(a.operand(.atom))", .comparison) }

    private var either: SQL { precedence == .or ? sql : operand(.comparison) }
}
