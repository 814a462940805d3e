import Foundation

/// How JSON holds what it has no form of its own for: dates, bytes, infinities.
///
/// A type says it for its values by ``JSONCodingCustomizable``. The defaults are those of Foundation's `JSONEncoder`, but for
/// dates, which are text in ISO 8601.
public struct JSONCodingOptions: Sendable {
    /// How a `Date` is written. ISO 8601 text is read under each of these but ``custom(encode:decode:)``. A number is read only
    /// where dates are numbers: it does not tell whether it counts from 1970 or from 2001.
    public enum Dates: Sendable {
        /// As `Date` encodes itself: seconds since 2001-01-01 00:00 UTC, to the last bit.
        case deferredToDate
        /// Seconds since 1970-01-01 00:00 UTC, with a fraction.
        case secondsSince1970
        /// Milliseconds since 1970-01-01 00:00 UTC, with a fraction.
        case millisecondsSince1970
        /// Text in ISO 8601, UTC, rounded to milliseconds, such as `2026-11-21T08:30:00.250Z`: what SQLite's date functions
        /// understand (<https://sqlite.org/lang_datefunc.html>). Years 0000 to 9999 only; others throw. A number is not read.
        case iso8601
        /// As the closures do it.
        case custom(
            encode: @Sendable (Date, any Encoder) throws -> Void, decode: @Sendable (any Decoder) throws -> Date)
    }

    /// How `Data` is written.
    public enum Bytes: Sendable {
        /// Text in Base64 (RFC 4648, section 4).
        case base64
        /// As `Data` encodes itself: an array of numbers.
        case deferredToData
    }

    /// What becomes of infinities and NaN, which JSON has not.
    public enum NonConformingFloats: Sendable {
        /// They are refused.
        case refuse
        /// They are written as these texts.
        case strings(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    /// How a `Date` is written. Default: ``Dates/iso8601``, to the millisecond.
    public var dates: Dates = .iso8601
    /// How `Data` is written. Default: ``Bytes/base64``.
    public var data: Bytes = .base64
    /// What becomes of infinities and NaN. Default: ``NonConformingFloats/refuse``.
    public var nonConformingFloats: NonConformingFloats = .refuse
    /// How many containers may be nested in each other, at most 1,000, SQLite's own limit. Default: 512, that of `JSONDecoder`.
    /// Each level takes some hundred bytes to a few kilobytes of the thread's stack, depending on the types; where that has no more
    /// room, the coder throws as well. For the whole document the coder's own options count, or those of a column's type.
    public var maximumDepth = 512
    /// What the types that are coded find in their coder's `userInfo`. A type's own entries are added to the coder's, and win.
    /// Default: empty.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    /// How a row's column holds a property of the type. A ``JSONColumn`` says it itself. Default: text.
    public var columnFormat: JSONFormat = .text

    /// The defaults.
    public init() {}

    var limit: Int { max(0, min(maximumDepth, JSONB.maximumDepth)) }
}

/// A coding key that is only its text, or its index in an array.
struct JSONBKey: CodingKey, Hashable {
    let stringValue: String
    let intValue: Int?

    init(_ name: String) {
        stringValue = name
        intValue = nil
    }

    init(index: Int) {
        stringValue = "Index \(index)"
        intValue = index
    }

    init?(stringValue: String) { self.init(stringValue) }

    init?(intValue: Int) {
        stringValue = String(intValue)
        self.intValue = intValue
    }

    /// The key under which a superclass is coded.
    static let `super` = JSONBKey("super")
}
