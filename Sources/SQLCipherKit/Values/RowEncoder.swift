import CSQLCipher
import Foundation

/// Where the values of an `Encodable` go: straight to a statement's parameters, or, where the keys are not known yet, into a list.
final class RowEncodingState {
    /// The statement to bind to; nil to collect.
    @exclusivity(unchecked) var handle: OpaquePointer?
    let dateStrategy: DateStrategy
    let keys: [String]
    /// How many parameters were bound.
    @exclusivity(unchecked) var bound = 0
    /// Whether a key turned up that the statement has no parameter for.
    @exclusivity(unchecked) var hasOtherKeys = false
    @exclusivity(unchecked) var tables: [CodingKeyTable] = []
    var collected: [(name: String, value: (any SQLValueConvertible)?)] = []

    init(_ dateStrategy: DateStrategy, keys: [String] = []) {
        self.dateStrategy = dateStrategy
        self.keys = keys
    }

    @inline(__always)
    func put<Key: CodingKey>(_ value: some SQLValueConvertible, _ key: Key, _ table: CodingKeyTable) throws {
        guard let handle else {
            collect(value, key.stringValue)
            return
        }
        let index = table.index(key) { text in keys.firstIndex(of: text).map { Int32($0 + 1) } ?? CodingKeyTable.missing }
        guard index > 0 else {
            hasOtherKeys = true
            return
        }
        bound += 1
        try value.bindSQL(to: Parameter(handle, index, dateStrategy))
    }

    @inline(never)
    private func collect(_ value: some SQLValueConvertible, _ name: String) {
        if let index = collected.firstIndex(where: { $0.name == name }) {
            collected[index].value = value
        } else {
            collected.append((name, value))
        }
    }

    /// Whether each parameter got its value from the last record.
    var isComplete: Bool { bound == keys.count && !hasOtherKeys }

    func begin(_ handle: OpaquePointer) {
        self.handle = handle
        bound = 0
        hasOtherKeys = false
    }
}

extension StatementArguments {
    /// The values of an `Encodable` by the names of its coding keys.
    /// ```swift
    /// try db.execute("UPDATE note SET title = :title WHERE id = :id", StatementArguments(encoding: note))
    /// ```
    /// A property of a type that is ``SQLValueConvertible``, or that codes a single such value as enumerations do, is bound as that;
    /// any other, such as a nested structure or an array, as JSON text. Each key needs a parameter in the statement.
    /// - Throws: what the value's own encoding throws, and ``DatabaseError/Reason/misuse`` if it has no keys.
    public init(encoding value: some Encodable) throws {
        let state = RowEncodingState(.iso8601)
        try value.encode(to: RowEncoder(state: state))
        positional = []
        named = state.collected
        guard !named.isEmpty else { throw DatabaseError.misuse("\(type(of: value)) has no coding keys that could be columns") }
    }
}

struct RowEncoder: Encoder {
    let state: RowEncodingState

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(RowEncodingContainer(state: state, table: state.tables.table(type)))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer { RefusingContainer<NoKey>(Self.noKeys) }
    func singleValueContainer() -> any SingleValueEncodingContainer { RefusingContainer<NoKey>(Self.noKeys) }

    private static let noKeys = DatabaseError.misuse("a record is encoded by its coding keys, not as a list or a single value")
}

/// Binds values by coding keys. The generic methods are the witnesses of the protocol's methods for each simple type.
private struct RowEncodingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let state: RowEncodingState
    let table: CodingKeyTable

    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) throws { try state.put(SQLValue.null, key, table) }

    func encode<T: SQLValueConvertible & Encodable>(_ value: T, forKey key: Key) throws { try state.put(value, key, table) }

    // The standard library's own methods for each of these leave a nil out, which would make another statement.
    func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try state.put(value, key, table) }
    func encodeIfPresent(_ value: String?, forKey key: Key) throws { try state.put(value, key, table) }
    func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try state.put(value, key, table) }
    func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try state.put(value, key, table) }
    func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try state.put(value, key, table) }
    func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try state.put(value, key, table) }
    func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try state.put(value, key, table) }
    func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try state.put(value, key, table) }
    func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try state.put(value, key, table) }
    func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try state.put(value, key, table) }
    func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try state.put(value, key, table) }
    func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try state.put(value, key, table) }
    func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try state.put(value, key, table) }
    func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try state.put(value, key, table) }

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        // A comparison of two types is faster than asking what a type conforms to.
        if T.self == Data.self, let data = value as? Data {
            try state.put(data, key, table)
        } else if let convertible = value as? any SQLValueConvertible {
            try put(convertible, key)
        } else {
            switch try ColumnEncoder.encode(value, [key]) {
            case let simple?: try put(simple, key)
            case nil: try encodeNil(forKey: key)
            }
        }
    }

    private func put(_ value: some SQLValueConvertible, _ key: Key) throws { try state.put(value, key, table) }

    func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws {
        if let value { try encode(value, forKey: key) } else { try encodeNil(forKey: key) }
    }

    func nestedContainer<N: CodingKey>(keyedBy type: N.Type, forKey key: Key) -> KeyedEncodingContainer<N> {
        KeyedEncodingContainer(RefusingContainer<N>(Self.nested(key)))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { RefusingContainer<NoKey>(Self.nested(key)) }

    // A class and its superclass share the row.
    func superEncoder() -> any Encoder { RowEncoder(state: state) }
    func superEncoder(forKey key: Key) -> any Encoder { RowEncoder(state: state) }

    private static func nested(_ key: Key) -> DatabaseError {
        .misuse("the column \(key.stringValue) cannot be encoded through a nested container: give it a type of its own")
    }
}
