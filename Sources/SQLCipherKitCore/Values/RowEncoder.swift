import CSQLCipher
import Foundation

/// Receives the values of an `Encodable`: binds them to a statement's parameters or, if the keys are not known yet, collects them
/// in a list.
package final class RowEncodingState {
    struct Progress {
        var bound = 0
        /// True if the statement has no parameter for a key that was encoded.
        var hasOtherKeys = false
        let profile: ValueProfile
        /// The profile of each parameter, if columns have their own.
        let profiles: UnsafeMutablePointer<ValueProfile>?
    }

    /// Has the statement to bind to; none to collect.
    let slot: UnsafeMutablePointer<CodingSlot>
    /// Raw memory, so that reading it costs no retain.
    let progress: UnsafeMutablePointer<Progress>
    let keys: [String]
    /// Keys that the statement does not need.
    private let unused: Set<ExactText>
    private let own: [String: ValueProfile]
    private let naming: ColumnNaming
    private let coded: CodedNames
    @exclusivity(unchecked) var tables: [CodingKeyTable] = []
    /// The closures that write the columns that the record encodes by itself, once it is encoded.
    @exclusivity(unchecked) var late: [() throws -> Void] = []
    package var collected: [(name: String, value: (any SQLValueConvertible)?)] = []
    /// The coding key of each collected value, and of a second value for the same name.
    private var collectedKeys: [String] = []
    private var secondKey: String?
    /// True if a collected document has dates in a form that the connection's profile says.
    @exclusivity(unchecked) var hasDates = false

    /// - Parameters:
    ///   - type: the type whose values are encoded.
    ///   - keys: the columns that are bound, in the order of the parameters.
    package init(_ profile: ValueProfile, _ type: any Any.Type, keys: [String] = [], unused: Set<ExactText> = []) {
        let profiles = columnProfiles(of: type)
        own = profiles
        naming = columnNaming(of: type)
        coded = CodedNames.of(type)
        self.keys = keys
        self.unused = unused
        var each: UnsafeMutablePointer<ValueProfile>?
        if !profiles.isEmpty {
            let made = UnsafeMutablePointer<ValueProfile>.allocate(capacity: keys.count)
            for (index, key) in keys.enumerated() { (made + index).initialize(to: profiles[key] ?? profile) }
            each = made
        }
        slot = CodingSlot.take()
        progress = .allocate(capacity: 1)
        progress.initialize(to: Progress(profile: profile, profiles: each))
    }

    deinit {
        progress.pointee.profiles?.deallocate()
        progress.deallocate()
        CodingSlot.giveBack(slot)
    }

    /// For an encoder that was asked for after its record.
    static var unused: RowEncodingState { RowEncodingState(.standard, Never.self) }

    /// The parameter of a key; 0 if the statement does not need the key, negative if the key is unknown.
    @inline(never)
    func parameter<Key: CodingKey>(_ key: Key, _ table: CodingKeyTable) -> Int32 {
        table.index(key) { text in
            coded.learn(key)
            let text = naming(text)
            if let index = keys.firstIndex(ofText: text) { return Int32(index + 1) }
            return unused.contains(ExactText(text)) ? 0 : CodingKeyTable.missing
        }
    }

    /// The form of the dates inside a column's JSON.
    @inline(never)
    func dates(_ key: some CodingKey) -> JSONDateStrategy {
        if own.isEmpty { return progress.pointee.profile.jsonDates }
        coded.learn(key)
        return (own[naming(key.stringValue)] ?? progress.pointee.profile).jsonDates
    }

    /// Notes that the connection's profile decides how a column's dates are written.
    @inline(never)
    func noteDates(_ key: some CodingKey) { if own[naming(key.stringValue)] == nil { hasDates = true } }

    @inline(never)
    func collect(_ value: some SQLValueConvertible, _ key: some CodingKey) {
        coded.learn(key)
        let name = naming(key.stringValue)
        if let index = collected.firstIndex(where: { $0.name.isSameText(as: name) }) {
            collected[index].value = value
            if !collectedKeys[index].isSameText(as: key.stringValue) { secondKey = key.stringValue }
        } else {
            collected.append((name, value))
            collectedKeys.append(key.stringValue)
        }
    }

    /// True if the last record provided each parameter's value.
    var isComplete: Bool { progress.pointee.bound == keys.count && !progress.pointee.hasOtherKeys }

    func begin(_ handle: OpaquePointer) {
        slot.pointee.handle = handle
        progress.pointee.bound = 0
        progress.pointee.hasOtherKeys = false
    }

    func end() { slot.pointee.handle = nil }
}

extension StatementArguments {
    /// Takes the values of an `Encodable`, named by its coding keys.
    /// ```swift
    /// try db.execute("UPDATE note SET title = :title WHERE id = :id", StatementArguments(encoding: note))
    /// ```
    /// If a property's type is ``SQLValueConvertible``, or codes a single such value as enumerations do, that value is bound. Any
    /// other property, such as a nested structure or an array, is bound as JSON: as text, or according to its
    /// ``JSONCodingOptions/columnFormat``. Each key needs a parameter in the statement.
    /// - Throws: any error that the value's own encoding throws, or ``DatabaseError/Reason/misuse`` if it has no keys.
    public init(encoding value: some Encodable) throws {
        self.init()
        named = try RowEncodingState.collect(value, nil)
    }
}

package struct RowEncoder: Encoder {
    let state: RowEncodingState

    /// Encodes a record.
    /// - Throws: any error that its own encoding throws; an `EncodingError` becomes a ``DatabaseError``.
    package static func encode<T: Encodable>(_ record: T, _ state: RowEncodingState) throws {
        defer { if !state.late.isEmpty { state.late = [] } }
        do {
            try record.encode(to: RowEncoder(state: state))
            if !state.late.isEmpty { for write in state.late { try write() } }
        } catch let error as EncodingError {
            throw DatabaseError.invalidArgument("a \(T.self) cannot be stored: \(error.jsonDescription)")
        }
    }

    package var codingPath: [any CodingKey] { [] }
    package var userInfo: [CodingUserInfoKey: Any] { [:] }

    package func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        guard let known = state.tables.container(ObjectIdentifier(type)) else { return state.makeContainer(type) }
        return unsafeBitCast(known, to: KeptContainer<KeyedEncodingContainer<Key>>.self).container()
    }

    package func unkeyedContainer() -> any UnkeyedEncodingContainer { RefusingContainer<NoKey>(Self.noKeys) }
    package func singleValueContainer() -> any SingleValueEncodingContainer { RowSingleEncoding(encoder: self) }

    fileprivate static let noKeys = DatabaseError.misuse("a record is encoded by its coding keys, not as a list or a single value")
}

extension RowEncodingState {
    @inline(never)
    fileprivate func makeContainer<Key: CodingKey>(_ type: Key.Type) -> KeyedEncodingContainer<Key> {
        let table = CodingKeyTable(type)
        tables.append(table)
        return table.keep(KeyedEncodingContainer(RowEncodingContainer<Key>(self, table)))
    }
}

/// Binds values by coding keys.
private struct RowEncodingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    private let slot: UnsafeMutablePointer<CodingSlot>
    private let number: UInt64
    // There as long as the slot has this number.
    private unowned(unsafe) let state: RowEncodingState
    private unowned(unsafe) let table: CodingKeyTable
    private let progress: UnsafeMutablePointer<RowEncodingState.Progress>
    private let byByte: UnsafeMutablePointer<Int32>

    init(_ state: RowEncodingState, _ table: CodingKeyTable) {
        slot = state.slot
        number = slot.pointee.number
        self.state = state
        self.table = table
        progress = state.progress
        byByte = table.byByte
    }

    var codingPath: [any CodingKey] { [] }

    private static var late: DatabaseError { .misuse("an encoder was used after its record") }

    @inline(__always)
    private func put(_ value: some SQLValueConvertible, _ key: Key) throws {
        guard slot.pointee.number == number else { throw Self.late }
        guard let handle = slot.pointee.handle else {
            state.collect(value, key)
            return
        }
        var index = byByte[CodingKeyTable.byte(key)]
        if index <= 0 { index = state.parameter(key, table) }
        guard index > 0 else {
            if index < 0 { progress.pointee.hasOtherKeys = true }
            return
        }
        progress.pointee.bound += 1
        let profile = progress.pointee.profiles?[Int(index) - 1] ?? progress.pointee.profile
        try Statement._Parameter(handle, index, profile).put(value)
    }

    func encodeNil(forKey key: Key) throws { try put(SQLValue.null, key) }

    func encode(_ value: Bool, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: String, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: Double, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: Float, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: Int, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: Int8, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: Int16, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: Int32, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: Int64, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: UInt, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: UInt8, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: UInt16, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: UInt32, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: UInt64, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: Int128, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: UInt128, forKey key: Key) throws { try put(value, key) }

    // The standard library's defaults for these omit nil, which would require a different statement.
    func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: String?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Int128?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: UInt128?, forKey key: Key) throws { try put(value, key) }

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        // A cast takes longer than all the rest.
        if T.self == Data.self {
            try put(unsafeBitCast(value, to: Data.self), key)
        } else if let convertible = value as? any SQLValueConvertible {
            try put(convertible, key)
        } else {
            guard slot.pointee.number == number else { throw Self.late }
            switch try ColumnEncoder.encode(value, [key], state.dates(key), hasDates: { state.noteDates(key) }) {
            case let simple?: try put(simple, key)
            case nil: try encodeNil(forKey: key)
            }
        }
    }

    func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws {
        if let value { try encode(value, forKey: key) } else { try encodeNil(forKey: key) }
    }

    func nestedContainer<N: CodingKey>(keyedBy type: N.Type, forKey key: Key) -> KeyedEncodingContainer<N> {
        superEncoder(forKey: key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { superEncoder(forKey: key).unkeyedContainer() }

    // A class and its superclass share the row.
    func superEncoder() -> any Encoder { slot.pointee.number == number ? RowEncoder(state: state) : RowEncoder(state: .unused) }

    func superEncoder(forKey key: Key) -> any Encoder {
        guard slot.pointee.number == number else { return RowEncoder(state: .unused) }
        let column = ColumnEncoder([key], [], state.dates(key))
        state.late.append { [self] in
            if column.hasDates { state.noteDates(key) }
            if let value = try column.value() { try put(value, key) } else { try encodeNil(forKey: key) }
        }
        return column
    }
}

/// The row as a single value, which is encoded as its columns.
private struct RowSingleEncoding: SingleValueEncodingContainer {
    let encoder: RowEncoder
    var codingPath: [any CodingKey] { [] }

    func encodeNil() throws { throw RowEncoder.noKeys }
    func encode<T: Encodable>(_ value: T) throws {
        if value is any SQLValueConvertible { throw RowEncoder.noKeys }
        try value.encode(to: encoder)
    }
}

extension RowEncodingState {
    /// The values of a record, by the names of their columns. They are bound later.
    /// - Parameter profile: the connection's profile; nil if the connection is not known.
    package static func collect(
        _ record: some Encodable, _ profile: ValueProfile?
    ) throws -> [(name: String, value: (any SQLValueConvertible)?)] {
        let state = try collecting(record, profile ?? ValueProfile(jsonDates: .deferredToDate))
        guard profile == nil, state.hasDates else { return try values(state, record) }
        // The connection that binds the documents decides the form of their dates. What was collected first has every date.
        let forms = JSONDateStrategy.allCases.map { dates in
            Result { try self.values(collecting(record, ValueProfile(jsonDates: dates)), record) }
        }
        return try values(state, record).map { name, value in
            guard let value = value as? SQLValue else { return (name, value) }
            return (name, DocumentWithDates.made(value, forms.map { form in
                form.map { $0.first { $0.name.isSameText(as: name) }?.value as? SQLValue ?? value }
            }))
        }
    }

    private static func collecting(_ record: some Encodable, _ profile: ValueProfile) throws -> RowEncodingState {
        let state = RowEncodingState(profile, type(of: record))
        try RowEncoder.encode(record, state)
        return state
    }

    private static func values(
        _ state: RowEncodingState, _ record: some Encodable
    ) throws -> [(name: String, value: (any SQLValueConvertible)?)] {
        guard !state.collected.isEmpty else {
            throw DatabaseError.misuse("\(type(of: record)) has no coding keys that could be columns")
        }
        if let key = state.secondKey {
            throw DatabaseError.invalidArgument("\(type(of: record)) has two values for the column of its key \(key)")
        }
        let own = columnProfiles(of: type(of: record))
        if own.isEmpty { return state.collected }
        return try state.collected.map { name, value in
            (name, try own[name].flatMap { try value?.sqlValue(in: $0) } ?? value)
        }
    }
}
