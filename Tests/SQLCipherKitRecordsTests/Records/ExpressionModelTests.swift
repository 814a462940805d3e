import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

private struct Item: SQLRecord, Equatable {
    var id: Int64
    var whole: Int
    var absent: Int?
    var real: Double
    var text: String
    var note: String?

    static let table = SQLTable(of: Item.self) {
        $0.id.primaryKey()
        $0.whole
        $0.absent
        $0.real
        $0.text
        $0.note
    }
}

/// 300 expressions, 20,000 with `SQLCIPHERKIT_LONG_TESTS`.

private typealias Columns = SQLColumns<Item>

/// An expression, and its expected value for a record.
private struct Modelled<Value: Equatable> {
    let sql: SQLExpression<Value>
    let swift: (Item) -> Value
}

private typealias Number = Modelled<Int?>
private typealias Text = Modelled<String?>
private typealias Condition = Modelled<Bool>

/// Random expressions, each with its value in Swift.
private struct ExpressionMaker {
    var random: SeededGenerator
    let columns: Columns

    mutating func number(_ depth: Int) -> Number {
        switch depth == 0 ? Int.random(in: 0..<3, using: &random) : Int.random(in: 0..<14, using: &random) {
        case 0: return Number(sql: columns.whole.optional) { $0.whole }
        case 1: return Number(sql: columns.absent) { $0.absent }
        case 2:
            let value = Int.random(in: -9...9, using: &random)
            return Number(sql: SQLExpression("\(value)")) { _ in value }
        case 3: return infix(depth, { $0 + $1 }, { $0 + $1 })
        case 4: return infix(depth, { $0 - $1 }, { $0 - $1 })
        case 5: return infix(depth, { $0 * $1 }, { $0 * $1 })
        case 6: return infix(depth, { $0 / $1 }, { $1 == 0 ? nil : $0 / $1 })
        case 7: return infix(depth, { $0 % $1 }, { $1 == 0 ? nil : $0 % $1 })
        case 8:
            let (a, value) = (number(depth - 1), Int.random(in: -5...5, using: &random))
            return Number(sql: value - a.sql * value) { item in a.swift(item).map { value - $0 * value } }
        case 9:
            let (a, b) = (number(depth - 1), number(depth - 1))
            return Number(sql: a.sql ?? b.sql) { a.swift($0) ?? b.swift($0) }
        case 10:
            let a = number(depth - 1)
            return Number(sql: -a.sql) { item in a.swift(item).map { -$0 } }
        case 11:
            let (a, b, c) = (condition(depth - 1), number(depth - 1), number(depth - 1))
            return Number(sql: SQLCase(when: a.sql, then: b.sql).otherwise(c.sql)) { a.swift($0) ? b.swift($0) : c.swift($0) }
        case 12:
            let (a, b, value) = (condition(depth - 1), condition(depth - 1), Int.random(in: 0...9, using: &random))
            return Number(sql: SQLCase(when: a.sql, then: 1).when(b.sql, then: value).otherwiseNull) {
                a.swift($0) ? 1 : b.swift($0) ? value : nil
            }
        default:
            let a = text(depth - 1)
            return Number(sql: a.sql.length) { a.swift($0)?.unicodeScalars.count }
        }
    }

    private mutating func infix(
        _ depth: Int, _ sql: (SQLExpression<Int?>, SQLExpression<Int?>) -> SQLExpression<Int?>, _ swift: @escaping (Int, Int) -> Int?
    ) -> Number {
        let (a, b) = (number(depth - 1), number(depth - 1))
        return Number(sql: sql(a.sql, b.sql)) { item in a.swift(item).flatMap { a in b.swift(item).flatMap { swift(a, $0) } } }
    }

    mutating func text(_ depth: Int) -> Text {
        switch depth <= 0 ? Int.random(in: 0..<2, using: &random) : Int.random(in: 0..<8, using: &random) {
        case 0: return Text(sql: columns.text.optional) { $0.text }
        case 1: return Text(sql: columns.note) { $0.note }
        case 2:
            let (a, b) = (text(depth - 1), text(depth - 1))
            return Text(sql: a.sql + b.sql) { item in a.swift(item).flatMap { a in b.swift(item).map { a + $0 } } }
        case 3:
            let a = text(depth - 1)
            return Text(sql: "é " + a.sql + "' --") { a.swift($0).map { "é " + $0 + "' --" } }
        case 4:
            let (a, b) = (text(depth - 1), text(depth - 1))
            return Text(sql: a.sql ?? b.sql) { a.swift($0) ?? b.swift($0) }
        case 5:
            let (a, count) = (text(depth - 1), Int.random(in: 0...4, using: &random))
            return Text(sql: a.sql.prefix(count)) { a.swift($0).map { String(String.UnicodeScalarView($0.unicodeScalars.prefix(count))) } }
        case 6:
            let a = text(depth - 1)
            return Text(sql: a.sql.uppercased().replacing("A", with: "bb")) { item in
                a.swift(item).map { text in
                    String(String.UnicodeScalarView(text.unicodeScalars.map { $0.isASCII ? $0.properties.uppercaseMapping.unicodeScalars.first ?? $0 : $0 }))
                        .replacing("A", with: "bb")
                }
            }
        default:
            let a = text(depth - 1)
            return Text(sql: a.sql.trimmed().lowercased()) { item in
                a.swift(item).map { text in
                    var scalars = Substring(text).unicodeScalars
                    while scalars.first == " " { scalars.removeFirst() }
                    while scalars.last == " " { scalars.removeLast() }
                    return String(String.UnicodeScalarView(scalars.map { $0.isASCII ? $0.properties.lowercaseMapping.unicodeScalars.first ?? $0 : $0 }))
                }
            }
        }
    }

    mutating func condition(_ depth: Int) -> Condition {
        switch depth <= 0 ? Int.random(in: 0..<5, using: &random) : Int.random(in: 0..<9, using: &random) {
        case 0:
            let (a, b) = (number(max(0, depth - 1)), number(max(0, depth - 1)))
            return Condition(sql: a.sql < b.sql) { item in a.swift(item).flatMap { a in b.swift(item).map { a < $0 } } ?? false }
        case 1:
            let (a, b) = (number(max(0, depth - 1)), number(max(0, depth - 1)))
            return Condition(sql: a.sql == b.sql) { a.swift($0) == b.swift($0) }
        case 2:
            let (a, low) = (number(max(0, depth - 1)), Int.random(in: -9...3, using: &random))
            let high = low + Int.random(in: 0...6, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0: return Condition(sql: a.sql.in(low...high)) { a.swift($0).map { (low...high).contains($0) } ?? false }
            case 1: return Condition(sql: a.sql.in(low..<high)) { a.swift($0).map { (low..<high).contains($0) } ?? false }
            case 2: return Condition(sql: a.sql.in(low...)) { a.swift($0).map { (low...).contains($0) } ?? false }
            case 3: return Condition(sql: a.sql.in(..<high)) { a.swift($0).map { $0 < high } ?? false }
            default: return Condition(sql: a.sql.in(...high)) { a.swift($0).map { $0 <= high } ?? false }
            }
        case 3:
            let (a, set) = (number(max(0, depth - 1)), Set((0..<3).map { _ in Int.random(in: -5...5, using: &random) }))
            return Condition(sql: a.sql.in(set)) { a.swift($0).map { set.contains($0) } ?? false }
        case 4:
            let a = text(depth - 1)
            return Condition(sql: a.sql == "b") { a.swift($0) == "b" }
        case 5, 6:
            let (a, b) = (condition(depth - 1), condition(depth - 1))
            return Condition(sql: a.sql && b.sql) { a.swift($0) && b.swift($0) }
        case 7:
            let (a, b) = (condition(depth - 1), condition(depth - 1))
            return Condition(sql: a.sql || b.sql) { a.swift($0) || b.swift($0) }
        default:
            let a = condition(depth - 1)
            return Condition(sql: !a.sql) { !a.swift($0) }
        }
    }
}

/// Random expressions and queries, compared with the same expressions and queries computed in Swift.
@Suite struct ExpressionModelTests {
    private let folder: TemporaryFolder
    private let db: Connection
    private let items: [Item]

    init() throws {
        let made = try EncryptedDatabase()
        (folder, db) = (made.folder, made.db)
        var random = SeededGenerator(state: 18)
        items = (1...60).map { id in
            Item(
                id: Int64(id), whole: .random(in: -9...9, using: &random),
                absent: Bool.random(using: &random) ? .random(in: -9...9, using: &random) : nil,
                real: Double(Int.random(in: -90...90, using: &random)) / 8,
                text: ["", "b", " aB ", "éa", "日本"].randomElement(using: &random) ?? "",
                note: [nil, "", "x'y", "Ab "].randomElement(using: &random) ?? nil)
        }
        try db.create(Item.table)
        try db.insertAll(items)
    }

    @Test func randomExpressionsMatchSwift() throws {
        for seed in 0..<UInt64(LongTests.areOn ? 20_000 : 300) {
            var failures: [String] = []
            let query = Item.order { $0.id }
            var random = SeededGenerator(state: seed)
            let depth = Int.random(in: 1...3, using: &random)
            var made: (Number, Text, Condition)?
            let selection = query.select { columns in
                var maker = ExpressionMaker(random: random, columns: columns)
                let (number, text, condition) = (maker.number(depth), maker.text(depth), maker.condition(depth))
                made = (number, text, condition)
                return (number.sql, text.sql, condition.sql)
            }
            let (number, text, condition) = try #require(made)
            for (item, row) in zip(items, try db.fetchAll(selection)) {
                let expected = (number.swift(item), text.swift(item), condition.swift(item))
                let isSame = row.0 == expected.0 && row.1.map { Array($0.utf8) } == expected.1.map { Array($0.utf8) } && row.2 == expected.2
                if !isSame { failures.append("\(item): \(row), and not \(expected)") }
            }
            let statement = try db.sql(of: selection).text
            try #require(failures.isEmpty, "seed \(seed): \(statement): \(failures.first ?? "")")
            // As a condition it finds the same.
            let found = try db.fetchAll(query.filter { _ in condition.sql }.select { $0.id })
            #expect(found == items.filter(condition.swift).map(\.id), "seed \(seed)")
        }
    }

    @Test func expressionsWithoutResultAreNil() throws {
        let first = try #require(items.first)
        let one = Item.filter { $0.id == 1 }
        #expect(try db.fetchOne(one.select { ($0.whole + 1, 1 + $0.whole, $0.real * 2, 2 - $0.real, -$0.whole, $0.whole.magnitude) }) ?? (0, 0, 0, 0, 0, 0)
                == (first.whole + 1, 1 + first.whole, first.real * 2, 2 - first.real, -first.whole, abs(first.whole)))
        #expect(try db.fetchAll(one.select { $0.whole / 0 }) == [nil] && db.fetchAll(one.select { 1 % ($0.whole - $0.whole) }) == [nil])
        #expect(try db.fetchAll(one.select { ($0.real / 4).rounded(1) }) == [(first.real / 4 * 10).rounded() / 10])
        // Integers that do not fit, and arguments without a meaning.
        #expect(throws: DatabaseError.self) { try db.fetchOne(one.select { $0.whole * Int.max + Int.max }) }
        #expect(throws: DatabaseError.self) { try db.fetchOne(one.select { $0.text.prefix(-1) }) }
        #expect(throws: DatabaseError.self) { try db.fetchOne(one.select { $0.text.over() }) }
        let nothing: Int64? = nil
        #expect(try db.count(Item.filter { $0.id == nothing }) == 0 && db.count(Item.filter { $0.id != nothing }) == items.count)
        #expect(try db.count(Item.filter { $0.id == Optional(3) }) == 1)
    }
}
