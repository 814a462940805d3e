/// The containers that a value writes its parts to. They only pass on to its encoder.
struct JSONBKeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: JSONBValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    @inline(__always)
    private func write(_ key: Key, _ body: (JSONBWriter) throws -> Void) throws {
        try encoder.member(key) { try body(encoder.sink.writer) }
    }

    func encodeNil(forKey key: Key) throws { try write(key) { $0.appendEmpty(.null) } }
    func encode(_ value: Bool, forKey key: Key) throws { try write(key) { $0.append(value) } }
    func encode(_ value: String, forKey key: Key) throws { try write(key) { $0.append(value) } }
    func encode(_ value: Double, forKey key: Key) throws { try write(key) { _ in try encoder.write(value) } }
    func encode(_ value: Float, forKey key: Key) throws { try write(key) { _ in try encoder.write(value) } }
    func encode(_ value: Int, forKey key: Key) throws { try write(key) { $0.append(Int64(value)) } }
    func encode(_ value: Int8, forKey key: Key) throws { try write(key) { $0.append(Int64(value)) } }
    func encode(_ value: Int16, forKey key: Key) throws { try write(key) { $0.append(Int64(value)) } }
    func encode(_ value: Int32, forKey key: Key) throws { try write(key) { $0.append(Int64(value)) } }
    func encode(_ value: Int64, forKey key: Key) throws { try write(key) { $0.append(Int64(value)) } }
    func encode(_ value: Int128, forKey key: Key) throws { try write(key) { $0.append(.integer, ascii: value.description) } }
    func encode(_ value: UInt, forKey key: Key) throws { try write(key) { $0.append(UInt64(value)) } }
    func encode(_ value: UInt8, forKey key: Key) throws { try write(key) { $0.append(UInt64(value)) } }
    func encode(_ value: UInt16, forKey key: Key) throws { try write(key) { $0.append(UInt64(value)) } }
    func encode(_ value: UInt32, forKey key: Key) throws { try write(key) { $0.append(UInt64(value)) } }
    func encode(_ value: UInt64, forKey key: Key) throws { try write(key) { $0.append(UInt64(value)) } }
    func encode(_ value: UInt128, forKey key: Key) throws { try write(key) { $0.append(.integer, ascii: value.description) } }

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        try encoder.member(key) { try encoder.write(value, key: key) }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        encoder.deferredMember(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.deferredMember(key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder.deferredMember(JSONBKey.super) }
    func superEncoder(forKey key: Key) -> any Encoder { encoder.deferredMember(key) }
}

struct JSONBUnkeyedEncoding: UnkeyedEncodingContainer {
    let encoder: JSONBValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.count }

    @inline(__always)
    private func write(_ body: (JSONBWriter) throws -> Void) throws {
        try encoder.element { try body(encoder.sink.writer) }
    }

    func encodeNil() throws { try write { $0.appendEmpty(.null) } }
    func encode(_ value: Bool) throws { try write { $0.append(value) } }
    func encode(_ value: String) throws { try write { $0.append(value) } }
    func encode(_ value: Double) throws { try write { _ in try encoder.write(value) } }
    func encode(_ value: Float) throws { try write { _ in try encoder.write(value) } }
    func encode(_ value: Int) throws { try write { $0.append(Int64(value)) } }
    func encode(_ value: Int8) throws { try write { $0.append(Int64(value)) } }
    func encode(_ value: Int16) throws { try write { $0.append(Int64(value)) } }
    func encode(_ value: Int32) throws { try write { $0.append(Int64(value)) } }
    func encode(_ value: Int64) throws { try write { $0.append(Int64(value)) } }
    func encode(_ value: Int128) throws { try write { $0.append(.integer, ascii: value.description) } }
    func encode(_ value: UInt) throws { try write { $0.append(UInt64(value)) } }
    func encode(_ value: UInt8) throws { try write { $0.append(UInt64(value)) } }
    func encode(_ value: UInt16) throws { try write { $0.append(UInt64(value)) } }
    func encode(_ value: UInt32) throws { try write { $0.append(UInt64(value)) } }
    func encode(_ value: UInt64) throws { try write { $0.append(UInt64(value)) } }
    func encode(_ value: UInt128) throws { try write { $0.append(.integer, ascii: value.description) } }

    func encode<T: Encodable>(_ value: T) throws {
        try encoder.element { try encoder.write(value, key: JSONBKey(index: encoder.count)) }
    }

    func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        encoder.deferredElement().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.deferredElement().unkeyedContainer() }
    func superEncoder() -> any Encoder { encoder.deferredElement() }
}

struct JSONBSingleEncoding: SingleValueEncodingContainer {
    let encoder: JSONBValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    @inline(__always)
    private func write(_ body: (JSONBWriter) throws -> Void) throws {
        try encoder.beginSingle()
        try body(encoder.sink.writer)
    }

    func encodeNil() throws { try write { $0.appendEmpty(.null) } }
    func encode(_ value: Bool) throws { try write { $0.append(value) } }
    func encode(_ value: String) throws { try write { $0.append(value) } }
    func encode(_ value: Double) throws { try write { _ in try encoder.write(value) } }
    func encode(_ value: Float) throws { try write { _ in try encoder.write(value) } }
    func encode(_ value: Int) throws { try write { $0.append(Int64(value)) } }
    func encode(_ value: Int8) throws { try write { $0.append(Int64(value)) } }
    func encode(_ value: Int16) throws { try write { $0.append(Int64(value)) } }
    func encode(_ value: Int32) throws { try write { $0.append(Int64(value)) } }
    func encode(_ value: Int64) throws { try write { $0.append(Int64(value)) } }
    func encode(_ value: Int128) throws { try write { $0.append(.integer, ascii: value.description) } }
    func encode(_ value: UInt) throws { try write { $0.append(UInt64(value)) } }
    func encode(_ value: UInt8) throws { try write { $0.append(UInt64(value)) } }
    func encode(_ value: UInt16) throws { try write { $0.append(UInt64(value)) } }
    func encode(_ value: UInt32) throws { try write { $0.append(UInt64(value)) } }
    func encode(_ value: UInt64) throws { try write { $0.append(UInt64(value)) } }
    func encode(_ value: UInt128) throws { try write { $0.append(.integer, ascii: value.description) } }
    func encode<T: Encodable>(_ value: T) throws { try encoder.writeInPlace(value) }
}
