import Foundation

/// Encodes what one column is to hold: a value that codes itself as a single simple one, or else JSON text.
final class ColumnEncoder: Encoder, SingleValueEncodingContainer {
    /// Thrown where a type wants more than a single value.
    private struct NeedsJSON: Error {}

    let codingPath: [any CodingKey]
    private var value: (any SQLValueConvertible)?
    private var needsJSON = false

    private init(_ codingPath: [any CodingKey]) { self.codingPath = codingPath }

    /// The value for the column; nil for NULL.
    static func encode(_ value: some Encodable, _ codingPath: [any CodingKey]) throws -> (any SQLValueConvertible)? {
        let encoder = ColumnEncoder(codingPath)
        do { try value.encode(to: encoder) } catch is NeedsJSON {}
        guard encoder.needsJSON else { return encoder.value }
        let json = JSONEncoder()
        json.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try json.encode(value), as: UTF8.self)
    }

    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        needsJSON = true
        return KeyedEncodingContainer(RefusingContainer<Key>(NeedsJSON()))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        needsJSON = true
        return RefusingContainer<NoKey>(NeedsJSON())
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() throws { value = nil }
    func encode<T: SQLValueConvertible & Encodable>(_ value: T) throws { self.value = value }

    func encode<T: Encodable>(_ value: T) throws {
        if let convertible = value as? any SQLValueConvertible {
            self.value = convertible
        } else {
            try value.encode(to: self)
        }
    }
}

/// The keys of a container that has none.
enum NoKey: CodingKey {}

/// A container that takes nothing: whatever is put into it throws.
struct RefusingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol, UnkeyedEncodingContainer, SingleValueEncodingContainer, Encoder {
    let error: any Error

    init(_ error: any Error) { self.error = error }

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }
    var count: Int { 0 }

    func encodeNil() throws { throw error }
    func encodeNil(forKey key: Key) throws { throw error }
    func encode<T: Encodable>(_ value: T) throws { throw error }
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws { throw error }
    func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws { throw error }

    func nestedContainer<N: CodingKey>(keyedBy type: N.Type, forKey key: Key) -> KeyedEncodingContainer<N> { nestedContainer(keyedBy: type) }
    func nestedContainer<N: CodingKey>(keyedBy type: N.Type) -> KeyedEncodingContainer<N> {
        KeyedEncodingContainer(RefusingContainer<N>(error))
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { self }
    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self }
    func superEncoder() -> any Encoder { self }
    func superEncoder(forKey key: Key) -> any Encoder { self }
    func container<N: CodingKey>(keyedBy type: N.Type) -> KeyedEncodingContainer<N> { nestedContainer(keyedBy: type) }
    func unkeyedContainer() -> any UnkeyedEncodingContainer { self }
    func singleValueContainer() -> any SingleValueEncodingContainer { self }
}
