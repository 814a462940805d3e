import SQLCipherKitCore

/// The types whose values are JSON documents in a column, as opposed to a single value.
enum DocumentTypes {
    private static let others = TypeMemo()

    /// The type that a type codes itself as; nil if it is a document.
    static func stored(_ type: any Decodable.Type) -> (any SQLValueConvertible.Type)? {
        FormProbe.ask(type).asked.last as? any SQLValueConvertible.Type
    }

    static func contains(_ type: any Any.Type) -> Bool {
        if others.contains(type) { return false }
        var stored = type
        while let optional = stored as? any SQLNullable.Type { stored = optional.wrapped }
        let isDocument =
            if let convertible = stored as? any SQLValueConvertible.Type {
                convertible._isJSONDocument
            } else if let decodable = stored as? any Decodable.Type {
                FormProbe.isDocument(decodable)
            } else {
                false
            }
        if !isDocument { others.add(type) }
        return isDocument
    }
}

/// Asks a type by starting to decode it whether it consists of a single value, and of which type.
struct FormProbe: Decoder, SingleValueDecodingContainer {
    final class Answer {
        var isDocument = false
        /// The simple types that were asked for, in order.
        var asked: [any Any.Type] = []
    }
    private struct Enough: Error {}

    private let answer = Answer()

    static func isDocument(_ type: any Decodable.Type) -> Bool { ask(type).isDocument }

    static func ask(_ type: any Decodable.Type) -> Answer {
        let probe = FormProbe()
        _ = try? type.init(from: probe)
        return probe.answer
    }

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> { throw document }
    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw document }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }
    func decodeNil() -> Bool { false }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        if let stored = type as? any SQLValueConvertible.Type {
            answer.isDocument = stored._isJSONDocument
            answer.asked.append(type)
            throw Enough()
        }
        return try type.init(from: self)
    }

    private var document: Enough {
        answer.isDocument = true
        return Enough()
    }
}
