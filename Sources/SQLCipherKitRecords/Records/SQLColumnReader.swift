import CSQLCipher
import SQLCipherKitCore

/// Reads the columns of a row in order, to initialize an ``SQLPositionalRecord``.
/// A reader cannot be kept: it is only ever lent to an initializer.
@frozen
public struct SQLColumnReader: ~Copyable {
    @usableFromInline let handle: OpaquePointer
    @usableFromInline let names: Unmanaged<ColumnNames>
    // The names keep it alive.
    @usableFromInline let reading: Unmanaged<RowReading>
    /// The column of each property; nil for the columns from `start` on.
    @usableFromInline let order: UnsafePointer<Int32>?
    /// The profiles of the columns, if some have their own.
    @usableFromInline let own: UnsafePointer<UnsafePointer<ValueProfile>?>?
    @usableFromInline let start: Int32
    /// The property that is read next.
    @usableFromInline var index: Int32 = 0
    @usableFromInline let end: Int32

    /// Reads the columns of a record: by name from the whole row, or from the columns of one side of a join.
    @inlinable
    @inline(__always)
    init<Record: SQLPositionalRecord>(_ row: borrowing Row, _ type: Record.Type) {
        handle = row.handle
        names = row.unretainedNames
        let known = names._withUnsafeGuaranteedRef { $0.known(ObjectIdentifier(type), isPositional: true) }
        reading = known ?? Self.learn(row, type)
        (order, own, end) = reading._withUnsafeGuaranteedRef { ($0.order, $0.own, $0.count) }
        start = names._withUnsafeGuaranteedRef { Int32(truncatingIfNeeded: $0.range.lowerBound) }
    }

    @usableFromInline
    @inline(never)
    static func learn<Record: SQLPositionalRecord>(_ row: borrowing Row, _ type: Record.Type) -> Unmanaged<RowReading> {
        row.names.learn(type, Record.recordColumns.names)
    }

    @inlinable
    var isAtEnd: Bool {
        @inline(__always) get { index == end }
    }

    /// The value of the next column. An optional value without a column is nil.
    /// - Throws: ``DatabaseError/Reason/unexpectedNull``, ``DatabaseError/Reason/typeMismatch``, or
    ///   ``DatabaseError/Reason/noSuchColumn`` after the last column, and for a column that the row does not have.
    @inlinable
    @inline(__always)
    public mutating func next<T: SQLValueConvertible>(_ type: T.Type = T.self) throws -> T {
        let column = try advance()
        if column < 0 { return try absent(type) }
        return try Row._Column(handle, column, own?[Int(column)]).read(as: T.self)
    }

    /// The value of the next column for a `Decodable` type: from a single value, or from JSON as text or JSONB. NULL is nil for an
    /// optional type.
    /// - Throws: the errors of `next` for other types, and the errors of the type's own decoding. A `DecodingError` becomes a
    ///   ``DatabaseError/Reason/typeMismatch`` with the column and the path in its JSON.
    @_disfavoredOverload
    public mutating func next<T: Decodable>(_ type: T.Type = T.self) throws -> T {
        let index = try advance()
        if index < 0, !(type is any SQLNullable.Type) { throw noColumn() }
        let state = names.takeUnretainedValue().decoding
        let key = ColumnKey(index < 0 ? "" : Row._Column(handle, index).name)
        let former = (state.row.pointee, state.own)
        state.row.pointee = handle
        state.own = own
        defer { (state.row.pointee, state.own) = former }
        do { return try ColumnDecoder(state: state, index: index, codingPath: [key]).any(type) } catch {
            throw state.error(error, type)
        }
    }

    /// The value of the next column for a property with a default. The property is set (to nil if the column is NULL), unless the
    /// row has no such column.
    /// - Throws: the errors of `next` for a value of this type.
    public mutating func next<T: SQLValueConvertible>(_ type: ColumnDefault<T>.Type = ColumnDefault<T>.self) throws
        -> ColumnDefault<T>
    {
        let column = try advance()
        if column < 0 { return ColumnDefault() }
        return ColumnDefault(wrappedValue: try Row._Column(handle, column, own?[Int(column)]).read(as: T?.self))
    }

    /// The value of the next column for a property of a `Decodable` type with a default.
    /// - Throws: the errors of `next` for a value of this type.
    @_disfavoredOverload
    public mutating func next<T: Decodable>(_ type: ColumnDefault<T>.Type = ColumnDefault<T>.self) throws -> ColumnDefault<T> {
        let isThere = index >= end || order.map { $0[Int(index)] >= 0 } ?? true
        let value = try next(T?.self)
        return isThere ? ColumnDefault(wrappedValue: value) : ColumnDefault()
    }

    /// The next property's column; -1 if the row has none.
    @inlinable
    @inline(__always)
    mutating func advance() throws -> Int32 {
        let current = index
        if current >= end { throw pastEnd() }
        index = current &+ 1
        return order.map { $0[Int(current)] } ?? start &+ current
    }

    @usableFromInline
    @inline(never)
    borrowing func absent<T: SQLValueConvertible>(_ type: T.Type) throws -> T {
        guard type is any SQLNullable.Type, let value = T(sqlValue: .null) else { throw noColumn() }
        return value
    }

    /// The error for the property that was read last, for which the row has no column.
    @inline(never)
    private borrowing func noColumn() -> DatabaseError {
        Row(handle, names).noColumn(reading.takeUnretainedValue().properties[Int(index) - 1])
    }

    @usableFromInline
    @inline(never)
    borrowing func pastEnd() -> DatabaseError {
        DatabaseError(
            code: .range, reason: .noSuchColumn, message: "a record reads more columns than its recordColumns names",
            sql: sqlite3_sql(handle).map { String(cString: $0) })
    }

    @usableFromInline
    @inline(never)
    borrowing func misuse(_ type: any Any.Type) -> DatabaseError {
        .misuse("\(type) reads \(end - index) columns fewer than its recordColumns names")
    }
}

/// A column's name as a coding key, for the path in an error.
struct ColumnKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}
