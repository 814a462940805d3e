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
