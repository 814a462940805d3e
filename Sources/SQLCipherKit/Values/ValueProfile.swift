/// How a connection stores dates, UUIDs and decimals, for which SQLite has no types of its own.
///
/// It decides how they are bound to statements and written in records. All forms are read, whatever the profile. SQLite compares
/// what is stored, and not what it means: if a database comes from somewhere else, use the profile that it was written with.
/// ```swift
/// var configuration = DatabaseConfiguration()
/// configuration.values = .grdb
/// configuration.values.decimals = .number
/// ```
/// ``Schema/valueReport(sampling:)`` tells which profile fits a database, and
/// ``Schema/convertValues(of:in:to:allowingRounding:)`` changes a column. For a single column of a record see
/// ``SQLRecord/columnProfiles``.
public struct ValueProfile: Hashable, Sendable {
    /// How a `Date` is stored. Default: ISO 8601 text in UTC with milliseconds.
    public var dates: DateStrategy
    /// How a `UUID` is stored. Default: a blob of 16 bytes.
    public var uuids: UUIDStrategy
    /// How a `Decimal` is stored. Default: as a number.
    public var decimals: DecimalStrategy

    /// A profile.
    public init(dates: DateStrategy = .iso8601, uuids: UUIDStrategy = .blob, decimals: DecimalStrategy = .number) {
        self.dates = dates
        self.uuids = uuids
        self.decimals = decimals
    }

    /// This package's own: dates as `2026-11-21T08:30:00.250Z`, UUIDs as 16 bytes, decimals as numbers.
    public static let standard = ValueProfile()

    /// As SQLite's `CURRENT_TIMESTAMP` and `datetime()` give dates: `2026-11-21 08:30:00`. UUIDs and decimals as in ``standard``.
    public static let sqlite = ValueProfile(dates: .text(.currentTimestamp))

    /// As SAP's `SecureDatabaseStore` binds them: dates as whole seconds since 1970, UUIDs, which it takes as strings, as text in
    /// capitals.
    public static let sap = ValueProfile(dates: .integerSeconds, uuids: .uppercaseText)

    /// As DataLiteCore binds them: dates as `2026-11-21T08:30:00Z`, UUIDs as text in capitals.
    public static let dataLiteCore = ValueProfile(dates: .text(.iso8601Seconds), uuids: .uppercaseText)

    /// As SkipSQL's documentation maps them, which leaves it to each type: dates as fractional seconds since 1970, UUIDs as text in
    /// capitals. For its mapping of dates to a TEXT column take ``dataLiteCore``, whose form is the same.
    public static let skipSQL = ValueProfile(dates: .realSeconds, uuids: .uppercaseText)

    /// As GRDB binds them: dates as `2026-11-21 08:30:00.250`, UUIDs as 16 bytes, decimals as text.
    public static let grdb = ValueProfile(dates: .text(DateTextFormat(separator: .space, zone: .none)), decimals: .text)

    /// As SQLite.swift binds them: dates as `2026-11-21T08:30:00.250`, UUIDs as text in capitals.
    public static let sqliteSwift = ValueProfile(dates: .text(DateTextFormat(zone: .none)), uuids: .uppercaseText)

    /// The profiles above with their names, such as `grdb`.
    public static let named: [(name: String, profile: ValueProfile)] = [
        ("standard", .standard), ("sqlite", .sqlite), ("grdb", .grdb), ("sqliteSwift", .sqliteSwift),
        ("dataLiteCore", .dataLiteCore), ("skipSQL", .skipSQL), ("sap", .sap),
    ]

}

/// How a `UUID` is stored. Blobs and text in either case are read, whatever the strategy.
public enum UUIDStrategy: UInt8, Hashable, Sendable, CaseIterable {
    /// A BLOB of its 16 bytes.
    case blob
    /// TEXT of 36 characters, in capitals, as Foundation writes it.
    case uppercaseText
    /// TEXT of 36 characters, in small letters (RFC 9562).
    case lowercaseText
}

/// How a `Decimal` is stored. Numbers and text are read, whatever the strategy.
public enum DecimalStrategy: UInt8, Hashable, Sendable, CaseIterable {
    /// INTEGER if it is whole and fits into 64 bits, or else the REAL that has it as its shortest decimal form, as it is for all
    /// decimals of up to 15 digits. A decimal that has no such number throws ``DatabaseError/Reason/invalidArgument``.
    ///
    /// Comparisons, `ORDER BY`, `min`, `max` and indexes are then right. `sum()` and `avg()` add REALs, and may differ from the
    /// decimal sum in the sixteenth digit: add up in Swift, or store whole cents, where that matters. Declare the column as
    /// `NUMERIC`, or without a type: a `TEXT` column turns numbers into text, and compares them as such, and a `REAL` column rounds
    /// whole numbers above 2^53.
    case number
    /// TEXT in decimal digits, which keeps all 38 of them. SQLite compares it as text, so that `'9'` is greater than `'10'`;
    /// ``SQLExpression`` refuses `<`, `>` and `BETWEEN` with such a value.
    case text
}
