import Foundation

/// How a `Date` is stored. Reading accepts all forms, whatever the strategy.
///
/// SQLite compares the stored values, so dates in two different forms in one column compare incorrectly.
/// ``Schema/valueReport(sampling:)`` finds such columns.
public enum DateStrategy: Hashable, Sendable {
    /// TEXT in UTC, in the given format. Years 0000 to 9999 only; others throw.
    case text(DateTextFormat)
    /// REAL seconds since 1970-01-01 00:00 UTC: any date, to about a quarter of a microsecond.
    case realSeconds
    /// INTEGER seconds since 1970-01-01 00:00 UTC, rounded down: any date within `Int64`.
    case integerSeconds

    /// TEXT in ISO 8601, UTC, with milliseconds, such as `2026-11-21T08:30:00.250Z`: sorts by time, and SQLite's own date
    /// functions understand it. Times are rounded to milliseconds.
    public static let iso8601 = DateStrategy.text(.iso8601)
}

/// Stored according to the connection's ``ValueProfile/dates``. Without a connection, ``sqlValue`` gives ISO 8601.
///
/// Read from TEXT in the ISO 8601 forms that SQLite knows (<https://sqlite.org/lang_datefunc.html>: date alone, `T` or a
/// space, seconds with a fraction, `Z` or an offset), and from INTEGER or REAL seconds since 1970.
extension Date: SQLValueConvertible {
    public var sqlValue: SQLValue { get throws(DatabaseError) { try sqlValue(.iso8601) } }

    public func sqlValue(in profile: ValueProfile) throws(DatabaseError) -> SQLValue { try sqlValue(profile.dates) }

    public init?(sqlValue: SQLValue) {
        switch sqlValue {
        case .integer(let seconds): self.init(timeIntervalSince1970: Double(seconds))
        case .real(let seconds) where seconds.isFinite: self.init(timeIntervalSince1970: seconds)
        case .text(let text): self.init(iso8601: text)
        default: return nil
        }
    }

    /// The value as a strategy stores it.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a date that the strategy cannot represent.
    public func sqlValue(_ strategy: DateStrategy) throws(DatabaseError) -> SQLValue {
        let seconds = timeIntervalSince1970
        guard seconds.isFinite else { throw .invalidArgument("the date is not finite") }
        switch strategy {
        case .realSeconds:
            return .real(seconds)
        case .integerSeconds:
            guard let whole = Int64(exactly: seconds.rounded(.down)) else { throw .invalidArgument("the date exceeds Int64") }
            return .integer(whole)
        case .text(let format):
            return .text(try format.text(seconds))
        }
    }

    /// The date in a message. Foundation's own description ends the process for a date that is far away or no number.
    package var shownText: String {
        (try? DateTextFormat.iso8601.text(timeIntervalSince1970)) ?? "\(timeIntervalSince1970) seconds after 1970"
    }

    package init?(iso8601 text: String) {
        var scanner = DateScanner(text)
        guard let seconds = scanner.seconds() else { return nil }
        self.init(timeIntervalSince1970: seconds)
    }
}
