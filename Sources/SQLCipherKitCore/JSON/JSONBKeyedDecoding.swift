/// The members of an object.
struct JSONBKeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let context: JSONBDecodingContext
    private let offset: Int
    private let start: Int
    private let end: Int
    private let depth: Int
    private let scope: Int

    init(_ context: JSONBDecodingContext, _ element: JSONB.Element, _ depth: Int, _ scope: Int) {
        self.context = context
        offset = element.offset
        start = element.start
        end = element.end
        self.depth = depth
        self.scope = scope
    }

    var codingPath: [any CodingKey] { context.path(to: offset) }
    var allKeys: [Key] {
        let keys = context.keys(start, end, depth: depth)
        let isASCII = keys.allSatisfy { $0.utf8.allSatisfy { $0 < 0x80 } }
        // The standard library's Dictionary would silently keep only one of these two values.
        if !isASCII, context.failure == nil, "\(Key.self)" == "_DictionaryCodingKey", Set(keys).count != keys.count {
            context.failure = .dataCorrupted(
                .init(codingPath: codingPath, debugDescription: "two keys are different, but equal as Swift strings"))
        }
        return keys.compactMap { Key(stringValue: $0) }
    }

    @inline(__always)
    private func find(_ key: some CodingKey) -> JSONB.Element? {
        var name = key.stringValue
        return name.withUTF8 { context.find($0, start, end, depth: depth) }
    }

    @inline(__always)
    private func value(_ key: some CodingKey) throws -> JSONB.Element {
        if let element = find(key) { return element }
        throw missing(key)
    }

    @inline(never)
    private func missing(_ key: some CodingKey) -> DecodingError {
        .keyNotFound(key, .own(codingPath, "there is no member \(key.stringValue)"))
    }

    /// Returns the value of a member if it exists and is not null.
    @inline(__always)
    private func present(_ key: Key) -> JSONB.Element? {
        guard let element = find(key), element.kind != .null else { return nil }
        return element
    }

    func contains(_ key: Key) -> Bool { find(key) != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try value(key).kind == .null }

    func decode(_: Bool.Type, forKey key: Key) throws -> Bool { try context.bool(value(key)) }
    func decode(_: String.Type, forKey key: Key) throws -> String { try context.string(value(key)) }
    func decode(_: Double.Type, forKey key: Key) throws -> Double { try context.double(value(key), scope) }
    func decode(_: Float.Type, forKey key: Key) throws -> Float { try context.float(value(key), scope) }
    func decode(_: Int128.Type, forKey key: Key) throws -> Int128 { try context.integer(value(key)) }
    func decode(_: UInt128.Type, forKey key: Key) throws -> UInt128 { try context.integer(value(key)) }

    @inline(__always)
    func decode<T: FixedWidthInteger & Decodable>(_: T.Type, forKey key: Key) throws -> T { try context.integer(value(key)) }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try context.decode(type, value(key), depth: depth + 1, scope: scope)
    }

    // The standard library's own methods for each of these would be preferred to a generic one, and look up a key three times.
    func decodeIfPresent(_: Bool.Type, forKey key: Key) throws -> Bool? { try present(key).map { try context.bool($0) } }
    func decodeIfPresent(_: String.Type, forKey key: Key) throws -> String? { try present(key).map { try context.string($0) } }
    func decodeIfPresent(_: Double.Type, forKey key: Key) throws -> Double? {
        try present(key).map { try context.double($0, scope) }
    }
    func decodeIfPresent(_: Float.Type, forKey key: Key) throws -> Float? { try present(key).map { try context.float($0, scope) } }
    func decodeIfPresent(_: Int.Type, forKey key: Key) throws -> Int? { try present(key).map { try context.integer($0) } }
    func decodeIfPresent(_: Int8.Type, forKey key: Key) throws -> Int8? { try present(key).map { try context.integer($0) } }
    func decodeIfPresent(_: Int16.Type, forKey key: Key) throws -> Int16? { try present(key).map { try context.integer($0) } }
    func decodeIfPresent(_: Int32.Type, forKey key: Key) throws -> Int32? { try present(key).map { try context.integer($0) } }
    func decodeIfPresent(_: Int64.Type, forKey key: Key) throws -> Int64? { try present(key).map { try context.integer($0) } }
    func decodeIfPresent(_: Int128.Type, forKey key: Key) throws -> Int128? { try present(key).map { try context.integer($0) } }
    func decodeIfPresent(_: UInt.Type, forKey key: Key) throws -> UInt? { try present(key).map { try context.integer($0) } }
    func decodeIfPresent(_: UInt8.Type, forKey key: Key) throws -> UInt8? { try present(key).map { try context.integer($0) } }
    func decodeIfPresent(_: UInt16.Type, forKey key: Key) throws -> UInt16? { try present(key).map { try context.integer($0) } }
    func decodeIfPresent(_: UInt32.Type, forKey key: Key) throws -> UInt32? { try present(key).map { try context.integer($0) } }
    func decodeIfPresent(_: UInt64.Type, forKey key: Key) throws -> UInt64? { try present(key).map { try context.integer($0) } }
    func decodeIfPresent(_: UInt128.Type, forKey key: Key) throws -> UInt128? { try present(key).map { try context.integer($0) } }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        try present(key).map { try context.decode(type, $0, depth: depth + 1, scope: scope) }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try decoder(try value(key)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder(try value(key)).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { find(JSONBKey.super).map(decoder) ?? .missing(context, depth + 1, scope) }
    func superDecoder(forKey key: Key) throws -> any Decoder { find(key).map(decoder) ?? .missing(context, depth + 1, scope) }

    private func decoder(_ element: JSONB.Element) -> JSONBDecoding { JSONBDecoding(context, element.offset, depth + 1, scope) }
}
