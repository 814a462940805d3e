import Foundation

/// The JSON forms of values that JSON itself lacks: dates, bytes, infinities.
///
/// A type sets the options for its values with ``JSONCodingCustomizable``. The defaults are the same as in Foundation's
/// `JSONEncoder`, except for dates, which are ISO 8601 text.
public struct JSONCodingOptions: Sendable {
    /// The form in which a `Date` is written. ISO 8601 text can be read with each of these forms except ``custom(encode:decode:)``.
    /// A number can be read only with a form that writes numbers: the number alone does not show whether it counts from 1970 or
    /// from 2001.
    public enum Dates: Sendable {
        /// Like `Date` itself: seconds since 2001-01-01 00:00 UTC, exactly.
        case deferredToDate
        /// Seconds since 1970-01-01 00:00 UTC, with a fraction.
        case secondsSince1970
        /// Milliseconds since 1970-01-01 00:00 UTC, with a fraction.
        case millisecondsSince1970
        /// ISO 8601 text in UTC, rounded to milliseconds, such as `2026-11-21T08:30:00.250Z`, which SQLite's date functions
        /// understand (<https://sqlite.org/lang_datefunc.html>). Only years 0000 to 9999; other years throw. A number cannot be
        /// read.
        case iso8601
        /// A form of your own, which the two closures define.
        case custom(
            encode: @Sendable (Date, any Encoder) throws -> Void, decode: @Sendable (any Decoder) throws -> Date)
    }

    /// The form in which `Data` is written.
    public enum Bytes: Sendable {
        /// Base64 text (RFC 4648, section 4).
        case base64
        /// Like `Data` itself: an array of numbers.
        case deferredToData
    }

    /// The treatment of infinities and NaN, which JSON does not have.
    public enum NonConformingFloats: Sendable {
        /// The coder throws.
        case `throw`
        /// The coder writes these texts, and reads them as numbers.
        case convertToString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    /// The form in which a `Date` is written. Default: ``Dates/iso8601``, with milliseconds.
    public var dates: Dates = .iso8601
    /// The form in which `Data` is written. Default: ``Bytes/base64``.
    public var data: Bytes = .base64
    /// The treatment of infinities and NaN. Default: ``NonConformingFloats/throw``.
    public var nonConformingFloats: NonConformingFloats = .throw
    /// The maximum number of nested containers, up to 1,000, which is SQLite's own limit. Default: 512, the limit of `JSONDecoder`.
    /// Each level uses a few hundred bytes to a few kilobytes of the thread's stack, depending on the types; if the stack is full,
    /// the coder throws too. The options of the coder or of the column's type set the limit for the whole document.
    public var maximumDepth = 512
    /// The coder's `userInfo`, for the types being coded. A type's own entries are added to the coder's, and take precedence.
    /// Default: empty.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    /// The form in which a row's column stores a property of the type. A ``JSONColumn`` has its own format. Default: text.
    public var columnFormat: JSONFormat = .text

    /// The defaults.
    public init() {}

    var limit: Int { max(0, min(maximumDepth, JSONB.maximumDepth)) }
}

/// A coding key that consists only of its text, or of its index in an array.
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
