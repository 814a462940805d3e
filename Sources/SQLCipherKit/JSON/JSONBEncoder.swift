import Foundation

/// Encodes Swift values as JSONB (<https://sqlite.org/jsonb.html>), without a text or a tree in between.
/// ```swift
/// struct Meta: Codable { var city: String; var tags: [String] }
/// let bytes = try JSONBEncoder().encode(Meta(city: "Roma", tags: ["a"]))
/// try db.execute("INSERT INTO note(meta) VALUES (\(bytes))")
/// ```
/// The document is the one that `JSONEncoder` would write as text with the same options, but for the order of its members,
/// which is the one they are encoded in, and for the fraction of a `Double` that is a whole number: `2.0`, as SQLite writes it.
/// Integers of every width and `Decimal`s keep every digit. ``JSONColumn`` does this for a column of its own accord.
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
        let encoder = JSONBValueEncoder(sink, depth: 0, parent: nil, key: nil)
        try encoder.write(value, key: nil)
        if let failure = context.failure { throw failure }
        if sink.writer.isEmpty {
            throw EncodingError.invalidValue(value, .init(codingPath: [], debugDescription: "\(T.self) did not encode any value"))
        }
        return sink.writer
    }
}

/// What all encoders of one call share.
final class JSONBEncodingContext {
    let options: JSONCodingOptions
    let limit: Int
    let userInfo: [CodingUserInfoKey: Any]
    /// An error of a call that cannot throw, such as asking for a container. Every later call throws it.
    var failure: EncodingError?
    /// Asked for when a value turns out to be deep.
    lazy var stack = StackLimit.ofThisThread()

    init(_ options: JSONCodingOptions) {
        self.options = options
        limit = options.limit
        userInfo = options.userInfo
    }
}

/// Where elements are written to. Containers that an encoder asks for by name may be filled in any order, so each of them gets a
/// sink of its own, and a placeholder keeps its place until its owner ends.
final class JSONBSink {
    let context: JSONBEncodingContext
    let writer: JSONBWriter
    private var splices: [Splice] = []

    private struct Splice {
        var offset: Int
        let encoder: JSONBValueEncoder
    }

    init(_ context: JSONBEncodingContext) {
        self.context = context
        writer = JSONBWriter()
    }

    /// Keeps the place of what another encoder is going to write.
    func reserve(for encoder: JSONBValueEncoder) {
        splices.append(Splice(offset: writer.count, encoder: encoder))
        writer.appendEmpty(.null)
    }

    func truncate(to offset: Int) {
        while let last = splices.last, last.offset >= offset { splices.removeLast() }
        writer.truncate(to: offset)
    }

    func remove(_ range: Range<Int>) {
        writer.remove(range)
        splices.removeAll { range.contains($0.offset) }
        for index in splices.indices where splices[index].offset >= range.upperBound { splices[index].offset -= range.count }
    }

    /// Puts what other encoders have written into the places kept for it, from an offset on.
    func resolve(from offset: Int) throws {
        guard let first = splices.firstIndex(where: { $0.offset >= offset }) else { return }
        let pending = Array(splices[first...])
        splices.removeSubrange(first...)
        let tail = writer.removeTail(from: offset)
        var position = 0
        for splice in pending {
            try splice.encoder.finish()
            tail.withBytes { writer.append(elements: UnsafeRawBufferPointer(rebasing: $0[position..<splice.offset - offset])) }
            splice.encoder.sink.writer.withBytes { writer.append(elements: $0) }
            position = splice.offset - offset + 1
        }
        tail.withBytes { writer.append(elements: UnsafeRawBufferPointer(rebasing: $0[position...])) }
    }
}
