import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct DateTests {
    private func connection(_ strategy: DateStrategy) throws -> Connection {
        var configuration = DatabaseConfiguration()
        configuration.valueProfile.dates = strategy
        return try Connection(.memory, configuration: configuration)
    }

    private func date(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (-0.001, "1969-12-31T23:59:59.999Z"), (951_782_400, "2000-02-29T00:00:00.000Z"),
        (-2_203_891_200, "1900-03-01T00:00:00.000Z"), (-62_167_219_200, "0000-01-01T00:00:00.000Z"),
        (253_402_300_799.999, "9999-12-31T23:59:59.999Z"), (1_795_249_800.25, "2026-11-21T08:30:00.250Z"), (-86_400, "1969-12-31T00:00:00.000Z"),
    ]) func iso8601DatesRoundTrip(seconds: Double, text: String) throws {
        let db = try connection(.iso8601)
        #expect(try db.fetchOne(String.self, "SELECT ?", [date(seconds)]) == text)
        let back = try #require(try db.fetchOne(Date.self, "SELECT ?", [text]))
        #expect(abs(back.timeIntervalSince1970 - seconds) < 0.000_01)
        // SQLite's own functions read it as the same moment.
        let unix = try #require(try db.fetchOne(Double.self, "SELECT CAST(strftime('%s', ?) AS REAL)", [text]))
        #expect(unix == seconds.rounded(.down))
    }

    @Test func datesBeyondISO8601RangeThrow() throws {
        let db = try connection(.iso8601)
        for seconds in [-62_167_219_201, 253_402_300_800, 1e18, -1e18, .infinity, .nan] {
            let error = #expect(throws: DatabaseError.self) { try db.fetchOne(String.self, "SELECT ?", [date(seconds)]) }
            #expect(error?.reason == .invalidArgument)
        }
        // The last half millisecond of 9999 would be rounded into the year 10000.
        #expect(throws: DatabaseError.self) { try db.fetchOne(String.self, "SELECT ?", [date(253_402_300_799.999_9)]) }
    }

    @Test func datesRoundTripAsSeconds() throws {
        let real = try connection(.realSeconds), integer = try connection(.integerSeconds)
        for seconds in [0, -0.5, 1.25, -1e12, 1e12, 253_402_300_800] {
            #expect(try real.fetchOne(SQLValue.self, "SELECT ?", [date(seconds)]) == .real(date(seconds).timeIntervalSince1970))
            #expect(try real.fetchOne(Date.self, "SELECT ?", [date(seconds)]) == date(seconds))
            #expect(try integer.fetchOne(SQLValue.self, "SELECT ?", [date(seconds)]) == .integer(Int64(seconds.rounded(.down))))
        }
        #expect(throws: DatabaseError.self) { try integer.fetchOne(SQLValue.self, "SELECT ?", [date(1e30)]) }
        #expect(throws: DatabaseError.self) { try real.fetchOne(SQLValue.self, "SELECT ?", [date(.nan)]) }
    }

    @Test(arguments: [
        DateStrategy.timestamp, .iso8601, .realSeconds, .integerSeconds, .milliseconds, .secondsSince2001, .julianDays,
        .custom(Days.self),
    ]) func everyStrategyReadsSQLiteDateText(_ strategy: DateStrategy) throws {
        let db = try connection(strategy)
        for text in [
            "1970-01-02", "1970-01-02 00:00", "1970-01-02T00:00:00", "1970-01-02 00:00:00.000", "1970-01-02T00:00:00Z",
            "1970-01-02 02:00:00+02:00", "1970-01-01T22:30:00.000-01:30", "1970-01-02 00:00 z",
        ] { #expect(try db.fetchOne(Date.self, "SELECT ?", [text]) == date(86400), "\(text)") }
        #expect(try db.fetchOne(Date.self, "SELECT datetime('1970-01-02')") == date(86400))
    }

    /// A form of the caller's own: days, as a blob of their digits, which no other form is.
    enum Days: CustomDateStrategy {
        static func stored(_ date: Date) throws -> SQLValue {
            guard date.timeIntervalSince1970 >= 0 else { throw DatabaseError.invalidArgument("before 1970") }
            return .blob(Data("\(Int(date.timeIntervalSince1970) / 86400)".utf8))
        }
        static func date(_ value: SQLValue) -> Date? {
            guard case .blob(let bytes) = value, let days = Int(String(decoding: bytes, as: UTF8.self)) else { return nil }
            return Date(timeIntervalSince1970: Double(days) * 86400)
        }
    }

    @Test func numericDatesFollowTheDateStrategy() throws {
        let cases: [(DateStrategy, SQLValue, Double?)] = [
            (.timestamp, 86400, 86400), (.timestamp, 86400.5, 86400.5), (.realSeconds, 86400, 86400), (.integerSeconds, 1.5, 1.5),
            (.milliseconds, 1_795_249_800_250, 1_795_249_800.25), (.milliseconds, -250.0, -0.25),
            (.secondsSince2001, 816_942_600.25, 1_795_249_800.25), (.secondsSince2001, 0, 978_307_200),
            (.julianDays, 2_440_587.5, 0), (.julianDays, 0, -210_866_760_000), (.julianDays, 5_373_484.5, nil), (.julianDays, -1, nil),
            (.custom(Days.self), 5, nil), (.custom(Days.self), .blob(Data("5".utf8)), 432_000), (.timestamp, .blob(Data("5".utf8)), nil),
        ]
        for (strategy, value, seconds) in cases {
            let db = try connection(strategy)
            let read = try? db.fetchOne(Date.self, "SELECT ?", [value])
            #expect(read == seconds.map(date), "\(strategy) \(value)")
            #expect(Date(sqlValue: value, in: db.configuration.valueProfile) == seconds.map(date), "\(strategy) \(value)")
        }
        // SQLite's own functions agree.
        let days = try connection(.julianDays), milliseconds = try connection(.milliseconds)
        #expect(try days.fetchOne(Date.self, "SELECT julianday('2026-11-21 08:30:00.250')") == date(1_795_249_800.25))
        #expect(try days.fetchOne(String.self, "SELECT datetime(?, 'subsec')", [date(-0.75)]) == "1969-12-31 23:59:59.250")
        #expect(try milliseconds.fetchOne(SQLValue.self, "SELECT ?", [date(1.2345)]) == 1235)
        for (db, seconds) in [(days, 253_402_300_800.0), (days, -210_866_760_001), (milliseconds, 1e30)] {
            #expect(throws: DatabaseError.self) { try db.fetchOne(SQLValue.self, "SELECT ?", [date(seconds)]) }
        }
        let own = try connection(.custom(Days.self))
        #expect(throws: DatabaseError.self) { try own.fetchOne(SQLValue.self, "SELECT ?", [date(-1)]) }
    }

    @Test func defaultDatesCompareWithSQLiteDateFunctions() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE t(at TEXT DEFAULT CURRENT_TIMESTAMP)")
        try db.execute("INSERT INTO t DEFAULT VALUES")
        #expect(try db.fetchOne(Bool.self, "SELECT at > ? AND at < ? FROM t", [Date() - 60, Date() + 60]) == true)
        let now = Date()
        #expect(try db.fetchOne(Bool.self, "SELECT date(?) <= ? AND ? < date(?, '+1 day')", [now, now, now, now]) == true)
        var random = SeededGenerator()
        for _ in 0..<500 {
            // Within a day, where another separator would decide.
            let start = Double(Int.random(in: -2_000_000_000..<4_000_000_000, using: &random))
            let a = start + Double(Int.random(in: 0..<86_400_000, using: &random)) / 1000
            let b = start + Double(Int.random(in: 0..<86400, using: &random))
            if abs(a - b) < 1 { continue }
            let text = try #require(try db.fetchOne(String.self, "SELECT datetime(\(Int(b)), 'unixepoch')"))
            #expect(try db.fetchOne(Bool.self, "SELECT \(date(a)) < \(text)") == (a < b), "\(a) \(b)")
            #expect(try db.fetchOne(Bool.self, "SELECT \(date(a)) < datetime(\(b), 'unixepoch', 'subsec')") == (a < b), "\(a) \(b)")
        }
    }

    @Test func rowsAndFunctionsUseTheConnectionDateStrategy() throws {
        struct Row: SQLRowConvertible {
            let at: Date
            init(row: borrowing SQLCipherKitCore.Row) throws { at = try row["at"] }
        }
        struct Coded: Codable { let at: Date, maybe: Date? }
        struct Wrapped: RawRepresentable, SQLValueConvertible, Equatable { let rawValue: Date }
        let strategies: [DateStrategy] = [.milliseconds, .secondsSince2001, .julianDays, .realSeconds, .timestamp, .iso8601]
        for strategy in strategies {
            let db = try connection(strategy), at = date(1_795_249_800.25)
            try db.execute("CREATE TABLE t(at, maybe)")
            try db.execute("INSERT INTO t VALUES (\(at), \(at))")
            let sql: SQL = "SELECT at, maybe FROM t"
            #expect(try db.fetchOne(Row.self, sql)?.at == at)
            #expect(try db.fetchOne((Date, Date?).self, sql)?.1 == at)
            #expect(try db.fetchOne(Wrapped.self, sql) == Wrapped(rawValue: at))
            let copy = try #require(try db.fetchOne(OwnedRow.self, sql))
            let copied: (Date, Date?) = (try copy["at"], try copy[1])
            #expect(copied.0 == at && copied.1 == at)
            try db.forEach(sql) { row in
                let coded = try row.decode(Coded.self), first: Date? = try row[0]
                #expect(coded.at == at && coded.maybe == at && first == at)
            }
            try db.register(.function("later", .deterministic) { (date: Date) in date + 1 })
            #expect(try db.fetchOne(Date.self, "SELECT later(at) FROM t") == at + 1)
        }
    }

    @Test(arguments: [
        "", "now", "1970", "1970-13-01", "1970-02-29", "1900-02-29", "1970-01-01T24:00", "1970-01-01T00:60", "1970-01-01 00:00:60", "1970-1-1",
        "1970-01-01T", "1970-01-01T00:00:00.", "1970-01-01T00:00:00+15:00", "1970-01-01 00:00:00 junk", "+1970-01-01", "1970-01-01\0",
    ]) func invalidDateTextThrows(_ text: String) throws {
        let db = try connection(.iso8601)
        let error = #expect(throws: DatabaseError.self) { try db.fetchOne(Date.self, "SELECT ?", [text]) }
        #expect(error?.reason == .typeMismatch)
    }

    @Test func datesRoundTripOverCenturies() throws {
        let db = try connection(.iso8601)
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "UTC"))
        for day in stride(from: -135_140, through: 146_097, by: 97) {
            let date = date(Double(day) * 86400)
            let parts = calendar.dateComponents([.year, .month, .day], from: date)
            let text = try #require(try db.fetchOne(String.self, "SELECT ?", [date]))
            if day >= -141_000 && date.timeIntervalSince1970 > -12_219_292_800 {
                #expect(text.hasPrefix(String(format: "%04d-%02d-%02d", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0)))
            }
            #expect(try db.fetchOne(Date.self, "SELECT ?", [date]) == date)
        }
    }

    @Test func iso8601TextSortsByTime() throws {
        let db = try connection(.iso8601)
        try db.execute("CREATE TABLE t(d)")
        let dates = [5.5, -1e9, 0, 1e9, -0.25, 2.0].map(date)
        for date in dates { try db.execute("INSERT INTO t VALUES (\(date))") }
        #expect(try db.fetchAll(Date.self, "SELECT d FROM t ORDER BY d") == dates.sorted())
    }
}
