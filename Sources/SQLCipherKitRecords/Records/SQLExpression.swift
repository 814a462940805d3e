import SQLCipherKitCore

/// A part of a query with a value of a known type, such as a column, a function of a column or a condition.
///
/// The closures of a query provide the columns, which operators combine into expressions; compared values are bound. Write anything
/// that has no operator here as SQL:
/// ```swift
/// Note.filter { $0.stars > 3 && $0.title != "Plan" }     // "note"."stars" > ? AND "note"."title" <> ?
/// Note.filter { SQLPredicate("\($0.stars) % 2 = \(1)") }  // "note"."stars" % 2 = ?
/// ```
/// A condition is true or false, never NULL, as in Swift: nil equals nil and differs from everything else, and `!`, `&&`, `||` and
/// `== false` mean what they mean there. An order, which Swift does not have for optionals, is false where a side is nil, and so
/// are `between`, `like` and your own SQL where they are NULL. Their negation is true there.
///
/// An expression also knows how its values are stored, if that is not how the connection's ``ValueProfile`` says; see
/// ``ColumnProfiled/columnProfiles``. Values that it meets are bound in that form, and expressions of another form are converted.
public struct SQLExpression<Value>: Sendable {
    let fragment: SQLFragment
    private let ownPrecedence: SQLPrecedence
    /// The profile in which its values are stored; nil for the connection's.
    let form: ValueProfile?
    /// Whether it may be NULL although its type has no nil: your own SQL, and some conditions.
    let isLoose: Bool

    /// The expression's SQL, with its values. That of a condition is never NULL.
    public var sql: SQL { written.sql }

    init(_ sql: SQL, _ precedence: SQLPrecedence, _ form: ValueProfile? = nil, isLoose: Bool = false) {
        self.init(.text(SQLFragment.Text(sql)), precedence, form, isLoose: isLoose)
    }

    init(_ fragment: SQLFragment, _ precedence: SQLPrecedence, _ form: ValueProfile? = nil, isLoose: Bool = false) {
        self.fragment = fragment
        self.ownPrecedence = precedence
        self.form = form
        self.isLoose = isLoose
    }

    /// Creates an expression from your own SQL.
    /// ```swift
    /// Note.all.select { SQLExpression<Int>("length(\($0.title))") }
    /// ```
    /// - Parameters:
    ///   - sql: the SQL. It may be NULL, even if the type has no nil.
    ///   - profile: how its values are stored, such as that of a column in it. Default: nil, for the connection's profile.
    public init(_ sql: SQL, storedAs profile: ValueProfile? = nil) {
        self.init(sql, .custom, profile, isLoose: true)
    }

    /// The SQL and how tightly it binds; a condition as a value that is not NULL.
    private var written: (sql: SQL, precedence: SQLPrecedence) {
        if Value.self == Bool.self, isLoose || fragment.isCondition {
            return SQLPredicate(fragment, ownPrecedence, form, isLoose: isLoose).written(.asValue)
        }
        return (fragment.sql, ownPrecedence)
    }

    /// How tightly it binds, unless it is a condition that is not written yet.
    var precedence: SQLPrecedence { ownPrecedence }

    /// The SQL, in parentheses if it would otherwise be parsed incorrectly next to an operator.
    func operand(_ least: SQLPrecedence) -> SQL {
        let (sql, precedence) = written
        return precedence >= least ? sql : "(\(sql))"
    }

    /// Whether it can be NULL.
    var canBeNull: Bool {
        if isLoose { return true }
        // The most frequent types first: asking for a conformance takes longer.
        if Value.self == Int64.self || Value.self == Int.self { return false }
        if Value.self == String.self || Value.self == Bool.self { return false }
        if Value.self == Int64?.self || Value.self == Int?.self || Value.self == String?.self { return true }
        return Value.self is any SQLNullable.Type
    }

    /// The expression with another type, for a column whose values differ from its property's type.
    public func typed<T>(_ type: T.Type = T.self) -> SQLExpression<T> {
        if T.self != Bool.self, fragment.isCondition {
            let (sql, precedence) = written
            return SQLExpression<T>(sql, precedence)
        }
        return SQLExpression<T>(fragment, ownPrecedence, form, isLoose: canBeNull)
    }
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
