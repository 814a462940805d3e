import Foundation
import SQLCipherKitCore
import SQLCipherKitRecords

/// The profile of the columns `own` and `ownKey`, for the test that is running.
enum OwnProfile {
    @TaskLocal static var value = ValueProfile.standard
}

/// Codes itself as a single number, and is nothing to SQL on its own.
struct Celsius: Codable, Equatable, Sendable {
    var degrees: Double
    init(_ degrees: Double) { self.degrees = degrees }
    init(from decoder: any Decoder) throws { degrees = try decoder.singleValueContainer().decode(Double.self) }
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(degrees)
    }
}

/// Codes itself as a single date.
struct Stamp: Codable, Equatable, Sendable {
    var date: Date
    init(_ date: Date) { self.date = date }
    init(from decoder: any Decoder) throws { date = try decoder.singleValueContainer().decode(Date.self) }
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(date)
    }
}

/// Wraps a date that SQL knows.
struct Moment: RawRepresentable, Codable, Equatable, SQLValueConvertible {
    var rawValue: Date
}

/// A column of each kind whose form a profile, or the type itself, decides.
struct Ways: SQLRecord, Equatable {
    var id: Int64
    var at: Date, maybe: Date?, key: UUID, price: Decimal, moment: Moment
    var celsius: Celsius, stamp: Stamp, shade: Grade, rank: Rank, place: Place
    var own: Date, ownKey: UUID?

    static var columnProfiles: [String: ValueProfile] { ["own": OwnProfile.value, "ownKey": OwnProfile.value] }

    static let table = SQLTable(of: Ways.self) {
        $0.id.primaryKey()
        $0.at
        $0.maybe
        $0.key
        $0.price
        $0.moment
        $0.celsius
        $0.stamp
        $0.shade
        $0.rank
        $0.place
        $0.own
        $0.ownKey
    }

    static func random(_ random: inout some RandomNumberGenerator) -> Ways {
        func date() -> Date {
            let milliseconds = Int.random(in: -100_000_000_000...4_000_000_000_000, using: &random)
            return Date(timeIntervalSince1970: Double(milliseconds) / 1000)
        }
        func uuid() -> UUID {
            var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
            withUnsafeMutableBytes(of: &bytes) { for index in 0..<16 { $0[index] = .random(in: 0...255, using: &random) } }
            return UUID(uuid: bytes)
        }
        return Ways(
            id: .random(in: 2...1_000_000, using: &random), at: date(), maybe: .random(using: &random) ? date() : nil, key: uuid(),
            price: Decimal(Int.random(in: -999_999...999_999, using: &random)) / 8, moment: Moment(rawValue: date()),
            celsius: Celsius(Double(Int.random(in: -40...40, using: &random)) / 2), stamp: Stamp(date()),
            shade: Grade.allCases.randomElement(using: &random) ?? .first, rank: Rank.allCases.randomElement(using: &random) ?? .low,
            place: Place(city: "Ä\"'", tags: ["t"]), own: date(), ownKey: .random(using: &random) ? uuid() : nil)
    }

    /// The record as a profile keeps it, which may round times.
    func kept(in profile: ValueProfile) throws -> Ways {
        func kept(_ date: Date, _ profile: ValueProfile) throws -> Date {
            try Date(sqlValue: date.sqlValue(in: profile), in: profile) ?? .distantPast
        }
        var copy = self
        copy.at = try kept(at, profile)
        copy.maybe = try maybe.map { try kept($0, profile) }
        copy.moment.rawValue = try kept(moment.rawValue, profile)
        copy.stamp.date = try kept(stamp.date, profile)
        copy.own = try kept(own, OwnProfile.value)
        return copy
    }
}

/// The same by position, in another order, as the macro makes it.
struct PlacedWays: SQLPositionalRecord, Equatable {
    var row: Ways

    var id: Int64 { row.id }
    var at: Date { row.at }
    var maybe: Date? { row.maybe }
    var key: UUID { row.key }
    var price: Decimal { row.price }
    var moment: Moment { row.moment }
    var celsius: Celsius { row.celsius }
    var stamp: Stamp { row.stamp }
    var shade: Grade { row.shade }
    var rank: Rank { row.rank }
    var place: Place { row.place }
    var own: Date { row.own }
    var ownKey: UUID? { row.ownKey }

    static let tableName = "placed"
    static var columnProfiles: [String: ValueProfile] { Ways.columnProfiles }
    static let recordColumns = SQLRecordColumns(
        of: PlacedWays.self,
        [
            "own": \.own, "at": \.at, "id": \.id, "maybe": \.maybe, "key": \.key, "price": \.price,
            "moment": \.moment, "celsius": \.celsius, "stamp": \.stamp, "shade": \.shade, "rank": \.rank,
            "place": \.place, "ownKey": \.ownKey,
        ])
    static let table = SQLTable(of: PlacedWays.self) {
        $0.id.primaryKey()
        $0.at
        $0.maybe
        $0.key
        $0.price
        $0.moment
        $0.celsius
        $0.stamp
        $0.shade
        $0.rank
        $0.place
        $0.own
        $0.ownKey
    }

    init(_ row: Ways) { self.row = row }

    init(columns: inout SQLColumnReader) throws {
        let own: Date = try columns.next(), at: Date = try columns.next(), id: Int64 = try columns.next()
        let maybe: Date? = try columns.next(), key: UUID = try columns.next(), price: Decimal = try columns.next()
        let moment: Moment = try columns.next(), celsius: Celsius = try columns.next(), stamp: Stamp = try columns.next()
        let shade: Grade = try columns.next(), rank: Rank = try columns.next(), place: Place = try columns.next()
        row = Ways(
            id: id, at: at, maybe: maybe, key: key, price: price, moment: moment, celsius: celsius, stamp: stamp, shade: shade,
            rank: rank, place: place, own: own, ownKey: try columns.next())
    }

    func write(to columns: inout SQLColumnWriter) throws {
        try columns.put(row.own)
        try columns.put(row.at)
        try columns.put(row.id)
        try columns.put(row.maybe)
        try columns.put(row.key)
        try columns.put(row.price)
        try columns.put(row.moment)
        try columns.put(row.celsius)
        try columns.put(row.stamp)
        try columns.put(row.shade)
        try columns.put(row.rank)
        try columns.put(row.place)
        try columns.put(row.ownKey)
    }

    init(from decoder: any Decoder) throws { row = try Ways(from: decoder) }
    func encode(to encoder: any Encoder) throws { try row.encode(to: encoder) }
}

/// The requirements of the machine to both.
protocol WaysRecord: SQLRecord, Equatable {
    init(_ row: Ways)
    var row: Ways { get set }
    static func set(_ row: Ways, _ set: inout SQLAssignments<Self>)
}

extension Ways: WaysRecord {
    init(_ row: Ways) { self = row }
    var row: Ways {
        get { self }
        set { self = newValue }
    }
    static func set(_ row: Ways, _ set: inout SQLAssignments<Ways>) {
        set(\.at, to: row.at)
        set(\.maybe, to: row.maybe)
        set(\.key, to: row.key)
        set(\.price, to: row.price)
        set(\.moment, to: row.moment)
        set(\.celsius, to: row.celsius)
        set(\.stamp, to: row.stamp)
        set(\.shade, to: row.shade)
        set(\.rank, to: row.rank)
        set(\.place, to: row.place)
        set(\.own, to: row.own)
        set(\.ownKey, to: row.ownKey)
    }
}

extension PlacedWays: WaysRecord {
    static func set(_ row: Ways, _ set: inout SQLAssignments<PlacedWays>) {
        set(\.at, to: row.at)
        set(\.maybe, to: row.maybe)
        set(\.key, to: row.key)
        set(\.price, to: row.price)
        set(\.moment, to: row.moment)
        set(\.celsius, to: row.celsius)
        set(\.stamp, to: row.stamp)
        set(\.shade, to: row.shade)
        set(\.rank, to: row.rank)
        set(\.place, to: row.place)
        set(\.own, to: row.own)
        set(\.ownKey, to: row.ownKey)
    }
}

/// Two of them in one row.
struct WaysPair<T: WaysRecord>: SQLRowConvertible {
    let first: T, second: T?
    init(row: borrowing Row) throws {
        first = try row.scope("first")
        second = try row.scope("second")
    }
}

struct CodedWays<T: WaysRecord>: Decodable {
    let number: Int, first: T, second: T?
}
