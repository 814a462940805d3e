/// Encoded on its own, without a key that could be omitted, a property that was not set is encoded as nil.
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

// Synthesised coding calls these for a type's properties, because they are the most specific overloads.

extension KeyedEncodingContainer {
    /// Encodes a property that was set, even to nil; omits the key of a property that was not.
    public mutating func encode<Value: Encodable>(_ property: ColumnDefault<Value>, forKey key: Key) throws {
        guard property.isSet else { return }
        if let value = property.wrappedValue { try encode(value, forKey: key) } else { try encodeNil(forKey: key) }
    }
}

extension KeyedDecodingContainer {
    /// Decodes a property. If its key is missing, the property is not set.
    public func decode<Value: Decodable>(_ type: ColumnDefault<Value>.Type, forKey key: Key) throws -> ColumnDefault<Value> {
        contains(key) ? ColumnDefault(wrappedValue: try decodeIfPresent(Value.self, forKey: key)) : ColumnDefault()
    }
}
