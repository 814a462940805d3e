import Foundation

/// The forms in which a connection stores dates, UUIDs and decimals, for which SQLite has no storage class.
///
/// A profile applies where values are bound to statements and written in records. Reading accepts dates in all text forms, and
/// UUIDs and decimals in every form, whatever the profile; the profile gives the meaning of a number that is read as a date. SQLite
/// compares the stored values, not their meaning: for a database that another program wrote, use the profile that it was written
/// with.
/// ```swift
/// var configuration = DatabaseConfiguration()
/// configuration.valueProfile = .grdb
/// configuration.valueProfile.decimals = .number
/// ```
/// ``Schema/valueReport(sampling:limits:)`` reports which profile fits a database, and
/// ``Schema/convertValues(of:in:to:allowingRounding:)`` converts a column. For a single column of a record, see
/// ``ColumnCodingCustomizable/columnProfiles``.
public struct ValueProfile: Hashable, Sendable {
    /// The form of a `Date`. Default: ``DateStrategy/timestamp``, text in UTC with milliseconds as SQLite writes it.
    public var dates: DateStrategy
    /// The form of a `UUID`. Default: a blob of 16 bytes.
    public var uuids: UUIDStrategy
    /// The form of a `Decimal`. Default: a number.
    public var decimals: DecimalStrategy
    /// The form of a `Date` inside a column's JSON, such as a date in an array or in a nested type. Default:
    /// ``JSONDateStrategy/iso8601``. A type that is ``JSONCodingCustomizable`` has its own form.
    public var jsonDates: JSONDateStrategy
    /// True if values are inside JSON, so that their dates are as ``jsonDates`` of the connection's profile.
    package var areInsideJSON = false

    /// Creates a profile.
    /// - Parameters:
    ///   - dates: the form of a `Date`. Default: text in UTC with milliseconds, as SQLite writes it.
    ///   - uuids: the form of a `UUID`. Default: a blob of 16 bytes.
    ///   - decimals: the form of a `Decimal`. Default: a number.
    ///   - jsonDates: the form of a `Date` inside a column's JSON. Default: ISO 8601 text.
    public init(
        dates: DateStrategy = .timestamp, uuids: UUIDStrategy = .blob, decimals: DecimalStrategy = .number,
        jsonDates: JSONDateStrategy = .iso8601
    ) {
        self.dates = dates
        self.uuids = uuids
        self.decimals = decimals
        self.jsonDates = jsonDates
    }

    /// The default of this package: dates as `2026-11-21 08:30:00.250`, UUIDs as 16 bytes, decimals as numbers.
    public static let standard = ValueProfile()

    /// Dates as `2026-11-21T08:30:00.250Z`, as `toISOString()` in JavaScript writes them. UUIDs and decimals as in ``standard``.
    public static let iso8601 = ValueProfile(dates: .iso8601)

    /// Dates as from SQLite's `CURRENT_TIMESTAMP` and `datetime()`: `2026-11-21 08:30:00`. UUIDs and decimals as in ``standard``.
    public static let sqlite = ValueProfile(dates: .text(.currentTimestamp))

    /// As SAP's `SecureDatabaseStore` binds them: dates as whole seconds since 1970; UUIDs as uppercase text.
    public static let sap = ValueProfile(dates: .integerSeconds, uuids: .uppercaseText)

    /// As DataLiteCore binds them: dates as `2026-11-21T08:30:00Z`, UUIDs as uppercase text.
    public static let dataLiteCore = ValueProfile(dates: .text(.iso8601Seconds), uuids: .uppercaseText)

    /// As SkipSQL's documentation maps them (it leaves the choice to each type): dates as fractional seconds since 1970, UUIDs as
    /// uppercase text. Its mapping of dates to a TEXT column is the same as in ``dataLiteCore``.
    public static let skipSQL = ValueProfile(dates: .realSeconds, uuids: .uppercaseText)

    /// As GRDB binds them: dates as `2026-11-21 08:30:00.250`, UUIDs as 16 bytes, decimals as text. Dates inside JSON are
    /// milliseconds since 1970.
    public static let grdb = ValueProfile(dates: .timestamp, decimals: .text, jsonDates: .millisecondsSince1970)

    /// As SQLite.swift binds them: dates as `2026-11-21T08:30:00.250`, UUIDs as uppercase text.
    public static let sqliteSwift = ValueProfile(dates: .text(DateTextFormat(zone: .none)), uuids: .uppercaseText)

    /// As Core Data stores them: dates as seconds since 2001, UUIDs as 16 bytes, decimals as numbers.
    public static let coreData = ValueProfile(dates: .secondsSince2001)

    /// As Room's usual converters store them: dates as milliseconds since 1970, UUIDs as lowercase text, decimals as text.
    public static let room = ValueProfile(dates: .milliseconds, uuids: .lowercaseText, decimals: .text)

    /// The profiles above and their names, such as `grdb`.
    public static let namedProfiles: [(name: String, profile: ValueProfile)] = [
        ("standard", .standard), ("iso8601", .iso8601), ("sqlite", .sqlite), ("grdb", .grdb), ("sqliteSwift", .sqliteSwift),
        ("dataLiteCore", .dataLiteCore), ("skipSQL", .skipSQL), ("sap", .sap), ("coreData", .coreData),
        ("room", .room),
    ]
}

extension ValueProfile {
    /// The profile of values inside a document.
    /// - Parameter dates: how their dates are stored; nil for the form that the connection's profile says.
    package static func insideJSON(_ dates: DateStrategy?) -> ValueProfile {
        var profile = ValueProfile(dates: dates ?? .iso8601, uuids: .uppercaseText)
        profile.areInsideJSON = dates == nil
        return profile
    }

    /// The profile for values of their own profile, if they have one, on a connection.
    package static func resolved(_ own: ValueProfile?, _ connection: ValueProfile) -> ValueProfile {
        guard var own else { return connection }
        if own.areInsideJSON { (own.dates, own.areInsideJSON) = (connection.jsonDates.stored, false) }
        return own
    }
}

/// The form in which a `Date` inside a JSON document is stored. ISO 8601 text can be read with each of these forms.
public enum JSONDateStrategy: UInt8, Hashable, Sendable, CaseIterable {
    /// ISO 8601 text in UTC, rounded to milliseconds, such as `2026-11-21T08:30:00.250Z`. Only years 0000 to 9999; other years
    /// throw. A number cannot be read.
    case iso8601
    /// Milliseconds since 1970-01-01 00:00 UTC, with a fraction, as GRDB stores them.
    case millisecondsSince1970
    /// Seconds since 1970-01-01 00:00 UTC, with a fraction.
    case secondsSince1970
    /// Seconds since 2001-01-01 00:00 UTC, exactly, as `Date` codes itself.
    case deferredToDate

    /// As an option of a coder.
    var option: JSONCodingOptions.Dates {
        switch self {
        case .iso8601: .iso8601
        case .millisecondsSince1970: .millisecondsSince1970
        case .secondsSince1970: .secondsSince1970
        case .deferredToDate: .deferredToDate
        }
    }

    /// The same form as that of a value outside of a document.
    package var stored: DateStrategy {
        switch self {
        case .iso8601: .iso8601
        case .millisecondsSince1970: .custom(ExactMilliseconds.self)
        case .secondsSince1970: .realSeconds
        case .deferredToDate: .secondsSince2001
        }
    }
}

/// Milliseconds since 1970 with their fraction, as JSON has them.
private enum ExactMilliseconds: CustomDateStrategy {
    static func stored(_ date: Date) throws -> SQLValue { .real(date.timeIntervalSince1970 * 1000) }

    static func date(_ value: SQLValue) -> Date? {
        switch value {
        case .integer(let number): Date(timeIntervalSince1970: Double(number) / 1000)
        case .real(let number) where number.isFinite: Date(timeIntervalSince1970: number / 1000)
        default: nil
        }
    }
}

/// The form in which a `UUID` is stored. Reading accepts blobs, and text in either case, whatever the strategy.
public enum UUIDStrategy: UInt8, Hashable, Sendable, CaseIterable {
    /// A BLOB of its 16 bytes.
    case blob
    /// TEXT of 36 characters in uppercase, as Foundation writes it.
    case uppercaseText
    /// TEXT of 36 characters in lowercase (RFC 9562).
    case lowercaseText
}

/// The form in which a `Decimal` is stored. Reading accepts numbers and text, whatever the strategy.
public enum DecimalStrategy: UInt8, Hashable, Sendable, CaseIterable {
    /// INTEGER if it is a whole number that fits in 64 bits, otherwise the REAL whose shortest decimal form is this decimal. All
    /// decimals of up to 15 digits have such a REAL; longer decimals without such a REAL throw
    /// ``DatabaseError/Reason/invalidArgument``.
    ///
    /// Comparisons, `ORDER BY`, `min`, `max` and indexes then work correctly. `sum()` and `avg()` add REALs, and may differ from
    /// the decimal sum in the sixteenth digit: where that matters, add in Swift or store whole cents. Declare the column as
    /// `NUMERIC` or without a type: a `TEXT` column turns numbers into text and compares them as text, and a `REAL` column rounds
    /// whole numbers above 2^53.
    case number
    /// TEXT in decimal digits, which keeps all 38 digits. SQLite compares it as text, so that `'9'` is greater than `'10'`;
    /// ``SQLExpression`` refuses `<`, `>` and `BETWEEN` with such a value.
    case text
}
