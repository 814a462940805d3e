import CSQLCipher
import Foundation

/// Decodes one column: a simple value, a type that codes itself as one, or JSON.
package struct ColumnDecoder: Decoder, SingleValueDecodingContainer {
    package let state: RowDecodingState
    package let index: Int32
    package let codingPath: [any CodingKey]

    package init(state: RowDecodingState, index: Int32, codingPath: [any CodingKey]) {
        (self.state, self.index, self.codingPath) = (state, index, codingPath)
    }

    /// Thrown when a type asks for more than a single value.
    struct WantsJSON: Error {}

    package var userInfo: [CodingUserInfoKey: Any] { [:] }

    package func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> { throw wantsJSON() }
    package func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw wantsJSON() }
    package func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    private func wantsJSON() -> WantsJSON {
        state.wantsJSON = true
        return WantsJSON()
    }

    package func decodeNil() -> Bool { state.row.pointee.map { sqlite3_column_type($0, index) == SQLITE_NULL } ?? true }
    package func decode<T: SQLValueConvertible & Decodable>(_ type: T.Type) throws -> T {
        try state.column(index).read(as: T.self)
    }
    package func decode(_ type: Int128.Type) throws -> Int128 { try any(type) }
    package func decode(_ type: UInt128.Type) throws -> UInt128 { try any(type) }
    package func decode<T: Decodable>(_ type: T.Type) throws -> T { try any(type) }

    package func any<T: Decodable>(_ type: T.Type) throws -> T {
        // Comparing two types is faster than checking a conformance.
        if type == Data.self, let data = try Data._readSQL(from: state.column(index)) as? T { return data }
        if let convertible = type as? any SQLValueConvertible.Type,
            let value = try convertible._readSQL(from: state.column(index)) as? T
        {
            return value
        }
        state.wantsJSON = false
        // What the type asked for counts, not how it handled the error.
        defer { state.wantsJSON = false }
        let value: T
        do { value = try T(from: self) } catch where state.wantsJSON { return try json(type) }
        if state.wantsJSON, (try state.column(index)).looksLikeJSON, let other = try? json(type) { return other }
        return value
    }

    private func json<T: Decodable>(_ type: T.Type) throws -> T {
        let column = (try state.column(index))
        do { return try column.json(as: type).value } catch let error as DecodingError { throw column.undecodable(type, error) }
    }
}

extension Row._Column {
    /// Whether it may hold a JSON array or object, as text or JSONB.
    fileprivate var looksLikeJSON: Bool {
        guard let bytes = fastBytes(text: true, blob: true), let first = bytes.first(where: { $0 > 0x20 }) else { return false }
        if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") { return true }
        return storageClass == .blob && JSONB.Kind(rawValue: first & 15)?.isContainer == true
    }
}
