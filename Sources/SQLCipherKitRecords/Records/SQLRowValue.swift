import SQLCipherKitCore

/// Several columns that are compared as one (<https://sqlite.org/rowvalue.html>): the first column decides; if it is equal, the
/// next column decides.
/// ```swift
/// // The page after the last row seen.
/// Note.filter { SQLRowValue($0.stars, $0.id) > (last.stars, last.id) }.order { $0.stars; $0.id }.limit(20)
/// // ("note"."stars", "note"."id") > (?, ?)
/// ```
/// Nil equals nil and comes before all values, as in `ORDER BY`, so that paging also continues through rows in which a column is
/// NULL.
public struct SQLRowValue<Values>: Sendable {
    private let columns: [SQL]
    private let canBeNull: Bool
    /// The columns with the values that they are compared with.
    private let elements: @Sendable (Values) -> RowElements

    /// Creates a row value from two columns, the more significant column first.
    // Written out, so that the compiler takes literals for the columns' types: it does not look into a pack.
    public init<A: SQLValueConvertible, B: SQLValueConvertible>(
        _ a: SQLExpression<A>, _ b: SQLExpression<B>
    ) where Values == (A, B) {
        self.init([a.sql, b.sql], a.canBeNull || b.canBeNull) {
            [RowElements.Element(a, $0.0), RowElements.Element(b, $0.1)]
        }
    }

    /// Creates a row value from three columns, the most significant column first.
    public init<A: SQLValueConvertible, B: SQLValueConvertible, C: SQLValueConvertible>(
        _ a: SQLExpression<A>, _ b: SQLExpression<B>, _ c: SQLExpression<C>
    ) where Values == (A, B, C) {
        self.init([a.sql, b.sql, c.sql], a.canBeNull || b.canBeNull || c.canBeNull) {
            [RowElements.Element(a, $0.0), RowElements.Element(b, $0.1), RowElements.Element(c, $0.2)]
        }
    }

    /// Creates a row value from four columns, the most significant column first.
    public init<A: SQLValueConvertible, B: SQLValueConvertible, C: SQLValueConvertible, D: SQLValueConvertible>(
        _ a: SQLExpression<A>, _ b: SQLExpression<B>, _ c: SQLExpression<C>, _ d: SQLExpression<D>
    ) where Values == (A, B, C, D) {
        self.init([a.sql, b.sql, c.sql, d.sql], a.canBeNull || b.canBeNull || c.canBeNull || d.canBeNull) {
            [
                RowElements.Element(a, $0.0), RowElements.Element(b, $0.1), RowElements.Element(c, $0.2),
                RowElements.Element(d, $0.3),
            ]
        }
    }

    /// Creates a row value from columns, the most significant column first. With more than four, values that are literals need
    /// their types: `(last.a, Int64(2), …)`.
    @_disfavoredOverload
    public init<each Value: SQLValueConvertible>(
        _ expressions: repeat SQLExpression<each Value>
    ) where Values == (repeat each Value) {
        var (columns, canBeNull) = ([SQL](), false)
        for expression in repeat each expressions {
            columns.append(expression.sql)
            canBeNull = canBeNull || expression.canBeNull
        }
        self.init(columns, canBeNull) { values in
            var list: [RowElements.Element] = []
            for (expression, value) in repeat (each expressions, each values) {
                list.append(RowElements.Element(expression, value))
            }
            return list
        }
    }

    private init(_ columns: [SQL], _ canBeNull: Bool, _ elements: @escaping @Sendable (Values) -> [RowElements.Element]) {
        (self.columns, self.canBeNull) = (columns, canBeNull)
        self.elements = { RowElements(list: elements($0)) }
    }

    /// The condition that the row value equals one of these row values.
    public func `in`(_ rows: [Values]) -> SQLPredicate {
        var (plain, others) = ([SQL](), [SQLPredicate]())
        for row in rows {
            let elements = elements(row)
            if elements.list.contains(where: { $0.isNil || $0.isDocument }) {
                others.append(elements.isEqual)
            } else {
                plain.append("(\(list: elements.list.map(\.value)))")
            }
        }
        // An empty VALUES is not SQL.
        if !plain.isEmpty {
            let list: SQL = "(\(list: columns)) IN (VALUES \(list: plain))"
            others.insert(SQLPredicate(.text(list, .comparison, isLoose: canBeNull)), at: 0)
        }
        return others.dropFirst().reduce(others.first ?? SQLPredicate("0", .atom)) { $0 || $1 }
    }
}

/// Comparisons. Disfavored, so that the compiler does not take a column beside a value of another type for a row value.
extension SQLRowValue {
    @_disfavoredOverload
    public static func == (a: Self, b: Values) -> SQLPredicate { a.elements(b).isEqual }
    @_disfavoredOverload
    public static func != (a: Self, b: Values) -> SQLPredicate { !a.elements(b).isEqual }
    @_disfavoredOverload
    public static func < (a: Self, b: Values) -> SQLPredicate { a.elements(b).ordered(.less) }
    @_disfavoredOverload
    public static func <= (a: Self, b: Values) -> SQLPredicate { a.elements(b).ordered(.lessOrEqual) }
    @_disfavoredOverload
    public static func > (a: Self, b: Values) -> SQLPredicate { a.elements(b).ordered(.greater) }
    @_disfavoredOverload
    public static func >= (a: Self, b: Values) -> SQLPredicate { a.elements(b).ordered(.greaterOrEqual) }
}

/// The columns of a row value with the values that they are compared with.
private struct RowElements {
    struct Element {
        let sql: SQL
        let canBeNull: Bool
        let value: SQL
        let orderedValue: SQL
        let isNil: Bool
        let isDocument: Bool
        let isNull: SQLPredicate
        let isEqual: SQLPredicate
        let isLess: SQLPredicate
        let isLessOrEqual: SQLPredicate
        let isGreater: SQLPredicate

        init<Value: SQLValueConvertible>(_ expression: SQLExpression<Value>, _ value: Value) {
            sql = expression.sql
            canBeNull = expression.canBeNull
            self.value = expression.bound(value)
            orderedValue = expression.bound(value, ordered: true)
            isNil = value.isSQLNull
            isDocument = Value._isJSONDocument
            isNull = expression.isNull
            isEqual = expression.compared(.equal, value)
            (isLess, isLessOrEqual, isGreater) = (expression < value, expression <= value, expression > value)
        }

        /// The condition that the column comes before the value, or after it; nil if it never does.
        func comes(before: Bool) -> SQLPredicate? {
            if before { return isNil ? nil : canBeNull ? isLess || isNull : isLess }
            return isNil ? !isNull : isGreater
        }
    }

    let list: [Element]

    var isEqual: SQLPredicate {
        list.dropFirst().reduce(list.first?.isEqual ?? SQLPredicate("1", .atom)) { $0 && $1.isEqual }
    }

    func ordered(_ comparison: SQLTerms.Comparison) -> SQLPredicate {
        guard let opposite = comparison.opposite(canBeNull: false) else { return written(comparison) }
        return SQLPredicate(.paired(written(comparison), written(opposite)))
    }

    private func written(_ comparison: SQLTerms.Comparison) -> SQLPredicate {
        let isBefore = comparison == .less || comparison == .lessOrEqual
        let canBeNull = list.contains(where: \.canBeNull)
        // NULL comes before all values, so it is rightly not among the rows after them.
        if !list.contains(where: \.isNil), !isBefore || !canBeNull {
            let sql: SQL = "(\(list: list.map(\.sql))) \(raw: comparison.text) (\(list: list.map(\.orderedValue)))"
            return SQLPredicate(.text(sql, .comparison, isLoose: canBeNull))
        }
        var rest: SQLPredicate? = comparison == .lessOrEqual || comparison == .greaterOrEqual ? SQLPredicate("1", .atom) : nil
        for (index, element) in list.enumerated().reversed() {
            let isLast = index == list.count - 1
            let equal = rest.map { isLast ? element.isEqual : element.isEqual && $0 }
            let comes = element.comes(before: isBefore)
            rest = if let comes, let equal { comes || equal } else { comes ?? equal }
        }
        guard let all = rest else { return SQLPredicate("0", .atom) }
        // The condition with which an index on the first column can begin.
        guard isBefore, let first = list.first, list.count > 1, !first.canBeNull else { return all }
        return first.isLessOrEqual && all
    }
}
