import Foundation

/// A text as a key: of SQL, names of migrations, coding keys, paths, JSON's keys. Two are the same if their bytes in UTF-8 are, as
/// SQLite, the file system and JSON (RFC 8259, section 8.3) have it.
///
/// To `String` an accented letter and its decomposed form are equal, as are their hashes. See ``SQLName`` for names that SQLite
/// compares without regard to ASCII case.
struct ExactText: Hashable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    @inline(__always)
    static func == (a: ExactText, b: ExactText) -> Bool { a.text.isSameText(as: b.text) }

    @inline(__always)
    func hash(into hasher: inout Hasher) {
        text.withTextBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // Ends the text where several are hashed together: no byte of UTF-8 is this one.
        hasher.combine(0xff as UInt8)
    }
}

extension String {
    /// Whether the bytes in UTF-8 are the same.
    @inline(__always)
    func isSameText(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        return withTextBytes { a in
            other.withTextBytes { b in
                guard let a = a.baseAddress, let base = b.baseAddress, a != base else { return true }
                return memcmp(a, base, b.count) == 0
            }
        }
    }

    /// Whether the bytes in UTF-8 begin with those of another text.
    func hasTextPrefix(_ prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }

    /// The bytes in UTF-8, where they are: only a string of Foundation's is copied.
    @inline(__always)
    func withTextBytes<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
        var copy = self
        return copy.withUTF8(body)
    }
}

extension String? {
    /// Whether both are nil, or the bytes in UTF-8 are the same.
    func isSameText(as other: String?) -> Bool {
        guard let self, let other else { return self == nil && other == nil }
        return self.isSameText(as: other)
    }
}

extension Collection<String> {
    func firstIndex(ofText text: String) -> Index? { firstIndex { $0.isSameText(as: text) } }
    func contains(text: String) -> Bool { firstIndex(ofText: text) != nil }
}
