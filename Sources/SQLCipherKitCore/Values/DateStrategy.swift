import Foundation

/// The form in which a `Date` is stored, and the meaning of a number that is read as a `Date`. Every text form can be read.
///
/// SQLite compares the stored values, so dates in two different forms in one column compare incorrectly.
/// ``Schema/valueReport(sampling:limits:)`` finds such columns.
public enum DateStrategy: Sendable {
    /// TEXT in UTC, in the given format. Years 0000 to 9999 only; other years throw. A number is read as seconds since 1970.
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
    /// (<https://sqlite.org/lang_datefunc.html>). Years -4713 to 9999; other years throw.
    case julianDays
    /// A form of your own.
    case custom(any CustomDateStrategy.Type)

    /// TEXT in UTC with milliseconds, such as `2026-11-21 08:30:00.250`: the form of SQLite's own date functions, so that SQL
    /// compares it correctly with their results. Times are rounded to milliseconds.
    public static let timestamp = DateStrategy.text(.timestamp)

    /// TEXT in ISO 8601, UTC, with milliseconds, such as `2026-11-21T08:30:00.250Z`: sorts by time, but does not compare with
    /// `CURRENT_TIMESTAMP` and `datetime()`. Times are rounded to milliseconds.
    public static let iso8601 = DateStrategy.text(.iso8601)

    // The days from the beginning of Julian days to 1970, and the first that SQLite does not know.
    private static let julian1970 = 2_440_587.5, julianEnd = 5_373_484.5

    func stored(_ date: Date) throws -> SQLValue {
        let seconds = date.timeIntervalSince1970
        guard seconds.isFinite else { throw DatabaseError.invalidArgument("the date is not finite") }
        func integer(_ value: Double) throws -> SQLValue {
            guard let whole = Int64(exactly: value) else { throw DatabaseError.invalidArgument("the date exceeds Int64") }
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
            guard days >= 0, days < Self.julianEnd else {
                throw DatabaseError.invalidArgument("Julian days hold the years -4713 to 9999 only")
            }
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

/// Your own form for stored dates: see ``DateStrategy/custom(_:)``.
/// ```swift
/// enum DaysSince1970: CustomDateStrategy {
///     static func stored(_ date: Date) throws -> SQLValue {
///         .integer(Int64((date.timeIntervalSince1970 / 86400).rounded(.down)))
///     }
///     static func date(_ value: SQLValue) -> Date? {
///         guard case .integer(let days) = value else { return nil }
///         return Date(timeIntervalSince1970: Double(days) * 86400)
///     }
/// }
/// configuration.valueProfile.dates = .custom(DaysSince1970.self)
/// ```
public protocol CustomDateStrategy: Sendable {
    /// The value that is stored for a date. Values should sort as their dates do, because SQLite compares them.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a date that the form cannot hold.
    static func stored(_ date: Date) throws -> SQLValue

    /// The date of a stored value; nil if the value is not of this form. SQLite's own text forms are then tried.
    static func date(_ value: SQLValue) -> Date?
}

/// Stored according to the connection's ``ValueProfile/dates``, or the profile of a record's column
/// (``ColumnCodingCustomizable/columnProfiles``). Without a connection, ``sqlValue`` gives ``DateStrategy/timestamp``.
///
/// Read from TEXT in the ISO 8601 forms that SQLite knows (<https://sqlite.org/lang_datefunc.html>: date alone, `T` or a
/// space, seconds with a fraction, `Z` or an offset such as `+05:30`, not `+0530`), and from a number as the strategy counts;
/// without a connection, as seconds since 1970.
extension Date: SQLValueConvertible {
    /// The date as ``DateStrategy/timestamp`` stores it.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a date that is not finite, or whose year the text form
    ///   does not have.
    public var sqlValue: SQLValue { get throws { try sqlValue(.timestamp) } }

    /// The date as ``ValueProfile/dates`` of the profile stores it.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a date that the strategy cannot represent, or any error of a
    ///   ``CustomDateStrategy``.
    public func sqlValue(in profile: ValueProfile) throws -> SQLValue { try sqlValue(profile.dates) }

    public init?(sqlValue: SQLValue) { self.init(sqlValue: sqlValue, in: .standard) }

    public init?(sqlValue: SQLValue, in profile: ValueProfile) {
        guard let date = profile.dates.date(sqlValue) else { return nil }
        self = date
    }

    /// The value as a strategy stores it.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a date that the strategy cannot represent, or any error of a
    ///   ``CustomDateStrategy``.
    public func sqlValue(_ strategy: DateStrategy) throws -> SQLValue { try strategy.stored(self) }

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

/// Parses the ISO 8601 forms of a point in time that SQLite knows.
struct DateScanner {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = text[...].utf8 }

    mutating func seconds() -> Double? {
        guard let year = number(4), skip("-"), let month = number(2), skip("-"), let day = number(2),
            (1...12).contains(month), (1...CivilDate.daysIn(month: month, year: year)).contains(day)
        else { return nil }
        var seconds = Double(CivilDate.days(year: year, month: month, day: day) * 86400)
        if rest.isEmpty { return seconds }
        guard skip("T") || skip(" "), let hour = number(2), hour < 24, skip(":"), let minute = number(2), minute < 60 else {
            return nil
        }
        seconds += Double(hour * 3600 + minute * 60)
        if skip(":") {
            guard let second = number(2), second < 60 else { return nil }
            seconds += Double(second)
            if skip(".") {
                guard let fraction = fraction() else { return nil }
                seconds += fraction
            }
        }
        guard let offset = offset(), rest.isEmpty else { return nil }
        return seconds - offset
    }

    private mutating func offset() -> Double? {
        while skip(" ") {}
        if rest.isEmpty || skip("Z") || skip("z") { return 0 }
        let sign: Double = skip("-") ? -1 : skip("+") ? 1 : 0
        guard sign != 0, let hours = number(2), hours < 15, skip(":"), let minutes = number(2), minutes < 60 else { return nil }
        return sign * Double(hours * 3600 + minutes * 60)
    }

    private mutating func fraction() -> Double? {
        var value = 0.0
        var scale = 1.0
        var count = 0
        while let digit = rest.first, (48...57).contains(digit) {
            // Digits after the fifteenth exceed a Double's precision.
            if count < 15 {
                value = value * 10 + Double(digit - 48)
                scale *= 10
            }
            count += 1
            rest.removeFirst()
        }
        return count > 0 ? value / scale : nil
    }

    private mutating func number(_ count: Int) -> Int64? {
        guard rest.count >= count else { return nil }
        var value: Int64 = 0
        for digit in rest.prefix(count) {
            guard (48...57).contains(digit) else { return nil }
            value = value * 10 + Int64(digit - 48)
        }
        rest.removeFirst(count)
        return value
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }
}

/// A form of ISO 8601 for dates in UTC, such as `2026-11-21T08:30:00.250Z`. Texts of one format sort by time, and SQLite's own date
/// functions understand them (<https://sqlite.org/lang_datefunc.html>).
public struct DateTextFormat: Hashable, Sendable {
    /// The separator between the day and the time.
    public enum Separator: UInt8, Hashable, Sendable {
        case t = 0x54, space = 0x20
    }

    /// The number of fractional digits of the seconds. Times are rounded to the nearest value; without a fraction they are rounded
    /// down, like SQLite's `CURRENT_TIMESTAMP`.
    public enum Fraction: UInt8, Hashable, Sendable {
        case none = 0, milliseconds = 3, microseconds = 6
    }

    /// The indication of UTC at the end of the text.
    public enum Zone: UInt8, Hashable, Sendable {
        /// No indication, which SQLite takes as UTC.
        case none
        /// `Z`.
        case z
        /// `+00:00`.
        case offset
    }

    /// The separator between the day and the time.
    public var separator: Separator
    /// The number of fractional digits of the seconds.
    public var fraction: Fraction
    /// The indication of UTC at the end of the text.
    public var zone: Zone

    /// Creates a format. The defaults give ``iso8601``.
    /// - Parameters:
    ///   - separator: the separator between the day and the time. Default: `T`.
    ///   - fraction: the digits of the fraction of a second. Default: milliseconds.
    ///   - zone: the indication of UTC at the end. Default: `Z`.
    public init(separator: Separator = .t, fraction: Fraction = .milliseconds, zone: Zone = .z) {
        self.separator = separator
        self.fraction = fraction
        self.zone = zone
    }

    /// `2026-11-21 08:30:00.250`, as from `datetime(…, 'subsec')`: it compares with `CURRENT_TIMESTAMP` and `datetime()`.
    public static let timestamp = DateTextFormat(separator: .space, zone: .none)
    /// `2026-11-21T08:30:00.250Z`.
    public static let iso8601 = DateTextFormat()
    /// `2026-11-21T08:30:00Z`.
    public static let iso8601Seconds = DateTextFormat(fraction: .none)
    /// `2026-11-21 08:30:00`, as from `CURRENT_TIMESTAMP` and `datetime()`.
    public static let currentTimestamp = DateTextFormat(separator: .space, fraction: .none, zone: .none)

    func text(_ seconds: Double) throws -> String {
        let digits = Int64(fraction.rawValue)
        let scale: Int64 = digits == 0 ? 1 : digits == 3 ? 1000 : 1_000_000
        let units = (seconds * Double(scale)).rounded(digits == 0 ? .down : .toNearestOrAwayFromZero)
        // From 0000-01-01 to the end of 9999.
        guard units >= Double(-62_167_219_200 * scale), units < Double(253_402_300_800 * scale) else {
            throw DatabaseError.invalidArgument("text holds the years 0000 to 9999 only: use another DateStrategy for other dates")
        }
        let (days, inDay) = Int64(units).floored(by: 86400 * scale)
        let (year, month, day) = CivilDate.from(days: days)
        let second = inDay / scale
        return String(unsafeUninitializedCapacity: 32) { text in
            var end = 0
            func put(_ byte: UInt8) {
                text[end] = byte
                end += 1
            }
            func put(_ value: Int64, digits: Int, _ separator: Unicode.Scalar) {
                var rest = value
                for place in (end..<end + digits).reversed() {
                    text[place] = UInt8(ascii: "0") + UInt8(rest % 10)
                    rest /= 10
                }
                end += digits
                put(UInt8(ascii: separator))
            }
            put(year, digits: 4, "-")
            put(month, digits: 2, "-")
            put(day, digits: 2, " ")
            text[end - 1] = separator.rawValue
            put(second / 3600, digits: 2, ":")
            put(second / 60 % 60, digits: 2, ":")
            put(second % 60, digits: 2, ".")
            if digits > 0 { put(inDay % scale, digits: Int(digits), ".") }
            // Drop the last separator.
            end -= 1
            switch zone {
            case .none: break
            case .z: put(UInt8(ascii: "Z"))
            case .offset: for byte in "+00:00".utf8 { put(byte) }
            }
            return end
        }
    }
}

/// Converts between dates of the proleptic Gregorian calendar and days since 1970-01-01.
///
/// Years begin in March, so that the leap day is the last day of a year, and are grouped into eras of 400 years, which are all
/// alike.
enum CivilDate {
    static func from(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = (days + 719_468).floored(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let (era, yearOfEra) = (month <= 2 ? year - 1 : year).floored(by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    fileprivate static func daysIn(month: Int64, year: Int64) -> Int64 {
        switch month {
        case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension Int64 {
    /// Returns the quotient and a remainder that is never negative.
    fileprivate func floored(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
