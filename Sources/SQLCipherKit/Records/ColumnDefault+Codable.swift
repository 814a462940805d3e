/// On its own, where there is no key that could be left out, a property that was not set is a nil.
extension ColumnDefault: Encodable where Value: Encodable {
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let value = wrappedValue { try container.encode(value) } else { try container.encodeNil() }
    }
}

extension ColumnDefault: Decodable where Value: Decodable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        self.init(wrappedValue: container.decodeNil() ? nil : try container.decode(Value.self))
    }
}

// The compiler's own coding of a type calls these for its properties, as they are the closest to what it asks for.

extension KeyedEncodingContainer {
    /// Encodes a property that was set, nil included; leaves out the key of any other.
    public mutating func encode<Value: Encodable>(_ property: ColumnDefault<Value>, forKey key: Key) throws {
        guard property.isSet else { return }
        if let value = property.wrappedValue { try encode(value, forKey: key) } else { try encodeNil(forKey: key) }
    }
}

extension KeyedDecodingContainer {
    /// Decodes a property; one whose key is missing was not set.
    public func decode<Value: Decodable>(_ type: ColumnDefault<Value>.Type, forKey key: Key) throws -> ColumnDefault<Value> {
        contains(key) ? ColumnDefault(wrappedValue: try decodeIfPresent(Value.self, forKey: key)) : ColumnDefault()
    }
}
