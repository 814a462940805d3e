/// Maps the coding keys of one type to columns or parameters: learned at the first row, then found by looking at a single byte.
///
/// An enumeration of up to 256 cases is a single byte, which identifies the case and so the key. Keys of other types are compared
/// as text, beginning after the last one found, because values are coded in the same order each time.
final class CodingKeyTable {
    static let unknown: Int32 = -2
    static let missing: Int32 = -1

    private let keyType: ObjectIdentifier
    private let isByte: Bool
    /// Raw memory, so that reading it costs no retain, bounds check or exclusivity check. All unknown for keys of other types.
    let byByte: UnsafeMutablePointer<Int32>
    @exclusivity(unchecked) private var texts: [(text: String, index: Int32)] = []
    @exclusivity(unchecked) private var next = 0
    // The container for the keys: to make one for each row takes longer than reading a column.
    private var kept: AnyObject?
    // The same object as memory: whoever names its type may ask the runtime for it, in each row.
    @exclusivity(unchecked) private var container: UnsafeMutableRawPointer?

    init<Key: CodingKey>(_ type: Key.Type) {
        keyType = ObjectIdentifier(type)
        isByte = MemoryLayout<Key>.size <= 1
        byByte = .allocate(capacity: 256)
        byByte.initialize(repeating: Self.unknown, count: 256)
    }

    deinit { byByte.deallocate() }

    @inline(never)
    func keep<Container>(_ made: Container) -> Container {
        let object = KeptContainer(made)
        container = Unmanaged.passUnretained(object).toOpaque()
        kept = object
        return made
    }

    /// The ``KeptContainer`` of these keys, for another row.
    @inline(__always)
    func container(_ key: ObjectIdentifier) -> UnsafeMutableRawPointer? {
        if key != keyType { return nil }
        next = 0
        return container
    }

    /// The index of a key in ``byByte``.
    @inline(__always)
    static func byte<Key: CodingKey>(_ key: Key) -> Int {
        MemoryLayout<Key>.size == 1 ? Int(unsafeBitCast(key, to: UInt8.self)) : 0
    }

    /// The index of a key that ``byByte`` does not contain. Calls `learn` for a key that was not seen before.
    @inline(never)
    func index<Key: CodingKey>(_ key: Key, _ learn: (String) -> Int32) -> Int32 {
        guard isByte else { return indexByText(key.stringValue, learn) }
        let byte = Self.byte(key)
        if byByte[byte] == Self.unknown { byByte[byte] = learn(key.stringValue) }
        return byByte[byte]
    }

    private func indexByText(_ text: String, _ learn: (String) -> Int32) -> Int32 {
        if next < texts.count, texts[next].text.isSameText(as: text) {
            next += 1
            return texts[next - 1].index
        }
        if let found = texts.firstIndex(where: { $0.text.isSameText(as: text) }) {
            next = found + 1
            return texts[found].index
        }
        let index = learn(text)
        // A dictionary can have any number of keys, so the list must be limited.
        if texts.count < 1000 { texts.append((text, index)) }
        next = texts.count
        return index
    }
}

/// A container, which this object copies without asking the runtime for its type.
final class KeptContainer<Container> {
    private let made: Container

    fileprivate init(_ made: Container) { self.made = made }

    @inline(never)
    func container() -> Container { made }
}

extension [CodingKeyTable] {
    /// The ``KeptContainer`` for a type of keys; a type and its superclass have one each. One list has containers of one kind.
    @inline(__always)
    func container(_ key: ObjectIdentifier) -> UnsafeMutableRawPointer? {
        for table in self {
            if let known = table.container(key) { return known }
        }
        return nil
    }
}
