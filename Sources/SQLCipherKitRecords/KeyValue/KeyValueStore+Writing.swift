import CSQLCipher
import Foundation
import SQLCipherKitCore

/// Writing and removing.
extension KeyValueStore {
    /// Sets the value of a key and replaces any earlier value. Setting nil stores nil; to remove the key, call ``remove(_:)``.
    /// - Parameters:
    ///   - key: the key.
    ///   - value: the value to store.
    ///   - expiry: when the key expires, to the millisecond. Default: never, which also removes an earlier expiry.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a value that SQLite cannot hold, such as a `UInt64` over `Int64.max`.
    @inlinable
    public func set<T: SQLValueConvertible>(_ key: String, to value: T, expires expiry: Date? = nil) throws(DatabaseError) {
        try put(key, expiry) { value_, json throws(DatabaseError) in
            try value_.put(value)
            try json.bindNull()
        }
    }

    /// Sets the value of a key, coded as JSONB. Setting nil stores nil.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a value that JSON cannot hold.
    public func set<T: Encodable>(_ key: String, to value: T, expires expiry: Date? = nil) throws(DatabaseError) {
        if T.self is any SQLValueConvertible.Type, let value = value as? any SQLValueConvertible {
            return try set(key, to: value, expires: expiry)
        }
        let writer: JSONBWriter
        do { writer = try JSONBEncoder(options: .of(T.self)).writer(value) } catch {
            throw .invalidArgument("a \(T.self) cannot be written as JSON: \(error.jsonDescription)")
        }
        try writer.withBytes { bytes throws(DatabaseError) in
            // JSONB encodes null as one zero byte.
            let isNull = bytes.count == 1 && bytes[0] == 0
            try put(key, expiry) { value_, json throws(DatabaseError) in
                try value_.bindNull()
                if isNull { try json.bindNull() } else { try json.bind(bytes: bytes) }
            }
        }
    }

    /// Sets the value of a key and replaces any earlier value.
    // Resolves the ambiguity between the two above. Disfavouring one of them would make `[1, 2, 3]` a blob.
    @inlinable
    @_documentation(visibility: private)
    public func set<T: SQLValueConvertible & Encodable>(_ key: String, to value: T, expires expiry: Date? = nil)
        throws(DatabaseError)
    {
        try put(key, expiry) { value_, json throws(DatabaseError) in
            try value_.put(value)
            try json.bindNull()
        }
    }

    /// Sets many keys in one savepoint: if one fails, none of them is set.
    public func setAll<T: SQLValueConvertible>(
        _ values: some Sequence<(key: String, value: T)>, expires expiry: Date? = nil
    ) throws(DatabaseError) {
        try together { for (key, value) in values { try set(key, to: value, expires: expiry) } }
    }

    /// Sets many keys to coded values in one savepoint: if one fails, none of them is set.
    public func setAll<T: Encodable>(
        _ values: some Sequence<(key: String, value: T)>, expires expiry: Date? = nil
    ) throws(DatabaseError) {
        try together { for (key, value) in values { try set(key, to: value, expires: expiry) } }
    }

    /// Sets many keys in one savepoint: if one fails, none of them is set.
    @_documentation(visibility: private)
    public func setAll<T: SQLValueConvertible & Encodable>(
        _ values: some Sequence<(key: String, value: T)>, expires expiry: Date? = nil
    ) throws(DatabaseError) {
        try together { for (key, value) in values { try set(key, to: value, expires: expiry) } }
    }

    /// Sets keys to values of different types in one savepoint: if one fails, none of them is set.
    /// ```swift
    /// try settings.setAll(["volume": 7, "theme": "dark", "window": frame])
    /// ```
    @_disfavoredOverload
    public func setAll(_ values: [String: any Encodable], expires expiry: Date? = nil) throws(DatabaseError) {
        try together { for (key, value) in values { try set(key, to: value, expires: expiry) } }
    }

    private func together(_ body: () throws -> Void) throws(DatabaseError) {
        try DatabaseError.only("a key-value store") { try connection.savepoint { _ in try body() } }
    }

    @inlinable
    @inline(__always)
    func put(
        _ key: String, _ expiry: Date?,
        _ bind: (borrowing Statement._Parameter, borrowing Statement._Parameter) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        do throws(DatabaseError) { try putOnce(key, expiry, bind) } catch {
            // The second attempt creates the table again.
            guard isGone(error) else { throw error }
            try putOnce(key, expiry, bind)
        }
    }

    @inlinable
    @inline(__always)
    func putOnce(
        _ key: String, _ expiry: Date?,
        _ bind: (borrowing Statement._Parameter, borrowing Statement._Parameter) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let statement = try writing()
        if expiry != nil { try prepareExpiry() }
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        let profile = connection.profile
        try Statement._Parameter(handle, 1, profile).put(key)
        try bind(Statement._Parameter(handle, 2, profile), Statement._Parameter(handle, 3, profile))
        let parameter = Statement._Parameter(handle, 4, profile)
        if let expiry { try bindExpiry(expiry, parameter) } else { try parameter.bindNull() }
        try statement.drain(handle)
    }

    @usableFromInline
    func bindExpiry(_ expiry: Date, _ parameter: borrowing Statement._Parameter) throws(DatabaseError) {
        guard expiry.timeIntervalSince1970.isFinite else { throw .invalidArgument("the expiry is not a finite date") }
        try parameter.bind(KeyValueEntry.milliseconds(expiry))
    }

    @usableFromInline
    func prepareExpiry() throws(DatabaseError) {
        if hasExpiryIndex { return }
        try connection.execute(table.expiryIndex)
        // A rollback could still remove the index.
        hasExpiryIndex = !connection.isInTransaction
    }

    /// Removes a key.
    /// - Returns: whether it existed.
    @discardableResult
    public func remove(_ key: String) throws(DatabaseError) -> Bool {
        guard try exists() else { return false }
        return try connection.fetchOne(
            Bool.self, SQL(raw: "DELETE FROM \(table.table) WHERE key = ?2 RETURNING \(KeyValueTable.isAlive)"),
            [KeyValueEntry.now(), key]) ?? false
    }

    /// Removes all keys that begin with a prefix.
    /// - Parameter prefix: the prefix. Default: empty, for all keys.
    public func removeAll(prefix: String = "") throws(DatabaseError) {
        guard try exists() else { return }
        if prefix.isEmpty {
            try connection.execute(SQL(raw: "DELETE FROM \(table.table)"))
        } else {
            try connection.execute(SQL(raw: "DELETE FROM \(table.table) WHERE key >= ?1 AND key < ?2"), prefix.keyRange)
        }
    }

    /// Deletes the rows of expired keys, which are already invisible to all other calls.
    /// - Returns: the number of deleted rows.
    @discardableResult
    public func purgeExpired() throws(DatabaseError) -> Int {
        guard try exists() else { return 0 }
        try connection.execute(SQL(raw: "DELETE FROM \(table.table) WHERE expires <= ?1"), [KeyValueEntry.now()])
        return connection.changes
    }
}
