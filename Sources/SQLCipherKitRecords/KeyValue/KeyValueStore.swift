import CSQLCipher
import Foundation
import SQLCipherKitCore

/// Stores values by key in a table of a database, for settings, caches and other small state.
///
/// ```swift
/// let settings = try KeyValueStore("settings", in: db)
/// try settings.set("launches", to: 3)
/// try settings.set("window", to: Frame(x: 0, y: 0, width: 800, height: 600))   // any Codable type
/// let launches = try settings.get("launches", default: 0)
/// let frame = try settings.get("window", as: Frame.self)
/// ```
/// Values that SQL can represent (``SQLValueConvertible``) are stored as they are, and any other `Codable` value as JSONB. A value
/// can be read as any type that holds it without loss, such as an integer type of any width that fits; reading it as another type
/// throws.
///
/// A stored nil is not the same as a missing key. Where nil may be stored, ask for an optional type:
/// `try settings.get("name", as: String?.self)` then returns `.some(nil)`.
///
/// Keys are text, compared byte for byte. A database can have any number of stores, each in its own table, which the first write
/// creates. A store must be used on its connection's thread; to share one between threads and tasks, use ``SharedKeyValueStore``.
/// To commit several writes together, wrap them in ``Connection/transaction(_:_:)-(_,(Connection)->R)``.
public final class KeyValueStore {
    /// The database that contains the store.
    public let schema: Schema
    @usableFromInline let table: KeyValueTable
    /// True if the table was seen.
    @usableFromInline var isThere = false
    /// True if the index for purging is known to exist.
    private var hasExpiryIndex = false

    /// Creates a store in a database of a connection, without reading or writing anything yet.
    /// ```swift
    /// let archived = try KeyValueStore("settings", in: archive)
    /// ```
    /// - Parameters:
    ///   - name: the store's name, any text. Its table is named `kv_` followed by this name.
    ///   - schema: the database.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a name that is empty or has a NUL character.
    public convenience init(_ name: String, in schema: Schema) throws {
        self.init(try KeyValueTable(name, schemaName: schema.name), schema)
    }

    /// Creates a store in the main database of a connection, without reading or writing anything yet.
    /// - Throws: the same errors as ``init(_:in:)-(_,Schema)``.
    public convenience init(_ name: String, in connection: Connection) throws {
        try self.init(name, in: connection.main)
    }

    init(_ table: KeyValueTable, _ schema: Schema) {
        self.table = table
        self.schema = schema
    }

    /// The store's connection, for transactions for instance.
    @inlinable public var connection: Connection { schema.connection }

    /// The store's name.
    public var name: String { table.name }

    /// The names of the stores in a database, sorted: `KeyValueStore.names(in: db.main)`.
    /// - Parameter schema: the database.
    /// - Throws: ``DatabaseError/Reason/closed`` if the connection is closed; ``DatabaseError/Reason/busy`` if another connection
    ///   holds a lock for longer than the busy timeout; or SQLite's error, such as ``ResultCode/corrupt`` for a damaged page, and
    ///   ``ResultCode/error`` for a database that was detached.
    public static func names(in schema: Schema) throws -> [String] {
        let prefix = TablesMadeLater.storePrefix
        let names = try schema.connection.fetchAll(
            String.self,
            SQL(raw: """
                SELECT name FROM \(schema.qualified("sqlite_schema")) \
                WHERE type = 'table' AND substr(name, 1, ?) = ? ORDER BY name
                """),
            [prefix.count, prefix])
        return names.map { String($0.dropFirst(prefix.count)) }
    }

    // MARK: The table

    /// Returns whether the table exists. Two stores with names that differ only in case would share a table in SQLite: the second
    /// one is refused.
    @usableFromInline
    func exists() throws -> Bool {
        let found = try connection.fetchOne(
            String.self,
            SQL(raw: "SELECT name FROM \(schema.qualified("sqlite_schema")) WHERE type = 'table' AND lower(name) = lower(?)"),
            [table.tableName])
        guard let found, found != table.tableName else { return found != nil }
        let name = found.dropFirst(TablesMadeLater.storePrefix.count)
        throw DatabaseError.invalidArgument("there is a key-value store with the name \(name) already")
    }

    @usableFromInline
    func create() throws {
        if try exists() { return }
        guard try connection.fetchOne(String.self, "PRAGMA encoding") == "UTF-8" else {
            throw DatabaseError.misuse(
                "a key-value store needs a database that stores text as UTF-8: the order of its keys depends on it"
            )
        }
        try connection.execute(table.creation)
    }

    /// The statement that reads a key, or nil while there is no table.
    @inlinable
    func reading() throws -> Statement? {
        if !isThere {
            guard try exists() else { return nil }
            isThere = true
        }
        return try connection.cached(table.select)
    }

    @inlinable
    func writing() throws -> Statement {
        if !isThere {
            try create()
            isThere = true
        }
        return try connection.cached(table.upsert)
    }

    /// Returns whether an error occurred because the table is missing: the transaction that created it may have been rolled back,
    /// or the table was dropped. If so, the next write creates it.
    @usableFromInline
    @inline(never)
    func isGone(_ error: any Error) -> Bool {
        guard (error as? DatabaseError)?.code == .error, connection.isOpen, (try? exists()) == false else { return false }
        isThere = false
        hasExpiryIndex = false
        return true
    }
}

/// Iteration over all keys, or over the keys with a prefix, in the order of their UTF-8 bytes.
extension KeyValueStore {
    /// The keys that begin with a prefix.
    /// - Parameter prefix: the prefix. Default: empty, for all keys.
    /// - Throws: the same errors as ``contains(_:)``, and ``DatabaseError/Reason/typeMismatch`` for a key that is not UTF-8 text,
    ///   which only other SQL can have written.
    public func keys(prefix: String = "") throws -> [String] {
        guard try beginIteration() else { return [] }
        return try connection.fetchAll(String.self, selection("key", prefix, order: " ORDER BY key"), arguments(prefix))
    }

    /// The number of keys that begin with a prefix.
    /// - Parameter prefix: the prefix. Default: empty, for all keys.
    /// - Throws: the same errors as ``contains(_:)``.
    public func count(prefix: String = "") throws -> Int {
        guard try beginIteration() else { return 0 }
        return try connection.fetchOne(Int.self, selection("count(*)", prefix), arguments(prefix)) ?? 0
    }

    /// Calls `body` for each key that begins with a prefix, in order, with the key and its value.
    /// ```swift
    /// try settings.forEach(prefix: "window.") { entry in
    ///     frames[entry.key] = try entry.value(as: Frame.self)
    /// }
    /// ```
    /// - Parameters:
    ///   - prefix: the prefix. Default: empty, for all keys.
    ///   - body: receives each entry, and must not keep it. It may write to the store; whether the loop then visits the added keys
    ///     is undefined.
    /// - Throws: the same errors as ``keys(prefix:)``, or any error that `body` throws; either ends the loop.
    public func forEach(prefix: String = "", _ body: (borrowing KeyValueEntry) throws -> Void) throws {
        guard try beginIteration() else { return }
        let statement = try connection.cached(selection("key, value, json", prefix, order: " ORDER BY key"))
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        try statement.bindAll(arguments(prefix), handle)
        var last: String?
        while try statement.advance(handle) {
            let entry = try KeyValueEntry(handle)
            // SQLite visits a row twice if `body` rewrites it and the new version is placed after the old version.
            if let last, last.utf8.elementsEqual(entry.key.utf8) { continue }
            last = entry.key
            try body(entry)
        }
    }

    /// The keys that begin with a prefix and their values, in order.
    /// - Parameters:
    ///   - type: the type of the values.
    ///   - prefix: the beginning of the keys. Default: empty, for all keys.
    /// - Throws: the same errors as ``keys(prefix:)``; for the first value that cannot be read as `type`,
    ///   ``DatabaseError/Reason/unexpectedNull`` if it is nil, and ``DatabaseError/Reason/typeMismatch`` otherwise.
    public func all<T: SQLValueConvertible>(
        as type: T.Type = T.self, prefix: String = ""
    ) throws -> [(key: String, value: T)] {
        try list(prefix) { entry in try entry.value(as: type) }
    }

    /// The keys that begin with a prefix and their decoded values, in order.
    /// - Parameters:
    ///   - type: the type of the values.
    ///   - prefix: the beginning of the keys. Default: empty, for all keys.
    /// - Throws: the same errors as ``keys(prefix:)``; for the first value that cannot be decoded as `type`,
    ///   ``DatabaseError/Reason/unexpectedNull`` if it is nil, and ``DatabaseError/Reason/typeMismatch`` otherwise.
    @_disfavoredOverload
    public func all<T: Decodable>(
        as type: T.Type = T.self, prefix: String = ""
    ) throws -> [(key: String, value: T)] {
        try list(prefix) { entry in try entry.value(as: type) }
    }

    private func list<T>(
        _ prefix: String, _ value: (borrowing KeyValueEntry) throws -> T
    ) throws -> [(key: String, value: T)] {
        var result: [(key: String, value: T)] = []
        try forEach(prefix: prefix) { entry in result.append((entry.key, try value(entry))) }
        return result
    }

    /// Returns whether there is a table. An observation reads again when the next entry expires.
    private func beginIteration() throws -> Bool {
        guard try exists() else { return false }
        guard connection.isRecordingReads else { return true }
        let next = SQL(raw: "SELECT min(expires) FROM \(table.table) WHERE expires > ?1", [KeyValueEntry.now()])
        if let next = try connection.fetchOne(Int64?.self, next) { connection.recordExpiry(next) }
        return true
    }

    private func selection(_ columns: String, _ prefix: String, order: String = "") -> SQL {
        let range = prefix.isEmpty ? "" : " AND key >= ?2 AND key < ?3"
        return SQL(raw: "SELECT \(columns) FROM \(table.table) WHERE \(KeyValueTable.isAlive)\(range)\(order)")
    }

    private func arguments(_ prefix: String) -> StatementArguments {
        let now = StatementArguments([KeyValueEntry.now()])
        return prefix.isEmpty ? now : StatementArguments([KeyValueEntry.now()] + prefix.keyBounds)
    }
}

extension String {
    /// The prefix itself, and an upper bound of all texts that begin with it.
    fileprivate var keyBounds: [any SQLValueConvertible] { [self, KeyBound(prefix: self)] }

    fileprivate var keyRange: StatementArguments { StatementArguments(keyBounds) }
}

/// A prefix followed by a byte of 255, which no UTF-8 text contains.
private struct KeyBound: SQLValueConvertible {
    let prefix: String

    init(prefix: String) { self.prefix = prefix }

    init?(sqlValue: SQLValue) { nil }

    var sqlValue: SQLValue { .text(prefix) }

    func _bindSQL(to parameter: borrowing Statement._Parameter) throws {
        try ContiguousArray(Array(prefix.utf8) + [255]).withUnsafeBufferPointer { bytes in
            try parameter.bind(utf8: bytes)
        }
    }
}

/// Reading one value. Expired keys count as missing.
extension KeyValueStore {
    /// The value of a key, or nil if there is none.
    /// ```swift
    /// let port: UInt16? = try settings.get("port")
    /// ```
    /// - Throws: ``DatabaseError/Reason/typeMismatch`` if the value cannot be read as that type without loss,
    ///   ``DatabaseError/Reason/unexpectedNull`` if nil was stored and the type is not optional, and the errors of
    ///   ``contains(_:)``.
    @inlinable
    public func get<T: SQLValueConvertible>(_ key: String, as type: T.Type = T.self) throws -> T? {
        try lookUp(key) { handle in
            if let value = T._tryReadSQL(from: Row._Column(handle, 0)), !KeyValueEntry.isJSON(handle, column: 1) { return value }
            return try KeyValueEntry.read(type, handle, value: 0, json: 1)
        }
    }

    /// The value of a key, or `value` if there is none.
    /// - Throws: the same errors as `get(_:as:)`. A value of another type is an error; it does not yield the default.
    @inlinable
    public func get<T: SQLValueConvertible>(_ key: String, default value: T) throws -> T {
        try get(key, as: T.self) ?? value
    }

    /// The value of a key, decoded, or nil if there is none. The type itself can choose how dates and other values are coded
    /// (``JSONCodingCustomizable``).
    /// - Throws: ``DatabaseError/Reason/typeMismatch`` if the value cannot be decoded as that type,
    ///   ``DatabaseError/Reason/unexpectedNull`` if nil was stored and the type is not optional, and the errors of
    ///   ``contains(_:)``.
    @_disfavoredOverload
    public func get<T: Decodable>(_ key: String, as type: T.Type = T.self) throws -> T? {
        if let type = T.self as? any SQLValueConvertible.Type { return try get(key, as: type) as? T }
        return try lookUp(key) { handle in try KeyValueEntry.decode(type, handle, value: 0, json: 1) }
    }

    /// The value of a key, decoded, or `value` if there is none.
    /// - Throws: the same errors as `get(_:as:)`. A value of another type is an error; it does not yield the default.
    public func get<T: Decodable>(_ key: String, default value: T) throws -> T { try get(key, as: T.self) ?? value }

    /// The value of a key, or `value` if there is none.
    /// - Throws: the same errors as `get(_:as:)`.
    // Resolves the ambiguity between the two above. Disfavoring one of them would make `[1, 2, 3]` a blob.
    @inlinable
    @_documentation(visibility: private)
    public func get<T: SQLValueConvertible & Decodable>(_ key: String, default value: T) throws -> T {
        try get(key, as: T.self) ?? value
    }

    /// Returns whether a key exists, even if its value is nil.
    /// - Throws: ``DatabaseError/Reason/closed`` if the connection is closed; ``DatabaseError/Reason/invalidArgument`` if the
    ///   database has a store whose name differs only in case; ``DatabaseError/Reason/busy`` if another connection holds a lock for
    ///   longer than the busy timeout; or SQLite's error, such as ``ResultCode/corrupt`` for a damaged page.
    public func contains(_ key: String) throws -> Bool {
        try lookUp(key) { _ in () } != nil
    }

    /// Returns the result of `read` for the key's row, or nil if there is no such row.
    @inlinable
    @inline(__always)
    func lookUp<T>(_ key: String, _ read: (OpaquePointer) throws -> T) throws -> T? {
        guard let statement = try reading() else { return nil }
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        try Statement._Parameter(handle, 1, connection.profile).put(key)
        do {
            guard try statement.advance(handle) else { return nil }
        } catch {
            if isGone(error) { return nil }
            throw error
        }
        return try KeyValueEntry.isExpired(handle, column: 2, on: connection) ? nil : read(handle)
    }
}

/// Writing and removing.
extension KeyValueStore {
    /// Sets the value of a key and replaces any earlier value. Setting nil stores nil; to remove the key, call ``remove(_:)``.
    /// - Parameters:
    ///   - key: the key.
    ///   - value: the value to store.
    ///   - expiry: when the key expires, to the millisecond. Default: never, which also removes an earlier expiry.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a value that SQLite cannot hold, such as a `UInt64` over `Int64.max`,
    ///   for an expiry that is not a finite date, and if the database has a store whose name differs only in case;
    ///   ``DatabaseError/Reason/misuse`` if the store has no table yet and the database stores text as UTF-16;
    ///   ``DatabaseError/Reason/closed`` if the connection is closed; ``DatabaseError/Reason/busy`` if another connection holds a
    ///   lock for longer than the busy timeout; or SQLite's error, such as ``ResultCode/readOnly`` or ``ResultCode/full``.
    @inlinable
    public func set<T: SQLValueConvertible>(_ key: String, to value: T, expires expiry: Date? = nil) throws {
        try put(key, expiry) { value_, json in
            try value_.put(value)
            try json.bindNull()
        }
    }

    /// Sets the value of a key, coded as JSONB. Setting nil stores nil.
    /// - Parameters:
    ///   - key: the key.
    ///   - value: the value to store.
    ///   - expiry: when the key expires, to the millisecond. Default: never, which also removes an earlier expiry.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a value that JSON cannot hold or whose own encoding throws, and the
    ///   errors of the form for values that SQL can represent.
    public func set<T: Encodable>(_ key: String, to value: T, expires expiry: Date? = nil) throws {
        if T.self is any SQLValueConvertible.Type, let value = value as? any SQLValueConvertible {
            return try set(key, to: value, expires: expiry)
        }
        let writer: JSONBWriter
        do { writer = try JSONBEncoder(options: .of(T.self, connection.profile.jsonDates)).writer(value) } catch {
            throw DatabaseError.invalidArgument("a \(T.self) cannot be written as JSON: \(error.jsonDescription)")
        }
        try writer.withBytes { bytes in
            // JSONB encodes null as one zero byte.
            let isNull = bytes.count == 1 && bytes[0] == 0
            try put(key, expiry) { value_, json in
                try value_.bindNull()
                if isNull { try json.bindNull() } else { try json.bind(bytes: bytes) }
            }
        }
    }

    /// Sets the value of a key and replaces any earlier value.
    /// - Throws: the same errors as for a type that is only an `SQLValueConvertible`.
    // Resolves the ambiguity between the two above. Disfavoring one of them would make `[1, 2, 3]` a blob.
    @inlinable
    @_documentation(visibility: private)
    public func set<T: SQLValueConvertible & Encodable>(_ key: String, to value: T, expires expiry: Date? = nil)
        throws
    {
        try put(key, expiry) { value_, json in
            try value_.put(value)
            try json.bindNull()
        }
    }

    /// Sets many keys in one savepoint: if one fails, none of them is set.
    /// - Parameters:
    ///   - values: the keys and their values. A key that occurs twice gets the later value.
    ///   - expiry: when the keys expire, to the millisecond. Default: never.
    /// - Throws: the same errors as `set(_:to:expires:)`, for the first value that cannot be stored; nothing is changed then.
    public func setAll<T: SQLValueConvertible>(
        _ values: some Sequence<(key: String, value: T)>, expires expiry: Date? = nil
    ) throws {
        try together { for (key, value) in values { try set(key, to: value, expires: expiry) } }
    }

    /// Sets many keys to coded values in one savepoint: if one fails, none of them is set.
    /// - Parameters:
    ///   - values: the keys and their values. A key that occurs twice gets the later value.
    ///   - expiry: when the keys expire, to the millisecond. Default: never.
    /// - Throws: the same errors as `set(_:to:expires:)`, for the first value that cannot be stored; nothing is changed then.
    public func setAll<T: Encodable>(
        _ values: some Sequence<(key: String, value: T)>, expires expiry: Date? = nil
    ) throws {
        try together { for (key, value) in values { try set(key, to: value, expires: expiry) } }
    }

    /// Sets many keys in one savepoint: if one fails, none of them is set.
    /// - Throws: the same errors as `set(_:to:expires:)`, for the first value that cannot be stored; nothing is changed then.
    @_documentation(visibility: private)
    public func setAll<T: SQLValueConvertible & Encodable>(
        _ values: some Sequence<(key: String, value: T)>, expires expiry: Date? = nil
    ) throws {
        try together { for (key, value) in values { try set(key, to: value, expires: expiry) } }
    }

    /// Sets keys to values of different types in one savepoint: if one fails, none of them is set.
    /// ```swift
    /// try settings.setAll(["volume": 7, "theme": "dark", "window": frame])
    /// ```
    /// - Parameters:
    ///   - values: the values by their keys.
    ///   - expiry: when the keys expire, to the millisecond. Default: never.
    /// - Throws: the same errors as `set(_:to:expires:)`, for the first value that cannot be stored; nothing is changed then.
    @_disfavoredOverload
    public func setAll(_ values: [String: any Encodable], expires expiry: Date? = nil) throws {
        try together { for (key, value) in values { try set(key, to: value, expires: expiry) } }
    }

    private func together(_ body: () throws -> Void) throws {
        try connection.savepoint { _ in try body() }
    }

    @inlinable
    @inline(__always)
    func put(
        _ key: String, _ expiry: Date?,
        _ bind: (borrowing Statement._Parameter, borrowing Statement._Parameter) throws -> Void
    ) throws {
        do { try putOnce(key, expiry, bind) } catch {
            // The second attempt creates the table again.
            guard isGone(error) else { throw error }
            try putOnce(key, expiry, bind)
        }
    }

    @inlinable
    @inline(__always)
    func putOnce(
        _ key: String, _ expiry: Date?,
        _ bind: (borrowing Statement._Parameter, borrowing Statement._Parameter) throws -> Void
    ) throws {
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
    func bindExpiry(_ expiry: Date, _ parameter: borrowing Statement._Parameter) throws {
        guard expiry.timeIntervalSince1970.isFinite else { throw DatabaseError.invalidArgument("the expiry is not a finite date") }
        try parameter.bind(KeyValueEntry.milliseconds(expiry))
    }

    @usableFromInline
    func prepareExpiry() throws {
        if hasExpiryIndex { return }
        try connection.execute(table.expiryIndex)
        // A rollback could still remove the index.
        hasExpiryIndex = !connection.isInTransaction
    }

    /// Removes a key.
    /// - Returns: whether it existed.
    /// - Throws: ``DatabaseError/Reason/closed`` if the connection is closed; ``DatabaseError/Reason/invalidArgument`` if the
    ///   database has a store whose name differs only in case; ``DatabaseError/Reason/busy`` if another connection holds a lock for
    ///   longer than the busy timeout; or SQLite's error, such as ``ResultCode/readOnly`` or ``ResultCode/corrupt``.
    @discardableResult
    public func remove(_ key: String) throws -> Bool {
        guard try exists() else { return false }
        return try connection.fetchOne(
            Bool.self, SQL(raw: "DELETE FROM \(table.table) WHERE key = ?2 RETURNING \(KeyValueTable.isAlive)"),
            [KeyValueEntry.now(), key]) ?? false
    }

    /// Removes all keys that begin with a prefix.
    /// - Parameter prefix: the prefix. Default: empty, for all keys.
    /// - Throws: the same errors as ``remove(_:)``.
    public func removeAll(prefix: String = "") throws {
        guard try exists() else { return }
        if prefix.isEmpty {
            try connection.execute(SQL(raw: "DELETE FROM \(table.table)"))
        } else {
            try connection.execute(SQL(raw: "DELETE FROM \(table.table) WHERE key >= ?1 AND key < ?2"), prefix.keyRange)
        }
    }

    /// Deletes the rows of expired keys, which are already invisible to all other calls.
    /// - Returns: the number of deleted rows.
    /// - Throws: the same errors as ``remove(_:)``.
    @discardableResult
    public func purgeExpired() throws -> Int {
        guard try exists() else { return 0 }
        try connection.execute(SQL(raw: "DELETE FROM \(table.table) WHERE expires <= ?1"), [KeyValueEntry.now()])
        return connection.changes
    }
}
