import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing

/// Dates inside the JSON of a column have the form that the connection's profile says, or the column's, in every way that writes
/// and reads them. GRDB codes them by `JSONEncoder` and `JSONDecoder` with milliseconds since 1970.
@Suite struct NestedDateTests {
    struct Visit: Codable, Hashable, Sendable {
        var at: Date
        var others: [Date?]
        var named: [String: Date]
    }

    /// Decides for itself, whatever the profile.
    struct Own: Codable, Hashable, Sendable, JSONCodingCustomizable {
        var at: Date
        static let jsonCodingOptions = {
            var options = JSONCodingOptions()
            options.dates = .millisecondsSince1970
            return options
        }()
    }

    struct Trip: SQLRecord, Hashable {
        var id: Int64?
        var day: Date
        var days: [Date]
        var visits: [Visit]
        var last: Visit?
        var own: Own
        var column: JSONColumn<Visit>
    }

    /// A record that writes a column by itself.
    struct Late: Codable, Equatable {
        var id: Int64
        var days: [Date]

        init(id: Int64, days: [Date]) { (self.id, self.days) = (id, days) }

        enum CodingKeys: CodingKey { case id, days }

        func encode(to encoder: any Encoder) throws {
            var columns = encoder.container(keyedBy: CodingKeys.self)
            try columns.encode(id, forKey: .id)
            var list = columns.nestedUnkeyedContainer(forKey: .days)
            for day in days { try list.encode(day) }
        }

        init(from decoder: any Decoder) throws {
            let columns = try decoder.container(keyedBy: CodingKeys.self)
            id = try columns.decode(Int64.self, forKey: .id)
            var list = try columns.nestedUnkeyedContainer(forKey: .days)
            days = []
            while !list.isAtEnd { days.append(try list.decode(Date.self)) }
        }
    }

    static let dates = [Date(timeIntervalSince1970: 1_763_713_800.25), Date(timeIntervalSince1970: -3.5), Date(timeIntervalSince1970: 0)]

    static func trip(_ id: Int64?) -> Trip {
        let visit = Visit(at: dates[0], others: [dates[1], nil], named: ["a": dates[2]])
        return Trip(
            id: id, day: dates[0], days: dates, visits: [visit, visit], last: id == 2 ? nil : visit, own: Own(at: dates[0]),
            column: JSONColumn(visit, as: .text))
    }

    static func open(_ dates: JSONDateStrategy) throws -> Connection {
        var configuration = DatabaseConfiguration()
        configuration.valueProfile.jsonDates = dates
        let db = try Connection(.memory, configuration: configuration)
        try db.execute("CREATE TABLE trip(id INTEGER PRIMARY KEY, day, days, visits, last, own, column)")
        return db
    }

    /// Foundation's coders with the same form of dates.
    static func coders(_ dates: JSONDateStrategy) -> (JSONEncoder, JSONDecoder) {
        let encoder = JSONEncoder(), decoder = JSONDecoder()
        switch dates {
        case .iso8601:
            encoder.dateEncodingStrategy = .custom { date, encoder in
                guard case .text(let text) = try date.sqlValue(.iso8601) else { return }
                var container = encoder.singleValueContainer()
                try container.encode(text)
            }
            decoder.dateDecodingStrategy = .custom { decoder in
                try #require(Date(sqlValue: .text(try decoder.singleValueContainer().decode(String.self))))
            }
        case .millisecondsSince1970:
            (encoder.dateEncodingStrategy, decoder.dateDecodingStrategy) = (.millisecondsSince1970, .millisecondsSince1970)
        case .secondsSince1970: (encoder.dateEncodingStrategy, decoder.dateDecodingStrategy) = (.secondsSince1970, .secondsSince1970)
        case .deferredToDate: (encoder.dateEncodingStrategy, decoder.dateDecodingStrategy) = (.deferredToDate, .deferredToDate)
        }
        return (encoder, decoder)
    }

    /// Each way in which a program writes a record.
    static let ways: [(name: String, write: @Sendable (Connection) throws -> Void)] = [
        ("insert", { try $0.insert(trip(1)) }), ("insert again", { db in
            try db.insert(trip(5))
            try db.insert(trip(1))
        }),
        ("insert(&)", { db in
            var trip = trip(nil)
            try db.insert(&trip)
        }),
        ("insertAll", { try $0.insertAll([trip(1)]) }), ("save", { db in
            var trip = trip(1)
            try db.save(&trip)
        }),
        ("upsert", { try $0.upsert(trip(1)) }), ("insert into", { try $0.insert(trip(1), into: "trip") }),
        ("arguments", { db in
            try db.execute("INSERT INTO trip VALUES (:id, :day, :days, :visits, :last, :own, :column)", StatementArguments(encoding: trip(1)))
        }),
        ("update", { db in
            try db.execute("INSERT INTO trip VALUES (1, 0, '[]', '[]', NULL, '{}', '{}')")
            try db.update(trip(1))
        }),
        ("updateChanges", { db in
            var before = trip(1)
            (before.days, before.visits, before.last, before.column) = ([], [], nil, JSONColumn(Visit(at: .init(), others: [], named: [:])))
            try db.insert(before)
            try db.updateChanges(trip(1), from: before)
        }),
    ]

    @Test(arguments: JSONDateStrategy.allCases) func nestedDatesAreCodedAsProfileSays(dates: JSONDateStrategy) throws {
        let (encoder, decoder) = Self.coders(dates)
        let wanted = Self.trip(1)
        for (name, write) in Self.ways {
            let db = try Self.open(dates)
            try write(db)
            let texts: [String] = try ["days", "visits", "last", "column"].map { column in
                try #require(try db.fetchOne(String.self, "SELECT \(identifier: column) FROM trip WHERE id = 1"), "\(name) \(column)")
            }
            // Foundation reads the dates that this package writes.
            #expect(try decoder.decode([Date].self, from: Data(texts[0].utf8)) == wanted.days, "\(name): \(texts[0])")
            #expect(try decoder.decode([Visit].self, from: Data(texts[1].utf8)) == wanted.visits, "\(name): \(texts[1])")
            #expect(try decoder.decode(Visit.self, from: Data(texts[2].utf8)) == wanted.last, "\(name): \(texts[2])")
            #expect(try decoder.decode(Visit.self, from: Data(texts[3].utf8)) == wanted.last, "\(name): \(texts[3])")
            #expect(try db.fetchOne(String.self, "SELECT own FROM trip WHERE id = 1") == #"{"at":1763713800250.0}"#, "\(name)")
            #expect(try db.fetchOne(Trip.filter { $0.id == 1 }) == wanted, "\(name)")
        }
        // This package reads the dates that Foundation writes.
        let db = try Self.open(dates)
        func text(_ value: some Encodable) throws -> String { String(decoding: try encoder.encode(value), as: UTF8.self) }
        try db.execute("""
            INSERT INTO trip VALUES (1, \(Self.dates[0]), \(text(wanted.days)), \(text(wanted.visits)), \(text(wanted.last)),
                \(#"{"at":1763713800250}"#), \(text(wanted.column.value)))
            """)
        #expect(try db.fetchOne(Trip.filter { $0.id == 1 }) == wanted)
        #expect(try db.fetchOne(Trip.self, "SELECT * FROM trip") == wanted)
        #expect(try db.fetchOne(JSONColumn<[Date]>.self, "SELECT days FROM trip")?.value == wanted.days)
        try db.insert(Late(id: 7, days: Self.dates), into: "trip")
        #expect(try db.fetchOne(Late.self, "SELECT id, days FROM trip WHERE id = 7") == Late(id: 7, days: Self.dates))
        try db.execute(
            "UPDATE trip SET days = :days WHERE id <> :id", StatementArguments(encoding: Late(id: 7, days: Self.dates)))
        #expect(try db.fetchOne(Int.self, "SELECT count(DISTINCT days) FROM trip") == 1)
        let store = try KeyValueStore("settings", in: db)
        try store.set("visit", to: wanted.column.value)
        #expect(try store.get("visit", as: Visit.self) == wanted.column.value)
        let name = try #require(try db.main.tables().map(\.name).first { $0.hasSuffix("settings") })
        #expect(try db.fetchOne(JSONColumn<Visit>.self, "SELECT json FROM \(identifier: name)") == wanted.column)
        // ISO 8601 text can always be read.
        try db.execute("UPDATE trip SET days = '[\"2025-11-21T08:30:00.250Z\"]'")
        #expect(try db.fetchOne(Trip.filter { $0.id == 1 })?.days == [Self.dates[0]])
    }

    @Test(arguments: JSONDateStrategy.allCases) func conditionsHaveFormOfNestedDates(dates: JSONDateStrategy) throws {
        let db = try Self.open(dates), trip = Self.trip(1), visit = trip.column.value
        try db.insert(trip)
        func holds(_ condition: (SQLColumns<Trip>) -> SQLPredicate) throws -> Bool { try db.count(Trip.filter(condition)) == 1 }
        #expect(try holds { $0.days == trip.days } && holds { $0.last == visit } && holds { $0.column == trip.column })
        #expect(try holds { $0.visits == trip.visits } && holds { $0.days.in([[], trip.days]) } && holds { [trip.column].contains($0.column) })
        #expect(try !holds { $0.days == [] })
        for own in [false, true] {
            func date(_ columns: SQLColumns<Trip>) -> SQLExpression<Date?> {
                own ? columns.own.json("at", as: Date.self) : columns.column.json("at", as: Date.self)
            }
            #expect(try holds { date($0) == Self.dates[0] }, "\(own)")
            #expect(try holds { date($0) > Self.dates[1] && date($0) < Date(timeIntervalSince1970: 1_800_000_000) }, "\(own)")
            #expect(try holds { date($0) == $0.day }, "\(own)")
            #expect(try db.fetchAll(Trip.all.select { date($0) }) == [Self.dates[0]], "\(own)")
        }
    }

    @Test func columnHasNestedDatesOfItsOwnProfile() throws {
        struct Day: SQLRecord, Hashable {
            var id: Int64
            var days: [Date]
            var seconds: [Date]
            static let columnProfiles = ["seconds": ValueProfile(jsonDates: .secondsSince1970)]
        }
        let db = try Connection(.memory, configuration: {
            var configuration = DatabaseConfiguration()
            configuration.valueProfile = .grdb
            return configuration
        }())
        try db.execute("CREATE TABLE day(id INTEGER PRIMARY KEY, days, seconds)")
        let day = Day(id: 1, days: [Self.dates[2], Self.dates[0]], seconds: [Self.dates[0]])
        try db.insert(day)
        try db.upsert(day)
        #expect(try db.fetchOne(String.self, "SELECT days FROM day") == "[0.0,1763713800250.0]")
        #expect(try db.fetchOne(String.self, "SELECT seconds FROM day") == "[1763713800.25]")
        #expect(try db.fetchOne(Day.filter { $0.id == 1 }) == day)
        #expect(try db.count(Day.filter { $0.seconds == day.seconds && $0.days == day.days }) == 1)
        // A date that ISO 8601 text cannot hold is no obstacle to other forms.
        let far = Day(id: 2, days: [Date(timeIntervalSince1970: 1e12)], seconds: [])
        try db.insert(far)
        try db.execute("UPDATE day SET days = :days, seconds = :seconds WHERE id = :id", StatementArguments(encoding: far))
        #expect(try db.fetchOne(Day.filter { $0.id == 2 }) == far)
    }
}
