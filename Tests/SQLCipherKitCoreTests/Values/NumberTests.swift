import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

/// Every number comes back as it was, or not at all.
@Suite struct NumberTests {
    let db: Connection

    init() throws { db = try Connection(.memory) }

    private func back<T: SQLValueConvertible>(_ value: T) throws -> T? { try db.fetchOne(T.self, "SELECT ?", [value]) }

    private func expectMismatch<T: SQLValueConvertible>(_ type: T.Type, _ sql: SQL) {
        let error = #expect(throws: DatabaseError.self, "\(T.self) from \(sql.text)") { try db.fetchOne(type, sql) }
        #expect(error?.reason == .typeMismatch)
        // The slow way through SQLValue says the same.
        #expect(throws: DatabaseError.self) {
            let row = try db.fetchOne(OwnedRow.self, sql)
            let _: T? = try row.map { row in try row[0] }
        }
    }

    @Test func integersOfAllWidthsRoundTrip() throws {
        func check<I: FixedWidthInteger & SQLValueConvertible>(_ type: I.Type) throws {
            for value in [I.min, I.max, 0, 1] where Int64(exactly: value) != nil {
                #expect(try back(value) == value)
                #expect(I(sqlValue: try value.sqlValue) == value)
            }
        }
        try check(Int.self)
        try check(Int8.self)
        try check(Int16.self)
        try check(Int32.self)
        try check(Int64.self)
        try check(UInt.self)
        try check(UInt8.self)
        try check(UInt16.self)
        try check(UInt32.self)
        try check(UInt64.self)
    }

    @Test func outOfRangeIntegersThrow() throws {
        expectMismatch(UInt8.self, "SELECT 256")
        expectMismatch(UInt8.self, "SELECT -1")
        expectMismatch(Int8.self, "SELECT -129")
        expectMismatch(UInt64.self, "SELECT -1")
        expectMismatch(Int32.self, "SELECT 2147483648")
        for value in [UInt64.max, 1 << 63] {
            let error = #expect(throws: DatabaseError.self) { try back(value) }
            #expect(error?.reason == .invalidArgument && error?.message.contains("\(value)") == true)
            #expect(throws: DatabaseError.self) { try value.sqlValue }
        }
        #expect(try back(UInt64(Int64.max)) == UInt64(Int64.max))
    }

    @Test func realsReadAsIntegersOnlyWhenExact() throws {
        expectMismatch(Int.self, "SELECT 3.5")
        expectMismatch(Int.self, "SELECT 1e300")
        expectMismatch(Int.self, "SELECT 9e999")
        expectMismatch(Int.self, "SELECT 9223372036854775808")  // 2^63: a REAL to SQLite
        expectMismatch(UInt8.self, "SELECT 256.0")
        #expect(try db.fetchOne(Int.self, "SELECT 3.0") == 3)
        #expect(try db.fetchOne(Int.self, "SELECT -9223372036854775808.0") == .min)
        #expect(try db.fetchOne(UInt64.self, "SELECT 9223372036854775808.0") == 1 << 63)
        #expect(try db.fetchOne(Int.self, "SELECT -0.0") == 0)
        expectMismatch(Int.self, "SELECT '3'")
        expectMismatch(Int.self, "SELECT x'33'")
    }

    @Test func booleansReadOnlyZeroAndOne() throws {
        #expect(try back(true) == true)
        #expect(try back(false) == false)
        expectMismatch(Bool.self, "SELECT 2")
        expectMismatch(Bool.self, "SELECT -1")
        expectMismatch(Bool.self, "SELECT 1.0")
        expectMismatch(Bool.self, "SELECT 'true'")
    }

    @Test func doublesRoundTripAndInexactIntegersThrow() throws {
        for value in [0, -0.0, 1.5, .infinity, -.infinity, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .pi, 0x1p63] {
            let got = try #require(try back(value))
            #expect(got == value && got.sign == value.sign)
        }
        for value in [Double.nan, .signalingNaN] {
            let error = #expect(throws: DatabaseError.self) { try back(value) }
            #expect(error?.reason == .invalidArgument)
        }
        #expect(throws: DatabaseError.self) { try back(Float.nan) }
        for value in [Float(0.1), .greatestFiniteMagnitude, -.infinity] { #expect(try back(value) == value) }
        for sql in ["1e300", "1e-50", "-1e-50", "16777217", "-9223372036854775807"] { expectMismatch(Float.self, SQL(raw: "SELECT \(sql)")) }
        #expect(try db.fetchOne(Float.self, "SELECT 16777216") == 16_777_216)
        #expect(try db.fetchOne(Float.self, "SELECT 0.0") == 0)
        expectMismatch(Double.self, "SELECT '1.5'")
        // Integers that a Double holds, and one that it would round.
        #expect(try db.fetchOne(Double.self, "SELECT 9007199254740992") == 9_007_199_254_740_992)
        expectMismatch(Double.self, "SELECT 9007199254740993")
        expectMismatch(Double.self, "SELECT 9223372036854775807")
        #expect(try db.fetchOne(Double.self, "SELECT -9223372036854775808") == -0x1p63)
    }

    @Test func decimalsRoundTripOrThrow() throws {
        for (text, form) in [
            ("0", "integer"), ("-1", "integer"), ("1.50", "real"), ("0.1", "real"), ("-99999999999999.9", "real"),
            ("9223372036854775807", "integer"), ("1000000000000000000000000000000000000", "real"), ("0.00000000000000001", "real"),
        ] {
            let value = try #require(Decimal(string: text))
            #expect(try back(value) == value, "\(text)")
            #expect(try db.fetchOne(String.self, "SELECT typeof(?)", [value]) == form, "\(text)")
        }
        for text in ["123456789012345678901234567890.12345678", "9223372036854775809", "0.12345678901234567891"] {
            let error = #expect(throws: DatabaseError.self) { try back(#require(Decimal(string: text))) }
            #expect(error?.reason == .invalidArgument && error?.description.contains(text) == false)
        }
        #expect(try db.fetchOne(Decimal.self, "SELECT 9223372036854775807") == Decimal(Int64.max))
        #expect(try db.fetchOne(Decimal.self, "SELECT 0.1") == Decimal(string: "0.1"))
        for sql: SQL in ["SELECT '1x'", "SELECT ''", "SELECT 'NaN'", "SELECT ' 1'", "SELECT 9e999", "SELECT x'31'"] { expectMismatch(Decimal.self, sql) }
        #expect(throws: DatabaseError.self) { try back(Decimal.nan) }
    }

    @Test func nullReadsOnlyAsOptional() throws {
        #expect(try db.fetchOne(Int?.self, "SELECT NULL") == .some(nil))
        #expect(try db.fetchOne(Int?.self, "SELECT 1") == .some(1))
        let error = #expect(throws: DatabaseError.self) { try db.fetchAll(Int.self, "SELECT NULL AS empty") }
        #expect(error?.reason == .unexpectedNull)
        #expect(error?.message == "column empty is NULL and was read as Int")
        #expect(throws: DatabaseError.self) { try db.fetchOne(Int?.self, "SELECT 'text'") }
        let nothing: Int? = nil
        #expect(try db.fetchOne(String.self, "SELECT typeof(?)", [nothing]) == "null")
        #expect(try back(SQLValue.null) == .null)
    }
}
