import SQLCipherKitCore

/// A condition before it is written as SQL.
///
/// SQL's conditions can be NULL, and Swift's cannot. Which of several ways to write one is right, and lets an index be used,
/// depends on where it stands, so nothing is written until that is known.
final class SQLCondition: Sendable {
    enum Kind: Sendable {
        case both(SQLPredicate, SQLPredicate)
        case either(SQLPredicate, SQLPredicate)
        case not(SQLPredicate)
        case comparison(Side, SQLTerms.Comparison, Side)
        /// SQL. If it is loose, it can be NULL, which counts as false.
        case text(SQL, SQLPrecedence, isLoose: Bool)
        /// A condition, and a second condition that is true where the first is not.
        case paired(SQLPredicate, SQLPredicate)
    }

    /// A side of a comparison.
    struct Side: Sendable {
        let sql: SQL
        let canBeNull: Bool
        /// True if writing the side twice costs nothing and cannot give two results.
        var isColumn = false

        /// No side, for the comparison with NULL.
        static let none = Side(sql: "", canBeNull: false)
    }

    let kind: Kind

    init(_ kind: Kind) { self.kind = kind }
}

extension SQLExpression where Value == Bool {
    /// Where a condition stands.
    enum Place {
        /// Where NULL counts as false: WHERE, ON, HAVING, FILTER and CASE.
        case asCondition
        /// In the same places, but negated.
        case negated
        /// Where NULL would be visible, such as in a result.
        case asValue
    }

    init(_ kind: SQLCondition.Kind) { self.init(.condition(SQLCondition(kind)), .custom) }

    /// SQL that is true where the condition is, and otherwise false or NULL.
    var condition: SQL { written(.asCondition).sql }

    /// The SQL for a place, and how tightly it binds.
    func written(_ place: Place) -> (sql: SQL, precedence: SQLPrecedence) {
        let made = make(place == .negated)
        guard place == .asValue, made.isLoose else { return (made.sql, made.precedence) }
        return ("\(made.operand(.atom)) IS TRUE", .comparison)
    }

    private struct Written {
        let sql: SQL
        let precedence: SQLPrecedence
        /// True if the side may be NULL for false.
        var isLoose = false

        func operand(_ least: SQLPrecedence) -> SQL { precedence >= least ? sql : "(\(sql))" }

        var negated: Written {
            Written(sql: isLoose ? "\(operand(.atom)) IS NOT TRUE" : "NOT \(operand(.atom))", precedence: .comparison)
        }
    }

    private func make(_ isNegated: Bool) -> Written {
        switch fragment {
        case .text(let text):
            let made = Written(sql: text.sql, precedence: precedence, isLoose: isLoose)
            return isNegated ? made.negated : made
        case .column:
            let made = Written(sql: fragment.sql, precedence: .atom, isLoose: isLoose)
            return isNegated ? made.negated : made
        case .terms(let terms):
            if isNegated, let opposite = terms.opposite(canBeNull: isLoose) {
                return Written(sql: SQL(raw: opposite.text, opposite.values), precedence: .comparison)
            }
            let made = Written(sql: fragment.sql, precedence: terms.isSingle ? .comparison : .and, isLoose: isLoose)
            return isNegated ? made.negated : made
        case .condition(let condition):
            return Self.make(condition.kind, isNegated)
        }
    }

    private static func make(_ kind: SQLCondition.Kind, _ isNegated: Bool) -> Written {
        switch kind {
        case .both(let a, let b), .either(let a, let b):
            // A negated AND is the OR of its negated parts, and the other way round.
            var isAnd = isNegated
            if case .both = kind { isAnd = !isNegated }
            let (a, b) = (a.make(isNegated), b.make(isNegated))
            let precedence = isAnd ? SQLPrecedence.and : .or
            func side(_ made: Written) -> SQL {
                made.precedence == precedence ? made.sql : made.operand(isAnd ? .and : .comparison)
            }
            return Written(
                sql: "\(side(a)) \(raw: isAnd ? "AND" : "OR") \(side(b))", precedence: precedence, isLoose: a.isLoose || b.isLoose)
        case .not(let condition):
            return condition.make(!isNegated)
        case .paired(let condition, let opposite):
            return (isNegated ? opposite : condition).make(false)
        case .text(let sql, let precedence, let isLoose):
            let made = Written(sql: sql, precedence: precedence, isLoose: isLoose)
            return isNegated ? made.negated : made
        case .comparison(let a, let comparison, let b):
            return isNegated ? opposite(a, comparison, b) : make(a, comparison, b)
        }
    }

    private static func make(_ a: SQLCondition.Side, _ comparison: SQLTerms.Comparison, _ b: SQLCondition.Side) -> Written {
        let sql: SQL = comparison.hasValue ? "\(a.sql) \(raw: comparison.text) \(b.sql)" : "\(a.sql) \(raw: comparison.text)"
        return Written(sql: sql, precedence: .comparison, isLoose: comparison.canBeNull && (a.canBeNull || b.canBeNull))
    }

    /// Returns the condition that is true where the comparison is not.
    private static func opposite(_ a: SQLCondition.Side, _ comparison: SQLTerms.Comparison, _ b: SQLCondition.Side) -> Written {
        let canBeNull = a.canBeNull || b.canBeNull
        if let opposite = comparison.opposite(canBeNull: canBeNull) { return make(a, opposite, b) }
        let nulls = [a, b].filter(\.canBeNull)
        guard let order = comparison.opposite(canBeNull: false), nulls.allSatisfy(\.isColumn) else {
            return make(a, comparison, b).negated
        }
        // So that an index on the column is used for both.
        return Written(
            sql: nulls.reduce(make(a, order, b).sql) { "\($0) OR \($1.sql) IS NULL" }, precedence: .or)
    }
}

// MARK: And, or, not

extension SQLExpression where Value == Bool {
    /// Combines two conditions: both must be true.
    public static func && (a: Self, b: Self) -> Self {
        if case .terms(let first) = a.fragment, case .terms(let second) = b.fragment, let both = first.and(second) {
            return Self(.terms(both), .and, isLoose: a.isLoose || b.isLoose)
        }
        return Self(.both(a, b))
    }

    /// Combines two conditions: at least one of them must be true.
    public static func || (a: Self, b: Self) -> Self { Self(.either(a, b)) }

    /// Negates a condition.
    public static prefix func ! (a: Self) -> Self { Self(.not(a)) }

    /// Compares a condition with a value: with true, the condition itself; with false, its negation.
    public static func == (a: Self, b: Bool) -> Self { a.isStored ? a.compared(.equal, b) : b ? a : !a }

    /// Compares a condition with a value: with false, the condition itself; with true, its negation.
    public static func != (a: Self, b: Bool) -> Self { a.isStored ? a.compared(.notEqual, b) : b ? !a : a }

    /// True if it is a column, on which there may be an index, and no comparison.
    private var isStored: Bool {
        switch fragment {
        case .column: true
        case .text: precedence == .atom && !isLoose
        case .terms, .condition: false
        }
    }
}
