import SQLCipherKitCore

/// Learns from a stored value how a type that codes itself stores it, by decoding it as the type: as a single value, and of which
/// type, or as a JSON document.
final class StoredForm: Decoder, SingleValueDecodingContainer {
    private let value: SQLValue
    private let profile: ValueProfile
    private(set) var isDocument = false
    /// The type that the value was read as.
    private(set) var single: (any SQLValueConvertible.Type)?
    private let type: any Any.Type

    init<T: Decodable>(of value: SQLValue, as type: T.Type, _ profile: ValueProfile) {
        (self.value, self.type, self.profile) = (value, type, profile)
        // An error says no more of the form than was learned before it.
        _ = try? T(from: self)
    }

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try document().container(keyedBy: type)
    }
    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try document().unkeyedContainer() }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }
    func decodeNil() -> Bool { false }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        guard let stored = type as? any SQLValueConvertible.Type else { return try T(from: self) }
        if stored._isJSONDocument { isDocument = true }
        guard let read = stored.init(sqlValue: value, in: profile) as? T else {
            throw DecodingError.typeMismatch(type, .init(codingPath: [], debugDescription: "\(value.storageClass.rawValue)"))
        }
        if !isDocument { single = stored }
        return read
    }

    private func document() throws -> any Decoder {
        isDocument = true
        return try JSONBDecoder.decoder(of: value, as: type, profile.jsonDates)
    }
}

/// The collections whose coding is a JSON document's.
protocol JSONCollection {}

extension Array: JSONCollection {}
extension ContiguousArray: JSONCollection {}
extension Set: JSONCollection {}
extension Dictionary: JSONCollection {}
