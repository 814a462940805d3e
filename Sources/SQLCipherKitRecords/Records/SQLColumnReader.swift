import CSQLCipher
import SQLCipherKitCore

/// Reads the columns of one row in order: what an ``SQLPositionalRecord`` is made from.
///
/// It cannot be kept: it is only ever lent to an initialiser.
@frozen
public struct SQLColumnReader: ~Copyable {
    @usableFromInline let handle: OpaquePointer
    @usableFromInline let names: Unmanaged<ColumnNames>
    @usableFromInline var index: Int32
    @usableFromInline let end: Int32
    /// The profiles of the columns, if some have their own.
    @usableFromInline var own: UnsafePointer<UnsafePointer<ValueProfile>?>?

    /// Reads the columns that a row finds by name: all, or those of one side of a join.
    @inlinable
    @inline(__always)
    init(_ row: borrowing Row) {
        handle = row.handle
        names = row.unretainedNames
        let range = names._withUnsafeGuaranteedRef { $0.range }
        index = Int32(truncatingIfNeeded: range.lowerBound)
        end = Int32(truncatingIfNeeded: range.upperBound)
    }

    @usableFromInline
    init(_ row: borrowing Row, _ type: any Any.Type, _ profiles: [String: ValueProfile]) {
        self.init(row)
        own = names.takeUnretainedValue().profiles(type, profiles)
    }

    @inlinable
    var isAtEnd: Bool {
        @inline(__always) get { index == end }
    }

    /// The value of the next column.
    /// - Throws: ``DatabaseError/Reason/unexpectedNull``, ``DatabaseError/Reason/typeMismatch``, or
    ///   ``DatabaseError/Reason/noSuchColumn`` after the last one.
    @inlinable
    @inline(__always)
    public mutating func next<T: SQLValueConvertible>(_ type: T.Type = T.self) throws(DatabaseError) -> T {
        let index = try advance()
        return try Row.Column(handle, index, own?[Int(index)]).read(as: T.self)
    }

    /// The value of the next column for a type that codes itself: from a single value, or from JSON as text or JSONB. NULL is nil
    /// for an optional type.
    /// - Throws: as for other types; what the type's own decoding throws, a `DecodingError` as a
    ///   ``DatabaseError/Reason/typeMismatch`` with the column and the path in its JSON.
    @_disfavoredOverload
    public mutating func next<T: Decodable>(_ type: T.Type = T.self) throws -> T {
        let index = try advance()
        let state = names.takeUnretainedValue().decoding
        let key = ColumnKey(Row.Column(handle, index).name)
        let former = (state.row.pointee, state.own)
        state.row.pointee = handle
        state.own = own
        defer { (state.row.pointee, state.own) = former }
        do { return try ColumnDecoder(state: state, index: index, codingPath: [key]).any(type) } catch {
            throw state.error(error, type)
        }
    }

    /// The value of the next column for a property with a default: it is set, to nil where the column is NULL.
    public mutating func next<T: SQLValueConvertible>(_ type: ColumnDefault<T>.Type = ColumnDefault<T>.self) throws(DatabaseError)
        -> ColumnDefault<T>
    { ColumnDefault(wrappedValue: try next(T?.self)) }

    @inlinable
    @inline(__always)
    mutating func advance() throws(DatabaseError) -> Int32 {
        let current = index
        if current >= end { throw pastEnd() }
        index = current &+ 1
        return current
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
private struct ColumnKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}
