import Foundation
import SQLCipherKitCore
import SQLCipherKitSearch
import TestSupport

/// Random rows, and what counts of them must be, computed without any SQL.
struct FacetModel {
    struct Row {
        var words: [String]
        var year: Int?
        var price: SQLValue
        var tags: Tags
        var day: Day
    }

    enum Tags {
        case array([SQLValue], isBinary: Bool)
        case other(SQLValue)
    }

    /// A date, in days since 1970, and how it is stored.
    struct Day {
        var value: Int?
        var stored: SQLValue
    }

    static let vocabulary = ["alpha", "alpho", "blpha", "gamma", "gamme", "delta", "detla", "omega", "sigma"]
    private static let elements: [SQLValue] = ["red", "Red", "é", "e\u{301}", 1, 2.5, nil, "", "a \"quoted\" \\ one"]
    static let bounds: [Double] = [-2, 0, 2.5, 100]

    /// The year, month and day of a day since 1970, found by counting.
    static func civil(_ day: Int) -> (year: Int, month: Int, day: Int) {
        func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }
        var (year, rest) = (1970, day)
        while rest < 0 {
            year -= 1
            rest += isLeap(year) ? 366 : 365
        }
        while rest >= (isLeap(year) ? 366 : 365) {
            rest -= isLeap(year) ? 366 : 365
            year += 1
        }
        let lengths = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        var month = 0
        while rest >= lengths[month] {
            rest -= lengths[month]
            month += 1
        }
        return (year, month + 1, rest + 1)
    }

    static func name(_ day: Int) -> String {
        let date = civil(day)
        return String(format: "%04d-%02d-%02d", date.year, date.month, date.day)
    }

    /// The name of the interval that a day is in.
    static func name(_ day: Int, _ interval: FullTextSearch.Grouping.Interval) -> String {
        switch interval {
        case .day: name(day)
        // 1970 began on a Thursday.
        case .week: name(day - ((day + 3) % 7 + 7) % 7)
        case .month: String(name(day).prefix(7))
        default: String(name(day).prefix(4))
        }
    }

    private static func randomDay(_ random: inout SeededGenerator) -> Day {
        let day = Bool.random(using: &random) ? Int.random(in: -25_000...50_000, using: &random) : Int.random(in: 20_000...20_060, using: &random)
        let second = Int.random(in: 1...86_398, using: &random)
        let time = String(format: "%02d:%02d:%02d", second / 3600, second / 60 % 60, second % 60)
        return switch Int.random(in: 0...6, using: &random) {
        case 0: Day(value: day, stored: .text(name(day)))
        case 1: Day(value: day, stored: .text("\(name(day)) \(time)"))
        case 2: Day(value: day, stored: .text("\(name(day))T\(time)Z"))
        // The first two months of 1970 would be Julian days.
        case 3 where !(0...70).contains(day): Day(value: day, stored: .integer(Int64(day * 86_400 + second)))
        case 4: Day(value: day, stored: .real(Double(day) + 2_440_587.5 + Double(second) / 86_400))
        case 5: Day(value: nil, stored: .text("in spring"))
        default: Day(value: nil, stored: .null)
        }
    }

    private static func randomTags(_ random: inout SeededGenerator) -> Tags {
        switch Int.random(in: 0...7, using: &random) {
        case 0: .other([.null, "no JSON", "{\"a\": 1}", 5, "\"red\"", .blob(Data([0xcb, 1, 2, 3]))].randomElement(using: &random) ?? .null)
        case 1: .array((0..<150).map { .integer(Int64($0)) }, isBinary: Bool.random(using: &random))
        default: .array((0..<Int.random(in: 0...4, using: &random)).map { _ in elements.randomElement(using: &random) ?? nil }, isBinary: Bool.random(using: &random))
        }
    }

    static func randomRow(_ random: inout SeededGenerator) -> Row {
        let prices: [SQLValue] = [
            .null, "2", .integer(Int64.random(in: -3...3, using: &random)), .integer(.max), .integer(.min), .real(Double.random(in: -5...200, using: &random)), 2.5, 100,
        ]
        return Row(
            words: (0..<Int.random(in: 0...6, using: &random)).map { _ in vocabulary.randomElement(using: &random) ?? "" },
            year: Bool.random(using: &random) ? Int.random(in: 2018...2024, using: &random) : nil, price: prices.randomElement(using: &random) ?? nil, tags: randomTags(&random),
            day: randomDay(&random))
    }

    // MARK: What is expected

    private static func sorted(_ counts: [SQLValue: Int]) -> [(SQLValue, Int)] {
        counts.sorted { a, b in a.value == b.value ? isBefore(a.key, b.key) : a.value > b.value }.map { ($0.key, $0.value) }
    }

    private static func isBefore(_ a: SQLValue, _ b: SQLValue) -> Bool {
        func place(_ value: SQLValue) -> (Int, Double, [UInt8]) {
            switch value {
            case .null: (0, 0, [])
            case .integer(let value): (1, Double(value), [])
            case .real(let value): (1, value, [])
            case .text(let value): (2, 0, Array(value.utf8))
            case .blob(let value): (3, 0, Array(value))
            }
        }
        let (x, y) = (place(a), place(b))
        return (x.0, x.1) == (y.0, y.1) ? x.2.lexicographicallyPrecedes(y.2) : (x.0, x.1) < (y.0, y.1)
    }

    static func years(_ rows: [Row]) -> [(SQLValue, Int)] {
        sorted(rows.reduce(into: [:]) { $0[$1.year.map { .integer(Int64($0)) } ?? .null, default: 0] += 1 })
    }

    static func tags(_ rows: [Row]) -> [(SQLValue, Int)] {
        sorted(rows.reduce(into: [:]) { counts, row in
            guard case .array(let elements, _) = row.tags else { return }
            for element in Set(elements.prefix(100)) { counts[element, default: 0] += 1 }
        })
    }

    static func dates(_ rows: [Row], _ interval: FullTextSearch.Grouping.Interval) -> [(SQLValue, Int)] {
        var counts: [String: Int] = [:]
        for row in rows { if let day = row.day.value { counts[name(day, interval), default: 0] += 1 } }
        return counts.sorted { $0.key > $1.key }.map { (.text($0.key), $0.value) }
    }

    static func prices(_ rows: [Row]) -> [Int] {
        var counts = [Int](repeating: 0, count: bounds.count + 1)
        for row in rows {
            switch row.price {
            // Each bound is small: an integer is exactly compared as a number of 64 bits.
            case .integer(let value): counts[bounds.filter { Double(value) >= $0 }.count] += 1
            case .real(let value): counts[bounds.filter { value >= $0 }.count] += 1
            default: break
            }
        }
        return counts
    }
}
