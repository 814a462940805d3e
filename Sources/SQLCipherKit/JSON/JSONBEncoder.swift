import Foundation

/// Encodes Swift values as JSONB (<https://sqlite.org/jsonb.html>), without a text or a tree in between.
/// ```swift
/// struct Meta: Codable { var city: String; var tags: [String] }
/// let bytes = try JSONBEncoder().encode(Meta(city: "Roma", tags: ["a"]))
/// try db.execute("INSERT INTO note(meta) VALUES (\(bytes))")
/// ```
/// The document is the one that `JSONEncoder` would write as text, but for dates, which are text in ISO 8601 unless ``options`` say
/// otherwise, for the order of members, which is the one they are encoded in, those of dictionaries sorted, and for the fraction of
/// a `Double` that is a whole number: `2.0`, as SQLite writes it. Integers of every width and `Decimal`s keep every digit. A type
/// that is ``JSONCodingCustomizable`` is written by its own options. ``JSONColumn``, `Codable` rows and records, and key-value
/// stores do this of their own accord.
public struct JSONBEncoder: Sendable {
    /// How dates, bytes and special numbers are written, and how deep a value may be.
    public var options = JSONCodingOptions()

    /// An encoder with default options.
    public init() {}

    /// An encoder with these options.
    public init(options: JSONCodingOptions) { self.options = options }

    /// Encodes a value.
    /// - Throws: `EncodingError` for a value that JSON cannot hold, for one nested too deeply, and for a type that encodes
    ///   nothing; and what the value's own `encode(to:)` throws.
    public func encode<T: Encodable>(_ value: T) throws -> Data { try writer(value).withBytes { Data($0) } }

    /// Encodes a value as JSON text, without blanks.
    /// - Throws: as ``encode(_:)``.
    public func encodeText<T: Encodable>(_ value: T) throws -> String { try writer(value).withBytes { JSONB.text($0) } }

    func writer<T: Encodable>(_ value: T) throws -> JSONBWriter {
        let context = JSONBEncodingContext(options)
        let sink = JSONBSink(context)
        // A container that the caller has kept takes nothing any more.
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

/// What all encoders of one call share.
final class JSONBEncodingContext {
    // A type that is asked for its options may encode, but in a context of its own.
    @exclusivity(unchecked) var scopes: JSONScopes
    let limit: Int
    /// An error of a call that cannot throw, such as asking for a container. Every later call throws it.
    var failure: EncodingError?
    /// Whether the call has returned.
    var isOver = false
    let stack = StackLimit.ofThisThread()

    init(_ options: JSONCodingOptions) {
        scopes = JSONScopes(options)
        limit = options.limit
    }
}
