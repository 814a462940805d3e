import Foundation
import SQLCipherKitCore
import SQLCipherKitRecords
import TestSupport

/// A type of property that the machine draws values of.
protocol MachineValue: Codable, Sendable {
    /// Extremes, neighbors, and values that compare in an unexpected way.
    static var values: [Self] { get }
    static func isEqual(_ a: Self, _ b: Self) -> Bool
    /// The order in which SQLite has them; nil if they have none that Swift has too.
    static var isLess: (@Sendable (Self, Self) -> Bool)? { get }
}

extension MachineValue {
    static var isLess: (@Sendable (Self, Self) -> Bool)? { nil }
}

extension MachineValue where Self: Comparable {
    static func isEqual(_ a: Self, _ b: Self) -> Bool { a == b }
    static var isLess: (@Sendable (Self, Self) -> Bool)? { { $0 < $1 } }
}

extension Int: MachineValue { static let values = [0, 1, -1, 2, .max, .min] }
extension Int8: MachineValue { static let values: [Int8] = [0, 1, -1, .max, .min] }
extension UInt32: MachineValue { static let values: [UInt32] = [0, 1, 2, .max] }
extension Double: MachineValue {
    static let values: [Double] = [0, -0.0, 1.5, -1.5, .infinity, -.infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude]
}
extension Float: MachineValue { static let values: [Float] = [0, 1.5, -1.5, .infinity, .greatestFiniteMagnitude] }
extension Bool: MachineValue {
    static let values = [true, false]
    static func isEqual(_ a: Bool, _ b: Bool) -> Bool { a == b }
    static var isLess: (@Sendable (Bool, Bool) -> Bool)? { { !$0 && $1 } }
}
extension String: MachineValue {
    static let values = ["", "a", "A", "b", "\u{e9}", "e\u{301}", "a\u{0}b", "日本", "1", "\u{10ffff}"]
    static func isEqual(_ a: String, _ b: String) -> Bool { Array(a.utf8) == Array(b.utf8) }
    static var isLess: (@Sendable (String, String) -> Bool)? { { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
}
extension Data: MachineValue {
    static let values = [Data(), Data([0]), Data([0, 1]), Data([255]), Data("a".utf8)]
    static func isEqual(_ a: Data, _ b: Data) -> Bool { a == b }
    static var isLess: (@Sendable (Data, Data) -> Bool)? { { $0.lexicographicallyPrecedes($1) } }
}
extension Date: MachineValue {
    // Whole seconds, which every profile can hold.
    static let values = [0, 1, -1, 978_307_200, 1_795_249_800, -62_135_596_800, 253_402_300_799].map {
        Date(timeIntervalSince1970: $0)
    }
}
extension UUID: MachineValue {
    static let values = [
        "00000000-0000-0000-0000-000000000000", "0A000000-0000-0000-0000-00000000000b", "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "9A000000-0000-0000-0000-00000000000b",
    ].compactMap { UUID(uuidString: $0) }
    static func isEqual(_ a: UUID, _ b: UUID) -> Bool { a == b }
    static var isLess: (@Sendable (UUID, UUID) -> Bool)? { { $0.uuidString < $1.uuidString } }
}
extension Decimal: MachineValue { static let values: [Decimal] = [0, 1, -1, 9, 10, Decimal(15) / 10, Decimal(-25) / 100, 10_000_000_000] }
extension URL: MachineValue {
    static let values = ["https://a.example", "https://a.example/b", "file:///tmp"].compactMap { URL(string: $0) }
    static func isEqual(_ a: URL, _ b: URL) -> Bool { a == b }
    static var isLess: (@Sendable (URL, URL) -> Bool)? { { $0.absoluteString < $1.absoluteString } }
}

/// An enumeration with a form of its own.
enum Colour: String, SQLValueConvertible, MachineValue, CaseIterable {
    case red, green, blue
    static var values: [Colour] { allCases }
    static func isEqual(_ a: Colour, _ b: Colour) -> Bool { a == b }
    static var isLess: (@Sendable (Colour, Colour) -> Bool)? { { $0.rawValue < $1.rawValue } }
}

/// An enumeration whose form is not its raw value, nor in its order. A column of the raw value's type would turn it into another.
enum Grade: Int, SQLValueConvertible, MachineValue, CaseIterable {
    case first, second, third
    var sqlValue: SQLValue { .text("0\(2 - rawValue)") }
    init?(sqlValue: SQLValue) {
        guard let found = Self.allCases.first(where: { $0.sqlValue == sqlValue }) else { return nil }
        self = found
    }
    static var values: [Grade] { allCases }
    static func isEqual(_ a: Grade, _ b: Grade) -> Bool { a == b }
    static var isLess: (@Sendable (Grade, Grade) -> Bool)? { { $0.rawValue > $1.rawValue } }
}

/// A type of the program's own around one that has several forms.
struct MachineMoment: SQLValueConvertible, MachineValue {
    var date: Date
    init(_ date: Date) { self.date = date }
    var sqlValue: SQLValue { get throws { try date.sqlValue } }
    func sqlValue(in profile: ValueProfile) throws -> SQLValue { try date.sqlValue(in: profile) }
    init?(sqlValue: SQLValue) {
        guard let date = Date(sqlValue: sqlValue) else { return nil }
        self.date = date
    }
    init?(sqlValue: SQLValue, in profile: ValueProfile) {
        guard let date = Date(sqlValue: sqlValue, in: profile) else { return nil }
        self.date = date
    }
    static var values: [MachineMoment] { Date.values.map(MachineMoment.init) }
    static func isEqual(_ a: MachineMoment, _ b: MachineMoment) -> Bool { a.date == b.date }
    static var isLess: (@Sendable (MachineMoment, MachineMoment) -> Bool)? { { $0.date < $1.date } }
}

// Types that are only Codable.

enum Kind: String, MachineValue, CaseIterable {
    case sent, read, gone
    static var values: [Kind] { allCases }
    static func isEqual(_ a: Kind, _ b: Kind) -> Bool { a == b }
}

/// A single value.
struct MachineCelsius: MachineValue {
    var degrees: Double
    init(_ degrees: Double) { self.degrees = degrees }
    init(from decoder: any Decoder) throws { degrees = try decoder.singleValueContainer().decode(Double.self) }
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(degrees)
    }
    static let values = [MachineCelsius(0), MachineCelsius(21.5), MachineCelsius(-40)]
    static func isEqual(_ a: MachineCelsius, _ b: MachineCelsius) -> Bool { a.degrees == b.degrees }
}

/// A single value that has several forms.
struct Deadline: MachineValue {
    var date: Date
    init(_ date: Date) { self.date = date }
    init(from decoder: any Decoder) throws { date = try decoder.singleValueContainer().decode(Date.self) }
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(date)
    }
    static var values: [Deadline] { Date.values.map(Deadline.init) }
    static func isEqual(_ a: Deadline, _ b: Deadline) -> Bool { a.date == b.date }
}

/// A document, with another in it.
struct Address: MachineValue, Equatable {
    struct Place: Codable, Equatable { var city: String, zip: String? }
    var place: Place
    var tags: [String]
    static let values = [
        Address(place: Place(city: "Roma", zip: nil), tags: []), Address(place: Place(city: "Roma", zip: "00100"), tags: []),
        Address(place: Place(city: "", zip: nil), tags: ["a", "b"]),
    ]
    static func isEqual(_ a: Address, _ b: Address) -> Bool { a == b }
}

/// The forms in which the columns of a sample are stored.
protocol MachineForms: Sendable {
    static var name: String { get }
    static var profiles: [String: ValueProfile] { get }
}
enum NoForms: MachineForms { static let name = "plain", profiles: [String: ValueProfile] = [:] }
enum OneForm: MachineForms {
    static let name = "one"
    static let profiles = Dictionary(uniqueKeysWithValues: ["a", "b", "o", "q"].map { ($0, ValueProfile.sap) })
}
extension ValueProfile { fileprivate static let julian = ValueProfile(dates: .julianDays, uuids: .uppercaseText) }
enum MixedForms: MachineForms {
    static let name = "mixed"
    static let profiles: [String: ValueProfile] = ["a": .room, "b": .grdb, "o": .coreData, "q": .julian]
}

/// A record of two columns that are never NULL and two that may be.
struct Sample<A: MachineValue, Forms: MachineForms>: SQLRecord {
    var id: Int64
    var team: Int?
    var flag: Bool
    var mark: Bool?
    var a: A
    var b: A
    var o: A?
    var q: A?

    static var tableName: String { "sample_\(Forms.name)" }
    static var columnProfiles: [String: ValueProfile] { Forms.profiles }
    static var creation: [SQL] {
        let table = tableName
        return [
            "CREATE TABLE \(identifier: table)(id INTEGER PRIMARY KEY, team, flag, mark, a, b, o, q)",
            "CREATE INDEX \(identifier: table + "_a") ON \(identifier: table)(a)",
            "CREATE INDEX \(identifier: table + "_o") ON \(identifier: table)(o, id)",
        ]
    }

    /// Rows with nil, extremes and equal values.
    static func rows(_ count: Int, _ random: inout SeededGenerator) -> [Sample] {
        func value(_ random: inout SeededGenerator) -> A { A.values[Int.random(in: 0..<A.values.count, using: &random)] }
        return (1...count).map { id in
            let a = value(&random)
            return Sample(
                id: Int64(id), team: Int.random(in: 0..<4, using: &random) == 0 ? nil : Int.random(in: 1...3, using: &random),
                flag: .random(using: &random), mark: [nil, true, false][Int.random(in: 0..<3, using: &random)], a: a,
                b: Bool.random(using: &random) ? a : value(&random), o: Bool.random(using: &random) ? value(&random) : nil,
                q: Int.random(in: 0..<3, using: &random) > 0 ? a : nil)
        }
    }
}
