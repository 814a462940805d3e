/// The decoder of one element, and its single-value container.
struct JSONBDecoding: Decoder, SingleValueDecodingContainer {
    private let context: JSONBDecodingContext
    private let offset: UInt32
    /// The number of containers around the element: at most 1,000.
    private let depth: UInt16
    /// The options in force.
    private let scope: UInt16

    @inline(__always)
    init(_ context: JSONBDecodingContext, _ offset: Int, _ depth: Int, _ scope: Int) {
        self.context = context
        self.offset = UInt32(truncatingIfNeeded: offset)
        self.depth = UInt16(truncatingIfNeeded: depth)
        self.scope = UInt16(truncatingIfNeeded: scope)
    }

    /// An offset where no element can be, because documents are shorter.
    private static let nowhere = Int(Int32.max)

    /// Returns the decoder of a missing element, which reads as null.
    static func missing(_ context: JSONBDecodingContext, _ depth: Int, _ scope: Int) -> JSONBDecoding {
        JSONBDecoding(context, nowhere, depth, scope)
    }

    @inline(__always)
    private var element: JSONB.Element {
        offset == Self.nowhere
            ? JSONB.Element(kind: .null, offset: Self.nowhere, start: 0, end: 0) : context.element(at: Int(offset))
    }

    var codingPath: [any CodingKey] { context.path(to: element.offset) }
    var userInfo: [CodingUserInfoKey: Any] { context.scopes.userInfo(Int(scope)) }
    /// An error of a call that cannot throw.
    var failure: DecodingError? { context.failure }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        let element = element
        guard element.kind == .object else { throw context.mismatch(element, [String: Any].self) }
        return KeyedDecodingContainer(JSONBKeyedDecoding<Key>(context, element, Int(depth), Int(scope)))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let element = element
        guard element.kind == .array else { throw context.mismatch(element, [Any].self) }
        return JSONBUnkeyedDecoding(context, element, Int(depth), Int(scope))
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { element.kind == .null }
    func decode(_: Bool.Type) throws -> Bool { try context.bool(element) }
    func decode(_: String.Type) throws -> String { try context.string(element) }
    func decode(_: Double.Type) throws -> Double { try context.double(element, Int(scope)) }
    func decode(_: Float.Type) throws -> Float { try context.float(element, Int(scope)) }
    func decode(_: Int128.Type) throws -> Int128 { try context.integer(element) }
    func decode(_: UInt128.Type) throws -> UInt128 { try context.integer(element) }
    @inline(__always)
    func decode<T: FixedWidthInteger & Decodable>(_: T.Type) throws -> T { try context.integer(element) }
    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try context.decode(type, element, depth: Int(depth), scope: Int(scope))
    }
}

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

/// The elements of an array. It has three words, so that an existential stores it inline, without an allocation.
struct JSONBUnkeyedDecoding: UnkeyedDecodingContainer {
    private let context: JSONBDecodingContext
    private let offset: UInt32
    private var position: UInt32
    private var index: UInt32 = 0
    private let depth: UInt16
    private let scope: UInt16

    init(_ context: JSONBDecodingContext, _ element: JSONB.Element, _ depth: Int, _ scope: Int) {
        self.context = context
        offset = UInt32(truncatingIfNeeded: element.offset)
        position = UInt32(truncatingIfNeeded: element.start)
        self.depth = UInt16(truncatingIfNeeded: depth)
        self.scope = UInt16(truncatingIfNeeded: scope)
    }

    @inline(__always)
    private var end: Int { context.element(at: Int(offset)).end }

    var codingPath: [any CodingKey] { context.path(to: Int(offset)) }
    var currentIndex: Int { Int(index) }
    var isAtEnd: Bool { Int(position) >= end }

    var count: Int? {
        var count = Int(index)
        var position = Int(position)
        let end = end
        while position < end {
            position = context.element(at: position).end
            count += 1
        }
        return count
    }

    /// Reads the next element, and advances if that succeeds.
    @inline(__always)
    private mutating func next<T>(
        _ type: T.Type = T.self, _ body: (JSONBDecodingContext, JSONB.Element) throws -> T
    ) throws -> T {
        if isAtEnd { throw atEnd(type) }
        let element = context.element(at: Int(position))
        let value = try body(context, element)
        advance(element)
        return value
    }

    private mutating func advance(_ element: JSONB.Element) {
        position = UInt32(truncatingIfNeeded: element.end)
        index += 1
    }

    @inline(never)
    private func atEnd(_ type: Any.Type) -> DecodingError {
        .valueNotFound(type, .own(codingPath + [JSONBKey(index: currentIndex)], "the array has no more elements"))
    }

    mutating func decodeNil() throws -> Bool {
        if isAtEnd { throw atEnd(Never.self) }
        let element = context.element(at: Int(position))
        guard element.kind == .null else { return false }
        advance(element)
        return true
    }

    mutating func decode(_: Bool.Type) throws -> Bool { try next { try $0.bool($1) } }
    mutating func decode(_: String.Type) throws -> String { try next { try $0.string($1) } }
    mutating func decode(_: Double.Type) throws -> Double {
        let scope = Int(scope)
        return try next { try $0.double($1, scope) }
    }
    mutating func decode(_: Float.Type) throws -> Float {
        let scope = Int(scope)
        return try next { try $0.float($1, scope) }
    }
    mutating func decode(_: Int128.Type) throws -> Int128 { try next { try $0.integer($1) } }
    mutating func decode(_: UInt128.Type) throws -> UInt128 { try next { try $0.integer($1) } }

    @inline(__always)
    mutating func decode<T: FixedWidthInteger & Decodable>(_: T.Type) throws -> T { try next { try $0.integer($1) } }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let (depth, scope) = (Int(depth) + 1, Int(scope))
        return try next { try $0.decode(type, $1, depth: depth, scope: scope) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) throws -> KeyedDecodingContainer<NestedKey> {
        let (depth, scope) = (Int(depth) + 1, Int(scope))
        return try next { try JSONBDecoding($0, $1.offset, depth, scope).container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let (depth, scope) = (Int(depth) + 1, Int(scope))
        return try next((any UnkeyedDecodingContainer).self) { try JSONBDecoding($0, $1.offset, depth, scope).unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder {
        let (depth, scope) = (Int(depth) + 1, Int(scope))
        return try next((any Decoder).self) { JSONBDecoding($0, $1.offset, depth, scope) }
    }
}
