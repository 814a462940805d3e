import Foundation

final class JSONBValueEncoder: Encoder {
    let sink: JSONBSink
    /// How many containers are open around the value.
    private let depth: Int
    private let parent: JSONBValueEncoder?
    private let key: (any CodingKey)?

    private(set) var state = State.empty
    /// Where the container's header is going to be.
    private var offset = 0
    private(set) var count = 0
    private var keys = JSONBWrittenKeys()

    enum State { case empty, single, keyed, unkeyed, finished }

    init(_ sink: JSONBSink, depth: Int, parent: JSONBValueEncoder?, key: (any CodingKey)?) {
        self.sink = sink
        self.depth = depth
        self.parent = parent
        self.key = key
    }

    var codingPath: [any CodingKey] {
        var path: [any CodingKey] = []
        var encoder: JSONBValueEncoder? = self
        while let current = encoder {
            if let key = current.key { path.append(key) }
            encoder = current.parent
        }
        return path.reversed()
    }

    var userInfo: [CodingUserInfoKey: Any] { sink.context.userInfo }

    // MARK: Containers

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        open(.keyed)
        return KeyedEncodingContainer(JSONBKeyedEncoding<Key>(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        open(.unkeyed)
        return JSONBUnkeyedEncoding(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { JSONBSingleEncoding(encoder: self) }

    private func open(_ wanted: State) {
        if state == wanted { return }
        guard state == .empty else { return fail("a second value or a container of another kind was asked for") }
        guard depth < sink.context.limit else { return fail("the value is nested deeper than \(sink.context.limit) levels") }
        state = wanted
        offset = sink.writer.open()
    }

    private func fail(_ message: String) {
        guard sink.context.failure == nil else { return }
        sink.context.failure = .invalidValue(
            Optional<Never>.none as Any, .init(codingPath: codingPath, debugDescription: message))
    }

    /// The start of each call that writes into a container.
    @inline(__always)
    func begin(_ wanted: State) throws {
        if let failure = sink.context.failure { throw failure }
        if state != wanted { throw tooLate }
    }

    /// The start of each call that writes the one value.
    func beginSingle() throws {
        try begin(.empty)
        state = .single
    }

    private var tooLate: EncodingError {
        .invalidValue(
            Optional<Never>.none as Any,
            .init(codingPath: codingPath, debugDescription: "the value was written already, or its time to write is over"))
    }

    /// Ends the value: its container's header is written, or `{}` if it has written nothing at all.
    func finish() throws {
        switch state {
        case .finished: return
        case .keyed, .unkeyed:
            try sink.resolve(from: offset)
            sink.writer.close(state == .keyed ? .object : .array, at: offset)
        case .single: break
        case .empty: if parent != nil { sink.writer.appendEmpty(.object) }
        }
        state = .finished
    }

    // MARK: Members and elements

    /// Writes a member: its key, then what `body` writes. What a body that throws has written is taken back.
    @inline(__always)
    func member(_ key: some CodingKey, _ body: () throws -> Void) throws {
        try begin(.keyed)
        var name = key.stringValue
        name.withUTF8 { keys.prepare($0, in: sink, from: offset + 2) }
        let start = sink.writer.count
        sink.writer.append(key: name)
        do { try body() } catch {
            sink.truncate(to: start)
            throw error
        }
    }

    /// Writes an element: what `body` writes.
    @inline(__always)
    func element(_ body: () throws -> Void) throws {
        try begin(.unkeyed)
        let start = sink.writer.count
        do { try body() } catch {
            sink.truncate(to: start)
            throw error
        }
        count += 1
    }

    /// An encoder for a member that is written later, in a place that is kept for it.
    func deferredMember(_ key: some CodingKey) -> JSONBValueEncoder {
        guard state == .keyed else { return lost(key) }
        var name = key.stringValue
        name.withUTF8 { keys.prepare($0, in: sink, from: offset + 2) }
        sink.writer.append(key: name)
        return deferred(key)
    }

    /// The same for an element.
    func deferredElement() -> JSONBValueEncoder {
        let key = JSONBKey(index: count)
        guard state == .unkeyed else { return lost(key) }
        count += 1
        return deferred(key)
    }

    private func deferred(_ key: any CodingKey) -> JSONBValueEncoder {
        let child = JSONBValueEncoder(JSONBSink(sink.context), depth: depth + 1, parent: self, key: key)
        sink.reserve(for: child)
        return child
    }

    /// An encoder for what has no place any more; the error is thrown by the next call that can.
    private func lost(_ key: any CodingKey) -> JSONBValueEncoder {
        if sink.context.failure == nil { sink.context.failure = tooLate }
        return JSONBValueEncoder(JSONBSink(sink.context), depth: depth + 1, parent: self, key: key)
    }

    // MARK: Values

    func write<T: Encodable>(_ value: T, key: (any CodingKey)?) throws {
        if try writeSpecial(value, key) { return }
        // The outermost value is written by the encoder itself, any other by one of its own.
        guard let key else {
            try value.encode(to: self)
            return try finish()
        }
        if depth > StackLimit.carelessDepth, sink.context.stack.isReached {
            throw refused(value, "the value is nested too deeply for the thread's stack")
        }
        let child = JSONBValueEncoder(sink, depth: depth + 1, parent: self, key: key)
        try value.encode(to: child)
        try child.finish()
    }

    /// Writes a value that a value gives in its own place.
    func writeInPlace<T: Encodable>(_ value: T) throws {
        try begin(.empty)
        if try writeSpecial(value, nil) {
            state = .single
        } else {
            try value.encode(to: self)
        }
    }

    private func writeSpecial<T: Encodable>(_ value: T, _ key: (any CodingKey)?) throws -> Bool {
        let writer = sink.writer
        if T.self == String.self {
            writer.append(unsafeBitCast(value, to: String.self))
        } else if T.self == Int.self {
            writer.append(unsafeBitCast(value, to: Int.self))
        } else if T.self == Double.self {
            try write(unsafeBitCast(value, to: Double.self))
        } else if T.self == Date.self {
            return try write(unsafeBitCast(value, to: Date.self), key)
        } else if T.self == Data.self {
            guard case .base64 = sink.context.options.data else { return false }
            writer.append(unsafeBitCast(value, to: Data.self).base64EncodedString())
        } else if T.self == Decimal.self {
            let value = unsafeBitCast(value, to: Decimal.self)
            guard value.isFinite else { throw refused(value, "JSON has no NaN") }
            writer.append(value)
        } else if T.self == URL.self, let url = value as? URL {
            writer.append(url.absoluteString)
        } else if T.self == JSONValue.self, let json = value as? JSONValue {
            do { try json.write(to: writer, depth: key == nil ? depth : depth + 1, stack: depth > StackLimit.carelessDepth ? sink.context.stack : StackLimit()) } catch { throw refused(json, error.message) }
        } else {
            return false
        }
        return true
    }

    private func write(_ date: Date, _ key: (any CodingKey)?) throws -> Bool {
        switch sink.context.options.dates {
        case .deferredToDate: try write(date.timeIntervalSinceReferenceDate)
        case .secondsSince1970: try write(date.timeIntervalSince1970)
        case .millisecondsSince1970: try write(date.timeIntervalSince1970 * 1000)
        case .iso8601:
            guard case .text(let text)? = try? date.sqlValue(.iso8601) else {
                throw refused(date, "ISO 8601 text holds the years 0000 to 9999 only")
            }
            sink.writer.append(text)
        case .custom(let encode, _):
            let child = JSONBValueEncoder(sink, depth: key == nil ? depth : depth + 1, parent: self, key: key)
            try encode(date, child)
            try child.finish()
        }
        return true
    }

    func write(_ value: Double) throws {
        guard value.isFinite else { return try writeNonConforming(value, value) }
        sink.writer.append(value)
    }

    func write(_ value: Float) throws {
        guard value.isFinite else { return try writeNonConforming(Double(value), value) }
        sink.writer.append(value)
    }

    private func writeNonConforming(_ value: Double, _ original: Any) throws {
        guard case .strings(let positive, let negative, let nan) = sink.context.options.nonConformingFloats else {
            throw refused(original, "JSON has neither infinity nor NaN")
        }
        sink.writer.append(value.isNaN ? nan : value < 0 ? negative : positive)
    }

    private func refused(_ value: Any, _ message: String) -> EncodingError {
        .invalidValue(value, .init(codingPath: codingPath, debugDescription: message))
    }
}

/// The keys that an object has so far, to replace the value of one that is written again.
///
/// A bit for each key tells nearly always that a key is new. Where it does not, and in large objects, they are compared.
struct JSONBWrittenKeys {
    private var bits: UInt64 = 0
    private var count = 0
    private var all: Set<[UInt8]>?

    mutating func prepare(_ key: UnsafeBufferPointer<UInt8>, in sink: JSONBSink, from start: Int) {
        count += 1
        if count > 32 {
            if all == nil {
                var names: Set<[UInt8]> = []
                // No two members have the same key, so that it looks at all of them.
                _ = Self.member(in: sink, from: start) { !names.insert(Array($0.utf8)).inserted }
                all = names
            }
            if all?.insert(Array(key)).inserted == false { Self.remove(key, in: sink, from: start) }
            return
        }
        let bit = JSONB.bit(key)
        if bits & bit != 0 { Self.remove(key, in: sink, from: start) }
        bits |= bit
    }

    private static func remove(_ name: UnsafeBufferPointer<UInt8>, in sink: JSONBSink, from start: Int) {
        if let range = member(in: sink, from: start, where: { $0.utf8.elementsEqual(name) }) { sink.remove(range) }
    }

    /// Where the first member lies whose key meets a condition.
    private static func member(in sink: JSONBSink, from start: Int, where condition: (String) -> Bool) -> Range<Int>? {
        sink.writer.withBytes { bytes in
            var position = start
            while let base = bytes.baseAddress, let key = JSONB.element(base, at: position, limit: bytes.count),
                let value = JSONB.element(base, at: key.end, limit: bytes.count)
            {
                if let name = try? JSONB.string(base, key), condition(name) { return position..<value.end }
                position = value.end
            }
            return nil
        }
    }
}

extension JSONB {
    /// One of 64 bits for a key, the same for the same key.
    @inline(__always)
    static func bit(_ key: UnsafeBufferPointer<UInt8>) -> UInt64 {
        guard let first = key.first else { return 1 }
        let mixed = UInt(first) &* 0x9e5 ^ UInt(key[key.count - 1]) &* 0x51d ^ UInt(key[key.count / 2]) &* 0x2c3 ^ UInt(key.count) &* 0x1f3
        return 1 << UInt64((mixed ^ mixed >> 6) & 63)
    }
}
