import CSQLCipher
import Foundation
import SQLCipherKitCore

/// A key and its value, lent by ``KeyValueStore/forEach(prefix:_:)`` for the duration of one call.
public struct KeyValueEntry: ~Copyable {
    private let handle: OpaquePointer
    /// The key.
    public let key: String

    init(_ handle: OpaquePointer) throws {
        self.handle = handle
        key = try String._readSQL(from: Row._Column(handle, 0))
    }

    /// True if the stored value is nil.
    public var isNil: Bool { sqlite3_column_type(handle, 1) == SQLITE_NULL && !Self.isJSON(handle, column: 2) }

    /// The value, read as the given type.
    /// - Throws: ``DatabaseError/Reason/typeMismatch`` or ``DatabaseError/Reason/unexpectedNull``.
    public func value<T: SQLValueConvertible>(as type: T.Type = T.self) throws -> T {
        try Self.read(type, handle, value: 1, json: 2)
    }

    /// The value, decoded.
    /// - Throws: ``DatabaseError/Reason/typeMismatch`` or ``DatabaseError/Reason/unexpectedNull``.
    @_disfavoredOverload
    public func value<T: Decodable>(as type: T.Type = T.self) throws -> T {
        if let type = T.self as? any SQLValueConvertible.Type, let value = try value(as: type) as? T { return value }
        return try Self.decode(type, handle, value: 1, json: 2)
    }

    // MARK: The row's columns

    @inlinable
    @inline(__always)
    static func isJSON(_ handle: OpaquePointer, column: Int32) -> Bool {
        sqlcipherkit_sqlite3_column_type(handle, column) != SQLITE_NULL
    }

    @inlinable
    @inline(__always)
    static func isExpired(_ handle: OpaquePointer, column: Int32, on connection: Connection) -> Bool {
        var expiry: Int64 = 0
        guard sqlcipherkit_column_int64(handle, column, &expiry) == SQLITE_INTEGER else { return false }
        return isExpired(expiry, on: connection)
    }

    /// An observation reads again when the entry expires.
    @usableFromInline
    static func isExpired(_ expiry: Int64, on connection: Connection) -> Bool {
        if expiry <= now() { return true }
        connection.recordExpiry(expiry)
        return false
    }

    /// Milliseconds since 1970, rounded down.
    @usableFromInline
    static func now() -> Int64 { milliseconds(Date()) }

    /// Milliseconds since 1970, rounded down and clamped to the range of `Int64`.
    static func milliseconds(_ date: Date) -> Int64 {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded(.down)
        return Int64(exactly: milliseconds) ?? (milliseconds < 0 ? .min : .max)
    }

    @usableFromInline
    static func read<T: SQLValueConvertible>(
        _ type: T.Type, _ handle: OpaquePointer, value: Int32, json: Int32
    ) throws -> T {
        if isJSON(handle, column: json) { throw Row._Column(handle, json).mismatch(String(describing: T.self)) }
        return try Row._Column(handle, value).read(as: T.self)
    }

    static func decode<T: Decodable>(
        _ type: T.Type, _ handle: OpaquePointer, value: Int32, json: Int32
    ) throws -> T {
        let column = Row._Column(handle, json)
        let isNull = !isJSON(handle, column: json)
        if isNull, sqlite3_column_type(handle, value) != SQLITE_NULL {
            throw Row._Column(handle, value).mismatch(String(describing: type))
        }
        do {
            let decoder = JSONBDecoder(options: .of(type, column.profile.jsonDates))
            // JSONB encodes null as one zero byte, which only optional types decode.
            guard !isNull else { return try withUnsafeBytes(of: 0 as UInt8) { try decoder.decode(type, from: $0) } }
            return try decoder.decode(type, from: column.rawBytes(text: false, blob: true, as: "JSON"))
        } catch {
            if isNull { throw column.mismatch(String(describing: type)) }
            throw DatabaseError(
                code: .mismatch, reason: .typeMismatch,
                message: "column \(column.label) holds a key's value that is not a \(type): \(error.jsonDescription)",
                sql: sqlite3_sql(handle).map { String(cString: $0) })
        }
    }
}
