import Foundation
import SQLCipherKit

/// SQL that calls the program's own functions, aggregates and collations; the reference has the same in plain SQL.
struct FunctionStep: Step {
    enum Call: String, CaseIterable, Sendable { case identity, length, sum, window, collation, thrown, typed, regexp }

    var call: Call
    var values: [SQLValue]

    private struct Total: SQLWindowFunction {
        var sum: Int64 = 0, count = 0
        mutating func step(_ arguments: borrowing FunctionArguments) throws {
            if case .integer(let number) = try arguments.value(0) { sum &+= number }
            count += 1
        }
        mutating func inverse(_ arguments: borrowing FunctionArguments) throws {
            if case .integer(let number) = try arguments.value(0) { sum &-= number }
            count -= 1
        }
        func value() -> String { "\(sum) of \(count)" }
        mutating func finish() -> String { value() }
    }

    private var list: SQL {
        var list: SQL = "(VALUES "
        for (index, value) in values.enumerated() { list = "\(list)\(raw: index > 0 ? ", " : "")(\(raw: "\(index)"), \(value))" }
        return "\(list))"
    }

    func run(in world: World) throws {
        guard !world.isAborted else { return }
        let list = "(VALUES " + values.indices.map { "(\($0), ?)" }.joined(separator: ", ") + ")"
        switch call {
        case .thrown:
            try world.only(.refused(.callback)) { db in
                try db.register(.function("m_throw") { (_: SQLValue) -> Int in throw Thrown() })
                return .rows(try Contents.rows(db, "SELECT m_throw(column2) FROM \(self.list)"))
            }
        case .typed:
            let isText = values.allSatisfy { if case .text = $0 { true } else { false } }
            try world.only(isText ? .done : .error) { db in
                try db.register(.function("m_text") { (text: String) in Array(text.utf8) })
                let rows = try Contents.rows(db, "SELECT m_text(column2) = CAST(column2 AS BLOB) FROM \(self.list)")
                return rows.allSatisfy { $0 == [1] } ? .done : .text("\(rows)")
            }
        default:
            let (own, plain) = texts
            try world.both { db in
                try register(on: db)
                return .rows(try Contents.rows(db, "\(raw: own.0)\(self.list)\(raw: own.1)"))
            } _: { $0.run("\(plain.0)\(list)\(plain.1)", values) }
        }
    }

    private func register(on db: Connection) throws {
        switch call {
        case .identity: try db.register(.function("m_same", .deterministic) { (value: SQLValue) in value })
        case .length: try db.register(.function("m_bytes") { (value: Data?) in value?.count })
        case .sum, .window: try db.register(.windowFunction("m_total", arguments: 1) { Total() })
        case .collation:
            try db.register(.collation("m_reverse") { a, b in
                Array(a.utf8).lexicographicallyPrecedes(Array(b.utf8)) ? .orderedDescending
                    : Array(a.utf8) == Array(b.utf8) ? .orderedSame : .orderedAscending
            })
        case .regexp: try db.register(.regularExpressions())
        case .thrown, .typed: break
        }
    }

    private var texts: (own: (String, String), plain: (String, String)) {
        switch call {
        case .identity: (("SELECT m_same(column2), typeof(m_same(column2)) FROM ", ""), ("SELECT column2, typeof(column2) FROM ", ""))
        case .length:
            (("SELECT m_bytes(column2) FROM ", " WHERE typeof(column2) IN ('text', 'blob', 'null')"),
                ("SELECT octet_length(column2) FROM ", " WHERE typeof(column2) IN ('text', 'blob', 'null')"))
        case .sum:
            (("SELECT m_total(column2 % 1000) FROM ", ""),
                ("SELECT ifnull(sum(iif(typeof(column2 % 1000) = 'integer', column2 % 1000, 0)), 0) || ' of ' || count(*) FROM ", ""))
        case .window:
            (("SELECT m_total(column2 % 1000) OVER (ORDER BY column1 ROWS 1 PRECEDING) FROM ", ""),
                ("SELECT ifnull(sum(iif(typeof(column2 % 1000) = 'integer', column2 % 1000, 0)) OVER w, 0) || ' of ' || count(*) OVER w FROM ",
                    " WINDOW w AS (ORDER BY column1 ROWS 1 PRECEDING)"))
        case .collation:
            (("SELECT column2 FROM ", " WHERE typeof(column2) = 'text' ORDER BY column2 COLLATE m_reverse, column1"),
                ("SELECT column2 FROM ", " WHERE typeof(column2) = 'text' ORDER BY column2 COLLATE BINARY DESC, column1"))
        case .regexp:
            (("SELECT column2 REGEXP 'a' FROM ", " WHERE typeof(column2) = 'text'"),
                ("SELECT instr(column2, 'a') > 0 FROM ", " WHERE typeof(column2) = 'text'"))
        case .thrown, .typed: (("", ""), ("", ""))
        }
    }

    var simpler: [any Step] { values.indices.dropFirst().map { index in
        var step = self
        step.values.remove(at: index)
        return step
    } }

    var description: String { "function \(call) of [\(values.map { show($0) }.joined(separator: ", "))]" }
}

extension Sketch {
    mutating func functionStep() -> (any Step)? {
        let call = dice.pick(FunctionStep.Call.allCases)
        if call == .collation || call == .regexp || call == .typed && dice.oneIn(2) {
            return FunctionStep(call: call, values: (0..<2 + dice.below(4)).map { _ in .text(dice.text()) })
        }
        return FunctionStep(call: call, values: (0..<1 + dice.below(4)).map { _ in dice.value() }.map {
            if case .real(let number) = $0, number.isNaN { .null } else { $0 }
        })
    }
}
