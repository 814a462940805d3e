import CSQLCipher
import Foundation

/// The knowledge from decoding a statement's rows, and the row that is being decoded.
@usableFromInline
package final class RowDecodingState {
    /// Only valid while a row is decoded: later the names may be gone.
    unowned(unsafe) let names: ColumnNames
    let slot: UnsafeMutablePointer<CodingSlot>
    /// The row's statement, in the slot; nil outside a row, so that a decoder that outlives it has nothing to read. Raw memory, so
    /// that reading it costs no retain.
    @usableFromInline package let row: UnsafeMutablePointer<OpaquePointer?>
    @exclusivity(unchecked) var tables: [CodingKeyTable] = []
    /// The column that is decoded, while it is one of a type that codes itself.
    @exclusivity(unchecked) var document: ColumnDocument?
    /// The profiles of the columns, while a record that gives them is decoded.
    @usableFromInline @exclusivity(unchecked) package var own: UnsafePointer<UnsafePointer<ValueProfile>?>?

    init(_ names: ColumnNames) {
        self.names = names
        slot = CodingSlot.take()
        // The first field.
        row = UnsafeMutableRawPointer(slot).assumingMemoryBound(to: OpaquePointer?.self)
    }

    deinit { CodingSlot.giveBack(slot) }

    @inline(__always)
    func live() throws -> OpaquePointer {
        guard let handle = row.pointee else { throw DatabaseError.decoderAfterRow }
        return handle
    }

    /// A column of the row.
    @inline(__always)
    func column(_ index: Int32) throws -> Row._Column {
        Row._Column(try live(), index, index < 0 ? nil : own?[Int(index)])
    }

    /// The name of the column of a key of the type that is decoded.
    func name(_ key: any CodingKey) -> String {
        names.lastReading?._withUnsafeGuaranteedRef { $0.naming(key.stringValue) } ?? key.stringValue
    }

    /// Converts a decoding error to one that names the column. Other errors that a type's own decoding throws are passed on.
    @usableFromInline
    @inline(never)
    package func error(_ error: any Error, _ type: Any.Type) -> any Error {
        guard let error = error as? DecodingError else { return error }
        let path = error.context?.codingPath ?? []
        let index = path.first.map { names.index(of: name($0)) } ?? -1
        guard let handle = row.pointee, index >= 0 else {
            return DatabaseError(code: .mismatch, reason: .typeMismatch, message: "the row is no \(type): \(error.jsonDescription)")
        }
        return Row._Column(handle, index).undecodable(type, error)
    }
}

extension Row {
    /// Decodes the row as a `Decodable` type, with its coding keys as the columns' names.
    ///
    /// If a property's type is ``SQLValueConvertible``, or codes a single such value as enumerations do, it is read from its column
    /// directly. Any other property, such as a nested structure or an array, is read from JSON in its column, as text or JSONB like
    /// a ``JSONColumn``. An optional property is nil if its column is missing or NULL. Decoding takes two to three times as long
    /// as reading an ``SQLRowConvertible``.
    /// - Throws: ``DatabaseError/Reason/noSuchColumn``, ``DatabaseError/Reason/unexpectedNull``,
    ///   ``DatabaseError/Reason/typeMismatch`` with the column and the path in its JSON, or any error that the type's own decoding
    ///   throws. A `DecodingError` becomes a ``DatabaseError/Reason/typeMismatch``.
    @inlinable
    public func decode<T: Decodable>(_ type: T.Type = T.self) throws -> T {
        let state = names.decoding
        let id = ObjectIdentifier(type)
        let known = unretainedNames._withUnsafeGuaranteedRef { $0.known(id, isPositional: false) } ?? learn(type)
        let former = (state.row.pointee, state.own)
        state.row.pointee = handle
        state.own = known._withUnsafeGuaranteedRef { $0.own }
        defer { (state.row.pointee, state.own) = former }
        do { return try T(from: RowDecoder(state)) } catch { throw state.error(error, type) }
    }
}

extension Row {
    /// Finds out the profiles of a type's columns.
    @usableFromInline
    @inline(never)
    func learn(_ type: any Any.Type) -> Unmanaged<RowReading> { names.learn(type, nil) }
}

@usableFromInline
struct RowDecoder: Decoder {
    let state: RowDecodingState

    @usableFromInline
    init(_ state: RowDecodingState) { self.state = state }

    @usableFromInline var codingPath: [any CodingKey] { [] }
    @usableFromInline var userInfo: [CodingUserInfoKey: Any] { [:] }

    @usableFromInline
    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard let known = state.tables.container(ObjectIdentifier(type)) else { return state.makeContainer(type) }
        return unsafeBitCast(known, to: KeptContainer<KeyedDecodingContainer<Key>>.self).container()
    }

    @usableFromInline
    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        throw DatabaseError.misuse("a row is decoded by the names of its columns, not as a list")
    }

    @usableFromInline
    func singleValueContainer() throws -> any SingleValueDecodingContainer { RowSingleDecoding(state) }
}

extension RowDecodingState {
    @inline(never)
    fileprivate func makeContainer<Key: CodingKey>(_ type: Key.Type) -> KeyedDecodingContainer<Key> {
        let table = CodingKeyTable(type)
        tables.append(table)
        return table.keep(KeyedDecodingContainer(RowDecodingContainer<Key>(self, table)))
    }
}

/// Reads columns by coding keys.
private struct RowDecodingContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let slot: UnsafeMutablePointer<CodingSlot>
    private let number: UInt64
    // There as long as the slot has this number, so they are only asked for with the handle that `live` returns.
    private unowned(unsafe) let knownState: RowDecodingState
    private unowned(unsafe) let knownTable: CodingKeyTable
    private let byByte: UnsafeMutablePointer<Int32>

    init(_ state: RowDecodingState, _ table: CodingKeyTable) {
        slot = state.slot
        number = slot.pointee.number
        knownState = state
        knownTable = table
        byByte = table.byByte
    }

    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { present.map { state($0).names.names.compactMap { Key(stringValue: $0) } } ?? [] }

    /// The statement; nil after its row.
    @inline(__always)
    private var present: OpaquePointer? { slot.pointee.number == number ? slot.pointee.handle : nil }

    @inline(__always)
    private func live() throws -> OpaquePointer {
        guard let handle = present else { throw DatabaseError.decoderAfterRow }
        return handle
    }

    @inline(__always)
    private func state(_ live: OpaquePointer) -> RowDecodingState { knownState }

    /// The column of a key.
    @inline(__always)
    private func index(_ key: Key, _ live: OpaquePointer) -> Int32 {
        let known = byByte[CodingKeyTable.byte(key)]
        return known >= 0 ? known : unknownIndex(key, live)
    }

    @inline(never)
    private func unknownIndex(_ key: Key, _ live: OpaquePointer) -> Int32 {
        knownTable.index(key) { _ in
            let names = state(live).names
            names.lastReading?._withUnsafeGuaranteedRef { $0.coded.learn(key) }
            return names.index(of: state(live).name(key))
        }
    }

    @inline(__always)
    private func column(_ key: Key) throws -> Row._Column {
        let handle = try live()
        let index = index(key, handle)
        if index < 0 { throw noColumn(key, handle) }
        return Row._Column(handle, index)
    }

    @inline(never)
    private func noColumn(_ key: Key, _ handle: OpaquePointer) -> DatabaseError {
        DatabaseError(
            code: .range, reason: .noSuchColumn,
            message: "no column named \(state(handle).name(key)); there is \(state(handle).names.names.joined(separator: ", "))",
            sql: sqlite3_sql(handle).map { String(cString: $0) })
    }

    func contains(_ key: Key) -> Bool {
        guard let handle = present else { return false }
        return index(key, handle) >= 0 || part(key, handle) != nil
    }

    /// The columns of a part of the row; see ``Row/scope(_:as:)``.
    @inline(never)
    private func part(_ key: Key, _ handle: OpaquePointer) -> ColumnNames? { state(handle).names.part(key.stringValue, handle) }

    /// A property that is a part of the row.
    @inline(never)
    private func decodePart<T: Decodable>(_ type: T.Type, _ key: Key, _ handle: OpaquePointer) throws -> T {
        guard let part = part(key, handle) else { throw noColumn(key, handle) }
        let row = Row(handle, Unmanaged.passUnretained(part))
        // A record reads itself in its own way.
        if let own = type as? any SQLRowConvertible.Type, let value = try own.init(row: row) as? T { return value }
        return try row.decode(type)
    }

    func decodeNil(forKey key: Key) throws -> Bool { try column(key).storageClass == .null }

    @inline(__always)
    private func value<T: SQLValueConvertible>(_ key: Key) throws -> T { try column(key).read(as: T.self) }

    // A single method for all of them would look up the type of an optional for each value.
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try value(key) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try value(key) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try value(key) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try value(key) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try value(key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try value(key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try value(key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try value(key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try value(key) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try value(key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try value(key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try value(key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try value(key) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try value(key) }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try value(key) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try value(key) }

    @inline(__always)
    private func optional<T: SQLValueConvertible>(_ key: Key) throws -> T? {
        let handle = try live()
        let index = index(key, handle)
        return index < 0 ? nil : try Row._Column(handle, index).read(as: T?.self)
    }

    // The standard library has a default for each of these, which would be preferred to a generic method and looks a key up three
    // times.
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try optional(key) }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try optional(key) }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try optional(key) }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try optional(key) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try optional(key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try optional(key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try optional(key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try optional(key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try optional(key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try optional(key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try optional(key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try optional(key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try optional(key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try optional(key) }
    func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? { try optional(key) }
    func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? { try optional(key) }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        // A cast takes longer than all the rest.
        if T.self == Data.self { return unsafeBitCast(try value(key) as Data, to: T.self) }
        let handle = try live()
        let index = index(key, handle)
        if index < 0 { return try decodePart(type, key, handle) }
        return try ColumnDecoder(state: state(handle), index: index, codingPath: [key]).any(type)
    }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        let handle = try live()
        let index = index(key, handle)
        if index < 0 {
            guard let part = part(key, handle), !Row(handle, Unmanaged.passUnretained(part)).isAllNull else { return nil }
            return try decodePart(type, key, handle)
        }
        guard sqlite3_column_type(handle, index) != SQLITE_NULL else { return nil }
        if T.self == Data.self { return unsafeBitCast(try value(key) as Data, to: T.self) }
        return try ColumnDecoder(state: state(handle), index: index, codingPath: [key]).any(type)
    }

    func nestedContainer<N: CodingKey>(keyedBy type: N.Type, forKey key: Key) throws -> KeyedDecodingContainer<N> {
        try superDecoder(forKey: key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try superDecoder(forKey: key).unkeyedContainer()
    }

    // A class and its superclass share the row.
    func superDecoder() throws -> any Decoder { RowDecoder(state(try live())) }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        let column = try column(key)
        return ColumnDecoder(state: state(column.handle), index: column.index, codingPath: [key])
    }
}

/// The row as a single value: a type that has columns is decoded from them, any other from the first column.
private struct RowSingleDecoding: Decoder, SingleValueDecodingContainer {
    private let state: RowDecodingState

    init(_ state: RowDecodingState) { self.state = state }

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }
    private var first: ColumnDecoder { ColumnDecoder(state: state, index: 0, codingPath: []) }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try RowDecoder(state).container(keyedBy: type)
    }
    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try first.unkeyedContainer() }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { first.decodeNil() }
    func decode(_ type: Int128.Type) throws -> Int128 { try first.any(type) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try first.any(type) }
    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        type is any SQLValueConvertible.Type ? try first.any(type) : try T(from: self)
    }
}

extension DatabaseError {
    fileprivate static var decoderAfterRow: DatabaseError { .misuse("a decoder was used after its row") }
}
