/// An SQL name as a dictionary key: of a table, a column, a function or a database. As in SQLite, two are equal if their UTF-8
/// bytes are, ignoring the case of ASCII letters (`sqlite3_stricmp`, <https://sqlite.org/c3ref/stricmp.html>).
package struct SQLName: Hashable, Sendable, ExpressibleByStringLiteral {
    package let text: String

    package init(_ text: String) { self.text = text }
    package init(stringLiteral text: String) { self.text = text }

    package static func == (a: SQLName, b: SQLName) -> Bool { a.text.isSameName(as: b.text) }

    package func hash(into hasher: inout Hasher) {
        text.withTextBytes { bytes in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: bytes.count) { folded in
                for index in bytes.indices { folded.initializeElement(at: index, to: bytes[index].lowercasedASCII) }
                hasher.combine(bytes: UnsafeRawBufferPointer(folded))
            }
        }
        hasher.combine(0xff as UInt8)
    }
}

extension String {
    /// Returns whether two names are the same to SQLite, which ignores ASCII case.
    package func isSameName(as other: String) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8) { $0.lowercasedASCII == $1.lowercasedASCII }
    }

    /// Returns whether a name begins with another one, ignoring ASCII case.
    package func hasNamePrefix(_ prefix: String) -> Bool {
        utf8.count >= prefix.utf8.count && zip(utf8, prefix.utf8).allSatisfy { $0.lowercasedASCII == $1.lowercasedASCII }
    }
}

extension String {
    /// The name before the last underscore: a table of this name may hold the content of a virtual table of that name. SQLite
    /// itself identifies shadow tables by name, byte for byte.
    var shadowOwner: String? {
        utf8.lastIndex(of: UInt8(ascii: "_")).map { String(decoding: utf8[..<$0], as: UTF8.self) }
    }
}

extension String? {
    /// Returns whether both are nil, or both are the same name.
    package func isSameName(as other: String?) -> Bool {
        guard let self, let other else { return self == nil && other == nil }
        return self.isSameName(as: other)
    }
}

extension Collection<String> {
    package func firstIndex(named name: String) -> Index? { firstIndex { $0.isSameName(as: name) } }
    package func contains(name: String) -> Bool { firstIndex(named: name) != nil }

    /// The names as a set that compares them as SQLite does.
    package var nameSet: Set<SQLName> { Set(lazy.map { SQLName($0) }) }
}

extension UInt8 {
    @inline(__always)
    package var lowercasedASCII: UInt8 { self >= 0x41 && self <= 0x5a ? self | 0x20 : self }
}
