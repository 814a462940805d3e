import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// Whatever binds a date, a UUID or a decimal through a connection binds it in the connection's form.
@Suite struct ValueProfileTests {
    private static let date = Date(timeIntervalSince1970: 1_795_249_800.25)
    private static let uuid = UUID(uuidString: "0F1E2D3C-4B5A-6978-8796-A5B4C3D2E1F0")!
    private static let bytes = withUnsafeBytes(of: uuid.uuid) { Data($0) }
    private static let price = Decimal(string: "12.5")!

    struct Expected: Sendable {
        var profile: ValueProfile
        var date: SQLValue
        var uuid: SQLValue = .blob(bytes)
        var price: SQLValue = .real(12.5)
    }

    static let profiles = [
        Expected(profile: .standard, date: "2026-11-21 08:30:00.250"),
        Expected(profile: .iso8601, date: "2026-11-21T08:30:00.250Z"),
        Expected(profile: .coreData, date: 816_942_600.25),
        Expected(profile: .room, date: 1_795_249_800_250, uuid: .text(uuid.uuidString.lowercased()), price: "12.5"),
        Expected(profile: ValueProfile(dates: .julianDays), date: .real(1_795_249_800.25 / 86400 + 2_440_587.5)),
        Expected(profile: .sqlite, date: "2026-11-21 08:30:00"),
        Expected(profile: .sap, date: 1_795_249_800, uuid: .text(uuid.uuidString)),
        Expected(profile: .dataLiteCore, date: "2026-11-21T08:30:00Z", uuid: .text(uuid.uuidString)),
        Expected(profile: .skipSQL, date: 1_795_249_800.25, uuid: .text(uuid.uuidString)),
        Expected(profile: .grdb, date: "2026-11-21 08:30:00.250", price: "12.5"),
        Expected(profile: .sqliteSwift, date: "2026-11-21T08:30:00.250", uuid: .text(uuid.uuidString)),
        Expected(
            profile: ValueProfile(
                dates: .text(DateTextFormat(separator: .space, fraction: .microseconds, zone: .offset)), uuids: .lowercaseText),
            date: "2026-11-21 08:30:00.250000+00:00", uuid: .text(uuid.uuidString.lowercased())),
    ]

    enum Moment: Double, SQLValueConvertible {
        case start
        // A raw value whose form depends on the connection.
        var rawDate: Date { ValueProfileTests.date }
        var sqlValue: SQLValue { get throws { try rawDate.sqlValue } }
        func sqlValue(in profile: ValueProfile) throws -> SQLValue { try rawDate.sqlValue(in: profile) }
        func _bindSQL(to parameter: borrowing Statement._Parameter) throws {
            try sqlValue(in: parameter.profile)._bindSQL(to: parameter)
        }
    }

    /// A type that wraps a UUID.
    struct NoteID: RawRepresentable, Codable, Equatable, SQLValueConvertible {
        var rawValue: UUID
    }

    private func configuration(_ profile: ValueProfile) -> DatabaseConfiguration {
        var configuration = DatabaseConfiguration()
        configuration.valueProfile = profile
        return configuration
    }

    @Test(arguments: profiles) func everyBindingUsesProfileForm(_ expected: Expected) throws {
        let db = try Connection(.memory, configuration: configuration(expected.profile))
        let (date, uuid, price) = (Self.date, Self.uuid, Self.price)
        let all = [expected.date, expected.uuid, expected.price]
        func read(_ sql: SQL, _ arguments: StatementArguments = []) throws -> [SQLValue] {
            let row: (SQLValue, SQLValue, SQLValue)? = try db.fetchOne(sql, arguments)
            return try #require(row.map { [$0.0, $0.1, $0.2] })
        }
        #expect(try read("SELECT \(date), \(uuid), \(price)") == all)
        #expect(try read("SELECT ?, ?, ?", [date, uuid, price]) == all)
        #expect(try read("SELECT ?, ?, ?", [Date?.some(date), UUID?.some(uuid), Decimal?.some(price)]) == all)
        #expect(try read("SELECT :a, :b, :c", ["a": date, "b": uuid, "c": price]) == all)
        let wrapped: [SQLValue] = try db.fetchAll("VALUES (?), (?)", [NoteID(rawValue: uuid), Moment.start])
        #expect(wrapped == [expected.uuid, expected.date])
        let statement = try db.prepare("SELECT ?")
        #expect(try statement.fetchOne(SQLValue.self, binding: date) == expected.date)
        #expect(try statement.fetchOne(SQLValue.self, binding: uuid) == expected.uuid)
        try db.execute("CREATE TABLE t(a, b, c)")
        try db.prepare("INSERT INTO t VALUES (?, ?, ?)").execute(binding: date, uuid, price)
        #expect(try read("SELECT * FROM t") == all)
        let found = try db.fetchOne(Int.self, "SELECT count(*) FROM t WHERE a IN \([date]) AND b IN \([uuid]) AND c IN \([price])")
        #expect(found == 1)
        // Functions, aggregates, key-value stores.
        try db.register(.function("d") { () in date })
        try db.register(.function("u") { () -> UUID? in uuid })
        try db.register(.function("p") { () in price })
        #expect(try read("SELECT d(), u(), p()") == all)
        let store = try KeyValueStore("store", in: db)
        try store.set("id", to: uuid)
        #expect(try store.get("id") == uuid)
        #expect(try db.fetchAll(SQLValue.self, "SELECT value FROM kv_store").contains(expected.uuid))
    }

    struct Event: SQLRecord, Equatable {
        var id: UUID
        var at: Date
        var price: Decimal?
        var created = ValueProfileTests.date

        static let table = SQLTable(of: Event.self) {
            $0.id.primaryKey()
            $0.at.default(ValueProfileTests.date)
            $0.price
            $0.created.default(ValueProfileTests.date)
        }
        static let columnProfiles: [String: ValueProfile] = ["created": .sap]
    }

    @Test(arguments: profiles) func recordsUseProfileForm(_ expected: Expected) throws {
        let db = try Connection(.memory, configuration: configuration(expected.profile))
        try db.create(Event.table)
        let event = Event(id: Self.uuid, at: Self.date, price: Self.price)
        try db.insert(event)
        func stored() throws -> [SQLValue] {
            let row: (SQLValue, SQLValue, SQLValue, SQLValue)? = try db.fetchOne("SELECT * FROM event")
            return try #require(row.map { [$0.0, $0.1, $0.2, $0.3] })
        }
        let all = [expected.uuid, expected.date, expected.price, 1_795_249_800]
        #expect(try stored() == all)
        // By the key, by each column, and by a comparison in SQL.
        #expect(try db.fetchOne(Event.self, id: Self.uuid)?.id == Self.uuid)
        #expect(try db.count(Event.filter { $0.id == Self.uuid && $0.at <= Self.date && $0.price == Self.price }) == 1)
        let later = Self.date + 1
        let query = Event.filter {
            $0.created < later && $0.created.between(.distantPast, and: later) && $0.created.in([Self.date])
        }
        #expect(try db.count(query) == 1)
        // The rows of other ways are the same.
        try db.upsert(event)
        try db.update(event)
        #expect(try stored() == all)
        #expect(try db.updateChanges(event, from: event) == [])
        var changed = event
        changed.created += 5
        #expect(try db.updateChanges(changed, from: event) == ["created"])
        try db.updateAll(Event.all) { _, set in
            set(\.created, to: Self.date)
            set(\.at, to: Self.date)
        }
        #expect(try stored() == all)
        try db.execute("DELETE FROM event")
        try db.execute("INSERT INTO event(id, price) VALUES (\(Self.uuid), \(Self.price))")
        #expect(try stored() == all, "what the table's defaults are")
        #expect(try db.delete(event))
    }

    @Test func queuesAndPoolsUseProfileForm() throws {
        let folder = try TemporaryFolder()
        let configuration = configuration(.grdb)
        let queue = try DatabaseQueue(.file(folder.path("a.db")), configuration: configuration)
        let pool = try DatabasePool(.file(folder.path("b.db")), configuration: configuration)
        for text in [
            try queue.read { try $0.fetchOne(String.self, "SELECT \(Self.date)") },
            try queue.write { try $0.fetchOne(String.self, "SELECT \(Self.date)") },
            try pool.read { try $0.fetchOne(String.self, "SELECT \(Self.date)") },
            try pool.write { try $0.fetchOne(String.self, "SELECT \(Self.date)") },
        ] { #expect(text == "2026-11-21 08:30:00.250") }
    }

    @Test func dateTextFormatsRoundAndSort() throws {
        let db = try Connection(.memory)
        for zone in [DateTextFormat.Zone.none, .z, .offset] {
            for separator in [DateTextFormat.Separator.t, .space] {
                for (fraction, step) in [(DateTextFormat.Fraction.none, 1.0), (.milliseconds, 0.001), (.microseconds, 0.000_001)] {
                    let strategy = DateStrategy.text(DateTextFormat(separator: separator, fraction: fraction, zone: zone))
                    var texts: [String] = []
                    for seconds in [-62_167_219_200, -1.5, -0.25, 0, 0.75, 951_782_399.999, 1_795_249_800.25] {
                        let date = Date(timeIntervalSince1970: seconds)
                        let value = try date.sqlValue(strategy)
                        guard case .text(let text) = value else {
                            Issue.record("\(value)")
                            continue
                        }
                        texts.append(text)
                        let back = try #require(Date(sqlValue: value)).timeIntervalSince1970
                        #expect(fraction == .none ? back == seconds.rounded(.down) : abs(back - seconds) <= step, "\(text)")
                        // SQLite reads the same moment.
                        let unix = try #require(try db.fetchOne(Double.self, "SELECT CAST(unixepoch(\(text), 'subsec') AS REAL)"))
                        #expect(abs(unix - back) < 0.002, "\(text)")
                    }
                    #expect(texts == texts.sorted())
                    #expect(throws: DatabaseError.self) { try Date(timeIntervalSince1970: 253_402_300_800).sqlValue(strategy) }
                    #expect(throws: DatabaseError.self) { try Date(timeIntervalSince1970: -62_167_219_201).sqlValue(strategy) }
                }
            }
        }
    }
}
