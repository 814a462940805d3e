import Foundation

/// A `Codable` value in one column, as JSONB or as JSON text.
/// ```swift
/// struct Meta: Codable, Sendable { var city: String; var tags: [String] }
///
/// try db.execute("INSERT INTO note(meta) VALUES (\(JSONColumn(meta)))")
/// let all = try db.fetchAll(JSONColumn<Meta>.self, "SELECT meta FROM note").map(\.value)
/// let tags = try db.fetchAll(String.self, "SELECT value FROM note, json_each(note.meta, ?)", [JSONPath("tags")])
/// ```
/// It is written in its ``format`` and read in any form: a BLOB is JSONB (<https://sqlite.org/jsonb.html>) or, if another program
/// stored text as bytes, JSON text; TEXT is JSON text (RFC 8259). SQL's NULL is not a document: read a `JSONColumn<Meta>?` if the
/// column may be NULL. A type that conforms to ``JSONCodingCustomizable`` defines how dates and similar values are coded; for other
/// types, the profile's ``ValueProfile/jsonDates`` defines the form of dates.
///
/// A record can have such a property. A plain `Codable` property is also JSON, in the form of ``JSONCodingOptions/columnFormat``.
/// ```swift
/// struct Note: SQLRecord { var id: Int64?; var meta: JSONColumn<Meta>; var tags: [String] }
/// ```
/// In a query, `==` compares whole documents as minified JSON text, in whatever format they are stored; your own SQL compares their
/// bytes. To compare values inside documents, see ``SQLExpression/json(_:as:)``.
public struct JSONColumn<Value: Codable & Sendable>: Sendable {
    /// The value.
    public var value: Value
    /// The format in which the value is stored when it is bound. For a value that was read: its format in the database.
    public var format: JSONFormat

    /// Creates a value for a column.
    /// - Parameters:
    ///   - value: the value to store.
    ///   - format: how it is stored. Default: JSONB.
    public init(_ value: Value, as format: JSONFormat = .jsonb) {
        self.value = value
        self.format = format
    }
}

extension JSONColumn: Equatable where Value: Equatable {
    /// Returns whether the values are equal, in whatever format they are stored.
    public static func == (a: JSONColumn, b: JSONColumn) -> Bool { a.value == b.value }
}

extension JSONColumn: Hashable where Value: Hashable {
    public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

/// Inside other JSON, it is coded as its value. As a property of a `Codable` row or record it is a column.
extension JSONColumn: Codable {
    /// Decodes the value alone; ``format`` is then ``JSONFormat/jsonb``.
    /// - Throws: the error of the value's own decoding.
    public init(from decoder: any Decoder) throws { self.init(try decoder.singleValueContainer().decode(Value.self)) }

    /// Encodes the value alone, without ``format``.
    /// - Throws: the error of the value's own encoding.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}

extension JSONColumn: SQLValueConvertible {
    public static var _isJSONDocument: Bool { true }

    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a value that JSON cannot hold.
    public var sqlValue: SQLValue { get throws { try sqlValue(in: .standard) } }

    /// The document in its ``format``, with dates in the form of the profile's ``ValueProfile/jsonDates``, unless the type is
    /// ``JSONCodingCustomizable``.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a value that JSON cannot hold, such as NaN, or that the type's own
    ///   `encode(to:)` refuses.
    public func sqlValue(in profile: ValueProfile) throws -> SQLValue {
        try JSONDocument(value, as: format).sqlValue(in: profile)
    }

    public init?(sqlValue: SQLValue) { self.init(sqlValue: sqlValue, in: .standard) }

    public init?(sqlValue: SQLValue, in profile: ValueProfile) {
        let decoder = JSONBDecoder(options: .of(Value.self, profile.jsonDates))
        let found: (value: Value, format: JSONFormat)? =
            switch sqlValue {
            case .blob(let data): try? data.withUnsafeBytes { try decoder.decode(Value.self, stored: $0, isText: false) }
            case .text(var text):
                try? text.withUTF8 { try decoder.decode(Value.self, stored: UnsafeRawBufferPointer($0), isText: true) }
            default: nil
            }
        guard let found else { return nil }
        self.init(found.value, as: found.format)
    }

    /// Decodes a column directly from the engine's memory.
    /// - Throws: ``DatabaseError/Reason/typeMismatch`` with the path to the part that does not fit the type.
    public static func _readSQL(from column: borrowing Row._Column) throws -> JSONColumn {
        do {
            let (value, format) = try column.json(as: Value.self)
            return JSONColumn(value, as: format)
        } catch { throw column.undecodable(Value.self, error) }
    }

    public func _bindSQL(to parameter: borrowing Statement._Parameter) throws {
        try JSONDocument(value, as: format)._bindSQL(to: parameter)
    }
}
