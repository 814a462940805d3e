import Foundation
import SQLCipherKitCore

extension Schema {
    /// The form to which ``Schema/convertValues(of:in:to:allowingRounding:)`` converts a column's values.
    public enum ValueConversion: Hashable, Sendable {
        /// Dates, from any text that is read as a date, from archives of `NSDate`, from dates in MongoDB's Extended JSON, as Realm
        /// exports them, and from numbers if `numbers` says what they mean, such as ``DateStrategy/milliseconds``. A number is
        /// never guessed to be a date: without `numbers`, a column with numbers throws.
        case dates(DateStrategy, numbers: DateStrategy? = nil)
        /// UUIDs, from blobs of 16 bytes and from text.
        case uuids(UUIDStrategy)
        /// Decimals, from numbers and from text in decimal digits.
        case decimals(DecimalStrategy)
        /// Booleans as 0 and 1, from these and from `true` and `false`, `yes` and `no`.
        case booleans

        enum Outcome {
            case value(SQLValue)
            /// Converted with a loss: the form cannot hold the fraction of a second.
            case rounded(SQLValue)
            /// The value is not of this kind.
            case refused
            /// A number whose meaning as a date was not given.
            case ambiguous
        }

        func convert(_ value: SQLValue) -> Outcome {
            switch self {
            case .dates(let strategy, let numbers):
                if numbers == nil, value.isNumber { return .ambiguous }
                let known = Date(sqlValue: value, in: ValueProfile(dates: numbers ?? strategy)) ?? Date(foreign: value)
                guard let date = known, let made = try? date.sqlValue(strategy) else { return .refused }
                let back = Date(sqlValue: made, in: ValueProfile(dates: strategy))
                // A `Date` holds about a quarter of a microsecond.
                let isSame = back.map { abs($0.timeIntervalSince(date)) < 0.000_001 } ?? false
                return isSame && Self.isHeld(value, by: date, numbers) ? .value(made) : .rounded(made)
            case .uuids(let strategy):
                guard let uuid = UUID(sqlValue: value) else { return .refused }
                return (try? uuid.sqlValue(in: ValueProfile(uuids: strategy))).map(Outcome.value) ?? .refused
            case .decimals(let strategy):
                guard let decimal = Decimal(sqlValue: value) else { return .refused }
                return (try? decimal.sqlValue(in: ValueProfile(decimals: strategy))).map(Outcome.value) ?? .refused
            case .booleans:
                switch value {
                case .integer(0), .integer(1): return .value(value)
                case .real(0), .real(1): return .value(.integer(value == .real(1) ? 1 : 0))
                case .text(let text): return Bool(sqlText: text).map { .value(.integer($0 ? 1 : 0)) } ?? .refused
                default: return .refused
                }
            }
        }

        /// Whether reading a value as a date has kept all of it.
        private static func isHeld(_ value: SQLValue, by date: Date, _ numbers: DateStrategy?) -> Bool {
            switch value {
            case .integer(let number): return Int64(exactly: Double(number)) == number
            case .real(let number):
                // Julian days are read as whole milliseconds; a `Double` of them holds 40 microseconds.
                guard numbers == .julianDays, case .real(let again)? = try? date.sqlValue(.julianDays) else { return true }
                return abs(again - number) < 0.000_000_001
            case .text(let text):
                let fraction = text.utf8.drop { $0 != UInt8(ascii: ".") }.dropFirst().prefix { (0x30...0x39).contains($0) }
                return fraction.dropFirst(6).allSatisfy { $0 == 0x30 }
            default: return true
            }
        }

        /// The plural name of the values, for errors.
        var noun: String {
            switch self {
            case .dates: "dates"
            case .uuids: "UUIDs"
            case .decimals: "decimals"
            case .booleans: "booleans"
            }
        }
    }
}
