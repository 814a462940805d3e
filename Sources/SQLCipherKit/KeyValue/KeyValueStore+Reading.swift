import CSQLCipher
import Foundation

/// Reading one value. Expired keys are not there.
extension KeyValueStore {
    /// The value of a key, or nil if there is none.
    /// ```swift
    /// let port: UInt16? = try settings.get("port")
    /// ```
    /// - Throws: ``DatabaseError/Reason/typeMismatch`` if the value cannot be read as that type without a loss, and
    ///   ``DatabaseError/Reason/unexpectedNull`` if nil was stored and the type is not optional.
    @inlinable
    public func get<T: SQLValueConvertible>(_ key: String, as type: T.Type = T.self) throws(DatabaseError) -> T? {
        try lookUp(key) { handle throws(DatabaseError) in
            if let value = T.tryReadSQL(from: Row.Column(handle, 0)), !KeyValueEntry.isJSON(handle, column: 1) { return value }
            return try KeyValueEntry.read(type, handle, value: 0, json: 1)
        }
    }

    /// The value of a key, or `value` if there is none.
    /// - Throws: as `get(_:as:)`; a value of another type is an error, and does not lead to the default.
    @inlinable
    public func get<T: SQLValueConvertible>(_ key: String, default value: T) throws(DatabaseError) -> T {
        try get(key, as: T.self) ?? value
    }

    /// The value of a key, decoded, or nil if there is none. The type itself decides how dates and the like are coded
    /// (``JSONCodingCustomizable``).
    /// - Throws: ``DatabaseError/Reason/typeMismatch``, ``DatabaseError/Reason/unexpectedNull``, and what SQLite reports.
    @_disfavoredOverload
    public func get<T: Decodable>(_ key: String, as type: T.Type = T.self) throws(DatabaseError) -> T? {
        if let type = T.self as? any SQLValueConvertible.Type { return try get(key, as: type) as? T }
        return try lookUp(key) { handle throws(DatabaseError) in try KeyValueEntry.decode(type, handle, value: 0, json: 1) }
    }

    /// The value of a key, decoded, or `value` if there is none.
    public func get<T: Decodable>(_ key: String, default value: T) throws(DatabaseError) -> T { try get(key, as: T.self) ?? value }

    /// The value of a key, or `value` if there is none.
    // Settles which of the two others is meant. To disfavour one of them would have `[1, 2, 3]` be bytes.
    @inlinable
    public func get<T: SQLValueConvertible & Decodable>(_ key: String, default value: T) throws(DatabaseError) -> T {
        try get(key, as: T.self) ?? value
    }

    /// Whether a key is there, even if its value is nil.
    public func contains(_ key: String) throws(DatabaseError) -> Bool {
        try lookUp(key) { _ in () } != nil
    }

    /// What `read` makes of the row of a key; nil without one.
    @inlinable
    @inline(__always)
    func lookUp<T>(_ key: String, _ read: (OpaquePointer) throws(DatabaseError) -> T) throws(DatabaseError) -> T? {
        guard let statement = try reading() else { return nil }
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        try Statement.Parameter(handle, 1, connection.profile).put(key)
        do throws(DatabaseError) {
            guard try statement.advance(handle) else { return nil }
        } catch {
            if isGone(error) { return nil }
            throw error
        }
        return try KeyValueEntry.isExpired(handle, column: 2) ? nil : read(handle)
    }
}
