import Foundation

/// A text as a dictionary key, for SQL, names of migrations, coding keys, paths and JSON's keys. Two are equal if their UTF-8 bytes
/// are, as in SQLite, the file system and JSON (RFC 8259, section 8.3).
///
/// By contrast, `String` treats an accented letter and its decomposed form as equal. See ``SQLName`` for names that SQLite compares
/// ignoring ASCII case.
package struct ExactText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    @inline(__always)
    package static func == (a: ExactText, b: ExactText) -> Bool { a.text.isSameText(as: b.text) }

    @inline(__always)
    package func hash(into hasher: inout Hasher) {
        text.withTextBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // Marks the end of the text when several are hashed together: this byte does not occur in UTF-8.
        hasher.combine(0xff as UInt8)
    }
}

extension String {
    /// Returns whether the UTF-8 bytes are the same.
    @inline(__always)
    package func isSameText(as other: String) -> Bool {
        let count = utf8.count
        guard count == other.utf8.count else { return false }
        if count == 0 { return true }
        return withTextBytes { a in
            other.withTextBytes { b in
                guard let a = a.baseAddress, let base = b.baseAddress, a != base else { return true }
                return memcmp(a, base, b.count) == 0
            }
        }
    }

    /// Returns whether the UTF-8 bytes begin with those of another text.
    package func hasTextPrefix(_ prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }

    /// Lends the UTF-8 bytes in place: only a bridged Foundation string is copied.
    @inline(__always)
    func withTextBytes<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
        var copy = self
        return copy.withUTF8(body)
    }
}

extension String? {
    /// Returns whether both are nil, or their UTF-8 bytes are the same.
    package func isSameText(as other: String?) -> Bool {
        guard let self, let other else { return self == nil && other == nil }
        return self.isSameText(as: other)
    }
}

extension Collection<String> {
    package func firstIndex(ofText text: String) -> Index? { firstIndex { $0.isSameText(as: text) } }
    package func contains(text: String) -> Bool { firstIndex(ofText: text) != nil }
}
