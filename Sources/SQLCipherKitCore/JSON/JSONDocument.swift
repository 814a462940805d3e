import Foundation

/// A value that is bound as JSON.
struct JSONDocument<Value: Encodable & Sendable>: Sendable {
    private let value: Value
    private let format: JSONFormat
    private let options: JSONCodingOptions?

    /// - Parameter options: the options for types without their own; nil for those of the value's type, or of the profile.
    init(_ value: Value, as format: JSONFormat = .jsonb, _ options: JSONCodingOptions? = nil) {
        self.value = value
        self.format = format
        self.options = options
    }

    private func encoded(_ profile: ValueProfile) throws -> JSONBWriter {
        do { return try JSONBEncoder(options: options ?? .of(Value.self, profile.jsonDates)).writer(value) } catch {
            throw DatabaseError.invalidArgument("a \(Value.self) cannot be written as JSON: \(error.jsonDescription)")
        }
    }
}

extension JSONDocument: SQLValueConvertible {
    var sqlValue: SQLValue { get throws { try sqlValue(in: .standard) } }

    func sqlValue(in profile: ValueProfile) throws -> SQLValue {
        let format = format
        return try encoded(profile).withBytes { format == .jsonb ? .blob(Data($0)) : .text(JSONB.text($0)) }
    }

    /// A document can only be bound.
    init?(sqlValue: SQLValue) { nil }

    func _bindSQL(to parameter: borrowing Statement._Parameter) throws {
        let writer = try encoded(parameter.profile)
        if format == .jsonb {
            try writer.withBytes { bytes in try parameter.bind(bytes: bytes) }
        } else {
            try parameter.put(writer.withBytes { JSONB.text($0) })
        }
    }
}

extension Row._Column {
    /// Decodes the column's JSON, in either form, as a type.
    /// - Throws: any error of the coder, and ``DatabaseError`` for a column that is neither text nor a blob.
    func json<T: Decodable>(as type: T.Type) throws -> (value: T, format: JSONFormat) {
        let isText = storageClass == .text
        let bytes = try rawBytes(text: true, blob: true, as: "JSON")
        return try JSONBDecoder(options: .of(type, profile.jsonDates)).decode(type, stored: bytes, isText: isText)
    }
}
