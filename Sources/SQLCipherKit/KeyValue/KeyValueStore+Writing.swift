import CSQLCipher
import Foundation

/// Writing and removing.
extension KeyValueStore {
    /// Sets the value of a key, in place of the one before. A nil is stored as such: to remove the key, call ``remove(_:)``.
    /// - Parameters:
    ///   - key: the name that it gets.
    ///   - value: what is stored.
    ///   - expiry: when the key expires, to the millisecond. Default: never; an earlier expiry is removed.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a value that SQLite cannot hold, such as a `UInt64` over `Int64.max`.
    @inlinable
    public func set<T: SQLValueConvertible>(_ key: String, to value: T, expires expiry: Date? = nil) throws(DatabaseError) {
        try put(key, expiry) { value_, json throws(DatabaseError) in
            try value_.put(value)
            try json.bindNull()
        }
    }

    /// Sets the value of a key, coded as JSONB; a nil is stored as one.
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
            // A single byte of zero is JSON's null.
            let isNull = bytes.count == 1 && bytes[0] == 0
            try put(key, expiry) { value_, json throws(DatabaseError) in
                try value_.bindNull()
                if isNull { try json.bindNull() } else { try json.bind(bytes: bytes) }
            }
        }
    }

    /// Sets the value of a key, in place of the one before.
    // Settles which of the two others is meant. To disfavour one of them would have `[1, 2, 3]` be bytes.
    @inlinable
    public func set<T: SQLValueConvertible & Encodable>(_ key: String, to value: T, expires expiry: Date? = nil)
        throws(DatabaseError)
    {
        try put(key, expiry) { value_, json throws(DatabaseError) in
            try value_.put(value)
            try json.bindNull()
        }
    }

    /// Sets many keys, all of them or, if one fails, none.
    public func setAll<T: SQLValueConvertible>(
        _ values: some Sequence<(key: String, value: T)>, expires expiry: Date? = nil
    ) throws {
        try connection.savepoint { _ in for (key, value) in values { try set(key, to: value, expires: expiry) } }
    }

    /// Sets many keys to coded values, all of them or, if one fails, none.
    public func setAll<T: Encodable>(_ values: some Sequence<(key: String, value: T)>, expires expiry: Date? = nil) throws {
        try connection.savepoint { _ in for (key, value) in values { try set(key, to: value, expires: expiry) } }
    }

    /// Sets many keys, all of them or, if one fails, none.
    public func setAll<T: SQLValueConvertible & Encodable>(
        _ values: some Sequence<(key: String, value: T)>, expires expiry: Date? = nil
    ) throws {
        try connection.savepoint { _ in for (key, value) in values { try set(key, to: value, expires: expiry) } }
    }

    @inlinable
    @inline(__always)
    func put(
        _ key: String, _ expiry: Date?,
        _ bind: (borrowing Statement.Parameter, borrowing Statement.Parameter) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        do throws(DatabaseError) { try putOnce(key, expiry, bind) } catch {
            // The second time the table is created again.
            guard isGone(error) else { throw error }
            try putOnce(key, expiry, bind)
        }
    }

    @inlinable
    @inline(__always)
    func putOnce(
        _ key: String, _ expiry: Date?,
        _ bind: (borrowing Statement.Parameter, borrowing Statement.Parameter) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let statement = try writing()
        if expiry != nil { try prepareExpiry() }
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        let profile = connection.profile
        try Statement.Parameter(handle, 1, profile).put(key)
        try bind(Statement.Parameter(handle, 2, profile), Statement.Parameter(handle, 3, profile))
        let parameter = Statement.Parameter(handle, 4, profile)
        if let expiry { try bindExpiry(expiry, parameter) } else { try parameter.bindNull() }
        try statement.drain(handle)
    }

    @usableFromInline
    func bindExpiry(_ expiry: Date, _ parameter: borrowing Statement.Parameter) throws(DatabaseError) {
        guard expiry.timeIntervalSince1970.isFinite else { throw .invalidArgument("an expiry that is not a time") }
        try parameter.bind(KeyValueEntry.milliseconds(expiry))
    }

    @usableFromInline
    func prepareExpiry() throws(DatabaseError) {
        if hasExpiryIndex { return }
        try connection.execute(table.expiryIndex)
        // Inside of a transaction it may still be undone.
        hasExpiryIndex = !connection.isInTransaction
    }

    /// Removes a key.
    /// - Returns: whether it was there.
    @discardableResult
    public func remove(_ key: String) throws(DatabaseError) -> Bool {
        guard try exists() else { return false }
        return try connection.fetchOne(
            Bool.self, SQL(raw: "DELETE FROM \(table.table) WHERE key = ?2 RETURNING \(KeyValueTable.isAlive)"),
            [KeyValueEntry.now(), key]) ?? false
    }

    /// Removes all keys that begin with a text.
    /// - Parameter prefix: how the keys begin. Default: all keys.
    public func removeAll(prefix: String = "") throws(DatabaseError) {
        guard try exists() else { return }
        if prefix.isEmpty {
            try connection.execute(SQL(raw: "DELETE FROM \(table.table)"))
        } else {
            try connection.execute(SQL(raw: "DELETE FROM \(table.table) WHERE key >= ?1 AND key < ?2"), prefix.keyRange)
        }
    }

    /// Deletes the rows of expired keys, which no other call sees.
    /// - Returns: how many there were.
    @discardableResult
    public func purgeExpired() throws(DatabaseError) -> Int {
        guard try exists() else { return 0 }
        try connection.execute(SQL(raw: "DELETE FROM \(table.table) WHERE expires <= ?1"), [KeyValueEntry.now()])
        return connection.changes
    }
}
