import SQLCipherKitCore
import SQLCipherKitRecords
import TestSupport

/// An expression of a query, and the Swift closure that it stands for.
struct Made<A: MachineValue, Forms: MachineForms, Value> {
    typealias Row = Sample<A, Forms>
    let sql: (SQLColumns<Row>) -> SQLExpression<Value>
    let swift: (Row) -> Value
}

/// Draws expressions over the columns of a sample: the part that all types of values share.
struct MachineMaker<A: MachineValue, Forms: MachineForms> {
    typealias Row = Sample<A, Forms>
    typealias Plain = Made<A, Forms, A>
    typealias Maybe = Made<A, Forms, A?>
    typealias Condition = Made<A, Forms, Bool>

    var random: SeededGenerator
    let rows: [Row]
    /// True if expressions may read other rows, which an update would see with its own changes.
    var readsOthers = true
    /// Draws a comparison of values.
    let leaf: (inout Self, Int) -> Condition
    /// True if a row comes after another row by `o` and the id, or before it; nil for types without an order.
    let next: ((Row, _ isUp: Bool) -> (SQLColumns<Row>) -> SQLPredicate)?

    mutating func die(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &random) }
    mutating func value() -> A { A.values[die(A.values.count)] }
    mutating func maybe() -> A? { die(4) == 0 ? nil : value() }

    static func isEqual(_ a: A?, _ b: A?) -> Bool {
        switch (a, b) {
        case (nil, nil): true
        case (let a?, let b?): A.isEqual(a, b)
        default: false
        }
    }

    mutating func plain(_ depth: Int) -> Plain {
        switch die(depth <= 0 ? 2 : 5) {
        case 0: return Plain(sql: { $0.a }, swift: { $0.a })
        case 1: return Plain(sql: { $0.b }, swift: { $0.b })
        case 2:
            let (a, b) = (optional(depth - 1), plain(depth - 1))
            return Plain(sql: { a.sql($0) ?? b.sql($0) }, swift: { a.swift($0) ?? b.swift($0) })
        default:
            let (when, a, b) = (condition(depth - 1), plain(depth - 1), plain(depth - 1))
            return Plain(
                sql: { SQLCase(when: when.sql($0), then: a.sql($0)).otherwise(b.sql($0)) },
                swift: { when.swift($0) ? a.swift($0) : b.swift($0) })
        }
    }

    mutating func optional(_ depth: Int) -> Maybe {
        switch die(depth <= 0 ? 3 : 6) {
        case 0: return Maybe(sql: { $0.o }, swift: { $0.o })
        case 1: return Maybe(sql: { $0.q }, swift: { $0.q })
        case 2:
            let a = plain(depth - 1)
            return Maybe(sql: { a.sql($0).optional }, swift: { a.swift($0) })
        case 3:
            let (a, b) = (optional(depth - 1), optional(depth - 1))
            return Maybe(sql: { a.sql($0) ?? b.sql($0) }, swift: { a.swift($0) ?? b.swift($0) })
        default:
            let (when, a) = (condition(depth - 1), plain(depth - 1))
            return Maybe(
                sql: { SQLCase(when: when.sql($0), then: a.sql($0)).otherwiseNull }, swift: { when.swift($0) ? a.swift($0) : nil })
        }
    }

    mutating func condition(_ depth: Int) -> Condition {
        switch die(depth <= 0 ? 2 : 9) {
        case 0: return leaf(&self, depth)
        case 1: return simple()
        case 2, 3:
            let (a, b) = (condition(depth - 1), condition(depth - 1))
            return Condition(sql: { a.sql($0) && b.sql($0) }, swift: { a.swift($0) && b.swift($0) })
        case 4:
            let (a, b) = (condition(depth - 1), condition(depth - 1))
            return Condition(sql: { a.sql($0) || b.sql($0) }, swift: { a.swift($0) || b.swift($0) })
        case 5, 6:
            let a = condition(depth - 1)
            return Condition(sql: { !a.sql($0) }, swift: { !a.swift($0) })
        case 7:
            let (a, value, isSame) = (condition(depth - 1), die(2) == 0, die(2) == 0)
            return Condition(
                sql: { isSame ? a.sql($0) == value : a.sql($0) != value },
                swift: { isSame ? a.swift($0) == value : a.swift($0) != value })
        default:
            let (a, b, isSame) = (condition(depth - 1), condition(depth - 1), die(2) == 0)
            return Condition(
                sql: { isSame ? a.sql($0) == b.sql($0) : a.sql($0) != b.sql($0) },
                swift: { isSame ? a.swift($0) == b.swift($0) : a.swift($0) != b.swift($0) })
        }
    }

    /// A condition on columns whose types are always the same.
    private mutating func simple() -> Condition {
        let (number, bool, rows) = (die(4), die(2) == 0, rows)
        switch readsOthers ? die(10) : die(7) {
        case 0: return Condition(sql: { $0.team == number }, swift: { $0.team == number })
        case 1: return Condition(sql: { $0.team != number }, swift: { $0.team != number })
        case 2: return Condition(sql: { $0.team.in([number, 3]) }, swift: { $0.team.map([number, 3].contains) ?? false })
        case 3: return Condition(sql: { $0.flag }, swift: { $0.flag })
        case 4: return Condition(sql: { $0.flag == bool }, swift: { $0.flag == bool })
        case 5: return Condition(sql: { $0.mark == bool }, swift: { $0.mark == bool })
        case 6: return Condition(sql: { $0.mark != bool }, swift: { $0.mark != bool })
        case 7, 8:
            return Condition(
                sql: { row in Row.filter { $0.team == row.team && $0.id < row.id }.exists },
                swift: { row in rows.contains { $0.team == row.team && $0.id < row.id } })
        default:
            let id = Int64(die(40))
            return Condition(
                sql: { SQLRowValue($0.team, $0.id) > (number == 0 ? nil : number, id) },
                swift: { row in
                    let wanted = number == 0 ? nil : number
                    if row.team == wanted { return row.id > id }
                    guard let team = row.team else { return false }
                    return wanted.map { team > $0 } ?? true
                })
        }
    }
}

extension MachineMaker where A: SQLValueConvertible {
    init(_ random: SeededGenerator, _ rows: [Row], isOrdered: Bool) {
        self.init(
            random: random, rows: rows,
            leaf: { maker, depth in
                let less = isOrdered ? A.isLess : nil
                return less != nil && maker.die(2) == 0 ? maker.order(depth, less) : maker.equality(depth)
            },
            next: !isOrdered ? nil : { last, isUp in
                { isUp ? SQLRowValue($0.o, $0.id) > (last.o, last.id) : SQLRowValue($0.o, $0.id) < (last.o, last.id) }
            })
    }

    private mutating func equality(_ depth: Int) -> Condition {
        let rows = rows
        let (a, b, o, q) = (plain(depth - 1), plain(depth - 1), optional(depth - 1), optional(depth - 1))
        let (value, maybe, id) = (value(), maybe(), Int64(die(40)))
        let (list, gaps) = ((0..<die(4)).map { _ in self.value() }, (0..<die(4)).map { _ in self.maybe() })
        let isEqual = Self.isEqual
        switch die(readsOthers ? 16 : 13) {
        case 0: return Condition(sql: { a.sql($0) == value }, swift: { A.isEqual(a.swift($0), value) })
        case 1: return Condition(sql: { a.sql($0) != value }, swift: { !A.isEqual(a.swift($0), value) })
        case 2: return Condition(sql: { o.sql($0) == maybe }, swift: { isEqual(o.swift($0), maybe) })
        case 3: return Condition(sql: { o.sql($0) != maybe }, swift: { !isEqual(o.swift($0), maybe) })
        case 4: return Condition(sql: { a.sql($0) == b.sql($0) }, swift: { A.isEqual(a.swift($0), b.swift($0)) })
        case 5: return Condition(sql: { a.sql($0) == o.sql($0) }, swift: { isEqual(a.swift($0), o.swift($0)) })
        case 6: return Condition(sql: { o.sql($0) == q.sql($0) }, swift: { isEqual(o.swift($0), q.swift($0)) })
        case 7: return Condition(sql: { o.sql($0) != q.sql($0) }, swift: { !isEqual(o.swift($0), q.swift($0)) })
        case 8: return Condition(sql: { a.sql($0).in(list) }, swift: { row in list.contains { A.isEqual($0, a.swift(row)) } })
        case 9: return Condition(sql: { o.sql($0).in(gaps) }, swift: { row in gaps.contains { isEqual($0, o.swift(row)) } })
        case 10: return Condition(sql: { o.sql($0).in(list) }, swift: { row in list.contains { isEqual($0, o.swift(row)) } })
        case 13:
            return Condition(
                sql: { a.sql($0).in(Row.filter { $0.team == 2 }.select { $0.b }) },
                swift: { row in rows.contains { $0.team == 2 && A.isEqual($0.b, a.swift(row)) } })
        case 14:
            return Condition(
                sql: { o.sql($0).in(Row.filter { $0.team == 2 }.select { $0.q }) },
                swift: { row in rows.contains { $0.team == 2 && isEqual($0.q, o.swift(row)) } })
        case 11:
            return Condition(
                sql: { SQLRowValue(o.sql($0), $0.id) == (maybe, id) }, swift: { isEqual(o.swift($0), maybe) && $0.id == id })
        case 12:
            return Condition(
                sql: { SQLRowValue($0.team, o.sql($0)).in(gaps.map { (2 as Int?, $0) }) },
                swift: { row in row.team == 2 && gaps.contains { isEqual($0, o.swift(row)) } })
        default:
            return Condition(
                sql: { row in a.sql(row) == Row.filter { $0.id == row.id }.select { $0.b }.scalarSubquery() },
                swift: { A.isEqual(a.swift($0), $0.b) })
        }
    }

    private mutating func order(_ depth: Int, _ less: (@Sendable (A, A) -> Bool)?) -> Condition {
        guard let less else { return equality(depth) }
        func isLess(_ a: A?, _ b: A?) -> Bool { a.flatMap { a in b.map { less(a, $0) } } ?? false }
        func isAtMost(_ a: A?, _ b: A?) -> Bool { a.flatMap { a in b.map { !less($0, a) } } ?? false }
        /// With nil before all values.
        func comes(_ a: A?, _ b: A?) -> Bool { a == nil ? b != nil : isLess(a, b) }
        let rows = rows
        let (a, b, o, q) = (plain(depth - 1), plain(depth - 1), optional(depth - 1), optional(depth - 1))
        let (value, other, maybe, id) = (value(), value(), maybe(), Int64(die(40)))
        switch die(readsOthers ? 14 : 12) {
        case 0: return Condition(sql: { a.sql($0) < value }, swift: { less(a.swift($0), value) })
        case 1: return Condition(sql: { a.sql($0) >= value }, swift: { !less(a.swift($0), value) })
        case 2: return Condition(sql: { o.sql($0) < maybe }, swift: { isLess(o.swift($0), maybe) })
        case 3: return Condition(sql: { o.sql($0) >= maybe }, swift: { isAtMost(maybe, o.swift($0)) })
        case 4: return Condition(sql: { a.sql($0) <= b.sql($0) }, swift: { isAtMost(a.swift($0), b.swift($0)) })
        case 5: return Condition(sql: { a.sql($0) > o.sql($0) }, swift: { isLess(o.swift($0), a.swift($0)) })
        case 6: return Condition(sql: { o.sql($0) < q.sql($0) }, swift: { isLess(o.swift($0), q.swift($0)) })
        case 7:
            return Condition(
                sql: { a.sql($0).between(value, and: other) },
                swift: { isAtMost(value, a.swift($0)) && isAtMost(a.swift($0), other) })
        case 8:
            return Condition(
                sql: { o.sql($0).between(value, and: other) },
                swift: { isAtMost(value, o.swift($0)) && isAtMost(o.swift($0), other) })
        case 9:
            return Condition(
                sql: { SQLRowValue(o.sql($0), $0.id) > (maybe, id) },
                swift: { comes(maybe, o.swift($0)) || Self.isEqual(maybe, o.swift($0)) && $0.id > id })
        case 10:
            return Condition(
                sql: { SQLRowValue(o.sql($0), $0.id) <= (maybe, id) },
                swift: { comes(o.swift($0), maybe) || Self.isEqual(maybe, o.swift($0)) && $0.id <= id })
        case 11:
            return Condition(
                sql: { SQLRowValue(a.sql($0), o.sql($0)) < (value, maybe) },
                swift: { row in
                    less(a.swift(row), value) || A.isEqual(a.swift(row), value) && comes(o.swift(row), maybe)
                })
        case 12:
            return Condition(
                sql: { row in a.sql(row) == Row.filter { $0.team == row.team }.select { $0.b.max() }.scalarSubquery() },
                swift: { row in
                    let greatest = rows.filter { $0.team == row.team }.map(\.b).max { less($0, $1) }
                    return Self.isEqual(a.swift(row), greatest)
                })
        default:
            return Condition(
                sql: { row in o.sql(row) < Row.filter { $0.team == row.team }.select { $0.q.min() }.scalarSubquery() },
                swift: { row in
                    let least = rows.filter { $0.team == row.team }.compactMap(\.q).min { less($0, $1) }
                    return isLess(o.swift(row), least)
                })
        }
    }
}

extension MachineMaker {
    /// For types that are only `Codable`.
    init(coded random: SeededGenerator, _ rows: [Row]) {
        self.init(random: random, rows: rows, leaf: { maker, depth in maker.codedEquality(depth) }, next: nil)
    }

    private mutating func codedEquality(_ depth: Int) -> Condition {
        let (a, b, o, q) = (plain(depth - 1), plain(depth - 1), optional(depth - 1), optional(depth - 1))
        let (value, maybe) = (value(), maybe())
        let (list, gaps) = ((0..<die(4)).map { _ in self.value() }, (0..<die(4)).map { _ in self.maybe() })
        let isEqual = Self.isEqual
        switch die(10) {
        case 0: return Condition(sql: { a.sql($0) == value }, swift: { A.isEqual(a.swift($0), value) })
        case 1: return Condition(sql: { a.sql($0) != value }, swift: { !A.isEqual(a.swift($0), value) })
        case 2: return Condition(sql: { o.sql($0) == maybe }, swift: { isEqual(o.swift($0), maybe) })
        case 3: return Condition(sql: { o.sql($0) != maybe }, swift: { !isEqual(o.swift($0), maybe) })
        case 4: return Condition(sql: { a.sql($0) == b.sql($0) }, swift: { A.isEqual(a.swift($0), b.swift($0)) })
        case 5: return Condition(sql: { a.sql($0) != o.sql($0) }, swift: { !isEqual(a.swift($0), o.swift($0)) })
        case 6: return Condition(sql: { o.sql($0) == q.sql($0) }, swift: { isEqual(o.swift($0), q.swift($0)) })
        case 7: return Condition(sql: { a.sql($0).in(list) }, swift: { row in list.contains { A.isEqual($0, a.swift(row)) } })
        case 8: return Condition(sql: { o.sql($0).in(gaps) }, swift: { row in gaps.contains { isEqual($0, o.swift(row)) } })
        default: return Condition(sql: { o.sql($0).isNull }, swift: { o.swift($0) == nil })
        }
    }
}
