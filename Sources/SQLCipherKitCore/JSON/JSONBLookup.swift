/// Where the search for an object's member continues.
///
/// Members are usually requested in nearly the order of the document, so the member after the last one found is tried first. It is
/// right only if no member before it has the same key. A bit for each passed key nearly always proves that.
struct JSONBLookupHint {
    /// The object's payload.
    var start = -1
    /// The next member to try.
    var next = 0
    /// A bit for each key before it.
    var passed: UInt64 = 0
}

/// The members of a large object, by key.
struct JSONBMemberIndex {
    private let values: [Key: Int]

    /// A key: bytes of the document or of the requested name.
    private struct Key: Hashable {
        let bytes: UnsafeRawBufferPointer
        static func == (a: Key, b: Key) -> Bool { a.bytes.elementsEqual(b.bytes) }
        func hash(into hasher: inout Hasher) { hasher.combine(bytes: bytes) }
    }

    /// Keys with escapes, which cannot be compared with the bytes in the document.
    private let escaped: [[UInt8]: Int]

    init(_ context: JSONBDecodingContext, _ start: Int, _ end: Int) {
        var values: [Key: Int] = [:]
        var escaped: [[UInt8]: Int] = [:]
        var position = start
        while position < end {
            let key = context.element(at: position)
            if key.kind == .text || key.kind == .rawText {
                let name = Key(bytes: context.payload(key))
                if values[name] == nil { values[name] = key.end }
            } else if let text = try? JSONB.string(context.base, key), case let name = Array(text.utf8), escaped[name] == nil {
                escaped[name] = key.end
            }
            position = context.element(at: key.end).end
        }
        self.values = values
        self.escaped = escaped
    }

    /// Returns the offset of the value of the first member with this key.
    func find(_ name: UnsafeBufferPointer<UInt8>) -> Int? {
        let plain = values[Key(bytes: UnsafeRawBufferPointer(name))]
        guard !escaped.isEmpty, let other = escaped[Array(name)] else { return plain }
        return plain.map { min($0, other) } ?? other
    }
}

extension JSONBDecodingContext {
    /// With more members than this, the search uses an index.
    private static var indexThreshold: Int { 48 }

    /// Returns the value of the first member with this key; nil if there is none.
    @inline(__always)
    func find(_ name: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int, depth: Int) -> JSONB.Element? {
        let hint = hints + depth
        if hint.pointee.start != start { hint.pointee = JSONBLookupHint(start: start, next: start, passed: 0) }
        let next = hint.pointee.next
        if next < end {
            let key = element(at: next)
            if isKey(key, name) {
                let bit = JSONB.bit(name)
                if hint.pointee.passed & bit == 0 {
                    let value = element(at: key.end)
                    hint.pointee.passed |= bit
                    hint.pointee.next = value.end
                    return value
                }
            }
        }
        return search(name, start, end, hint)
    }

    @inline(never)
    private func search(
        _ name: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int, _ hint: UnsafeMutablePointer<JSONBLookupHint>
    ) -> JSONB.Element? {
        if let index = indexes[start] { return index.find(name).map { element(at: $0) } }
        let bit = JSONB.bit(name)
        let mayHavePassed = hint.pointee.passed & bit != 0
        var position = mayHavePassed ? start : hint.pointee.next
        var passed: UInt64 = 0
        var count = 0
        while position < end {
            let key = element(at: position)
            let value = element(at: key.end)
            passed |= self.bit(key)
            count += 1
            if isKey(key, name) {
                if value.end > hint.pointee.next {
                    hint.pointee.next = value.end
                    hint.pointee.passed |= passed
                }
                return value
            }
            if count > Self.indexThreshold {
                let index = JSONBMemberIndex(self, start, end)
                // Indexes are for objects being read now; those of a long array would accumulate.
                if indexes.count >= 64 { indexes.removeAll() }
                indexes[start] = index
                return index.find(name).map { element(at: $0) }
            }
            position = value.end
        }
        return nil
    }

    @inline(__always)
    private func isKey(_ key: JSONB.Element, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        if key.kind == .text || key.kind == .rawText {
            guard key.count == name.count else { return false }
            var index = 0
            while index < name.count {
                if base.load(fromByteOffset: key.start &+ index, as: UInt8.self) != name[index] { return false }
                index &+= 1
            }
            return true
        }
        return isEscapedKey(key, name)
    }

    @inline(never)
    private func isEscapedKey(_ key: JSONB.Element, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let text = try? JSONB.string(base, key) else { return false }
        return text.utf8.elementsEqual(name)
    }

    @inline(__always)
    private func bit(_ key: JSONB.Element) -> UInt64 {
        if key.kind == .text || key.kind == .rawText { return JSONB.bit(payload(key).assumingMemoryBound(to: UInt8.self)) }
        guard var text = try? JSONB.string(base, key) else { return 0 }
        return text.withUTF8 { JSONB.bit($0) }
    }

    /// Returns all keys, each once, in order.
    func keys(_ start: Int, _ end: Int, depth: Int) -> [String] {
        var keys: [String] = []
        var position = start
        while position < end {
            let key = element(at: position)
            let value = element(at: key.end)
            if var name = try? JSONB.string(base, key) {
                let isFirst = name.withUTF8 { find($0, start, end, depth: depth)?.offset == value.offset }
                if isFirst { keys.append(name) }
            } else if failure == nil {
                failure = corrupted(key, "a key is not well-formed UTF-8")
            }
            position = value.end
        }
        // The next member requested is probably the first.
        hints[depth].start = -1
        return keys
    }
}
