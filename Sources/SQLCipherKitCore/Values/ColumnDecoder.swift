import CSQLCipher
import Foundation

/// Decodes one column: a simple value, a type that codes itself as one, or the JSON that the column holds.
package struct ColumnDecoder: Decoder, SingleValueDecodingContainer {
    package let state: RowDecodingState
    package let index: Int32
    package let codingPath: [any CodingKey]

    package init(state: RowDecodingState, index: Int32, codingPath: [any CodingKey]) {
        (self.state, self.index, self.codingPath) = (state, index, codingPath)
    }

    package var userInfo: [CodingUserInfoKey: Any] {
        guard let document = state.document, document.index == index else { return [:] }
        return document.options(.iso8601).userInfo
    }

    package func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try json().container(keyedBy: type)
    }
    package func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try json().unkeyedContainer() }
    package func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    private func json() throws -> JSONBDecoding {
        let column = try state.column(index)
        // A column that a record reads by itself, with `superDecoder(forKey:)` or a nested container, is of no type.
        guard let document = state.document, document.index == index else { return try ColumnDocument(index: index).json(column) }
        state.document?.isAsked = true
        let json = try document.json(column)
        state.document?.context = json
        return json
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
        if JSONBDecodingContext.isList(type) { return try list(type) }
        if let convertible = type as? any SQLValueConvertible.Type,
            let value = try convertible._readSQL(from: state.column(index)) as? T
        {
            return value
        }
        let outer = state.document
        let isInPlace = outer?.index == index
        if isInPlace { state.document?.types.append(type) } else { state.document = ColumnDocument(index: index, types: [type]) }
        defer { state.document = outer }
        do {
            let value = try T(from: self)
            if let failure = state.document?.context?.failure { throw failure }
            return value
        } catch let error as DecodingError where state.document?.isAsked == true {
            throw try state.column(index).undecodable(type, error)
        }
    }

    private func list<T: Decodable>(_ type: T.Type) throws -> T {
        let column = try state.column(index)
        do { return try column.json(as: type).value } catch let error as DecodingError { throw column.undecodable(type, error) }
    }
}

/// The JSON of a column whose type may ask for a container.
struct ColumnDocument {
    let index: Int32
    /// The type that is decoded, and those that it decodes in its own place.
    var types: [any Any.Type] = []
    /// True once the document has been asked for.
    var isAsked = false
    var context: JSONBDecoding?

    func options(_ dates: JSONDateStrategy) -> JSONCodingOptions { .of(types.first ?? Never.self, dates) }

    func json(_ column: borrowing Row._Column) throws -> JSONBDecoding {
        let bytes = try column.rawBytes(text: true, blob: true, as: "JSON")
        let decoder = JSONBDecoder(options: options(column.profile.jsonDates))
        return try decoder.decoder(stored: bytes, isText: column.storageClass == .text, as: types)
    }
}
