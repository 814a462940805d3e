import Foundation

/// Encodes the value of one column: a value that codes itself as a single simple one, or else JSON.
package final class ColumnEncoder: Encoder, SingleValueEncodingContainer {
    /// Thrown when a type asks for more than a single value.
    private struct NeedsJSON: Error {}

    package let codingPath: [any CodingKey]
    private var value: (any SQLValueConvertible)?
    private var hasValue = false
    private var needsJSON = false

    private init(_ codingPath: [any CodingKey]) { self.codingPath = codingPath }

    /// The value for the column; nil for NULL.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a value that JSON cannot hold, and any error that its own encoding
    ///   throws.
    package static func encode<T: Encodable>(_ value: T, _ codingPath: [any CodingKey]) throws -> (any SQLValueConvertible)? {
        let encoder = ColumnEncoder(codingPath)
        do { try value.encode(to: encoder) } catch where encoder.needsJSON {}
        if encoder.hasValue, !encoder.needsJSON { return encoder.value }
        let options = JSONCodingOptions.of(T.self)
        do {
            // A value that encodes nothing is an object without members, as it would be inside another object.
            guard encoder.needsJSON else { return SQLValue.text("{}") }
            let writer = try JSONBEncoder(options: options).writer(value)
            return writer.withBytes { options.columnFormat == .jsonb ? SQLValue.blob(Data($0)) : .text(JSONB.text($0)) }
        } catch let error as EncodingError {
            throw DatabaseError.invalidArgument(
                "the value for column \(codingPath.first?.stringValue ?? "") cannot be written as JSON: \(error.jsonDescription)")
        }
    }

    package var userInfo: [CodingUserInfoKey: Any] { [:] }

    package func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        needsJSON = true
        return KeyedEncodingContainer(RefusingContainer<Key>(NeedsJSON()))
    }

    package func unkeyedContainer() -> any UnkeyedEncodingContainer {
        needsJSON = true
        return RefusingContainer<NoKey>(NeedsJSON())
    }

    package func singleValueContainer() -> any SingleValueEncodingContainer { self }

    private func set(_ value: (any SQLValueConvertible)?) {
        self.value = value
        hasValue = true
    }

    package func encodeNil() throws { set(nil) }
    package func encode(_ value: Int128) throws { set(value) }
    package func encode(_ value: UInt128) throws { set(value) }
    package func encode<T: SQLValueConvertible & Encodable>(_ value: T) throws { set(value) }

    package func encode<T: Encodable>(_ value: T) throws {
        if let convertible = value as? any SQLValueConvertible {
            set(convertible)
        } else {
            try value.encode(to: self)
        }
    }
}

/// The key type of a container without keys.
enum NoKey: CodingKey {}

/// A container that accepts nothing: encoding anything into it throws.
struct RefusingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol, UnkeyedEncodingContainer, SingleValueEncodingContainer,
    Encoder
{
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

    func nestedContainer<N: CodingKey>(keyedBy type: N.Type, forKey key: Key) -> KeyedEncodingContainer<N> {
        nestedContainer(keyedBy: type)
    }
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
