/// The texts of a type's coding keys that differ from the names of their cases, as coding real rows and records has shown so far. A
/// case has the name of its property.
package final class CodedNames: Sendable {
    /// The texts, by the names of the properties; nil where a property was coded under several.
    package var texts: [String: String?] { known.withLock { $0 } }

    private let known = Lock<[String: String?]>([:])
    private static let types = Lock<[ObjectIdentifier: CodedNames]>([:])

    private init() {}

    package static func of(_ type: any Any.Type) -> CodedNames { of(ObjectIdentifier(type)) }

    static func of(_ type: ObjectIdentifier) -> CodedNames {
        types.withLock { types in
            let names = types[type] ?? CodedNames()
            types[type] = names
            return names
        }
    }

    /// Learns the text of a key that is encoded or decoded.
    func learn<Key: CodingKey>(_ key: Key) {
        guard let name = Self.property(of: key) else { return }
        let text = key.stringValue
        if text.isSameText(as: name) { return }
        known.withLock { known in
            if let former = known[name], !(former?.isSameText(as: text) ?? false) {
                known[name] = .some(nil)
            } else {
                known[name] = text
            }
        }
    }

    /// The name of the property that has a coding key: that of the key's case. Nil if the key is of another kind than an
    /// enumeration, or the program has no reflection metadata.
    package static func property<Key: CodingKey>(of key: Key) -> String? { caseName(key).map { String(cString: $0) } }
}

/// The name of an enumeration's case; nil for other types, and without reflection metadata. This is the runtime function behind
/// `print`, which itself would give a coding key's description instead.
@_silgen_name("swift_EnumCaseName")
private func caseName<T>(_ value: T) -> UnsafePointer<CChar>?
