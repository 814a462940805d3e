import Foundation
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing

/// The form of a column, which follows from the values written to it.
@Suite struct ColumnFormTests {
    private struct Tag: Codable, Equatable { var text: String
        init(_ text: String) { self.text = text }
        init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(text)
        }
    }
    /// Refuses most values.
    private struct Odd: Codable, Equatable { var number: Int
        init(_ number: Int) { self.number = number }
        init(from decoder: any Decoder) throws {
            number = try decoder.singleValueContainer().decode(Int.self)
            if number % 2 == 0 { throw DatabaseError(code: .mismatch, reason: .typeMismatch, message: "even") }
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(number)
        }
    }
    /// A number or a text.
    private enum Either: Codable, Equatable { case number(Int), text(String)
        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Int.self) { self = .number(number) } else { self = .text(try container.decode(String.self)) }
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .number(let number): try container.encode(number)
            case .text(let text): try container.encode(text)
            }
        }
    }
    /// Reads a number, and writes it as text.
    private struct Crossed: Codable { var number: Int
        init(from decoder: any Decoder) throws { number = try decoder.singleValueContainer().decode(Int.self) }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode("\(number)")
        }
    }
    /// A single value that is a list: JSON.
    private struct Listed: Codable, Equatable { var all: [Int]
        init(_ all: [Int]) { self.all = all }
        init(from decoder: any Decoder) throws { all = try decoder.singleValueContainer().decode([Int].self) }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(all)
        }
    }

    private struct Probe: SQLRecord, Equatable {
        var id: Int64?
        var celsius: Celsius, maybe: Celsius?, stamp: Stamp, tag: Tag, odd: Odd, either: Either, listed: Listed, place: Place
        static let table = SQLTable(of: Probe.self) {
            $0.id.primaryKey()
            $0.celsius
            $0.maybe
            $0.stamp
            $0.tag
            $0.odd
            $0.either
            $0.listed
            $0.place
        }
    }
    private struct Backwards: SQLRecord {
        var crossed: Crossed
        static let table = SQLTable(of: Backwards.self) { $0.crossed }
    }

    @Test func columnOfOwnCodingTakesValuesOfAllTypes() throws {
        let types = Probe.table.columns.map(\.type)
        #expect(types == [.integer] + Array(repeating: .any, count: 8))
        #expect(Backwards.table.columns.map(\.type) == [.any])
        let db = try Connection(.memory)
        try db.create(Probe.table)
        for either in [Either.number(1), .text("1"), .text("x")] {
            var probe = Probe(
                celsius: Celsius(21.5), maybe: Celsius(4), stamp: Stamp(Date(timeIntervalSince1970: 0.25)), tag: Tag("007"), odd: Odd(3),
                either: either, listed: Listed([1]), place: Place(city: "c", tags: []))
            try db.insert(&probe)
            #expect(try db.fetchOne(Probe.self, id: probe.id) == probe)
        }
        #expect(try db.fetchAll(Probe.filter { $0.maybe == Celsius(4) }).count == 3)
    }

    @Test func columnsOfOtherAffinityAreReportedAsDifferences() throws {
        let db = try Connection(.memory)
        try db.execute("""
            CREATE TABLE probe(id TEXT PRIMARY KEY, celsius TEXT NOT NULL, maybe TEXT, stamp NOT NULL, tag TEXT NOT NULL,
                odd TEXT NOT NULL, either NOT NULL, listed TEXT NOT NULL, place TEXT NOT NULL)
            """)
        #expect(try db.main.differences(from: [Probe.self]).map(\.column) == ["id"])
    }

    // MARK: Defaults of dates

    private struct Event: SQLRecord {
        @TaskLocal static var sql: SQL = "CURRENT_TIMESTAMP"
        var id: Int64?
        @ColumnDefault var made: Date?
        static var table: SQLTable {
            SQLTable(of: Event.self) {
                $0.id.primaryKey()
                $0.made.named("made").default(sql: sql)
            }
        }
        init() {}
    }
    private struct Plain: SQLRecord {
        var id: Int64?, made: Date?
        static var table: SQLTable { SQLTable(of: Plain.self) { $0.id.primaryKey(); $0.made.default(sql: Event.sql) } }
        static var columnProfiles: [String: ValueProfile] { own.map { ["made": $0] } ?? [:] }
        @TaskLocal static var own: ValueProfile?
    }

    static let defaults: [(SQL, ValueProfile, Bool)] = [
        ("CURRENT_TIMESTAMP", .standard, true), ("datetime()", .standard, true), ("datetime('now', 'subsec')", .standard, true),
        ("CURRENT_DATE", .standard, true), ("CURRENT_TIMESTAMP", .grdb, true), ("CURRENT_TIMESTAMP", .sqlite, true),
        ("NULL", .standard, true), ("CURRENT_TIMESTAMP", .iso8601, false), ("CURRENT_TIMESTAMP", .sap, false),
        ("CURRENT_TIMESTAMP", .sqliteSwift, false), ("unixepoch()", .standard, false), ("unixepoch()", .sap, true),
        ("unixepoch()", .skipSQL, true), ("unixepoch('now', 'subsec')", .skipSQL, true), ("unixepoch()", .room, false),
        ("unixepoch() * 1000", .room, true), ("unixepoch()", .coreData, false), ("unixepoch() - 978307200", .coreData, true),
        ("julianday()", .sap, false), ("julianday()", ValueProfile(dates: .julianDays), true), ("0", .sap, true),
        ("strftime('%Y-%m-%dT%H:%M:%fZ')", .iso8601, true), ("strftime('%Y-%m-%dT%H:%M:%SZ')", .iso8601, false),
        ("strftime('%Y-%m-%dT%H:%M:%SZ')", .dataLiteCore, true), ("CURRENT_TIME", .standard, false), ("'soon'", .standard, false),
    ]

    @Test(arguments: defaults) func columnDefaultInAnotherFormIsRefused(_ sql: SQL, _ profile: ValueProfile, _ isFine: Bool) throws {
        var configuration = DatabaseConfiguration()
        configuration.valueProfile = profile
        let db = try Connection(.memory, configuration: configuration)
        try Event.$sql.withValue(sql) {
            for create in [{ try db.create(Event.table) }, { try db.create(Plain.table) }] {
                do {
                    try create()
                    #expect(isFine, "\(sql.text) \(profile)")
                } catch let error as DatabaseError {
                    #expect(!isFine && error.reason == .invalidArgument && error.message.contains("made"), "\(error)")
                }
            }
            #expect(try db.main.tables().count == (isFine ? 2 : 0))
            if isFine, sql.text != "NULL" {
                // The default's value is read as the present day, except where it is another.
                try db.insert(Event())
                let made = try #require(try db.fetchOne(Event.all)?.made)
                #expect(sql.text == "0" || abs(made.timeIntervalSinceNow) < 90_000, "\(sql.text) \(profile) \(made)")
                #expect(try db.count(Plain.filter { $0.made > Date() }) == 0)
            }
        }
        // A column's own profile decides, and a rebuilt table is no other.
        let plain = try Connection(.memory)
        try plain.execute("CREATE TABLE plain(id INTEGER PRIMARY KEY, made)")
        try Event.$sql.withValue(sql) {
            try Plain.$own.withValue(profile) {
                if isFine { try plain.main.rebuildTable(Plain.table) } else {
                    #expect(throws: DatabaseError.self) { try plain.main.rebuildTable(Plain.table) }
                }
            }
        }
    }
}
