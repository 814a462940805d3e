import Foundation

/// How a `Date` is stored. All forms are read, whatever the strategy.
public enum DateStrategy: Hashable, Sendable {
    /// TEXT in ISO 8601, UTC, with milliseconds, such as `2026-11-21T08:30:00.250Z`: sorts by time, and SQLite's own date
    /// functions understand it. Times are rounded to milliseconds. Years 0000 to 9999 only; others throw.
    case iso8601
    /// REAL seconds since 1970-01-01 00:00 UTC: any date, to about a quarter of a microsecond.
    case realSeconds
    /// INTEGER seconds since 1970-01-01 00:00 UTC, rounded down: any date within `Int64`.
    case integerSeconds
}

/// Stored as the connection's ``DateStrategy`` says; ``sqlValue`` alone, without a connection, gives ISO 8601.
///
/// Read from TEXT in the ISO 8601 forms that SQLite knows (<https://sqlite.org/lang_datefunc.html>: date alone, `T` or a
/// space, seconds with a fraction, `Z` or an offset), and from INTEGER or REAL seconds since 1970.
extension Date: SQLValueConvertible {
    public var sqlValue: SQLValue { get throws(DatabaseError) { try sqlValue(.iso8601) } }

    public init?(sqlValue: SQLValue) {
        switch sqlValue {
        case .integer(let seconds): self.init(timeIntervalSince1970: Double(seconds))
        case .real(let seconds) where seconds.isFinite: self.init(timeIntervalSince1970: seconds)
        case .text(let text): self.init(iso8601: text)
        default: return nil
        }
    }

    public func bindSQL(to parameter: borrowing Statement.Parameter) throws(DatabaseError) {
        try sqlValue(parameter.dateStrategy).bindSQL(to: parameter)
    }

    /// The value under a strategy.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a date that the strategy has no form for.
    public func sqlValue(_ strategy: DateStrategy) throws(DatabaseError) -> SQLValue {
        let seconds = timeIntervalSince1970
        guard seconds.isFinite else { throw .invalidArgument("a date that is not finite") }
        switch strategy {
        case .realSeconds:
            return .real(seconds)
        case .integerSeconds:
            guard let whole = Int64(exactly: seconds.rounded(.down)) else { throw .invalidArgument("a date out of Int64's range") }
            return .integer(whole)
        case .iso8601:
            return .text(try iso8601Text(seconds))
        }
    }

    private func iso8601Text(_ seconds: Double) throws(DatabaseError) -> String {
        // The limits are 0000-01-01 and the last millisecond of 9999.
        guard seconds >= -62_167_219_200, seconds < 253_402_300_799.999_5 else {
            throw .invalidArgument("ISO 8601 text holds the years 0000 to 9999 only: use another DateStrategy for \(self)")
        }
        let milliseconds = Int64((seconds * 1000).rounded())
        let (days, inDay) = milliseconds.floored(by: 86_400_000)
        let (year, month, day) = CivilDate.from(days: days)
        return String(unsafeUninitializedCapacity: 24) { text in
            var end = 0
            func put(_ value: Int64, digits: Int, _ separator: Unicode.Scalar) {
                var rest = value
                for place in (end..<end + digits).reversed() {
                    text[place] = UInt8(ascii: "0") + UInt8(rest % 10)
                    rest /= 10
                }
                text[end + digits] = UInt8(ascii: separator)
                end += digits + 1
            }
            put(year, digits: 4, "-")
            put(month, digits: 2, "-")
            put(day, digits: 2, "T")
            put(inDay / 3_600_000, digits: 2, ":")
            put(inDay / 60000 % 60, digits: 2, ":")
            put(inDay / 1000 % 60, digits: 2, ".")
            put(inDay % 1000, digits: 3, "Z")
            return end
        }
    }

    init?(iso8601 text: String) {
        var scanner = DateScanner(text)
        guard let seconds = scanner.seconds() else { return nil }
        self.init(timeIntervalSince1970: seconds)
    }
}

/// Days of the proleptic Gregorian calendar, counted from 1970-01-01.
///
/// Years are counted from March, so that the leap day is a year's last, and in eras of 400 years, which are alike.
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

    static func daysIn(month: Int64, year: Int64) -> Int64 {
        switch month {
        case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

/// Reads SQLite's ISO 8601 forms of a point in time.
private struct DateScanner {
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
            // Digits beyond the fifteenth are beyond a Double as well.
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

extension Int64 {
    /// Quotient and remainder with the remainder never negative.
    fileprivate func floored(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
