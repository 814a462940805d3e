import Foundation
import SQLCipherKitCore

/// The form to which ``Schema/convertValues(of:in:to:allowingRounding:)`` converts a column's values.
public enum ValueConversion: Hashable, Sendable {
    /// Dates, from any text that is read as a date, and from seconds since 1970.
    case dates(DateStrategy)
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
    }

    func convert(_ value: SQLValue) -> Outcome {
        switch self {
        case .dates(let strategy):
            guard let date = Date(sqlValue: value), let made = try? date.sqlValue(strategy) else { return .refused }
            let isSame = Date(sqlValue: made).map { abs($0.timeIntervalSince(date)) < 0.001 } ?? false
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
        case .dates(.text), .decimals(.text), .uuids(.uppercaseText), .uuids(.lowercaseText): [.text]
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
