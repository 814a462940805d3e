/// A piece of a query that has a value of a known type: a column, a function of one, a condition.
///
/// Columns come from the closures of a query, and operators make expressions of them; what is compared is bound. Anything that
/// has no operator here is written as SQL:
/// ```swift
/// Note.filter { $0.stars > 3 && $0.title != "Plan" }     // "note"."stars" > ? AND "note"."title" <> ?
/// Note.filter { SQLPredicate("\($0.stars) % 2 = \(1)") }  // "note"."stars" % 2 = ?
/// ```
/// Comparing an optional property with `==` and `!=` means what it means in Swift: nil equals nil and differs from everything else.
/// All other comparisons with NULL, and their opposites by `!`, are neither true nor false, as in SQL
/// (<https://sqlite.org/nulls.html>).
public struct SQLExpression<Value>: Sendable {
    /// The expression's SQL, with its values.
    public let sql: SQL
    let precedence: SQLPrecedence
    /// How values that are compared with it are bound, where it is a column with a profile of its own.
    let profile: ValueProfile?

    init(_ sql: SQL, _ precedence: SQLPrecedence, _ profile: ValueProfile? = nil) {
        self.sql = sql
        self.precedence = precedence
        self.profile = profile
    }

    /// An expression of one's own.
    /// ```swift
    /// Note.all.select { SQLExpression<Int>("length(\($0.title))") }
    /// ```
    public init(_ sql: SQL) { self.init(sql, .custom) }

    /// The SQL, in parentheses where it would be read wrongly beside an operator.
    func operand(_ least: SQLPrecedence) -> SQL { precedence >= least ? sql : "(\(sql))" }

    /// The expression as one of another type: for a column that holds something else than its property says.
    public func typed<T>(_ type: T.Type = T.self) -> SQLExpression<T> { SQLExpression<T>(sql, precedence, profile) }
}

/// How tightly an expression is bound together, from the loosest.
enum SQLPrecedence: Int, Comparable, Sendable {
    case custom, or, and, comparison, atom

    static func < (a: SQLPrecedence, b: SQLPrecedence) -> Bool { a.rawValue < b.rawValue }
}

/// A condition.
public typealias SQLPredicate = SQLExpression<Bool>

extension SQL.StringInterpolation {
    /// Puts in an expression with its values.
    public mutating func appendInterpolation<T>(_ expression: SQLExpression<T>) {
        appendInterpolation(expression.operand(.atom))
    }
}

// MARK: And, or, not

extension SQLExpression where Value == Bool {
    /// Both.
    public static func && (a: Self, b: Self) -> Self { Self("\(a.operand(.and)) AND \(b.operand(.and))", .and) }

    /// One of the two, or both.
    public static func || (a: Self, b: Self) -> Self {
        Self("\(a.either) OR \(b.either)", .or)
    }

    /// Not. Of what is neither true nor false it is the same again.
    public static prefix func ! (a: Self) -> Self { Self("NOT \(a.operand(.atom))", .comparison) }

    private var either: SQL { precedence == .or ? sql : operand(.comparison) }
}
