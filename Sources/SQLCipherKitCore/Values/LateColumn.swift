import Foundation

/// The encoder of a column that a record writes to by itself: with `superEncoder(forKey:)` or a nested container. Its value is
/// known once the record is encoded.
final class LateColumn: Encoder, SingleValueEncodingContainer {
    let codingPath: [any CodingKey]
    private let context = JSONBEncodingContext(JSONCodingOptions())
    private let json: JSONBValueEncoder
    private var single: (any SQLValueConvertible)?
    private var hasSingle = false

    init(_ key: any CodingKey) {
        codingPath = [key]
        json = JSONBValueEncoder(JSONBSink(context), depth: 0, scope: 0, parent: nil, key: nil)
    }

    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> { json.container(keyedBy: type) }
    func unkeyedContainer() -> any UnkeyedEncodingContainer { json.unkeyedContainer() }
    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() throws { set(nil) }
    func encode(_ value: Int128) throws { set(value) }
    func encode(_ value: UInt128) throws { set(value) }
    func encode<T: Encodable>(_ value: T) throws {
        if let convertible = value as? any SQLValueConvertible { set(convertible) } else { try value.encode(to: self) }
    }

    private func set(_ value: (any SQLValueConvertible)?) { (single, hasSingle) = (value, true) }

    /// The value for the column; nil for NULL. Nothing more is accepted.
    func value() throws -> (any SQLValueConvertible)? {
        defer {
            context.isOver = true
            json.sink.end()
        }
        if hasSingle { return single }
        json.finish()
        if let failure = context.failure { throw failure }
        // As for a member that encodes nothing.
        if json.sink.writer.isEmpty { return SQLValue.text("{}") }
        return json.sink.writer.withBytes { SQLValue.text(JSONB.text($0)) }
    }
}

/// The decoder of a column that a record reads by itself: with `superDecoder(forKey:)` or a nested container.
struct LateColumnDecoder: Decoder {
    let column: ColumnDecoder

    var codingPath: [any CodingKey] { column.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try json().container(keyedBy: type)
    }
    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try json().unkeyedContainer() }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { column }

    private func json() throws -> any Decoder {
        let column = try column.state.column(column.index)
        let bytes = try column.rawBytes(text: true, blob: true, as: "JSON")
        return try JSONBDecoder().decoder(stored: bytes, isText: column.storageClass == .text)
    }
}

/// The row as a single value: a type that has columns is decoded from them, any other from the first column.
struct RowSingleDecoding: Decoder, SingleValueDecodingContainer {
    private let state: RowDecodingState

    init(_ state: RowDecodingState) { self.state = state }

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }
    private var first: ColumnDecoder { ColumnDecoder(state: state, index: 0, codingPath: []) }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try RowDecoder(state).container(keyedBy: type)
    }
    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try LateColumnDecoder(column: first).unkeyedContainer() }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { first.decodeNil() }
    func decode(_ type: Int128.Type) throws -> Int128 { try first.any(type) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try first.any(type) }
    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        type is any SQLValueConvertible.Type ? try first.any(type) : try T(from: self)
    }
}
