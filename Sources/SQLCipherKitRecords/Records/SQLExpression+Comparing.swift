import SQLCipherKitCore

/// Comparisons with a value, which is bound in the form in which the expression's values are stored.
extension SQLExpression where Value: SQLValueConvertible {
    public static func == (a: Self, b: Value) -> SQLPredicate { a.compared(.equal, b) }
    public static func != (a: Self, b: Value) -> SQLPredicate { a.compared(.notEqual, b) }
    public static func < (a: Self, b: Value) -> SQLPredicate { a.ordered(.less, b) }
    public static func <= (a: Self, b: Value) -> SQLPredicate { a.ordered(.lessOrEqual, b) }
    public static func > (a: Self, b: Value) -> SQLPredicate { a.ordered(.greater, b) }
    public static func >= (a: Self, b: Value) -> SQLPredicate { a.ordered(.greaterOrEqual, b) }

    /// Whether the expression lies between two values, inclusive.
    public func between(_ lower: Value, and upper: Value) -> SQLPredicate { isBetween(lower, upper) }

    func isBetween<Bound: SQLValueConvertible>(_ lower: Bound, _ upper: Bound) -> SQLPredicate {
        if lower.isSQLNull || upper.isSQLNull { return SQLPredicate("0", .atom) }
        let (low, high) = (bound(lower, ordered: true), bound(upper, ordered: true))
        let text = SQLPredicate(.text("\(operand(.atom)) BETWEEN \(low) AND \(high)", .comparison, isLoose: canBeNull))
        return SQLPredicate(.paired(text, !(ordered(.greaterOrEqual, lower) && ordered(.lessOrEqual, upper))))
    }

    /// Whether it is equal to a value, or not.
    func compared(_ comparison: SQLTerms.Comparison, _ value: Value) -> SQLPredicate {
        if value.isSQLNull { return comparison == .equal ? isNull : isNotNull }
        let canBeNull = canBeNull
        let comparison = comparison == .notEqual && canBeNull ? .isNot : comparison
        if Value._isJSONDocument { return isDocument(comparison, "\(value)") }
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
    /// Whether the expression is NULL.
    public var isNull: SQLPredicate { null(.isNull) }

    /// Whether the expression is not NULL.
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

    /// Whether the expression is one of some values, of which none is NULL.
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

/// Comparisons of what codes itself with another expression.
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
        if DocumentTypes.contains(Value.self) {
            return SQLPredicate(
                .comparison(
                    SQLCondition.Side(sql: "json(\(a.sql))", canBeNull: aCanBeNull), null ?? comparison,
                    SQLCondition.Side(sql: "json(\(b.sql))", canBeNull: bCanBeNull)))
        }
        let (a, b) = SQLForm.isSame(a.form, b.form, Value.self) ? (a, b) : inCommon(a, b, ordered: false)
        return SQLPredicate(.comparison(a.side(aCanBeNull), null ?? comparison, b.side(bCanBeNull)))
    }

    private static func order<A, B>(
        _ comparison: SQLTerms.Comparison, _ a: SQLExpression<A>, _ b: SQLExpression<B>
    ) -> SQLPredicate {
        let (aCanBeNull, bCanBeNull) = (a.canBeNull, b.canBeNull)
        guard SQLForm.isSame(a.form, b.form, Value.self) else {
            let (a, b) = inCommon(a, b, ordered: true)
            return SQLPredicate(.comparison(a.side(aCanBeNull), comparison, b.side(bCanBeNull)))
        }
        guard let check = a.orderCheck else {
            return SQLPredicate(.comparison(a.side(aCanBeNull), comparison, b.side(bCanBeNull)))
        }
        let checked = SQLCondition.Side(sql: "ifnull(\(b.sql), \(check))", canBeNull: bCanBeNull)
        return SQLPredicate(.comparison(a.side(aCanBeNull), comparison, checked))
    }

    /// Both in a form in which values of all forms can be compared.
    private static func inCommon<A, B>(
        _ a: SQLExpression<A>, _ b: SQLExpression<B>, ordered: Bool
    ) -> (SQLExpression<A>, SQLExpression<B>) {
        let form = SQLForm.common(ordered: ordered)
        return (a.converted(to: form), b.converted(to: form))
    }
}

/// Text matching (<https://sqlite.org/lang_expr.html#like>). Case is ignored for ASCII letters only.
extension SQLExpression {
    /// Whether the text matches a pattern in which `%` stands for any text and `_` for any character.
    public func like(_ pattern: String) -> SQLPredicate {
        let isWhole = !pattern.utf8.contains(0)
        return matching(isWhole ? "\(operand(.atom)) LIKE \(pattern)" : "\(operand(.atom)) LIKE \(LikePattern.cut)")
    }

    /// Whether the text matches a pattern in which text is taken literally, such as `.contains("100%")`.
    public func like(_ pattern: LikePattern) -> SQLPredicate { matching(pattern.condition(on: operand(.atom))) }

    private func matching(_ sql: SQL) -> SQLPredicate { SQLPredicate(.text(sql, .comparison, isLoose: canBeNull)) }
}

/// A type whose values may be NULL.
protocol SQLNullable {
    static var wrapped: any Any.Type { get }
}

extension Optional: SQLNullable {
    static var wrapped: any Any.Type { Wrapped.self }
}

extension SQLValueConvertible {
    /// Whether the value is nil or stored as NULL.
    var isSQLNull: Bool {
        // The most frequent types, whose values need not be made to know that they are not NULL.
        if Self.self == Int64.self || Self.self == Int.self || Self.self == String.self { return false }
        return (try? sqlValue) == .null
    }
}
