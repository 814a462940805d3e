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
/// `== false` mean the same as in Swift. A comparison by order, which Swift does not have for optionals, is false if a side is nil.
/// `between`, `like` and your own SQL are false if they are NULL. The negation of such a condition is then true.
///
/// An expression also knows the form in which its values are stored, if this form differs from the connection's ``ValueProfile``;
/// see ``ColumnCodingCustomizable/columnProfiles``. Values that you compare with it are bound in the same form, and expressions of
/// another form are converted.
public struct SQLExpression<Value>: Sendable {
    let fragment: SQLFragment
    private let ownPrecedence: SQLPrecedence
    /// The profile in which its values are stored; nil for the connection's.
    let form: ValueProfile?
    /// True if it may be NULL although its type has no nil: your own SQL, and some conditions.
    let isLoose: Bool

    /// The expression's SQL, with its values. The SQL of a condition is never NULL.
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
    ///   - profile: how its values are stored, such as the profile of a column in it. Default: nil, for the connection's profile.
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

    /// The precedence of the expression, unless it is a condition that is not written yet.
    var precedence: SQLPrecedence { ownPrecedence }

    /// The SQL, in parentheses if it would otherwise be parsed incorrectly next to an operator.
    func operand(_ least: SQLPrecedence) -> SQL {
        let (sql, precedence) = written
        return precedence >= least ? sql : "(\(sql))"
    }

    /// True if it can be NULL.
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

/// The precedence of an expression, from the loosest to the tightest. A function over several rows is set apart from other atoms.
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

/// Values that may be absent.
extension SQLExpression {
    /// The value, or another value if the first is NULL.
    /// ```swift
    /// Book.all.select { $0.subtitle ?? $0.title }     // coalesce("book"."subtitle", "book"."title")
    /// ```
    public static func ?? <T>(a: Self, b: SQLExpression<T>) -> SQLExpression<T> where Value == T? {
        coalesce(a, b.converted(to: a.form).sql, isLoose: b.isLoose)
    }
    public static func ?? <T>(a: Self, b: Self) -> Self where Value == T? { coalesce(a, b.converted(to: a.form).sql) }
    public static func ?? <T: SQLValueConvertible>(a: Self, b: T) -> SQLExpression<T> where Value == T? { coalesce(a, a.bound(b)) }

    /// The value of a `Codable` type, or another value if it is NULL.
    @_disfavoredOverload
    public static func ?? <T: Codable>(a: Self, b: T) -> SQLExpression<T> where Value == T? {
        coalesce(a, "\(ProfiledValue(SQLExpression<T>.stored(b) ?? SQLValue.null, a.form))")
    }

    private static func coalesce<T>(_ a: Self, _ b: SQL, isLoose: Bool = false) -> SQLExpression<T> {
        SQLExpression<T>("coalesce(\(a.sql), \(b))", .atom, a.form, isLoose: isLoose)
    }

    /// The expression as an optional, for where an optional is required.
    public var optional: SQLExpression<Value?> { typed() }
}

/// A value that is never NULL beside one of Swift's that may be nil.
extension SQLExpression where Value: SQLValueConvertible {
    /// The condition that the two are equal. A value that is never NULL does not equal nil.
    @_disfavoredOverload
    public static func == (a: Self, b: Value?) -> SQLPredicate { a.optional == b }
    /// The condition that the two differ.
    @_disfavoredOverload
    public static func != (a: Self, b: Value?) -> SQLPredicate { a.optional != b }
}

/// Comparisons with a value, which is bound in the form in which the expression's values are stored.
extension SQLExpression where Value: SQLValueConvertible {
    public static func == (a: Self, b: Value) -> SQLPredicate { a.compared(.equal, b) }
    public static func != (a: Self, b: Value) -> SQLPredicate { a.compared(.notEqual, b) }
    public static func < (a: Self, b: Value) -> SQLPredicate { a.ordered(.less, b) }
    public static func <= (a: Self, b: Value) -> SQLPredicate { a.ordered(.lessOrEqual, b) }
    public static func > (a: Self, b: Value) -> SQLPredicate { a.ordered(.greater, b) }
    public static func >= (a: Self, b: Value) -> SQLPredicate { a.ordered(.greaterOrEqual, b) }

}

/// The comparisons with a value that is not nil. If a value has another type, the compiler names the expected type.
@_documentation(visibility: private)
extension SQLExpression where Value: SQLValueConvertible & _SQLNullable {
    public static func == (a: Self, b: Value._Plain) -> SQLPredicate { a.typed(Value._Plain.self).compared(.equal, b) }
    public static func != (a: Self, b: Value._Plain) -> SQLPredicate { a.typed(Value._Plain.self).compared(.notEqual, b) }
    public static func < (a: Self, b: Value._Plain) -> SQLPredicate { a.ordered(.less, b) }
    public static func <= (a: Self, b: Value._Plain) -> SQLPredicate { a.ordered(.lessOrEqual, b) }
    public static func > (a: Self, b: Value._Plain) -> SQLPredicate { a.ordered(.greater, b) }
    public static func >= (a: Self, b: Value._Plain) -> SQLPredicate { a.ordered(.greaterOrEqual, b) }
}

extension SQLExpression where Value: SQLValueConvertible {
    /// The condition that the expression lies between two values, inclusive.
    public func between(_ lower: Value, and upper: Value) -> SQLPredicate { isBetween(lower, upper) }

    func isBetween<Bound: SQLValueConvertible>(_ lower: Bound, _ upper: Bound) -> SQLPredicate {
        if lower.isSQLNull || upper.isSQLNull { return SQLPredicate("0", .atom) }
        let (low, high) = (bound(lower, ordered: true), bound(upper, ordered: true))
        let text = SQLPredicate(.text("\(operand(.atom)) BETWEEN \(low) AND \(high)", .comparison, isLoose: canBeNull))
        return SQLPredicate(.paired(text, !(ordered(.greaterOrEqual, lower) && ordered(.lessOrEqual, upper))))
    }

    /// The condition that the expression equals a value, or differs from it.
    func compared(_ comparison: SQLTerms.Comparison, _ value: Value) -> SQLPredicate {
        if value.isSQLNull { return comparison == .equal ? isNull : isNotNull }
        let canBeNull = canBeNull
        let comparison = comparison == .notEqual && canBeNull ? .isNot : comparison
        if Value._isJSONDocument { return isDocument(comparison, bound(value)) }
        return compare(comparison, value, canBeNull)
    }

    func ordered<Bound: SQLValueConvertible>(_ comparison: SQLTerms.Comparison, _ value: Bound) -> SQLPredicate {
        let canBeNull = canBeNull
        // Only a type that can be NULL has values that are.
        if canBeNull, value.isSQLNull { return SQLPredicate("0", .atom) }
        if SQLForm.isDecimal(Value.self) {
            return compare(comparison, ProfiledValue(value, form, isOrderedDecimal: true), canBeNull)
        }
        return compare(comparison, value, canBeNull)
    }
}

extension SQLExpression {
    /// The condition that the expression is NULL.
    public var isNull: SQLPredicate { null(.isNull) }

    /// The condition that the expression is not NULL.
    public var isNotNull: SQLPredicate { null(.isNotNull) }

    private func null(_ comparison: SQLTerms.Comparison) -> SQLPredicate {
        if let term = term(comparison, StatementArguments(), false) { return term }
        return SQLPredicate(.comparison(SQLCondition.Side(sql: operand(.atom), canBeNull: false), comparison, .none))
    }

    /// A comparison with a value that is not NULL.
    private func compare(_ comparison: SQLTerms.Comparison, _ value: some SQLValueConvertible, _ canBeNull: Bool) -> SQLPredicate {
        if case .column = fragment {
            var values = StatementArguments()
            if let form { values.append(ProfiledValue(value, form)) } else { values.append(value) }
            if let term = term(comparison, values, canBeNull && comparison.canBeNull) { return term }
        }
        return SQLPredicate(.comparison(side(canBeNull), comparison, SQLCondition.Side(sql: bound(value), canBeNull: false)))
    }

    /// The comparison of a column with a value or with NULL.
    private func term(_ comparison: SQLTerms.Comparison, _ values: StatementArguments, _ canBeNull: Bool) -> SQLPredicate? {
        guard case .column(let column) = fragment else { return nil }
        return SQLTerms(column, comparison, values).map { SQLPredicate(.terms($0), .comparison, isLoose: canBeNull) }
    }

    func side(_ canBeNull: Bool) -> SQLCondition.Side {
        var isColumn = precedence == .atom && !isLoose
        if case .column = fragment { isColumn = true }
        return SQLCondition.Side(sql: operand(.atom), canBeNull: canBeNull, isColumn: isColumn)
    }

    /// The condition that the expression equals one of some values, of which none is NULL.
    func among(_ values: [some SQLValueConvertible], _ form: ValueProfile?) -> SQLPredicate {
        let list: SQL = form.map { form in "\(values.map { ProfiledValue($0, form) })" } ?? "\(values)"
        // Nothing is in an empty list, not even NULL.
        return SQLPredicate(.text("\(operand(.atom)) IN \(list)", .comparison, isLoose: canBeNull && !values.isEmpty))
    }
}

/// Comparisons with another expression; one side may be optional. Where the two are stored in different forms, they are converted
/// for the comparison, which then uses no index.
extension SQLExpression where Value: SQLValueConvertible {
    public static func == <B: SQLValueConvertible>(a: Self, b: SQLExpression<B>) -> SQLPredicate
    where B._Plain == Value._Plain { same(.equal, a, b) }
    public static func != <B: SQLValueConvertible>(a: Self, b: SQLExpression<B>) -> SQLPredicate
    where B._Plain == Value._Plain { same(.notEqual, a, b) }
    public static func < <B: SQLValueConvertible>(a: Self, b: SQLExpression<B>) -> SQLPredicate
    where B._Plain == Value._Plain { order(.less, a, b) }
    public static func <= <B: SQLValueConvertible>(a: Self, b: SQLExpression<B>) -> SQLPredicate
    where B._Plain == Value._Plain { order(.lessOrEqual, a, b) }
    public static func > <B: SQLValueConvertible>(a: Self, b: SQLExpression<B>) -> SQLPredicate
    where B._Plain == Value._Plain { order(.greater, a, b) }
    public static func >= <B: SQLValueConvertible>(a: Self, b: SQLExpression<B>) -> SQLPredicate
    where B._Plain == Value._Plain { order(.greaterOrEqual, a, b) }
}

/// Comparisons of an expression of a `Codable` type with another expression.
@_documentation(visibility: private)
extension SQLExpression {
    @_disfavoredOverload
    public static func == (a: Self, b: Self) -> SQLPredicate { same(.equal, a, b) }
    @_disfavoredOverload
    public static func == (a: SQLExpression<Value?>, b: Self) -> SQLPredicate { same(.equal, a, b) }
    @_disfavoredOverload
    public static func == (a: Self, b: SQLExpression<Value?>) -> SQLPredicate { same(.equal, a, b) }
    @_disfavoredOverload
    public static func != (a: Self, b: Self) -> SQLPredicate { same(.notEqual, a, b) }
    @_disfavoredOverload
    public static func != (a: SQLExpression<Value?>, b: Self) -> SQLPredicate { same(.notEqual, a, b) }
    @_disfavoredOverload
    public static func != (a: Self, b: SQLExpression<Value?>) -> SQLPredicate { same(.notEqual, a, b) }

    private static func same<A, B>(
        _ comparison: SQLTerms.Comparison, _ a: SQLExpression<A>, _ b: SQLExpression<B>
    ) -> SQLPredicate {
        let (aCanBeNull, bCanBeNull) = (a.canBeNull, b.canBeNull)
        let null: SQLTerms.Comparison? =
            comparison == .equal ? (aCanBeNull && bCanBeNull ? .is : nil) : (aCanBeNull || bCanBeNull ? .isNot : nil)
        let isSame = SQLForm.isSame(a.form, b.form, Value.self)
        let sides = [a.side(aCanBeNull, isSame), b.side(bCanBeNull, isSame)]
        return SQLPredicate(.comparison(sides[0], null ?? comparison, sides[1]))
    }

    /// As a side of a comparison for equality.
    private func side(_ canBeNull: Bool, _ isSame: Bool) -> SQLCondition.Side {
        guard let sql = SQLForm.comparable(sql, Value.self, from: form, isSame: isSame) else { return side(canBeNull) }
        return SQLCondition.Side(sql: sql, canBeNull: canBeNull)
    }

    private static func order<A, B>(
        _ comparison: SQLTerms.Comparison, _ a: SQLExpression<A>, _ b: SQLExpression<B>
    ) -> SQLPredicate {
        let (aCanBeNull, bCanBeNull) = (a.canBeNull, b.canBeNull)
        guard SQLForm.isSame(a.form, b.form, Value.self) else {
            let form = SQLForm.common(ordered: true)
            let (a, b) = (a.converted(to: form), b.converted(to: form))
            return SQLPredicate(.comparison(a.side(aCanBeNull), comparison, b.side(bCanBeNull)))
        }
        guard let check = a.orderCheck else {
            return SQLPredicate(.comparison(a.side(aCanBeNull), comparison, b.side(bCanBeNull)))
        }
        let checked = SQLCondition.Side(sql: "ifnull(\(b.sql), \(check))", canBeNull: bCanBeNull)
        return SQLPredicate(.comparison(a.side(aCanBeNull), comparison, checked))
    }
}

/// Text matching (<https://sqlite.org/lang_expr.html#like>). Case is ignored for ASCII letters only.
extension SQLExpression {
    /// The condition that the text matches a pattern in which `%` stands for any text and `_` for any character.
    public func like(_ pattern: String) -> SQLPredicate {
        let isWhole = !pattern.utf8.contains(0)
        return matching(isWhole ? "\(operand(.atom)) LIKE \(pattern)" : "\(operand(.atom)) LIKE \(LikePattern.cut)")
    }

    /// The condition that the text matches a pattern in which text is taken literally, such as `.contains("100%")`.
    public func like(_ pattern: LikePattern) -> SQLPredicate { matching(pattern.condition(on: operand(.atom))) }

    /// The condition that the text begins with another text, byte for byte. Every text begins with the empty text.
    public func hasPrefix(_ prefix: String) -> SQLPredicate where Value: SQLValueConvertible, Value._Plain == String {
        matching("instr(\(sql), \(prefix)) = 1")
    }

    /// The condition that the text ends with another text, byte for byte.
    public func hasSuffix(_ suffix: String) -> SQLPredicate where Value: SQLValueConvertible, Value._Plain == String {
        let conversion = StoredConversion { value, _ in
            guard case .text(let text) = value else { return .integer(0) }
            return .integer(text.utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) ? 1 : 0)
        }
        return matching("\(raw: StoredConversion.function)(\(sql), \(conversion)) = 1")
    }

    /// The condition that the text contains another text, byte for byte. To ignore the case of ASCII letters, use a
    /// ``LikePattern``, and to find words, a full-text index.
    public func contains(_ text: String) -> SQLPredicate where Value: SQLValueConvertible, Value._Plain == String {
        matching("instr(\(sql), \(text)) > 0")
    }

    private func matching(_ sql: SQL) -> SQLPredicate { SQLPredicate(.text(sql, .comparison, isLoose: canBeNull)) }
}

/// A type whose values may be NULL.
protocol SQLNullable {
    static var wrapped: any Any.Type { get }
}

extension Optional: SQLNullable {
    static var wrapped: any Any.Type { Wrapped.self }
}

/// The protocol of optional types. It allows comparisons of an optional expression with a value that is not optional.
public protocol _SQLNullable {}

extension Optional: _SQLNullable {}

extension SQLValueConvertible {
    /// True if the value is nil or stored as NULL.
    var isSQLNull: Bool {
        // The most frequent types, whose values need not be made to know that they are not NULL.
        if Self.self == Int64.self || Self.self == Int.self || Self.self == String.self { return false }
        return (try? sqlValue) == .null
    }
}
