import SQLCipherKitCore

/// Several columns that are compared as one (<https://sqlite.org/rowvalue.html>): the first column decides, then the next if it is
/// equal.
/// ```swift
/// // The page after the last row seen.
/// Note.filter { SQLRowValue($0.stars, $0.id) > (last.stars, last.id) }.order { $0.stars; $0.id }.limit(20)
/// // ("note"."stars", "note"."id") > (?, ?)
/// ```
public struct SQLRowValue<each Value: SQLValueConvertible>: Sendable {
    private let sql: SQL

    /// Creates a row value from columns, the most significant first.
    public init(_ expressions: repeat SQLExpression<each Value>) {
        var list: [SQL] = []
        for expression in repeat each expressions { list.append(expression.sql) }
        sql = "(\(list: list))"
    }

    private func compare(_ name: String, _ values: repeat each Value) -> SQLPredicate {
        SQLPredicate("\(sql) \(raw: name) \(Self.bound(repeat each values))", .comparison)
    }

    private static func bound(_ values: repeat each Value) -> SQL {
        var list: [SQL] = []
        for value in repeat each values { list.append("\(value)") }
        return "(\(list: list))"
    }

    public static func == (a: Self, b: (repeat each Value)) -> SQLPredicate { a.compare("=", repeat each b) }
    public static func != (a: Self, b: (repeat each Value)) -> SQLPredicate { a.compare("<>", repeat each b) }
    public static func < (a: Self, b: (repeat each Value)) -> SQLPredicate { a.compare("<", repeat each b) }
    public static func <= (a: Self, b: (repeat each Value)) -> SQLPredicate { a.compare("<=", repeat each b) }
    public static func > (a: Self, b: (repeat each Value)) -> SQLPredicate { a.compare(">", repeat each b) }
    public static func >= (a: Self, b: (repeat each Value)) -> SQLPredicate { a.compare(">=", repeat each b) }

    /// Whether the row value is one of these.
    public func `in`(_ rows: [(repeat each Value)]) -> SQLPredicate {
        // An empty VALUES is not SQL.
        if rows.isEmpty { return SQLPredicate("0", .atom) }
        return SQLPredicate("\(sql) IN (VALUES \(list: rows.map { Self.bound(repeat each $0) }))", .comparison)
    }
}
