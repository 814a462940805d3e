import SQLCipherKitCore

/// Asks a type for its coding keys by starting to decode it, and stops once they are known.
struct CodingKeyProbe: Decoder {
    private final class Answer { var allows: Bool? }
    private struct Enough: Error {}

    private let name: String
    private let answer = Answer()

    /// Whether a property of this name can have the coding key of this name. True for a type that does not reveal its keys.
    static func allows(_ name: String, _ type: Any.Type) -> Bool {
        guard let type = type as? any Decodable.Type else { return true }
        let probe = CodingKeyProbe(name: name)
        _ = try? type.init(from: probe)
        return probe.answer.allows ?? true
    }

    private init(name: String) { self.name = name }

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        if answer.allows == nil { answer.allows = isKey(Key.self) }
        throw Enough()
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Enough() }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { throw Enough() }

    /// The cases of `CodingKeys` are named after the properties, whatever their string values: if the string belongs to a case of
    /// another name, it is another property's key.
    private func isKey<Key: CodingKey>(_ type: Key.Type) -> Bool {
        guard let key = Key(stringValue: name), key.stringValue.isSameText(as: name) else { return false }
        return Self.property(of: key)?.isSameText(as: name) ?? true
    }

    /// The name of the property that has a coding key; nil if the key does not reveal it.
    static func property<Key: CodingKey>(of key: Key) -> String? {
        guard Mirror(reflecting: key).displayStyle == .enum else { return nil }
        return caseName(key).map { String(cString: $0) }
    }
}

/// The name of an enumeration's case; nil without reflection metadata. This is the runtime function behind `print`, which itself
/// would give a coding key's description instead.
@_silgen_name("swift_EnumCaseName")
private func caseName<T>(_ value: T) -> UnsafePointer<CChar>?
