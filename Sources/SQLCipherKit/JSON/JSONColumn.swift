import Foundation

/// A `Codable` value in one column, as JSONB or as JSON text.
/// ```swift
/// struct Meta: Codable, Sendable { var city: String; var tags: [String] }
///
/// try db.execute("INSERT INTO note(meta) VALUES (\(JSONColumn(meta)))")
/// let all = try db.fetchAll(JSONColumn<Meta>.self, "SELECT meta FROM note").map(\.value)
/// let tags = try db.fetchAll(String.self, "SELECT value FROM note, json_each(note.meta, ?)", [JSONPath("tags")])
/// ```
/// It is written in its ``format``, and read in whichever form is there: a BLOB is JSONB
/// (<https://sqlite.org/jsonb.html>), TEXT is JSON text (RFC 8259). SQL's NULL is no document: read a `JSONColumn<Meta>?` where
/// it may be. A type that conforms to ``JSONCodingCustomizable`` says how dates and the like are coded.
public struct JSONColumn<Value: Codable & Sendable>: Sendable {
    /// The value.
    public var value: Value
    /// How it is stored when it is bound. Of a value that was read: how it was stored.
    public var format: JSONFormat

    /// A value for a column.
    /// - Parameters:
    ///   - value: what is stored.
    ///   - format: how it is stored. Default: JSONB.
    public init(_ value: Value, as format: JSONFormat = .jsonb) {
        self.value = value
        self.format = format
    }
}

extension JSONColumn: Equatable where Value: Equatable {}
extension JSONColumn: Hashable where Value: Hashable {}

/// A type that says how its values are coded in a ``JSONColumn``.
/// ```swift
/// extension Meta: JSONCodingCustomizable {
///     static let jsonCodingOptions = {
///         var options = JSONCodingOptions()
///         options.dates = .iso8601
///         return options
///     }()
/// }
/// ```
public protocol JSONCodingCustomizable {
    /// The options for the type and everything in it.
    static var jsonCodingOptions: JSONCodingOptions { get }
}

extension JSONColumn: SQLValueConvertible {
    private static var options: JSONCodingOptions {
        (Value.self as? any JSONCodingCustomizable.Type)?.jsonCodingOptions ?? JSONCodingOptions()
    }

    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a value that JSON cannot hold.
    public var sqlValue: SQLValue {
        get throws(DatabaseError) {
            let format = format
            return try encoded().withBytes { format == .jsonb ? .blob(Data($0)) : .text(JSONB.text($0)) }
        }
    }

    public init?(sqlValue: SQLValue) {
        let decoder = JSONBDecoder(options: Self.options)
        switch sqlValue {
        case .blob(let data):
            guard let value = try? decoder.decode(Value.self, from: data) else { return nil }
            self.init(value, as: .jsonb)
        case .text(let text):
            guard let value = try? decoder.decode(Value.self, fromText: text) else { return nil }
            self.init(value, as: .text)
        default: return nil
        }
    }

    /// Decodes a column straight from the engine's memory.
    /// - Throws: ``DatabaseError/Reason/typeMismatch`` with the path to what does not fit the type.
    public static func readSQL(from column: borrowing Row.Column) throws(DatabaseError) -> JSONColumn {
        let isText = column.storageClass == .text
        let bytes = try column.rawBytes(text: true, blob: true, as: "JSON")
        let decoder = JSONBDecoder(options: options)
        do {
            if isText { return JSONColumn(try decoder.decode(Value.self, fromUTF8: bytes), as: .text) }
            return JSONColumn(try decoder.decode(Value.self, from: bytes), as: .jsonb)
        } catch {
            throw DatabaseError(
                code: .mismatch, reason: .typeMismatch,
                message: "column \(column.name) holds JSON that is no \(Value.self): \(error.jsonDescription)")
        }
    }

    public func bindSQL(to parameter: borrowing Statement.Parameter) throws(DatabaseError) {
        let writer = try encoded()
        if format == .jsonb {
            try writer.withBytes { bytes throws(DatabaseError) in try parameter.bind(bytes: bytes) }
        } else {
            try parameter.put(writer.withBytes { JSONB.text($0) })
        }
    }

    private func encoded() throws(DatabaseError) -> JSONBWriter {
        do { return try JSONBEncoder(options: Self.options).writer(value) } catch {
            throw .invalidArgument("a \(Value.self) cannot be written as JSON: \(error.jsonDescription)")
        }
    }
}

extension Error {
    /// What a coder's error says and where, without the value it is about.
    var jsonDescription: String {
        switch self {
        case let error as DecodingError:
            switch error {
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context), .dataCorrupted(let context):
                "\(context.debugDescription) (at \(context.codingPath.jsonPath))"
            @unknown default: "it cannot be decoded"
            }
        case let error as EncodingError:
            switch error {
            case .invalidValue(_, let context): "\(context.debugDescription) (at \(context.codingPath.jsonPath))"
            @unknown default: "it cannot be encoded"
            }
        case let error as DatabaseError: error.message
        default: "\(type(of: self))"
        }
    }
}

extension [any CodingKey] {
    fileprivate var jsonPath: JSONPath { JSONPath(components: map { $0.intValue.map { .index($0) } ?? .key($0.stringValue) }) }
}
