/// Reading what has already been written.
extension JSONBWriter {
    /// Copies the contents of the container at an offset; returns nil if the element is of another kind.
    func contents(at offset: Int, of kind: JSONB.Kind) -> JSONBWriter? {
        withBytes { bytes in
            guard let base = bytes.baseAddress, let element = JSONB.element(base, at: offset, limit: bytes.count),
                element.kind == kind
            else { return nil }
            let copy = JSONBWriter(capacity: element.count + 16)
            copy.append(elements: UnsafeRawBufferPointer(rebasing: bytes[element.start..<element.end]))
            return copy
        }
    }

    /// Returns the number of elements from an offset to the end.
    func elementCount(from start: Int) -> Int {
        withBytes { bytes in
            var (count, position) = (0, start)
            while let base = bytes.baseAddress, let element = JSONB.element(base, at: position, limit: bytes.count) {
                count += 1
                position = element.end
            }
            return count
        }
    }

    /// Sorts the members from an offset to the end by the bytes of their keys.
    func sortMembers(from start: Int) {
        let members = withBytes { bytes in
            var members: [(key: Range<Int>, member: Range<Int>)] = []
            var position = start
            while let base = bytes.baseAddress, let key = JSONB.element(base, at: position, limit: bytes.count),
                let value = JSONB.element(base, at: key.end, limit: bytes.count)
            {
                members.append((key.start..<key.end, position..<value.end))
                position = value.end
            }
            return members
        }
        if members.count < 2 { return }
        let former = removeTail(from: start)
        former.withBytes { bytes in
            func key(_ index: Int) -> Slice<UnsafeRawBufferPointer> {
                bytes[members[index].key.lowerBound - start..<members[index].key.upperBound - start]
            }
            for index in members.indices.sorted(by: { key($0).lexicographicallyPrecedes(key($1)) }) {
                let member = members[index].member
                append(elements: UnsafeRawBufferPointer(rebasing: bytes[member.lowerBound - start..<member.upperBound - start]))
            }
        }
    }
}

/// The type of a dictionary's coding keys. It is private in the standard library, so this encodes a dictionary and looks at the
/// container that it requests. A dictionary's own order of members changes from run to run.
enum JSONBDictionaryKey {
    static let type: ObjectIdentifier = {
        let probe = Probe()
        try? [String: Int]().encode(to: probe)
        return probe.type
    }()

    private final class Probe: Encoder {
        var type = ObjectIdentifier(Never.self)
        var codingPath: [any CodingKey] { [] }
        var userInfo: [CodingUserInfoKey: Any] { [:] }

        func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
            self.type = ObjectIdentifier(type)
            return KeyedEncodingContainer(RefusingContainer<Key>(JSONFault()))
        }

        func unkeyedContainer() -> any UnkeyedEncodingContainer { RefusingContainer<NoKey>(JSONFault()) }
        func singleValueContainer() -> any SingleValueEncodingContainer { RefusingContainer<NoKey>(JSONFault()) }
    }
}
