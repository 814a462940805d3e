import Foundation

/// A document being decoded: its checked bytes, and what all decoders of one call share.
final class JSONBDecodingContext {
    private(set) var base: UnsafeRawPointer
    let count: Int
    // A type may decode while it returns its options, but in another context.
    @exclusivity(unchecked) var scopes: JSONScopes
    private var ownsBytes = false
    let stack: StackLimit
    /// For each nesting level, where the last member was found.
    let hints: UnsafeMutablePointer<JSONBLookupHint>
    private let hintCount: Int
    /// The members of large objects, by the offset of the object.
    var indexes: [Int: JSONBMemberIndex] = [:]
    /// An error of a call that cannot throw.
    var failure: DecodingError?

    init(_ base: UnsafeRawPointer, _ count: Int, _ depth: Int, _ options: JSONCodingOptions) {
        self.base = base
        self.count = count
        scopes = JSONScopes(options)
        stack = .ofThisThread()
        hintCount = depth + 1
        hints = .allocate(capacity: hintCount)
        hints.initialize(repeating: JSONBLookupHint(), count: hintCount)
    }

    deinit {
        hints.deallocate()
        if ownsBytes { base.deallocate() }
    }

    /// Copies the bytes before their owner takes them back.
    func keepBytes() {
        let copy = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 1)
        copy.copyMemory(from: base, byteCount: count)
        base = UnsafeRawPointer(copy)
        ownsBytes = true
        indexes = [:]
    }

    @inline(__always)
    func element(at offset: Int) -> JSONB.Element { JSONB.checkedElement(base, at: offset) }

    @inline(__always)
    func payload(_ element: JSONB.Element) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base + element.start, count: element.count)
    }

    /// Must be called before each recursion.
    @inline(__always)
    func checkStack(_ element: JSONB.Element) throws {
        if stack.isReached { throw corrupted(element, "the JSON is nested too deeply for the thread's stack") }
    }

    // MARK: Errors

    /// Returns the keys and indexes that lead to an element. Finds them by walking through the document, so that no decoder has to
    /// store them.
    func path(to offset: Int) -> [any CodingKey] {
        var path: [any CodingKey] = []
        var container = element(at: 0)
        while container.offset != offset, container.kind.isContainer {
            var position = container.start
            var index = 0
            var found: JSONB.Element?
            while position < container.end, found == nil {
                var key: JSONB.Element?
                if container.kind == .object {
                    key = element(at: position)
                    position = key?.end ?? position
                }
                let value = element(at: position)
                if offset >= value.offset, offset < value.end {
                    path.append(key.map { JSONBKey((try? JSONB.string(base, $0)) ?? "") } ?? JSONBKey(index: index))
                    found = value
                }
                position = value.end
                index += 1
            }
            guard let found else { return path }
            container = found
        }
        return path
    }

    @inline(never)
    func corrupted(_ element: JSONB.Element, _ message: String) -> DecodingError {
        .dataCorrupted(.own(path(to: element.offset), message))
    }

    @inline(never)
    func mismatch(_ element: JSONB.Element, _ type: Any.Type, _ wanted: String? = nil) -> DecodingError {
        let path = path(to: element.offset)
        let wanted = wanted ?? "\(type)"
        if element.kind == .null { return .valueNotFound(type, .own(path, "expected \(wanted), found null")) }
        let found =
            switch element.kind {
            case .null: "null"
            case .true, .false: "a boolean"
            case .integer, .hexInteger, .real, .real5: "a number"
            case .text, .rawText, .escapedText, .escapedText5: "a string"
            case .array: "an array"
            case .object: "an object"
            }
        return .typeMismatch(type, .own(path, "expected \(wanted), found \(found)"))
    }
}

/// Reading elements as scalar types and the other types with a fixed form.
extension JSONBDecodingContext {
    @inline(__always)
    func bool(_ element: JSONB.Element) throws -> Bool {
        switch element.kind {
        case .true: return true
        case .false: return false
        default: throw mismatch(element, Bool.self)
        }
    }

    @inline(__always)
    func string(_ element: JSONB.Element) throws -> String {
        if element.kind == .text || element.kind == .rawText, let text = JSONB.string(payload(element)) { return text }
        return try otherString(element)
    }

    @inline(never)
    private func otherString(_ element: JSONB.Element) throws -> String {
        guard element.kind.isText else { throw mismatch(element, String.self) }
        do { return try JSONB.string(base, element) } catch {
            throw corrupted(element, "the text is not well-formed UTF-8, or has an unknown escape")
        }
    }

    /// Reads an integer of up to 18 digits directly, and any other number without a fraction more carefully.
    @inline(__always)
    func integer<T: FixedWidthInteger>(_ element: JSONB.Element, _ type: T.Type = T.self) throws -> T {
        if element.kind == .integer, element.count <= 18, let value = shortInteger(element), let exact = T(exactly: value) {
            return exact
        }
        return try otherInteger(element)
    }

    @inline(__always)
    private func shortInteger(_ element: JSONB.Element) -> Int64? {
        var position = element.start
        let isNegative = position < element.end && base.load(fromByteOffset: position, as: UInt8.self) == UInt8(ascii: "-")
        if isNegative { position &+= 1 }
        guard position < element.end else { return nil }
        var value: Int64 = 0
        while position < element.end {
            let digit = base.load(fromByteOffset: position, as: UInt8.self) &- 0x30
            guard digit <= 9 else { return nil }
            value = value &* 10 &+ Int64(digit)
            position &+= 1
        }
        return isNegative ? 0 &- value : value
    }

    @inline(never)
    private func otherInteger<T: FixedWidthInteger>(_ element: JSONB.Element) throws -> T {
        let number = try number(element, T.self)
        if let value = number.integer(T.self) { return value }
        // Wider than 64 bits.
        if element.kind == .integer, T.bitWidth > 64, let value = T(String(decoding: payload(element), as: UTF8.self)) {
            return value
        }
        throw corrupted(element, "the number does not fit into \(T.self)")
    }

    private func number(_ element: JSONB.Element, _ type: Any.Type) throws -> JSONNumber {
        switch element.kind {
        case .integer, .hexInteger, .real, .real5: break
        default: throw mismatch(element, type)
        }
        guard let number = JSONNumber(element.kind, payload(element)) else { throw corrupted(element, "the number is malformed") }
        return number
    }

    @inline(__always)
    func double(_ element: JSONB.Element, _ scope: Int) throws -> Double {
        if element.kind == .real || element.kind == .integer,
            let value = JSONNumber(element.kind, payload(element))?.quickDouble
        {
            return value
        }
        return try otherDouble(element, scope)
    }

    @inline(never)
    private func otherDouble(_ element: JSONB.Element, _ scope: Int) throws -> Double {
        if element.kind.isText, let value = try nonConforming(element, Double.self, scope) { return value }
        let text = payload(element)
        guard let value = try number(element, Double.self).double(element.kind, text), value.isFinite else {
            throw corrupted(element, "the number is beyond the range of Double")
        }
        return value
    }

    func float(_ element: JSONB.Element, _ scope: Int) throws -> Float {
        if element.kind.isText, let value = try nonConforming(element, Float.self, scope) { return Float(value) }
        let number = try number(element, Float.self)
        if element.kind == .integer || element.kind == .hexInteger {
            guard let value = number.integer(Int64.self).flatMap({ Float(exactly: $0) }) else {
                throw corrupted(element, "the number does not fit into Float")
            }
            // -0 is an integer of JSON.
            return value == 0 && number.isNegative ? -0.0 : value
        }
        // Rounding to a Double first could round twice.
        guard let value = Float(String(decoding: payload(element), as: UTF8.self)), value.isFinite,
            !value.isZero || number.significantDigits == 0
        else { throw corrupted(element, "the number is beyond the range of Float") }
        return value
    }

    private func nonConforming(_ element: JSONB.Element, _ type: Any.Type, _ scope: Int) throws -> Double? {
        guard case .convertToString(let positive, let negative, let nan) = scopes.floats(scope) else { return nil }
        switch try string(element) {
        case positive: return .infinity
        case negative: return -.infinity
        case nan: return .nan
        default: throw mismatch(element, type)
        }
    }

    func decimal(_ element: JSONB.Element) throws -> Decimal {
        guard let value = try number(element, Decimal.self).decimal(element.kind, payload(element)) else {
            throw corrupted(element, "the number has more digits than Decimal holds, or is beyond its range")
        }
        return value
    }

    func url(_ element: JSONB.Element) throws -> URL {
        guard let url = URL(string: try string(element), encodingInvalidCharacters: false) else {
            throw corrupted(element, "the text is not a URL")
        }
        return url
    }

    func data(_ element: JSONB.Element) throws -> Data {
        guard let data = Data(base64Encoded: try string(element)) else { throw corrupted(element, "the text is not Base64") }
        return data
    }

    func date(_ element: JSONB.Element, depth: Int, scope: Int) throws -> Date {
        let scope = scopes.scope(of: Date.self, in: scope)
        let dates = scopes.dates(scope)
        if case .custom(_, let decode) = dates { return try decode(JSONBDecoding(self, element.offset, depth, scope)) }
        if element.kind.isText {
            guard let date = Date(iso8601: try string(element)) else { throw corrupted(element, "the date is not in ISO 8601") }
            return date
        }
        switch dates {
        case .deferredToDate: return Date(timeIntervalSinceReferenceDate: try double(element, scope))
        case .secondsSince1970: return Date(timeIntervalSince1970: try double(element, scope))
        case .millisecondsSince1970: return Date(timeIntervalSince1970: try double(element, scope) / 1000)
        // A number does not say which date it counts from.
        case .iso8601, .custom: throw mismatch(element, Date.self, "the text of an ISO 8601 date")
        }
    }

    // Kept, because looking up their metadata by name at each use is slow.
    private static let strings = ObjectIdentifier([String].self)
    private static let integers = ObjectIdentifier([Int].self)
    private static let doubles = ObjectIdentifier([Double].self)

    /// True for the lists that `decode` reads without a container.
    static func isList(_ type: any Any.Type) -> Bool {
        let type = ObjectIdentifier(type)
        return type == strings || type == integers || type == doubles
    }

    /// Reads arrays of the most common types without a container.
    @inline(__always)
    private func list<T>(_ type: T.Type, _ element: JSONB.Element, _ scope: Int) throws -> T? {
        let type = ObjectIdentifier(type)
        if type == Self.strings { return unsafeBitCast(try elements(element, string), to: T.self) }
        if type == Self.integers { return unsafeBitCast(try elements(element) { try integer($0, Int.self) }, to: T.self) }
        if type == Self.doubles { return unsafeBitCast(try elements(element) { try double($0, scope) }, to: T.self) }
        return nil
    }

    @inline(__always)
    private func elements<E>(_ element: JSONB.Element, _ read: (JSONB.Element) throws -> E) throws -> [E] {
        guard element.kind == .array else { throw mismatch(element, [E].self) }
        var elements: [E] = []
        var position = element.start
        while position < element.end {
            let next = self.element(at: position)
            elements.append(try read(next))
            position = next.end
        }
        return elements
    }

    func decode<T: Decodable>(_ type: T.Type, _ element: JSONB.Element, depth: Int, scope: Int) throws -> T {
        // Types are compared by address, and the casts cost nothing.
        if type == String.self { return unsafeBitCast(try string(element), to: T.self) }
        if type == Int.self { return unsafeBitCast(try integer(element, Int.self), to: T.self) }
        if type == Double.self { return unsafeBitCast(try double(element, scope), to: T.self) }
        if type == Bool.self { return unsafeBitCast(try bool(element), to: T.self) }
        if type == Date.self { return unsafeBitCast(try date(element, depth: depth, scope: scope), to: T.self) }
        if type == Data.self, case .base64 = scopes.data(scopes.scope(of: type, in: scope)) {
            return unsafeBitCast(try data(element), to: T.self)
        }
        if type == Decimal.self { return unsafeBitCast(try decimal(element), to: T.self) }
        if let list = try list(type, element, scope) { return list }
        if type == URL.self, let url = try url(element) as? T { return url }
        if type == JSONValue.self {
            do { if let value = try JSONValue(base, element, stack) as? T { return value } } catch {
                throw corrupted(element, error.message)
            }
        }
        try checkStack(element)
        return try T(from: JSONBDecoding(self, element.offset, depth, scopes.scope(of: type, in: scope)))
    }
}
