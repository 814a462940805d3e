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
    /// Whether members are sorted by their keys.
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
        guard state == .empty else { return fail("a second value or a container of another kind was asked for") }
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

    var tooLate: EncodingError {
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
