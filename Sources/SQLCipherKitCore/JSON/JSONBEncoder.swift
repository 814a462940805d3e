import Foundation

/// Encodes Swift values as JSONB (<https://sqlite.org/jsonb.html>), without building text or a tree.
/// ```swift
/// struct Meta: Codable { var city: String; var tags: [String] }
/// let bytes = try JSONBEncoder().encode(Meta(city: "Roma", tags: ["a"]))
/// try db.execute("INSERT INTO note(meta) VALUES (\(bytes))")
/// ```
/// The document is the same as the text that `JSONEncoder` would write, with three differences. Dates are ISO 8601 text unless
/// ``options`` say otherwise. Members are in the order in which they are encoded; the members of dictionaries are sorted. A
/// `Double` that is a whole number has a fraction, `2.0`, as SQLite writes it. Integers of every width and `Decimal`s keep every
/// digit. A type that is ``JSONCodingCustomizable`` is written with its own options. ``JSONColumn``, `Codable` rows and records,
/// and key-value stores encode in this way by themselves.
public struct JSONBEncoder: Sendable {
    /// The forms in which dates, bytes and special numbers are written, and the greatest depth of a value.
    public var options: JSONCodingOptions

    /// Creates an encoder with these options.
    /// - Parameter options: the forms of dates, bytes and special numbers, and the greatest depth. Default: ISO 8601 text, Base64
    ///   text, an error, and 512.
    public init(options: JSONCodingOptions = JSONCodingOptions()) { self.options = options }

    /// Encodes a value.
    /// - Throws: `EncodingError` for a value that JSON cannot hold, for a value nested too deeply, and for a type that encodes
    ///   nothing; and any error of the value's own `encode(to:)`.
    public func encode<T: Encodable>(_ value: T) throws -> Data { try writer(value).withBytes { Data($0) } }

    /// Encodes a value as JSON text without whitespace.
    /// - Throws: the errors of ``encode(_:)``.
    public func encodeText<T: Encodable>(_ value: T) throws -> String { try writer(value).withBytes { JSONB.text($0) } }

    package func writer<T: Encodable>(_ value: T) throws -> JSONBWriter {
        let context = JSONBEncodingContext(options)
        let sink = JSONBSink(context)
        // A container that the caller has kept accepts nothing more.
        defer {
            context.isOver = true
            sink.end()
        }
        let encoder = JSONBValueEncoder(sink, depth: 0, scope: 0, parent: nil, key: nil)
        try encoder.write(value, key: nil)
        if let failure = context.failure { throw failure }
        if sink.writer.isEmpty { throw EncodingError.invalidValue(value, .own([], "\(T.self) did not encode any value")) }
        return sink.writer
    }
}

/// The state that all encoders of one call share.
final class JSONBEncodingContext {
    // A type may encode while it returns its options, but in another context.
    @exclusivity(unchecked) var scopes: JSONScopes
    let limit: Int
    /// An error in a call that cannot throw, such as a request for a container. Every later call throws it.
    var failure: EncodingError?
    /// True if a date was written by the coder's options.
    var hasDates = false
    /// True if the call has returned.
    var isOver = false
    let stack = StackLimit.ofThisThread()

    init(_ options: JSONCodingOptions) {
        scopes = JSONScopes(options)
        limit = options.limit
    }
}
