import Foundation

/// A key-value store on a queue or a pool, for any thread and any task.
///
/// ```swift
/// let settings = try SharedKeyValueStore("settings", in: pool)
/// try await settings.set("launches", to: 3)
/// let launches = try await settings.get("launches", default: 0)
/// try await settings.write { store in             // several at once, in one transaction
///     try store.set("a", to: 1)
///     try store.remove("b")
/// }
/// for try await theme in settings.observe("theme", as: String.self) { show(theme ?? "light") }
/// ```
/// Each call is one read or one transaction of its own. What values are, and how they are stored, says ``KeyValueStore``.
public struct SharedKeyValueStore: Sendable {
    /// The queue or the pool.
    public let database: any DatabaseAccess
    private let table: KeyValueTable

    /// A store of a queue or a pool. Nothing is read or written yet.
    /// - Parameters:
    ///   - name: the store's name, any text; its table is named `kv_` and that.
    ///   - database: the queue or the pool.
    ///   - schema: the attached database that it is in. Default: `main`.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a name that cannot be.
    public init(_ name: String, in database: any DatabaseAccess, schema: String = "main") throws(DatabaseError) {
        self.database = database
        table = try KeyValueTable(name, in: schema)
    }

    /// The store's name.
    public var name: String { table.name }

    // MARK: Several calls at once

    /// Runs `body` with the store as it is at one moment.
    /// - Throws: as `read(_:)`.
    public func read<R>(_ body: (KeyValueStore) throws -> sending R) throws -> sending R {
        try database.read { db in try body(KeyValueStore(table, db)) }
    }

    /// The same for a task.
    public func read<R>(_ body: sending @escaping (KeyValueStore) throws -> sending R) async throws -> sending R {
        let table = table
        return try await database.read { db in try body(KeyValueStore(table, db)) }
    }

    /// Runs `body` in a transaction.
    /// - Throws: as `write(_:)`.
    @discardableResult
    public func write<R>(_ body: (KeyValueStore) throws -> sending R) throws -> sending R {
        try database.write { db in try body(KeyValueStore(table, db)) }
    }

    /// The same for a task.
    @discardableResult
    public func write<R>(_ body: sending @escaping (KeyValueStore) throws -> sending R) async throws -> sending R {
        let table = table
        return try await database.write { db in try body(KeyValueStore(table, db)) }
    }

    // MARK: One key

    /// The value of a key, or nil if there is none; see `get(_:as:)`.
    public func get<T: SQLValueConvertible>(_ key: String, as type: T.Type = T.self) throws -> T? {
        try read { store in try store.get(key, as: type) }
    }

    /// The value of a key, decoded, or nil if there is none.
    @_disfavoredOverload
    public func get<T: Decodable & Sendable>(_ key: String, as type: T.Type = T.self) throws -> T? {
        try read { store in try store.get(key, as: type) }
    }

    /// The value of a key, or nil if there is none, for a task.
    public func get<T: SQLValueConvertible>(_ key: String, as type: T.Type = T.self) async throws -> T? {
        try await read { store in try store.get(key, as: type) }
    }

    /// The value of a key, decoded, or nil if there is none, for a task.
    @_disfavoredOverload
    public func get<T: Decodable & Sendable>(_ key: String, as type: T.Type = T.self) async throws -> T? {
        try await read { store in try store.get(key, as: type) }
    }

    /// The value of a key, or `value` if there is none.
    public func get<T: Codable & Sendable>(_ key: String, default value: T) throws -> T {
        try read { store in try store.get(key, default: value) }
    }

    /// The value of a key, or `value` if there is none, for a task.
    public func get<T: Codable & Sendable>(_ key: String, default value: T) async throws -> T {
        try await read { store in try store.get(key, default: value) }
    }

    /// Sets the value of a key, in place of the one before.
    public func set<T: Codable & Sendable>(_ key: String, to value: T, expires expiry: Date? = nil) throws {
        try write { store in try store.set(key, to: value, expires: expiry) }
    }

    /// Sets the value of a key, in place of the one before, for a task.
    public func set<T: Codable & Sendable>(_ key: String, to value: T, expires expiry: Date? = nil) async throws {
        try await write { store in try store.set(key, to: value, expires: expiry) }
    }

    /// Removes a key.
    /// - Returns: whether it was there.
    @discardableResult
    public func remove(_ key: String) throws -> Bool { try write { store in try store.remove(key) } }

    /// Removes a key, for a task.
    /// - Returns: whether it was there.
    @discardableResult
    public func remove(_ key: String) async throws -> Bool { try await write { store in try store.remove(key) } }

    // MARK: Observation

    /// The value of a key, or nil if there is none, now and after each commit that changes it; see ``DatabaseObservation``. That the
    /// key's time runs out is no commit.
    public func observe<T: SQLValueConvertible & Equatable>(_ key: String, as type: T.Type = T.self) -> DatabaseObservation<T?> {
        let table = table
        return database.observe { db in try KeyValueStore(table, db).get(key, as: type) }.removingDuplicates()
    }

    /// The same for a value that is decoded.
    @_disfavoredOverload
    public func observe<T: Decodable & Equatable & Sendable>(_ key: String, as type: T.Type = T.self) -> DatabaseObservation<T?> {
        let table = table
        return database.observe { db in try KeyValueStore(table, db).get(key, as: type) }.removingDuplicates()
    }
}
