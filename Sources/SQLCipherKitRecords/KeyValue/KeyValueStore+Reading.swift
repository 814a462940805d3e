import CSQLCipher
import Foundation
import SQLCipherKitCore

/// Reading one value. Expired keys count as missing.
extension KeyValueStore {
    /// The value of a key, or nil if there is none.
    /// ```swift
    /// let port: UInt16? = try settings.get("port")
    /// ```
    /// - Throws: ``DatabaseError/Reason/typeMismatch`` if the value cannot be read as that type without loss, and
    ///   ``DatabaseError/Reason/unexpectedNull`` if nil was stored and the type is not optional.
    @inlinable
    public func get<T: SQLValueConvertible>(_ key: String, as type: T.Type = T.self) throws(DatabaseError) -> T? {
        try lookUp(key) { handle throws(DatabaseError) in
            if let value = T._tryReadSQL(from: Row._Column(handle, 0)), !KeyValueEntry.isJSON(handle, column: 1) { return value }
            return try KeyValueEntry.read(type, handle, value: 0, json: 1)
        }
    }

    /// The value of a key, or `value` if there is none.
    /// - Throws: the same errors as `get(_:as:)`. A value of another type is an error; it does not yield the default.
    @inlinable
    public func get<T: SQLValueConvertible>(_ key: String, default value: T) throws(DatabaseError) -> T {
        try get(key, as: T.self) ?? value
    }

    /// The value of a key, decoded, or nil if there is none. The type itself can choose how dates and other values are coded
    /// (``JSONCodingCustomizable``).
    /// - Throws: ``DatabaseError/Reason/typeMismatch``, ``DatabaseError/Reason/unexpectedNull``, or an error from SQLite.
    @_disfavoredOverload
    public func get<T: Decodable>(_ key: String, as type: T.Type = T.self) throws(DatabaseError) -> T? {
        if let type = T.self as? any SQLValueConvertible.Type { return try get(key, as: type) as? T }
        return try lookUp(key) { handle throws(DatabaseError) in try KeyValueEntry.decode(type, handle, value: 0, json: 1) }
    }

    /// The value of a key, decoded, or `value` if there is none.
    public func get<T: Decodable>(_ key: String, default value: T) throws(DatabaseError) -> T { try get(key, as: T.self) ?? value }

    /// The value of a key, or `value` if there is none.
    // Resolves the ambiguity between the two above. Disfavouring one of them would make `[1, 2, 3]` a blob.
    @inlinable
    @_documentation(visibility: private)
    public func get<T: SQLValueConvertible & Decodable>(_ key: String, default value: T) throws(DatabaseError) -> T {
        try get(key, as: T.self) ?? value
    }

    /// Whether a key exists, even if its value is nil.
    public func contains(_ key: String) throws(DatabaseError) -> Bool {
        try lookUp(key) { _ in () } != nil
    }

    /// Returns what `read` returns for the key's row, or nil if there is no such row.
    @inlinable
    @inline(__always)
    func lookUp<T>(_ key: String, _ read: (OpaquePointer) throws(DatabaseError) -> T) throws(DatabaseError) -> T? {
        guard let statement = try reading() else { return nil }
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        try Statement._Parameter(handle, 1, connection.profile).put(key)
        do throws(DatabaseError) {
            guard try statement.advance(handle) else { return nil }
        } catch {
            if isGone(error) { return nil }
            throw error
        }
        return try KeyValueEntry.isExpired(handle, column: 2, on: connection) ? nil : read(handle)
    }
}
