import Foundation
import SQLCipherKitCore

/// Finds the coding keys of a type by decoding it from invented values: zero, empty or nil. It stops at the first property that
/// cannot be decoded in this way, and returns the keys found before it.
final class PropertyProbe {
    private var names: [String] = []
    private var types: [any Any.Type] = []
    private var properties: [String?] = []

    /// The type of the property with a coding key; nil if the probe does not come as far.
    static func type(of name: String, in type: any Decodable.Type) -> (any Any.Type)? {
        let probe = asked(type)
        return probe.names.firstIndex(ofText: name).map { probe.types[$0] }
    }

    static func names(of type: any Decodable.Type) -> [String] { asked(type).names }

    /// The coding key of a property; nil if it was not found.
    static func name(of property: String, in type: any Decodable.Type) -> String? {
        let probe = asked(type)
        return probe.properties.firstIndex { $0.isSameText(as: property) }.map { probe.names[$0] }
    }

    /// The property of a type of values that a key path describes by a name; nil if several could be meant. A property without a
    /// size has no place of its own: its key path is described as another property's, and that of another by its name.
    static func property(_ name: String, of wanted: any Any.Type, in root: any Any.Type) -> String? {
        guard let type = root as? any Decodable.Type, let value = try? value(type) as Any else { return name }
        let fields = Array(Mirror(reflecting: value).children)
        if size(of: wanted) == 0 {
            let same = fields.filter { Swift.type(of: $0.value) == wanted }
            return same.count == 1 ? same[0].label : nil
        }
        let described = fields.drop { !($0.label ?? "").isSameText(as: name) }
        return (described.first { size(of: Swift.type(of: $0.value)) > 0 } ?? described.first)?.label ?? name
    }

    private static func size(of type: any Any.Type) -> Int {
        func size<T>(_ type: T.Type) -> Int { MemoryLayout<T>.size }
        return _openExistential(type, do: size)
    }

    private static func asked(_ type: any Decodable.Type) -> PropertyProbe {
        let probe = PropertyProbe()
        _ = try? type.init(from: Source(probe: probe))
        return probe
    }

    private struct Unknown: Error {}

    private struct Source: Decoder {
        let probe: PropertyProbe?
        var depth = 0
        var codingPath: [any CodingKey] { [] }
        var userInfo: [CodingUserInfoKey: Any] { [:] }

        func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
            KeyedDecodingContainer(Keys<Key>(probe: probe, depth: depth))
        }

        func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Unknown() }
        func singleValueContainer() throws -> any SingleValueDecodingContainer { Single(depth: depth) }
    }

    /// A type that consists of a single value.
    private struct Single: SingleValueDecodingContainer {
        let depth: Int
        var codingPath: [any CodingKey] { [] }

        func decodeNil() -> Bool { false }
        func decode<T: Decodable>(_ type: T.Type) throws -> T { try PropertyProbe.value(type, depth: depth + 1) }
    }

    private static let candidates: [SQLValue] = [
        .integer(0), .text(""), .real(0), .blob(Data()), .text("2000-01-01 00:00:00"),
        .text("0F1E2D3C-4B5A-4978-8796-A5B4C3D2E1F0"), .text("x:"),
    ]

    /// An invented value of a column's type.
    static func value<T: Decodable>(_ type: T.Type, depth: Int = 0) throws -> T {
        // A type that asks for itself would never end.
        if depth > 10 { throw Unknown() }
        if let type = type as? any SQLValueConvertible.Type {
            for value in candidates { if let value = type.init(sqlValue: value) as? T { return value } }
        }
        if let type = type as? any RangeReplaceableCollection.Type, let value = type.init() as? T { return value }
        if let type = type as? any CaseIterable.Type, let value = first(type) as? T { return value }
        return try type.init(from: Source(probe: nil, depth: depth))
    }

    private static func first<T: CaseIterable>(_ type: T.Type) -> Any? { type.allCases.first }

    private struct Keys<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let probe: PropertyProbe?
        let depth: Int
        var codingPath: [any CodingKey] { [] }
        var allKeys: [Key] { [] }

        private func note(_ key: Key, _ type: any Any.Type = Any?.self) {
            let name = key.stringValue
            guard let probe else { return }
            if let known = probe.names.firstIndex(ofText: name) {
                if probe.types[known] == Any?.self { probe.types[known] = type }
            } else {
                probe.names.append(name)
                probe.types.append(type)
                probe.properties.append(CodingKeyProbe.property(of: key))
            }
        }

        func contains(_ key: Key) -> Bool {
            note(key)
            return true
        }

        func decodeNil(forKey key: Key) throws -> Bool {
            note(key)
            return true
        }

        func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
            note(key, type)
            return try PropertyProbe.value(type, depth: depth + 1)
        }

        func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
            note(key, type)
            return nil
        }

        func nestedContainer<NestedKey: CodingKey>(
            keyedBy type: NestedKey.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<NestedKey> { throw Unknown() }
        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { throw Unknown() }
        func superDecoder() throws -> any Decoder { throw Unknown() }
        func superDecoder(forKey key: Key) throws -> any Decoder { throw Unknown() }
    }
}
