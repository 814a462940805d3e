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

    /// How the end of the text indicates UTC.
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
    /// How the end of the text indicates UTC.
    public var zone: Zone

    /// Creates a format. The defaults are those of ``iso8601``.
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

    func text(_ seconds: Double) throws(DatabaseError) -> String {
        let digits = Int64(fraction.rawValue)
        let scale: Int64 = digits == 0 ? 1 : digits == 3 ? 1000 : 1_000_000
        let units = (seconds * Double(scale)).rounded(digits == 0 ? .down : .toNearestOrAwayFromZero)
        // From 0000-01-01 to the end of 9999.
        guard units >= Double(-62_167_219_200 * scale), units < Double(253_402_300_800 * scale) else {
            throw .invalidArgument("text holds the years 0000 to 9999 only: use another DateStrategy for other dates")
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
