extension SQL.StringInterpolation {
    /// Binds each value of a list and writes the list in parentheses, as `IN` requires. If you have written `IN (` before it, that
    /// parenthesis is enough. An empty list is a subquery without rows, so that `IN` matches nothing and `NOT IN` everything.
    public mutating func appendInterpolation<T: SQLValueConvertible>(_ list: [T]) {
        appendList(list.count)
        for value in list { values.append(value) }
    }

    /// Binds each value of a set, like an array.
    public mutating func appendInterpolation<T: SQLValueConvertible>(_ set: Set<T>) {
        appendList(set.count)
        for value in set { values.append(value) }
    }

    private mutating func appendList(_ count: Int) {
        let isOpen = !endsWithMark && text.utf8.endsWithOpenIn
        let list = count == 0 ? "SELECT NULL WHERE 0" : String(repeating: "?,", count: count - 1) + "?"
        append(isOpen ? list : "(" + list + ")")
    }
}

extension String.UTF8View {
    /// Whether the text ends with the word `IN` and an opening parenthesis. SQLite takes a list in two pairs of them for one value.
    fileprivate var endsWithOpenIn: Bool {
        func isBlank(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }
        var rest = self[...]
        func skip(_ isSkipped: (UInt8) -> Bool) -> Bool {
            guard let last = rest.last, isSkipped(last) else { return false }
            rest = rest.dropLast()
            return true
        }
        while skip(isBlank) {}
        guard skip({ $0 == UInt8(ascii: "(") }) else { return false }
        while skip(isBlank) {}
        guard skip({ $0 | 0x20 == UInt8(ascii: "n") }), skip({ $0 | 0x20 == UInt8(ascii: "i") }) else { return false }
        // A longer word, such as JOIN or a name.
        return !skip { byte in
            (0x61...0x7a).contains(byte | 0x20) || (0x30...0x39).contains(byte) || "_$".utf8.contains(byte) || byte >= 0x80
        }
    }
}
