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
