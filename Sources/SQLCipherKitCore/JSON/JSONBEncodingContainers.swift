/// The containers that a value writes its parts to. They only forward to its encoder.
/// A generic method implements the protocol's method for each integer type. It is equally fast only while it is inlined into all
/// of them. For 128 bits the standard library has its own methods, which would be preferred to a generic one.
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
    func encode(_ value: Double, forKey key: Key) throws { try write(key) { _ in try encoder.write(value, key) } }
    func encode(_ value: Float, forKey key: Key) throws { try write(key) { _ in try encoder.write(value, key) } }
    func encode(_ value: Int128, forKey key: Key) throws { try write(key) { $0.append(value) } }
    func encode(_ value: UInt128, forKey key: Key) throws { try write(key) { $0.append(value) } }

    @inline(__always)
    func encode<T: FixedWidthInteger & Encodable>(_ value: T, forKey key: Key) throws { try write(key) { $0.append(value) } }

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        try encoder.member(key) { try encoder.write(value, key: key) }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        encoder.nested(.keyed, key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.nested(.unkeyed, key).unkeyedContainer()
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
    func encode(_ value: Double) throws { try write { _ in try encoder.write(value, JSONBKey(index: encoder.count)) } }
    func encode(_ value: Float) throws { try write { _ in try encoder.write(value, JSONBKey(index: encoder.count)) } }
    func encode(_ value: Int128) throws { try write { $0.append(value) } }
    func encode(_ value: UInt128) throws { try write { $0.append(value) } }

    @inline(__always)
    func encode<T: FixedWidthInteger & Encodable>(_ value: T) throws { try write { $0.append(value) } }

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
        try encoder.single { try body(encoder.sink.writer) }
    }

    func encodeNil() throws { try write { $0.appendEmpty(.null) } }
    func encode(_ value: Bool) throws { try write { $0.append(value) } }
    func encode(_ value: String) throws { try write { $0.append(value) } }
    func encode(_ value: Double) throws { try write { _ in try encoder.write(value, nil) } }
    func encode(_ value: Float) throws { try write { _ in try encoder.write(value, nil) } }
    func encode(_ value: Int128) throws { try write { $0.append(value) } }
    func encode(_ value: UInt128) throws { try write { $0.append(value) } }

    @inline(__always)
    func encode<T: FixedWidthInteger & Encodable>(_ value: T) throws { try write { $0.append(value) } }
    func encode<T: Encodable>(_ value: T) throws { try encoder.writeInPlace(value) }
}
