import Foundation

/// How a `Date` is stored, and what a number means that is read as one. Every text form is read, whatever the strategy.
///
/// SQLite compares the stored values, so dates in two different forms in one column compare incorrectly.
/// ``Schema/valueReport(sampling:limits:)`` finds such columns.
public enum DateStrategy: Sendable {
    /// TEXT in UTC, in the given format. Years 0000 to 9999 only; others throw. A number is read as seconds since 1970.
    case text(DateTextFormat)
    /// REAL seconds since 1970-01-01 00:00 UTC: any date, to about a quarter of a microsecond.
    case realSeconds
    /// INTEGER seconds since 1970-01-01 00:00 UTC, rounded down: any date within `Int64`.
    case integerSeconds
    /// INTEGER milliseconds since 1970-01-01 00:00 UTC, rounded to the nearest: as JavaScript's and Java's clocks count.
    case milliseconds
    /// REAL seconds since 2001-01-01 00:00 UTC, as Core Data and `Date.timeIntervalSinceReferenceDate` count: any date, exactly.
    case secondsSince2001
    /// REAL Julian days, rounded to milliseconds when they are read, as by SQLite's `julianday()`
    /// (<https://sqlite.org/lang_datefunc.html>). Years -4713 to 9999; others throw.
    case julianDays
    /// A form of your own.
    case custom(any DateForm.Type)

    /// TEXT in UTC with milliseconds, such as `2026-11-21 08:30:00.250`: the form of SQLite's own date functions, with which it
    /// compares. Times are rounded to milliseconds.
    public static let timestamp = DateStrategy.text(.timestamp)

    /// TEXT in ISO 8601, UTC, with milliseconds, such as `2026-11-21T08:30:00.250Z`: sorts by time, but does not compare with
    /// `CURRENT_TIMESTAMP` and `datetime()`. Times are rounded to milliseconds.
    public static let iso8601 = DateStrategy.text(.iso8601)

    // The days from the beginning of Julian days to 1970, and the first that SQLite does not know.
    private static let julian1970 = 2_440_587.5, julianEnd = 5_373_484.5

    func stored(_ date: Date) throws(DatabaseError) -> SQLValue {
        let seconds = date.timeIntervalSince1970
        guard seconds.isFinite else { throw .invalidArgument("the date is not finite") }
        func integer(_ value: Double) throws(DatabaseError) -> SQLValue {
            guard let whole = Int64(exactly: value) else { throw .invalidArgument("the date exceeds Int64") }
            return .integer(whole)
        }
        switch self {
        case .text(let format): return .text(try format.text(seconds))
        case .realSeconds: return .real(seconds)
        case .integerSeconds: return try integer(seconds.rounded(.down))
        case .milliseconds: return try integer((seconds * 1000).rounded())
        case .secondsSince2001: return .real(date.timeIntervalSinceReferenceDate)
        case .julianDays:
            let days = seconds / 86400 + Self.julian1970
            guard days >= 0, days < Self.julianEnd else { throw .invalidArgument("Julian days hold the years -4713 to 9999 only") }
            return .real(days)
        case .custom(let form): return try form.stored(date)
        }
    }

    func date(_ value: SQLValue) -> Date? {
        if case .custom(let form) = self, let date = form.date(value) { return date }
        return switch value {
        case .text(let text): Date(iso8601: text)
        case .integer(let number): date(Double(number))
        case .real(let number): number.isFinite ? date(number) : nil
        default: nil
        }
    }

    private func date(_ number: Double) -> Date? {
        switch self {
        case .text, .realSeconds, .integerSeconds: return Date(timeIntervalSince1970: number)
        case .milliseconds: return Date(timeIntervalSince1970: number / 1000)
        case .secondsSince2001: return Date(timeIntervalSinceReferenceDate: number)
        case .julianDays:
            guard number >= 0, number < Self.julianEnd else { return nil }
            return Date(timeIntervalSince1970: ((number - Self.julian1970) * 86_400_000).rounded() / 1000)
        case .custom: return nil
        }
    }
}

extension DateStrategy: Hashable {
    private var identity: (kind: Int, format: DateTextFormat?, form: ObjectIdentifier?) {
        switch self {
        case .text(let format): (0, format, nil)
        case .realSeconds: (1, nil, nil)
        case .integerSeconds: (2, nil, nil)
        case .milliseconds: (3, nil, nil)
        case .secondsSince2001: (4, nil, nil)
        case .julianDays: (5, nil, nil)
        case .custom(let form): (6, nil, ObjectIdentifier(form))
        }
    }

    public static func == (a: DateStrategy, b: DateStrategy) -> Bool { a.identity == b.identity }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(identity.kind)
        hasher.combine(identity.format)
        hasher.combine(identity.form)
    }
}

/// A form of your own in which dates are stored: see ``DateStrategy/custom(_:)``.
/// ```swift
/// enum DaysSince1970: DateForm {
///     static func stored(_ date: Date) throws(DatabaseError) -> SQLValue {
///         .integer(Int64((date.timeIntervalSince1970 / 86400).rounded(.down)))
///     }
///     static func date(_ value: SQLValue) -> Date? {
///         guard case .integer(let days) = value else { return nil }
///         return Date(timeIntervalSince1970: Double(days) * 86400)
///     }
/// }
/// configuration.values.dates = .custom(DaysSince1970.self)
/// ```
public protocol DateForm: Sendable {
    /// The value that is stored for a date. Values should sort as their dates do, because SQLite compares them.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a date that the form cannot hold.
    static func stored(_ date: Date) throws(DatabaseError) -> SQLValue

    /// The date of a stored value; nil if the value is not of this form. SQLite's own text forms are then tried.
    static func date(_ value: SQLValue) -> Date?
}

/// Stored according to the connection's ``ValueProfile/dates``, or those of a record's column (``ColumnProfiled/columnProfiles``).
/// Without a connection, ``sqlValue`` gives ``DateStrategy/timestamp``.
///
/// Read from TEXT in the ISO 8601 forms that SQLite knows (<https://sqlite.org/lang_datefunc.html>: date alone, `T` or a
/// space, seconds with a fraction, `Z` or an offset), and from a number as the strategy counts; without a connection, as seconds
/// since 1970.
extension Date: SQLValueConvertible {
    public var sqlValue: SQLValue { get throws(DatabaseError) { try sqlValue(.timestamp) } }

    public func sqlValue(in profile: ValueProfile) throws(DatabaseError) -> SQLValue { try sqlValue(profile.dates) }

    public init?(sqlValue: SQLValue) { self.init(sqlValue: sqlValue, in: .standard) }

    public init?(sqlValue: SQLValue, in profile: ValueProfile) {
        guard let date = profile.dates.date(sqlValue) else { return nil }
        self = date
    }

    /// The value as a strategy stores it.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a date that the strategy cannot represent.
    public func sqlValue(_ strategy: DateStrategy) throws(DatabaseError) -> SQLValue { try strategy.stored(self) }

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
