import Foundation

/// The encoder of one value, which its containers write through.
final class JSONBValueEncoder: Encoder {
    let sink: JSONBSink
    /// The number of containers around the value.
    let depth: Int
    /// The options in force.
    var scope: Int
    private var parent: JSONBValueEncoder?
    private let key: (any CodingKey)?

    private(set) var state = State.empty
    /// Where the container's header will be.
    private(set) var offset = 0
    var count = 0
    var keys = JSONBWrittenKeys()
    /// True if members are sorted by their keys.
    private var isSorted = false

    enum State { case empty, single, keyed, unkeyed, finished }

    init(_ sink: JSONBSink, depth: Int, scope: Int, parent: JSONBValueEncoder?, key: (any CodingKey)?) {
        self.sink = sink
        self.depth = depth
        self.scope = scope
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

    var userInfo: [CodingUserInfoKey: Any] { sink.context.scopes.userInfo(scope) }

    // MARK: Containers

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        open(.keyed)
        if ObjectIdentifier(type) == JSONBDictionaryKey.type { isSorted = true }
        return KeyedEncodingContainer(JSONBKeyedEncoding<Key>(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        open(.unkeyed)
        return JSONBUnkeyedEncoding(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { JSONBSingleEncoding(encoder: self) }

    func open(_ wanted: State) {
        if state == wanted || sink.context.failure != nil { return }
        guard state == .empty else { return fail("a second value or a container of another kind was requested") }
        guard depth < sink.context.limit else { return fail("the value is nested deeper than \(sink.context.limit) levels") }
        state = wanted
        offset = sink.writer.open()
    }

    func fail(_ message: String) {
        guard sink.context.failure == nil else { return }
        sink.context.failure = .invalidValue(Optional<Never>.none as Any, .own(codingPath, message))
    }

    /// Must be called first by every call that writes into a container.
    @inline(__always)
    func begin(_ wanted: State) throws {
        if let failure = sink.context.failure { throw failure }
        if state != wanted { throw tooLate }
    }

    private var tooLate: EncodingError {
        .invalidValue(
            Optional<Never>.none as Any, .own(codingPath, "the value has already been written, or it is too late to write it"))
    }

    /// Ends the value: writes its container's header, or `{}` if it has written nothing at all.
    func finish() {
        if state == .keyed || state == .unkeyed { sink.resolve(from: offset) }
        close()
    }

    /// Ends the value if everything that was to be written later has been written.
    func close() {
        switch state {
        case .finished: return
        case .keyed, .unkeyed:
            if isSorted { sink.writer.sortMembers(from: offset + 2) }
            sink.writer.close(state == .keyed ? .object : .array, at: offset)
        case .single: break
        case .empty: if parent != nil { sink.writer.appendEmpty(.object) }
        }
        state = .finished
    }

    /// Accepts nothing more. Drops its parent, because releasing a chain of a thousand encoders would overflow the stack.
    func end() {
        state = .finished
        parent = nil
    }

    // MARK: Values

    func write<T: Encodable>(_ value: T, key: (any CodingKey)?) throws {
        if try writeSpecial(value, key) { return }
        let scope = sink.context.scopes.scope(of: T.self, in: scope)
        // The outermost value is encoded with this encoder, any other with its own.
        guard let key else {
            self.scope = scope
            try value.encode(to: self)
            return finish()
        }
        if sink.context.stack.isReached { throw refused(value, "the value is nested too deeply for the thread's stack", key) }
        let child = JSONBValueEncoder(sink, depth: depth + 1, scope: scope, parent: self, key: key)
        try value.encode(to: child)
        child.finish()
    }

    /// Writes the single value. If `body` throws, there is no value, and another may be written.
    @inline(__always)
    func single(_ body: () throws -> Void) throws {
        try begin(.empty)
        let start = sink.writer.count
        state = .single
        do { try body() } catch {
            takeBack(start)
            throw error
        }
    }

    /// Writes a value that another value encodes in its own place.
    func writeInPlace<T: Encodable>(_ value: T) throws {
        try begin(.empty)
        let start = sink.writer.count
        let outer = scope
        do {
            if try writeSpecial(value, nil) {
                state = .single
            } else {
                if sink.context.stack.isReached { throw refused(value, "the value is nested too deeply for the thread's stack") }
                scope = sink.context.scopes.scope(of: T.self, in: outer)
                try value.encode(to: self)
            }
        } catch {
            scope = outer
            takeBack(start)
            throw error
        }
    }

    private func takeBack(_ start: Int) {
        sink.truncate(to: start)
        state = .empty
        isSorted = false
        count = 0
        keys = JSONBWrittenKeys()
    }

    /// - Parameter key: the key of the value, if this is the encoder of its container.
    @inline(never)
    func refused(_ value: Any, _ message: String, _ key: (any CodingKey)? = nil) -> EncodingError {
        .invalidValue(value, .own(codingPath + (key.map { [$0] } ?? []), message))
    }
}

/// Writing the contents of an encoder's containers.
extension JSONBValueEncoder {
    /// Writes a member: its key and what `body` writes. Replaces an earlier member with that key. If `body` throws, nothing
    /// changes.
    @inline(__always)
    func member(_ key: some CodingKey, _ body: () throws -> Void) throws {
        try begin(.keyed)
        var name = key.stringValue
        let former = name.withUTF8 { keys.add($0, in: sink, from: offset + 2) }
        let start = sink.writer.count
        do { try sink.writer.append(key: name) } catch let error as DatabaseError { throw refused(name, error.message) }
        do { try body() } catch {
            sink.truncate(to: start)
            throw error
        }
        if let former { sink.remove(former.member) }
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

    private func takesMore(_ wanted: State) -> Bool { state == wanted && sink.context.failure == nil && !sink.context.isOver }

    /// Returns the encoder of a container that is filled later, in a reserved place. A second request with the same key returns the
    /// same container; a container that was already written as a whole is continued.
    func nested(_ kind: State, _ key: some CodingKey) -> JSONBValueEncoder {
        guard takesMore(.keyed) else { return lost(key) }
        var name = key.stringValue
        let former = name.withUTF8 { keys.add($0, in: sink, from: offset + 2) }
        guard let former else {
            append(name)
            return deferred(key, kind)
        }
        if let pending = sink.encoder(at: former.value) {
            pending.open(kind)
            return pending
        }
        let contents = sink.writer.contents(at: former.value, of: kind == .keyed ? .object : .array)
        sink.remove(former.member)
        append(name)
        let encoder = deferred(key, kind)
        if let contents { encoder.goOn(with: contents) }
        return encoder
    }

    /// Returns an encoder for a member that is written later, in a reserved place.
    func deferredMember(_ key: some CodingKey) -> JSONBValueEncoder {
        guard takesMore(.keyed) else { return lost(key) }
        var name = key.stringValue
        if let former = name.withUTF8({ keys.add($0, in: sink, from: offset + 2) }) { sink.remove(former.member) }
        append(name)
        return deferred(key)
    }

    /// Writes the key of a member that is written later. If the key is invalid, the next call that can throw does.
    private func append(_ name: String) {
        do { try sink.writer.append(key: name) } catch { fail(DatabaseError(wrapping: error).message) }
    }

    /// Returns an encoder for an element that is written later, in a reserved place.
    func deferredElement() -> JSONBValueEncoder {
        let key = JSONBKey(index: count)
        guard takesMore(.unkeyed) else { return lost(key) }
        count += 1
        return deferred(key)
    }

    private func deferred(_ key: any CodingKey, _ kind: State? = nil) -> JSONBValueEncoder {
        let child = JSONBValueEncoder(JSONBSink(sink.context), depth: depth + 1, scope: scope, parent: self, key: key)
        sink.reserve(for: child)
        if let kind { child.open(kind) }
        return child
    }

    /// Returns an encoder for a part that can no longer be written. The next call that can throw does.
    private func lost(_ key: any CodingKey) -> JSONBValueEncoder {
        if sink.context.failure == nil { sink.context.failure = tooLate }
        return JSONBValueEncoder(JSONBSink(sink.context), depth: depth + 1, scope: scope, parent: self, key: key)
    }

    /// Starts with the members or elements of a container that was written before.
    private func goOn(with contents: JSONBWriter) {
        guard state == .keyed || state == .unkeyed else { return }
        contents.withBytes { sink.writer.append(elements: $0) }
        if state == .keyed { keys.addAll(in: sink, from: offset + 2) } else { count = sink.writer.elementCount(from: offset + 2) }
    }
}

/// Values of types that JSON or the options define a form for.
extension JSONBValueEncoder {
    /// - Returns: whether the type was one of these.
    private func writeSpecial<T: Encodable>(_ value: T, _ key: (any CodingKey)?) throws -> Bool {
        let writer = sink.writer
        if T.self == String.self {
            writer.append(unsafeBitCast(value, to: String.self))
        } else if T.self == Int.self {
            writer.append(unsafeBitCast(value, to: Int.self))
        } else if T.self == Double.self {
            try write(unsafeBitCast(value, to: Double.self), key)
        } else if T.self == Date.self {
            return try write(unsafeBitCast(value, to: Date.self), key)
        } else if T.self == Data.self {
            guard case .base64 = sink.context.scopes.data(sink.context.scopes.scope(of: T.self, in: scope)) else { return false }
            writer.append(unsafeBitCast(value, to: Data.self).base64EncodedString())
        } else if T.self == Decimal.self {
            let value = unsafeBitCast(value, to: Decimal.self)
            guard value.isFinite else { throw refused(value, "JSON has no NaN", key) }
            writer.append(value)
        } else if T.self == URL.self, let url = value as? URL {
            writer.append(url.absoluteString)
        } else if T.self == JSONValue.self, let json = value as? JSONValue {
            let depth = key == nil ? depth : depth + 1
            do { try json.write(to: writer, depth: depth, stack: sink.context.stack) } catch let error as DatabaseError {
                throw refused(json, error.message, key)
            }
        } else {
            return false
        }
        return true
    }

    private func write(_ date: Date, _ key: (any CodingKey)?) throws -> Bool {
        let scope = sink.context.scopes.scope(of: Date.self, in: scope)
        if scope == 0 { sink.context.hasDates = true }
        switch sink.context.scopes.dates(scope) {
        case .deferredToDate: try write(date.timeIntervalSinceReferenceDate, key)
        case .secondsSince1970: try write(date.timeIntervalSince1970, key)
        case .millisecondsSince1970: try write(date.timeIntervalSince1970 * 1000, key)
        case .iso8601:
            guard case .text(let text)? = try? date.sqlValue(.iso8601) else {
                throw refused(date, "ISO 8601 text holds the years 0000 to 9999 only", key)
            }
            sink.writer.append(text)
        case .custom(let encode, _):
            let child = JSONBValueEncoder(sink, depth: key == nil ? depth : depth + 1, scope: scope, parent: self, key: key)
            try encode(date, child)
            child.finish()
        }
        return true
    }

    /// - Parameter key: the key of the value, if this is the encoder of its container; evaluated only for the path of an error.
    @inline(__always)
    func write(_ value: Double, _ key: @autoclosure () -> (any CodingKey)?) throws {
        guard value.isFinite else { return try writeNonConforming(value, value, key()) }
        sink.writer.append(value)
    }

    @inline(__always)
    func write(_ value: Float, _ key: @autoclosure () -> (any CodingKey)?) throws {
        guard value.isFinite else { return try writeNonConforming(Double(value), value, key()) }
        sink.writer.append(value)
    }

    @inline(never)
    private func writeNonConforming(_ value: Double, _ original: Any, _ key: (any CodingKey)?) throws {
        guard case .convertToString(let positive, let negative, let nan) = sink.context.scopes.floats(scope) else {
            throw refused(original, "JSON has neither infinity nor NaN", key)
        }
        sink.writer.append(value.isNaN ? nan : value < 0 ? negative : positive)
    }
}
