import Foundation
import SQLCipherKit

/// The record of the model's programs.
struct Item: SQLRecord, Equatable {
    var id: Int64?
    var name: String
    var score: Double?
    var count: Int
    var data: Data?
    var tags: [String]

    static let creation = """
        CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, score REAL, "count" INTEGER NOT NULL DEFAULT 0 \
        CHECK ("count" <> 13), data BLOB, tags BLOB)
        """

    /// The row's values; the tags as JSON text.
    var values: [SQLValue] {
        [
            id.map { .integer($0) } ?? .null, .text(name), score.map { .real($0) } ?? .null, .integer(Int64(count)),
            data.map { .blob($0) } ?? .null, .text("[" + tags.map { "\"\($0)\"" }.joined(separator: ",") + "]"),
        ]
    }

    /// Reads the rows of ``selection``.
    init(_ row: [SQLValue]) {
        if case .integer(let value) = row[0] { id = value }
        name = if case .text(let value) = row[1] { value } else { "?" }
        if case .real(let value) = row[2] { score = value }
        count = if case .integer(let value) = row[3] { Int(value) } else { -1 }
        if case .blob(let value) = row[4] { data = value }
        tags = []
        if case .text(let json) = row[5] { tags = (try? JSONDecoder().decode([String].self, from: Data(json.utf8))) ?? ["?"] }
    }

    init(id: Int64?, name: String, score: Double?, count: Int, data: Data?, tags: [String]) {
        (self.id, self.name, self.score, self.count, self.data, self.tags) = (id, name, score, count, data, tags)
    }

    static let selection = "SELECT id, name, score, \"count\", data, json(tags) FROM item"

    /// Bytes of names, not their canonical form.
    static func == (a: Item, b: Item) -> Bool {
        a.id == b.id && Array(a.name.utf8) == Array(b.name.utf8) && a.score == b.score && a.count == b.count && a.data == b.data
            && a.tags == b.tags
    }
}

/// A condition, as the query builder takes it and as plain Swift evaluates it.
indirect enum Filter: Sendable, CustomStringConvertible {
    case named(String)
    case notNamed(String)
    case countAbove(Int)
    case countIn([Int])
    case scoreIs(Double?)
    case scoreBelow(Double)
    case hasData
    case countBetween(Int, Int)
    case both(Filter, Filter)
    case either(Filter, Filter)
    case not(Filter)

    func predicate(_ item: SQLColumns<Item>) -> SQLPredicate {
        switch self {
        case .named(let name): item.name == name
        case .notNamed(let name): item.name != name
        case .countAbove(let number): item.count > number
        case .countIn(let numbers): item.count.in(numbers)
        case .scoreIs(let score): item.score == score
        case .scoreBelow(let score): item.score < score
        case .hasData: item.data.isNotNull
        case .countBetween(let a, let b): item.count.between(a, and: b)
        case .both(let a, let b): a.predicate(item) && b.predicate(item)
        case .either(let a, let b): a.predicate(item) || b.predicate(item)
        case .not(let a): !a.predicate(item)
        }
    }

    /// The condition's value for a row: nil is NULL.
    func value(_ item: Item) -> Bool? {
        switch self {
        case .named(let name): Array(item.name.utf8) == Array(name.utf8)
        case .notNamed(let name): Array(item.name.utf8) != Array(name.utf8)
        case .countAbove(let number): item.count > number
        case .countIn(let numbers): numbers.contains(item.count)
        case .scoreIs(let score): score == nil ? item.score == nil : item.score.map { $0 == score }
        case .scoreBelow(let score): item.score.map { $0 < score }
        case .hasData: item.data != nil
        case .countBetween(let a, let b): item.count >= a && item.count <= b
        case .both(let a, let b): and(a.value(item), b.value(item))
        case .either(let a, let b): and(a.value(item).map { !$0 }, b.value(item).map { !$0 }).map { !$0 }
        case .not(let a): a.value(item).map { !$0 }
        }
    }

    private func and(_ a: Bool?, _ b: Bool?) -> Bool? {
        a == false || b == false ? false : a == nil || b == nil ? nil : true
    }

    var description: String {
        switch self {
        case .named(let name): "$0.name == \(show(name))"
        case .notNamed(let name): "$0.name != \(show(name))"
        case .countAbove(let number): "$0.count > \(number)"
        case .countIn(let numbers): "$0.count.in(\(numbers))"
        case .scoreIs(let score): "$0.score == \(score.map { "\($0)" } ?? "nil")"
        case .scoreBelow(let score): "$0.score < \(score)"
        case .hasData: "$0.data.isNotNull"
        case .countBetween(let a, let b): "$0.count.between(\(a), and: \(b))"
        case .both(let a, let b): "(\(a) && \(b))"
        case .either(let a, let b): "(\(a) || \(b))"
        case .not(let a): "!\(a)"
        }
    }
}

extension Dice {
    mutating func filter(_ depth: Int = 2) -> Filter {
        switch below(depth > 0 ? 12 : 8) {
        case 0: .named(name())
        case 1: .notNamed(name())
        case 2: .countAbove(below(5))
        case 3: .countIn((0..<below(3)).map { _ in below(5) })
        case 4: .scoreIs(pick([nil, 0.5, 3]))
        case 5: .scoreBelow(1)
        case 6: .hasData
        case 7: .countBetween(below(3), below(5))
        case 8: .both(filter(depth - 1), filter(depth - 1))
        case 9, 10: .either(filter(depth - 1), filter(depth - 1))
        default: .not(filter(depth - 1))
        }
    }

    mutating func name() -> String { pick(["a", "b", "c", "it's", "é", "e\u{301}", "a\u{0}b", ""]) }

    mutating func item() -> Item {
        Item(
            id: oneIn(2) ? nil : Int64(below(6)) - 1, name: name(), score: pick([nil, 0.5, 3, -1e300, .infinity]),
            count: oneIn(9) ? 13 : below(5), data: pick([nil, Data(), Data([1, 0])]), tags: pick([[], ["x"], ["é", "y z"]]))
    }
}
