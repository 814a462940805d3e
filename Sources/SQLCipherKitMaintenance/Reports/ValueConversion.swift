import Foundation
import SQLCipherKitCore

/// The form to which ``Schema/convertValues(of:in:to:allowingRounding:)`` converts a column's values.
public enum ValueConversion: Hashable, Sendable {
    /// Dates, from any text that is read as a date, from archives of `NSDate`, from dates in MongoDB's Extended JSON, as Realm
    /// exports them, and from numbers if `numbers` says what they mean, such as ``DateStrategy/milliseconds``. A number is never
    /// guessed to be a date: without `numbers`, a column with numbers throws.
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
            let isSame = back.map { abs($0.timeIntervalSince(date)) < 0.001 } ?? false
            return isSame ? .value(made) : .rounded(made)
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

    /// The storage classes that the values have afterwards, unless the column's type turns them into something else.
    var storage: [StorageClass] {
        switch self {
        case .dates(.text, _), .decimals(.text), .uuids(.uppercaseText), .uuids(.lowercaseText): [.text]
        case .dates(.custom, _): [.integer, .real, .text, .blob]
        case .uuids(.blob): [.blob]
        case .dates, .decimals(.number), .booleans: [.integer, .real]
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
