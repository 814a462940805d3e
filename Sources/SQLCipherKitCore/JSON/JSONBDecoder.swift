import Foundation

/// Decodes Swift values directly from the bytes of JSONB (<https://sqlite.org/jsonb.html>), without building text or a tree.
/// ```swift
/// let bytes = try db.fetchOne(Data.self, "SELECT meta FROM note WHERE id = \(id)")
/// let meta = try bytes.map { try JSONBDecoder().decode(Meta.self, from: $0) }
/// ```
/// It accepts and refuses the same documents as `JSONDecoder` does for the same text, with these differences. Dates are ISO 8601
/// text unless ``options`` say otherwise. A `Decimal` with more digits than it can hold is refused instead of rounded. If several
/// members have the same key, the first counts, as in SQLite's paths. A type that is ``JSONCodingCustomizable`` is read with its
/// own options. Bytes that are not JSONB, whatever their source, throw a `DecodingError`; the whole structure is checked first.
/// ``JSONColumn``, `Codable` rows and records, and key-value stores decode in this way by themselves.
public struct JSONBDecoder: Sendable {
    /// The forms in which dates, bytes and special numbers are read, and the greatest depth of a document.
    public var options: JSONCodingOptions

    /// Creates a decoder with these options.
    /// - Parameter options: the forms of dates, bytes and special numbers, and the greatest depth. Default: ISO 8601 text, Base64
    ///   text, an error, and 512.
    public init(options: JSONCodingOptions = JSONCodingOptions()) { self.options = options }

    /// Decodes a value from JSONB.
    /// - Throws: `DecodingError` for bytes that are not JSONB, for a document nested too deeply, and for a document that does not
    ///   fit the type; and any error of the type's own `init(from:)`.
    public func decode<T: Decodable>(_ type: T.Type = T.self, from data: Data) throws -> T {
        try data.withUnsafeBytes { try decode(type, from: $0) }
    }

    /// Decodes a value from JSONB in memory. The bytes are no longer needed after the call.
    /// - Throws: the errors of ``decode(_:from:)-(_,Data)``.
    public func decode<T: Decodable>(_ type: T.Type = T.self, from bytes: UnsafeRawBufferPointer) throws -> T {
        var context: JSONBDecodingContext
        do throws(JSONBError) { context = try self.context(bytes) } catch { throw error.decodingError }
        return try decode(type, &context)
    }

    private func context(_ bytes: UnsafeRawBufferPointer) throws(JSONBError) -> JSONBDecodingContext {
        guard bytes.count < Int(Int32.max) else { throw JSONBError(.tooLarge, at: 0) }
        let depth = try JSONB.check(bytes, maximumDepth: options.limit)
        guard let base = bytes.baseAddress else { throw JSONBError(.malformed, at: 0) }
        return JSONBDecodingContext(base, bytes.count, depth, options)
    }

    private func decode<T: Decodable>(_ type: T.Type, _ context: inout JSONBDecodingContext) throws -> T {
        // If a type has kept a decoder, the decoder continues with its own copy of the bytes.
        defer { if !isKnownUniquelyReferenced(&context) { context.keepBytes() } }
        let value = try context.decode(type, context.element(at: 0), depth: 0, scope: 0)
        if let failure = context.failure { throw failure }
        return value
    }

    /// Decodes the content of a column. As in SQLite, a blob that is not JSONB may hold the bytes of JSON text
    /// (<https://sqlite.org/json1.html#handling_of_malformed_jsonb>).
    func decode<T: Decodable>(
        _ type: T.Type, stored bytes: UnsafeRawBufferPointer, isText: Bool
    ) throws -> (value: T, format: JSONFormat) {
        if isText { return (try decode(type, fromUTF8: bytes), .text) }
        var context: JSONBDecodingContext
        do throws(JSONBError) { context = try self.context(bytes) } catch {
            guard error.problem == .malformed, let writer = try? parsed(bytes) else { throw error.decodingError }
            return (try writer.withBytes { bytes throws(any Error) in try decode(type, from: bytes) }, .text)
        }
        return (try decode(type, &context), .jsonb)
    }

    /// Decodes a value from JSON text (RFC 8259).
    /// - Throws: the errors of ``decode(_:from:)-(_,Data)``.
    public func decode<T: Decodable>(_ type: T.Type = T.self, fromText text: String) throws -> T {
        var text = text
        return try text.withUTF8 { try decode(type, fromUTF8: UnsafeRawBufferPointer($0)) }
    }

    func decode<T: Decodable>(_ type: T.Type, fromUTF8 text: UnsafeRawBufferPointer) throws -> T {
        let writer: JSONBWriter
        do throws(JSONBError) { writer = try parsed(text) } catch { throw error.decodingError }
        return try writer.withBytes { bytes throws(any Error) in try decode(type, from: bytes) }
    }

    /// A decoder that keeps the document, of the content of a column.
    /// - Parameter types: the type that is decoded, and those that it decodes in its own place.
    func decoder(stored bytes: UnsafeRawBufferPointer, isText: Bool, as types: [any Any.Type]) throws -> JSONBDecoding {
        func kept(_ bytes: UnsafeRawBufferPointer) throws(JSONBError) -> JSONBDecoding {
            let context = try self.context(bytes)
            context.keepBytes()
            return JSONBDecoding(context, 0, 0, context.scopes.scope(of: types))
        }
        do throws(JSONBError) {
            if !isText {
                do throws(JSONBError) { return try kept(bytes) } catch { if error.problem != .malformed { throw error } }
            }
            return try parsed(bytes).withBytes(kept)
        } catch { throw error.decodingError }
    }

    /// A decoder of the document in a stored value, for a value of a type.
    package static func decoder(of stored: SQLValue, as type: any Any.Type, _ dates: JSONDateStrategy) throws -> any Decoder {
        let decoder = JSONBDecoder(options: .of(type, dates))
        switch stored {
        case .text(var text):
            return try text.withUTF8 { try decoder.decoder(stored: UnsafeRawBufferPointer($0), isText: true, as: [type]) }
        case .blob(let data): return try data.withUnsafeBytes { try decoder.decoder(stored: $0, isText: false, as: [type]) }
        case .null, .integer, .real:
            throw DecodingError.typeMismatch(type, .own([], "expected JSON, found \(stored.storageClass.rawValue)"))
        }
    }

    /// Returns the minified text of a document in a column, in either form; nil if it is none.
    package static func minified(_ stored: SQLValue) -> String? {
        let decoder = JSONBDecoder()
        switch stored {
        case .text(var text):
            return try? text.withUTF8 { try decoder.parsed(UnsafeRawBufferPointer($0)).withBytes { JSONB.text($0) } }
        case .blob(let data):
            return data.withUnsafeBytes { bytes in
                if (try? decoder.context(bytes)) != nil { return JSONB.text(bytes) }
                return try? decoder.parsed(bytes).withBytes { JSONB.text($0) }
            }
        case .null, .integer, .real: return nil
        }
    }

    private func parsed(_ text: UnsafeRawBufferPointer) throws(JSONBError) -> JSONBWriter {
        let writer = JSONBWriter(capacity: text.count + 16)
        try JSONTextParser.parse(text, into: writer, maximumDepth: options.limit)
        return writer
    }
}

extension JSONBError {
    fileprivate var decodingError: DecodingError { .dataCorrupted(.own([], message)) }
}
