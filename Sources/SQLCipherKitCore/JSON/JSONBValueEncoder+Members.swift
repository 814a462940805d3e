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
        do throws(DatabaseError) { try sink.writer.append(key: name) } catch { throw refused(name, error.message) }
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
        do throws(DatabaseError) { try sink.writer.append(key: name) } catch { fail(error.message) }
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
