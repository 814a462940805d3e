/// A property that leaves its column's value to the database until it is set.
///
/// Writing a record distinguishes three cases: a value; nil, which is NULL; and a property that was never set, for which an
/// insertion uses the column's default and an update keeps the value in the database.
/// ```swift
/// struct Note: SQLRecord {
///     var id: Int64?
///     var title: String
///     @ColumnDefault var made: Date?                  // made TEXT DEFAULT CURRENT_TIMESTAMP
/// }
/// var note = Note(title: "Plan")
/// try db.insert(&note)                                // INSERT INTO "note"("id", "title") VALUES (?, ?) RETURNING *
/// print(note.made!)                                   // read back
/// note.made = nil
/// try db.update(note)                                 // made is NULL now
/// ```
/// In a record that was read, the properties of all columns that were read are set. In an initializer, write a literal, nil, or
/// `ColumnDefault(value)`. Queries cannot derive a column name from a wrapped property: name its column with
/// ``SQLColumn/named(_:)``.
///
/// In JSON, a property that was never set is omitted.
@propertyWrapper
public struct ColumnDefault<Value> {
    private var value: Value?

    /// True if the property was set, to a value or to nil.
    public private(set) var isSet: Bool

    /// The value; nil for NULL, and until the property is set.
    public var wrappedValue: Value? {
        get { value }
        set {
            value = newValue
            isSet = true
        }
    }

    /// The wrapper: read `note.$made.isSet`, or assign `note.$made = ColumnDefault()` to return to the default.
    public var projectedValue: ColumnDefault {
        get { self }
        set { self = newValue }
    }

    /// Creates a property that is not set.
    public init() { isSet = false }

    /// Creates a property that is set.
    public init(wrappedValue: Value?) {
        value = wrappedValue
        isSet = true
    }

    /// Creates a property that is set.
    public init(_ value: Value?) { self.init(wrappedValue: value) }
}

extension ColumnDefault: Sendable where Value: Sendable {}
extension ColumnDefault: Equatable where Value: Equatable {}
extension ColumnDefault: Hashable where Value: Hashable {}

extension ColumnDefault: ExpressibleByNilLiteral {
    public init(nilLiteral: ()) { self.init(wrappedValue: nil) }
}

extension ColumnDefault: ExpressibleByIntegerLiteral where Value: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Value.IntegerLiteralType) { self.init(wrappedValue: Value(integerLiteral: value)) }
}

extension ColumnDefault: ExpressibleByFloatLiteral where Value: ExpressibleByFloatLiteral {
    public init(floatLiteral value: Value.FloatLiteralType) { self.init(wrappedValue: Value(floatLiteral: value)) }
}

extension ColumnDefault: ExpressibleByBooleanLiteral where Value: ExpressibleByBooleanLiteral {
    public init(booleanLiteral value: Value.BooleanLiteralType) { self.init(wrappedValue: Value(booleanLiteral: value)) }
}

extension ColumnDefault: ExpressibleByUnicodeScalarLiteral where Value: ExpressibleByUnicodeScalarLiteral {
    public init(unicodeScalarLiteral value: Value.UnicodeScalarLiteralType) {
        self.init(wrappedValue: Value(unicodeScalarLiteral: value))
    }
}

extension ColumnDefault: ExpressibleByExtendedGraphemeClusterLiteral where Value: ExpressibleByExtendedGraphemeClusterLiteral {
    public init(extendedGraphemeClusterLiteral value: Value.ExtendedGraphemeClusterLiteralType) {
        self.init(wrappedValue: Value(extendedGraphemeClusterLiteral: value))
    }
}

extension ColumnDefault: ExpressibleByStringLiteral where Value: ExpressibleByStringLiteral {
    public init(stringLiteral value: Value.StringLiteralType) { self.init(wrappedValue: Value(stringLiteral: value)) }
}

/// Encoded on its own, without a key that could be omitted, a property that was not set is encoded as nil.
extension ColumnDefault: Encodable where Value: Encodable {
    /// Encodes the value alone; nil if the property was not set.
    /// - Throws: any error of the value's own encoding.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let value = wrappedValue { try container.encode(value) } else { try container.encodeNil() }
    }
}

extension ColumnDefault: Decodable where Value: Decodable {
    /// Decodes the value alone. Nil is a property that was set to nil.
    /// - Throws: any error of the value's own decoding.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        self.init(wrappedValue: container.decodeNil() ? nil : try container.decode(Value.self))
    }
}

// Synthesised coding calls these for a type's properties, because they are the most specific overloads.

extension KeyedEncodingContainer {
    /// Encodes a property that was set, even to nil. Omits the key of a property that was never set.
    /// - Parameters:
    ///   - property: the property.
    ///   - key: its coding key.
    /// - Throws: any error of the value's own encoding.
    public mutating func encode<Value: Encodable>(_ property: ColumnDefault<Value>, forKey key: Key) throws {
        guard property.isSet else { return }
        if let value = property.wrappedValue { try encode(value, forKey: key) } else { try encodeNil(forKey: key) }
    }
}

extension KeyedDecodingContainer {
    /// Decodes a property. If its key is missing, the property is not set.
    /// - Parameters:
    ///   - type: the property's type.
    ///   - key: its coding key.
    /// - Throws: any error of the value's own decoding.
    public func decode<Value: Decodable>(_ type: ColumnDefault<Value>.Type, forKey key: Key) throws -> ColumnDefault<Value> {
        contains(key) ? ColumnDefault(wrappedValue: try decodeIfPresent(Value.self, forKey: key)) : ColumnDefault()
    }
}
