import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct DateTests {
    private func connection(_ strategy: DateStrategy) throws -> Connection {
        var configuration = DatabaseConfiguration()
        configuration.values.dates = strategy
        return try Connection(.memory, configuration: configuration)
    }

    private func date(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (-0.001, "1969-12-31T23:59:59.999Z"), (951_782_400, "2000-02-29T00:00:00.000Z"),
        (-2_203_891_200, "1900-03-01T00:00:00.000Z"), (-62_167_219_200, "0000-01-01T00:00:00.000Z"),
        (253_402_300_799.999, "9999-12-31T23:59:59.999Z"), (1_795_249_800.25, "2026-11-21T08:30:00.250Z"), (-86_400, "1969-12-31T00:00:00.000Z"),
    ]) func text(seconds: Double, text: String) throws {
        let db = try connection(.iso8601)
        #expect(try db.fetchOne(String.self, "SELECT ?", [date(seconds)]) == text)
        let back = try #require(try db.fetchOne(Date.self, "SELECT ?", [text]))
        #expect(abs(back.timeIntervalSince1970 - seconds) < 0.000_01)
        // SQLite's own functions read it as the same moment.
        let unix = try #require(try db.fetchOne(Double.self, "SELECT CAST(strftime('%s', ?) AS REAL)", [text]))
        #expect(unix == seconds.rounded(.down))
    }

    @Test func whatTextCannotHold() throws {
        let db = try connection(.iso8601)
        for seconds in [-62_167_219_201, 253_402_300_800, 1e18, -1e18, .infinity, .nan] {
            let error = #expect(throws: DatabaseError.self) { try db.fetchOne(String.self, "SELECT ?", [date(seconds)]) }
            #expect(error?.reason == .invalidArgument)
        }
        // The last half millisecond of 9999 would be rounded into the year 10000.
        #expect(throws: DatabaseError.self) { try db.fetchOne(String.self, "SELECT ?", [date(253_402_300_799.999_9)]) }
    }

    @Test func seconds() throws {
        let real = try connection(.realSeconds), integer = try connection(.integerSeconds)
        for seconds in [0, -0.5, 1.25, -1e12, 1e12, 253_402_300_800] {
            #expect(try real.fetchOne(SQLValue.self, "SELECT ?", [date(seconds)]) == .real(date(seconds).timeIntervalSince1970))
            #expect(try real.fetchOne(Date.self, "SELECT ?", [date(seconds)]) == date(seconds))
            #expect(try integer.fetchOne(SQLValue.self, "SELECT ?", [date(seconds)]) == .integer(Int64(seconds.rounded(.down))))
        }
        #expect(throws: DatabaseError.self) { try integer.fetchOne(SQLValue.self, "SELECT ?", [date(1e30)]) }
        #expect(throws: DatabaseError.self) { try real.fetchOne(SQLValue.self, "SELECT ?", [date(.nan)]) }
    }

    @Test(arguments: [DateStrategy.iso8601, .realSeconds, .integerSeconds]) func allFormsAreRead(_ strategy: DateStrategy) throws {
        let db = try connection(strategy)
        #expect(try db.fetchOne(Date.self, "SELECT 86400") == date(86400))
        #expect(try db.fetchOne(Date.self, "SELECT 86400.5") == date(86400.5))
        for text in [
            "1970-01-02", "1970-01-02 00:00", "1970-01-02T00:00:00", "1970-01-02 00:00:00.000", "1970-01-02T00:00:00Z",
            "1970-01-02 02:00:00+02:00", "1970-01-01T22:30:00.000-01:30", "1970-01-02 00:00 z",
        ] { #expect(try db.fetchOne(Date.self, "SELECT ?", [text]) == date(86400), "\(text)") }
        #expect(try db.fetchOne(Date.self, "SELECT datetime('1970-01-02')") == date(86400))
    }

    @Test(arguments: [
        "", "now", "1970", "1970-13-01", "1970-02-29", "1900-02-29", "1970-01-01T24:00", "1970-01-01T00:60", "1970-01-01 00:00:60", "1970-1-1",
        "1970-01-01T", "1970-01-01T00:00:00.", "1970-01-01T00:00:00+15:00", "1970-01-01 00:00:00 junk", "+1970-01-01", "1970-01-01\0",
    ]) func otherTextIsNoDate(_ text: String) throws {
        let db = try connection(.iso8601)
        let error = #expect(throws: DatabaseError.self) { try db.fetchOne(Date.self, "SELECT ?", [text]) }
        #expect(error?.reason == .typeMismatch)
    }

    @Test func everyDayOfFourCenturies() throws {
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

    @Test func sortingByTextIsSortingByTime() throws {
        let db = try connection(.iso8601)
        try db.execute("CREATE TABLE t(d)")
        let dates = [5.5, -1e9, 0, 1e9, -0.25, 2.0].map(date)
        for date in dates { try db.execute("INSERT INTO t VALUES (\(date))") }
        #expect(try db.fetchAll(Date.self, "SELECT d FROM t ORDER BY d") == dates.sorted())
    }
}
