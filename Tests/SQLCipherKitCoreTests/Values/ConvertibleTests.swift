import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

/// The other types that can be stored, and those of the user.
@Suite struct ConvertibleTests {
    let db: Connection

    init() throws { db = try Connection(.memory) }

    @Test func uuidsRoundTrip() throws {
        let id = UUID()
        #expect(try db.fetchOne(UUID.self, "SELECT ?", [id]) == id)
        #expect(try db.fetchOne(String.self, "SELECT typeof(?) ", [id]) == "blob")
        #expect(try db.fetchOne(UUID.self, "SELECT ?", [id.uuidString.lowercased()]) == id)
        #expect(throws: DatabaseError.self) { try db.fetchOne(UUID.self, "SELECT x'0011'") }
        #expect(throws: DatabaseError.self) { try db.fetchOne(UUID.self, "SELECT 'no uuid'") }
    }

    /// A value that SQLite refuses to bind is an error, and not NULL.
    @Test func valueOverLengthLimitThrows() throws {
        try db.settings.setLimit(.length, to: 100)
        let text = String(repeating: "a", count: 101), bytes = [UInt8](repeating: 1, count: 101)
        let values: [any SQLValueConvertible] = [
            text, text[...], bytes, Data(bytes), JSONColumn(text), JSONColumn(text, as: .text), SQLValue.text(text), SQLValue.blob(Data(bytes)),
            URL(fileURLWithPath: text), ZeroBlob(count: 101),
        ]
        for value in values {
            let error = #expect(throws: DatabaseError.self, "\(type(of: value))") { try db.fetchOne(SQLValue.self, "SELECT ?", [value]) }
            #expect(error?.code.primary == .tooBig, "\(type(of: value))")
        }
    }

    @Test func urlsRoundTripAndInvalidTextThrows() throws {
        let url = try #require(URL(string: "https://example.com/a%20b?c=d#e"))
        #expect(try db.fetchOne(URL.self, "SELECT ?", [url]) == url)
        #expect(try db.fetchOne(String.self, "SELECT ?", [url]) == "https://example.com/a%20b?c=d#e")
        #expect(throws: DatabaseError.self) { try db.fetchOne(URL.self, "SELECT 5") }
        // Text that would become another text is no URL, in JSON neither.
        for text in ["a b", "https://example.com/a b", "https://example.com/\u{e9}|"] {
            #expect(throws: DatabaseError.self, "\(text)") { try db.fetchOne(URL.self, "SELECT \(text)") }
            #expect(throws: (any Error).self, "\(text)") { try db.fetchOne(JSONColumn<[URL]>.self, "SELECT json_array(\(text))") }
        }
    }

    enum Level: Int, SQLValueConvertible { case low = 1, high = 10 }
    enum Color: String, SQLValueConvertible { case red, green }

    @Test func rawRepresentablesRoundTrip() throws {
        #expect(try db.fetchOne(Level.self, "SELECT ?", [Level.high]) == .high)
        #expect(try db.fetchOne(Color.self, "SELECT ?", [Color.green]) == .green)
        #expect(try db.fetchOne(Color?.self, "SELECT NULL") == .some(nil))
        let error = #expect(throws: DatabaseError.self) { try db.fetchOne(Level.self, "SELECT 5 AS level") }
        #expect(error?.reason == .typeMismatch && error?.message.contains("level") == true)
        #expect(throws: DatabaseError.self) { try db.fetchOne(Color.self, "SELECT 'blue'") }
        #expect(Level(sqlValue: .integer(10)) == .high && Level(sqlValue: .text("low")) == nil)
    }

    /// A raw value that has several forms, and a form of one's own.
    struct Day: RawRepresentable, SQLValueConvertible, Equatable {
        var rawValue: Date
        init(rawValue: Date) { self.rawValue = rawValue }
        var sqlValue: SQLValue { .integer(Int64(rawValue.timeIntervalSince1970) / 86_400) }
        init?(sqlValue: SQLValue) {
            guard case .integer(let day) = sqlValue else { return nil }
            self.init(rawValue: Date(timeIntervalSince1970: Double(day) * 86_400))
        }
    }
    struct Moment: RawRepresentable, SQLValueConvertible, Equatable { var rawValue: Date }

    @Test(arguments: [ValueProfile.standard, ValueProfile(dates: .realSeconds), ValueProfile(dates: .iso8601)])
    func ownConversionOverridesRawValue(profile: ValueProfile) throws {
        var configuration = DatabaseConfiguration()
        configuration.valueProfile = profile
        let db = try Connection(.memory, configuration: configuration)
        let day = Day(rawValue: Date(timeIntervalSince1970: 86_400 * 7))
        #expect(try db.fetchOne(SQLValue.self, "SELECT \(day)") == .integer(7))
        #expect(try db.fetchOne(Day.self, "SELECT \(day)") == day)
        #expect(try db.fetchOne(SQLValue.self, "SELECT \(Moment(rawValue: day.rawValue))") == day.rawValue.sqlValue(in: profile))
        #expect(try db.fetchOne(Moment.self, "SELECT \(day.rawValue)") == Moment(rawValue: day.rawValue))
    }

    struct Celsius: SQLValueConvertible, Equatable {
        var degrees: Double
        init(_ degrees: Double) { self.degrees = degrees }
        var sqlValue: SQLValue { .real(degrees) }
        init?(sqlValue: SQLValue) {
            guard case .real(let degrees) = sqlValue, degrees >= -273.15 else { return nil }
            self.degrees = degrees
        }
    }

    @Test func customConvertibleTypesRoundTrip() throws {
        #expect(try db.fetchOne(Celsius.self, "SELECT ?", [Celsius(21.5)]) == Celsius(21.5))
        #expect(try db.fetchOne(Double.self, "SELECT \(Celsius(4)) + 1") == 5)
        #expect(throws: DatabaseError.self) { try db.fetchOne(Celsius.self, "SELECT -300.0") }
        let rows: [(Celsius, Celsius?)] = try db.fetchAll("SELECT 1.0, NULL")
        #expect(rows[0].0 == Celsius(1) && rows[0].1 == nil)
    }

    @Test func illFormedUTF8Throws() throws {
        let error = #expect(throws: DatabaseError.self) { try db.fetchOne(String.self, "SELECT CAST(x'61ff62' AS TEXT) AS bad") }
        #expect(error?.reason == .typeMismatch && error?.message.contains("UTF-8") == true && error?.message.contains("bad") == true)
        #expect(try db.fetchOne(Data.self, "SELECT CAST(x'61ff62' AS TEXT)") == Data([0x61, 0xff, 0x62]))
        #expect(throws: DatabaseError.self) { try db.fetchOne(SQLValue.self, "SELECT CAST(x'ff' AS TEXT)") }
        // Surrogates and overlong forms are not UTF-8 either.
        for hex in ["eda080", "c080", "f4908080", "e282"] {
            #expect(throws: DatabaseError.self) { try db.fetchOne(String.self, SQL(raw: "SELECT CAST(x'\(hex)' AS TEXT)")) }
        }
    }

    @Test func rowValuesHaveTheirStorageClass() throws {
        let row = try #require(try db.fetchOne(OwnedRow.self, "SELECT NULL AS n, 1 AS i, 1.5 AS r, 't' AS t, x'62' AS b"))
        #expect(row.values.map(\.storageClass) == [.null, .integer, .real, .text, .blob])
        #expect(row.values == [nil, 1, 1.5, "t", .blob(Data("b".utf8))])
        #expect(row.values[0].isNull && !row.values[1].isNull)
        #expect(try row["R"] == 1.5)
        #expect(try row[3] == "t")
        #expect(throws: DatabaseError.self) { let _: Int = try row["missing"] }
        #expect(throws: DatabaseError.self) { let _: Int = try row[9] }
        #expect(throws: DatabaseError.self) { let _: Int = try row["t"] }
        #expect(throws: DatabaseError.self) { let _: Int = try row["n"] }
        #expect(StorageClass.allCases.map(\.rawValue) == ["null", "integer", "real", "text", "blob"])
    }

    @Test func sqlValuesAreExpressibleByLiterals() throws {
        let values: [SQLValue] = [nil, true, 5, 2.5, "text"]
        #expect(values == [.null, .integer(1), .integer(5), .real(2.5), .text("text")])
    }
}
