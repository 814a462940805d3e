import Foundation
import SQLCipherKitCore
import SQLCipherKitRecords

enum Shade: String, Codable, SQLValueConvertible, CaseIterable { case dark, light }

/// Stored as its raw value, too, but only `Codable` knows how.
enum Rank: Int, Codable, CaseIterable { case low = -1, high = 7 }

struct Place: Codable, Equatable, Sendable {
    var city: String
    var tags: [String]
}

/// A property of each kind, as `Codable` has it: the oracle. Its table has no description and no types.
struct ByCodable: SQLRecord, Equatable {
    var id: Int64?
    var flag: Bool, small: UInt8, whole: Int, real: Double, single: Float, text: String
    var data: Data, bytes: [UInt8], date: Date, uuid: UUID, decimal: Decimal, url: URL
    var shade: Shade, rank: Rank, place: Place, binary: JSONColumn<Place>, tags: [String]
    var anyWhole: Int?, anyText: String?, anyData: Data?, anyDate: Date?, anyShade: Shade?, anyRank: Rank?, anyPlace: Place?
    var anyBinary: JSONColumn<Place>?
    @ColumnDefault var preset: Int?
    @ColumnDefault var presetPlace: Place?

    static let tableName = "by_codable"
    static let columnProfiles: [String: ValueProfile] = ["date": .sap]

    static func creation(_ name: String) -> SQL {
        """
        CREATE TABLE \(identifier: name)(id INTEGER PRIMARY KEY, flag, small, whole, real, single, text, data, bytes, date, uuid,
            decimal, url, shade, rank, place, binary, tags, anyWhole, anyText, anyData, anyDate, anyShade, anyRank, anyPlace,
            anyBinary, preset DEFAULT 10, presetPlace DEFAULT '{"city":"Bonn","tags":[]}')
        """
    }

    static func random(id: Int64?, _ random: inout some RandomNumberGenerator) -> ByCodable {
        func text() -> String {
            String(String.UnicodeScalarView((0..<Int.random(in: 0...6, using: &random)).map { _ in
                "aé\u{301}\u{0}'\"日😀 ".unicodeScalars.randomElement(using: &random) ?? "a"
            }))
        }
        func bytes() -> [UInt8] { (0..<Int.random(in: 0...5, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) } }
        func place() -> Place { Place(city: text(), tags: (0..<Int.random(in: 0...2, using: &random)).map { _ in text() }) }
        func date() -> Date { Date(timeIntervalSince1970: Double(Int.random(in: -1_000_000...2_000_000_000, using: &random))) }
        func maybe<T>(_ value: T) -> T? { Bool.random(using: &random) ? value : nil }
        func format() -> JSONFormat { Bool.random(using: &random) ? .jsonb : .text }
        var id16: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        id16.15 = UInt8.random(in: 0...255, using: &random)
        var made = ByCodable(
            id: id, flag: .random(using: &random), small: .random(in: 0...255, using: &random),
            whole: [0, 1, -1, .max, .min].randomElement(using: &random) ?? 0,
            real: [0, -0.0, 1.5, .infinity, 1e300].randomElement(using: &random) ?? 0, single: [0, 0.5].randomElement(using: &random) ?? 0,
            text: text(), data: Data(bytes()), bytes: bytes(), date: date(), uuid: UUID(uuid: id16),
            decimal: Decimal(Int.random(in: -999...999, using: &random)) / 8, url: URL(fileURLWithPath: "/a"),
            shade: Shade.allCases.randomElement(using: &random) ?? .dark, rank: Rank.allCases.randomElement(using: &random) ?? .low,
            place: place(), binary: JSONColumn(place(), as: format()), tags: place().tags, anyWhole: maybe(3), anyText: maybe(text()),
            anyData: maybe(Data(bytes())), anyDate: maybe(date()), anyShade: maybe(.light), anyRank: maybe(.high),
            anyPlace: maybe(place()), anyBinary: maybe(JSONColumn(place(), as: format())))
        if .random(using: &random) { made.preset = maybe(4) }
        if .random(using: &random) { made.presetPlace = maybe(place()) }
        return made
    }
}

/// The same rows by position, in another order, under properties of other names.
struct ByPosition: SQLPositionalRecord, Equatable {
    var row: ByCodable

    var id: Int64? { row.id }
    var flag: Bool { row.flag }
    var text: String { row.text }
    var date: Date { row.date }
    var uuid: UUID { row.uuid }
    var tags: [String] { row.tags }
    var anyDate: Date? { row.anyDate }
    var anyShade: Shade? { row.anyShade }

    static let tableName = "by_position"
    static let columnProfiles = ByCodable.columnProfiles
    static let recordColumns = SQLRecordColumns(
        of: ByPosition.self,
        [
            "presetPlace": \.row.presetPlace, "flag": \.flag, "small": \.row.small, "whole": \.row.whole, "real": \.row.real,
            "single": \.row.single, "text": \.text, "data": \.row.data, "bytes": \.row.bytes, "date": \.date,
            "uuid": \.uuid, "decimal": \.row.decimal, "url": \.row.url, "shade": \.row.shade, "rank": \.row.rank,
            "place": \.row.place, "binary": \.row.binary, "tags": \.tags, "anyWhole": \.row.anyWhole, "id": \.id,
            "anyText": \.row.anyText, "anyData": \.row.anyData, "anyDate": \.anyDate, "anyShade": \.anyShade,
            "anyRank": \.row.anyRank, "anyPlace": \.row.anyPlace, "anyBinary": \.row.anyBinary, "preset": \.row.preset,
        ])

    init(_ row: ByCodable) { self.row = row }

    init(columns: inout SQLColumnReader) throws {
        let presetPlace: ColumnDefault<Place> = try columns.next()
        let flag: Bool = try columns.next(), small: UInt8 = try columns.next(), whole: Int = try columns.next()
        let real: Double = try columns.next(), single: Float = try columns.next(), text: String = try columns.next()
        let data: Data = try columns.next(), bytes: [UInt8] = try columns.next(), date: Date = try columns.next()
        let uuid: UUID = try columns.next(), decimal: Decimal = try columns.next(), url: URL = try columns.next()
        let shade: Shade = try columns.next(), rank: Rank = try columns.next(), place: Place = try columns.next()
        let binary: JSONColumn<Place> = try columns.next(), tags: [String] = try columns.next(), anyWhole: Int? = try columns.next()
        let id: Int64? = try columns.next(), anyText: String? = try columns.next(), anyData: Data? = try columns.next()
        let anyDate: Date? = try columns.next(), anyShade: Shade? = try columns.next(), anyRank: Rank? = try columns.next()
        let anyPlace: Place? = try columns.next(), anyBinary: JSONColumn<Place>? = try columns.next()
        row = ByCodable(
            id: id, flag: flag, small: small, whole: whole, real: real, single: single, text: text, data: data, bytes: bytes,
            date: date, uuid: uuid, decimal: decimal, url: url, shade: shade, rank: rank, place: place, binary: binary, tags: tags,
            anyWhole: anyWhole, anyText: anyText, anyData: anyData, anyDate: anyDate, anyShade: anyShade, anyRank: anyRank,
            anyPlace: anyPlace, anyBinary: anyBinary)
        row.$preset = try columns.next()
        row.$presetPlace = presetPlace
    }

    func write(to columns: inout SQLColumnWriter) throws {
        try columns.put(row.$presetPlace)
        try columns.put(row.flag)
        try columns.put(row.small)
        try columns.put(row.whole)
        try columns.put(row.real)
        try columns.put(row.single)
        try columns.put(row.text)
        try columns.put(row.data)
        try columns.put(row.bytes)
        try columns.put(row.date)
        try columns.put(row.uuid)
        try columns.put(row.decimal)
        try columns.put(row.url)
        try columns.put(row.shade)
        try columns.put(row.rank)
        try columns.put(row.place)
        try columns.put(row.binary)
        try columns.put(row.tags)
        try columns.put(row.anyWhole)
        try columns.put(row.id)
        try columns.put(row.anyText)
        try columns.put(row.anyData)
        try columns.put(row.anyDate)
        try columns.put(row.anyShade)
        try columns.put(row.anyRank)
        try columns.put(row.anyPlace)
        try columns.put(row.anyBinary)
        try columns.put(row.$preset)
    }
}

/// A described table with renamed, generated and defaulted columns, and a key of two.
struct Shelf: SQLPositionalRecord, Equatable {
    var room: Int64
    var place: Int64
    var label: String
    private(set) var shown: String?
    var isHigh: Bool { place > 5 }

    static let recordColumns = SQLRecordColumns(
        of: Shelf.self, ["room_id": \.room, "place": \.place, "shown": \.shown, "name": \.label])
    static let table = SQLTable(of: Shelf.self) {
        $0.label.collate("NOCASE")
        $0.room
        $0.place
        $0.shown.generated(as: "upper(name)")
        SQLColumn("extra", .integer).default(5)
        SQLConstraint.primaryKey($0.room, $0.place)
        SQLIndex("shelf_name", on: [$0.label])
    }

    init(room: Int64, place: Int64, label: String) { (self.room, self.place, self.label) = (room, place, label) }

    init(columns: inout SQLColumnReader) throws {
        room = try columns.next()
        place = try columns.next()
        shown = try columns.next()
        label = try columns.next()
    }

    func write(to columns: inout SQLColumnWriter) throws {
        try columns.put(room)
        try columns.put(place)
        try columns.put(shown)
        try columns.put(label)
    }
}
