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
/// Each call is one read or one transaction of its own. For the values and how they are stored, see ``KeyValueStore``.
public struct SharedKeyValueStore: Sendable {
    /// The database that the store is in.
    public let schema: SharedSchema
    private let table: KeyValueTable

    /// A store in a database of a queue or a pool. Nothing is read or written yet.
    /// - Parameters:
    ///   - name: the store's name, any text; its table is named `kv_` and that.
    ///   - schema: the database, as `attach` returns it.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a name that is empty or has a NUL character.
    public init(_ name: String, in schema: SharedSchema) throws(DatabaseError) {
        self.schema = schema
        table = try KeyValueTable(name, schemaName: schema.name)
    }

    /// A store in the main database of a queue or a pool. Nothing is read or written yet.
    /// - Throws: as ``init(_:in:)-(_,SharedSchema)``.
    public init(_ name: String, in database: SharedDatabase) throws(DatabaseError) { try self.init(name, in: database.main) }

    /// The queue or the pool.
    public var database: SharedDatabase { schema.database }

    /// The store's name.
    public var name: String { table.name }

    // MARK: Several calls at once

    /// Runs `body` with one snapshot of the store.
    /// - Throws: as ``SharedDatabase/read(timeout:_:)-3n0y5``.
    public func read<R>(_ body: (KeyValueStore) throws -> sending R) throws -> sending R {
        try database.read { db in try body(table.store(db)) }
    }

    /// The same for a task.
    public func read<R>(_ body: sending @escaping (KeyValueStore) throws -> sending R) async throws -> sending R {
        try await database.read { [table] db in try body(table.store(db)) }
    }

    /// Runs `body` in a transaction.
    /// - Throws: as ``SharedDatabase/write(timeout:_:)-7g9pr``.
    @discardableResult
    public func write<R>(_ body: (KeyValueStore) throws -> sending R) throws -> sending R {
        try database.write { db in try body(table.store(db)) }
    }

    /// The same for a task.
    @discardableResult
    public func write<R>(_ body: sending @escaping (KeyValueStore) throws -> sending R) async throws -> sending R {
        try await database.write { [table] db in try body(table.store(db)) }
    }

    // MARK: One key

    /// The value of a key, or nil if there is none.
    /// - Throws: as ``KeyValueStore``'s `get(_:as:)`, and as `read`.
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
    /// - Throws: as ``KeyValueStore``'s `set(_:to:expires:)`, and as `write`.
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

    /// The same for a task.
    @discardableResult
    public func remove(_ key: String) async throws -> Bool { try await write { store in try store.remove(key) } }

    // MARK: Observation

    /// The value of a key, or nil if there is none, now and after each commit that changes it; see ``DatabaseObservation``. The
    /// expiry of a key is not a commit.
    public func observe<T: SQLValueConvertible & Equatable>(_ key: String, as type: T.Type = T.self) -> DatabaseObservation<T?> {
        database.observe { [table] db in try table.store(db).get(key, as: type) }.removingDuplicates()
    }

    /// The same for a value that is decoded.
    @_disfavoredOverload
    public func observe<T: Decodable & Equatable & Sendable>(_ key: String, as type: T.Type = T.self) -> DatabaseObservation<T?> {
        database.observe { [table] db in try table.store(db).get(key, as: type) }.removingDuplicates()
    }
}

extension KeyValueTable {
    fileprivate func store(_ db: Connection) -> KeyValueStore { KeyValueStore(self, Schema(db, schemaName)) }
}
