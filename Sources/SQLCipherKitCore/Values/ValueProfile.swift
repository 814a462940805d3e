/// How a connection stores dates, UUIDs and decimals, for which SQLite has no storage class.
///
/// It determines how they are bound to statements and written in records. Reading accepts all text forms, UUIDs
/// and decimals, whatever the profile; a number that is read as a date means what the profile says. SQLite compares the stored
/// values, not their meaning: for a database that another program wrote, use the profile that it was written with.
/// ```swift
/// var configuration = DatabaseConfiguration()
/// configuration.valueProfile = .grdb
/// configuration.valueProfile.decimals = .number
/// ```
/// ``Schema/valueReport(sampling:limits:)`` reports which profile fits a database, and
/// ``Schema/convertValues(of:in:to:allowingRounding:)`` converts a column. For a single column of a record, see
/// ``ColumnCodingCustomizable/columnProfiles``.
public struct ValueProfile: Hashable, Sendable {
    /// How a `Date` is stored. Default: ``DateStrategy/timestamp``, text in UTC with milliseconds as SQLite writes it.
    public var dates: DateStrategy
    /// How a `UUID` is stored. Default: a blob of 16 bytes.
    public var uuids: UUIDStrategy
    /// How a `Decimal` is stored. Default: as a number.
    public var decimals: DecimalStrategy

    /// Creates a profile.
    public init(dates: DateStrategy = .timestamp, uuids: UUIDStrategy = .blob, decimals: DecimalStrategy = .number) {
        self.dates = dates
        self.uuids = uuids
        self.decimals = decimals
    }

    /// This package's default: dates as `2026-11-21 08:30:00.250`, UUIDs as 16 bytes, decimals as numbers.
    public static let standard = ValueProfile()

    /// Dates as `2026-11-21T08:30:00.250Z`, this package's default before 1.0. UUIDs and decimals as in ``standard``.
    public static let iso8601 = ValueProfile(dates: .iso8601)

    /// Dates as from SQLite's `CURRENT_TIMESTAMP` and `datetime()`: `2026-11-21 08:30:00`. UUIDs and decimals as in ``standard``.
    public static let sqlite = ValueProfile(dates: .text(.currentTimestamp))

    /// As SAP's `SecureDatabaseStore` binds them: dates as whole seconds since 1970; UUIDs, which it takes as strings, as uppercase
    /// text.
    public static let sap = ValueProfile(dates: .integerSeconds, uuids: .uppercaseText)

    /// As DataLiteCore binds them: dates as `2026-11-21T08:30:00Z`, UUIDs as uppercase text.
    public static let dataLiteCore = ValueProfile(dates: .text(.iso8601Seconds), uuids: .uppercaseText)

    /// As SkipSQL's documentation maps them (it leaves the choice to each type): dates as fractional seconds since 1970, UUIDs as
    /// uppercase text. Its mapping of dates to a TEXT column is the same as in ``dataLiteCore``.
    public static let skipSQL = ValueProfile(dates: .realSeconds, uuids: .uppercaseText)

    /// As GRDB binds them: dates as `2026-11-21 08:30:00.250`, UUIDs as 16 bytes, decimals as text.
    public static let grdb = ValueProfile(dates: .timestamp, decimals: .text)

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

/// How a `UUID` is stored. Reading accepts blobs, and text in either case, whatever the strategy.
public enum UUIDStrategy: UInt8, Hashable, Sendable, CaseIterable {
    /// A BLOB of its 16 bytes.
    case blob
    /// TEXT of 36 characters in uppercase, as Foundation writes it.
    case uppercaseText
    /// TEXT of 36 characters in lowercase (RFC 9562).
    case lowercaseText
}

/// How a `Decimal` is stored. Reading accepts numbers and text, whatever the strategy.
public enum DecimalStrategy: UInt8, Hashable, Sendable, CaseIterable {
    /// INTEGER if it is a whole number that fits in 64 bits, otherwise the REAL with this decimal as its shortest decimal form,
    /// which exists for all decimals of up to 15 digits. A decimal without such a number throws
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
