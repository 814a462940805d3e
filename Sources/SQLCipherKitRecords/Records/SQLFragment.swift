import SQLCipherKitCore

/// The parts of an expression. Its SQL is only written if something asks for it: a query's statement is often found by less.
enum SQLFragment: Sendable {
    case text(Text)
    /// A column of a record under its table's own name.
    case column(RecordPositions.Column)
    /// Such columns compared with values.
    case terms(SQLTerms)
    /// A condition, which is written when its place is known.
    case condition(SQLCondition)

    var isCondition: Bool {
        switch self {
        case .terms, .condition: true
        case .text, .column: false
        }
    }

    /// SQL as it is. As an object it is copied by one reference.
    final class Text: Sendable {
        let sql: SQL

        init(_ sql: SQL) { self.sql = sql }
    }

    var sql: SQL {
        switch self {
        case .text(let text): text.sql
        case .column(let column): SQL(raw: column.qualified)
        case .terms(let terms): SQL(raw: terms.text, terms.values)
        case .condition(let condition): SQLPredicate(condition.kind).sql
        }
    }
}

/// Up to four comparisons of a record's columns, all of which hold: the condition of most queries.
final class SQLTerms: Sendable {
    /// The operator of a comparison. Numbered from 1, so that no term is 0.
    enum Comparison: UInt64 {
        case equal = 1, notEqual, `is`, isNot, less, lessOrEqual, greater, greaterOrEqual, isNull, isNotNull

        /// The operator between a column and its value; for NULL, all text after the column.
        var text: String {
            switch self {
            case .equal: "="
            case .notEqual: "<>"
            case .is: "IS"
            case .isNot: "IS NOT"
            case .less: "<"
            case .lessOrEqual: "<="
            case .greater: ">"
            case .greaterOrEqual: ">="
            case .isNull: "IS NULL"
            case .isNotNull: "IS NOT NULL"
            }
        }

        var hasValue: Bool { self != .isNull && self != .isNotNull }

        /// True if it is NULL where a side is.
        var canBeNull: Bool { hasValue && self != .is && self != .isNot }

        /// The comparison that is true where this comparison is not; nil for an order in which a side can be NULL.
        func opposite(canBeNull: Bool) -> Self? {
            switch self {
            case .equal: canBeNull ? .isNot : .notEqual
            case .notEqual: .equal
            case .is: .isNot
            case .isNot: .is
            case .less: canBeNull ? nil : .greaterOrEqual
            case .lessOrEqual: canBeNull ? nil : .greater
            case .greater: canBeNull ? nil : .lessOrEqual
            case .greaterOrEqual: canBeNull ? nil : .less
            case .isNull: .isNotNull
            case .isNotNull: .isNull
            }
        }
    }

    let names: RecordNames
    /// The column and the comparison of each term in 16 bits, the last term in the lowest bits.
    let code: UInt64
    let values: StatementArguments

    private init(_ names: RecordNames, _ code: UInt64, _ values: StatementArguments) {
        (self.names, self.code, self.values) = (names, code, values)
    }

    /// Creates the terms of a single comparison; nil for a column that has no room in the code.
    /// - Parameter values: the value, if there is one.
    init?(_ column: RecordPositions.Column, _ comparison: Comparison, _ values: StatementArguments) {
        if column.index >= 1 << 12 { return nil }
        names = column.names
        code = UInt64(truncatingIfNeeded: column.index) << 4 | comparison.rawValue
        self.values = values
    }

    /// The terms of both; nil if they are of different records, or too many.
    func and(_ other: SQLTerms) -> SQLTerms? {
        let width = (64 - other.code.leadingZeroBitCount + 15) / 16 * 16
        guard names === other.names, code.leadingZeroBitCount >= width else { return nil }
        var values = values
        values.append(other.values)
        return SQLTerms(names, code << UInt64(width) | other.code, values)
    }

    var isSingle: Bool { code >> 16 == 0 }

    /// The single term that is true where this term is not; nil without such a term.
    func opposite(canBeNull: Bool) -> SQLTerms? {
        guard isSingle, let opposite = Comparison(rawValue: code & 15)?.opposite(canBeNull: canBeNull) else { return nil }
        return SQLTerms(names, code & ~15 | opposite.rawValue, values)
    }

    /// The condition, with a `?` for each value.
    var text: String {
        var text = ""
        for shift in stride(from: 48 as UInt64, through: 0, by: -16) {
            let term = code >> shift & 0xffff
            guard let comparison = Comparison(rawValue: term & 15) else { continue }
            if !text.isEmpty { text += " AND " }
            text += names.qualified[Int(term >> 4)] + " " + comparison.text
            if comparison.hasValue { text += " ?" }
        }
        return text
    }
}
