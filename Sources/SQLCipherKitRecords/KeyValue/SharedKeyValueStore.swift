import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore

/// A key-value store on a queue or a pool, usable from any thread and any task.
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
/// ``KeyValueStore`` describes the values that it takes and how it stores them. A call for one key is a separate read or
/// transaction. Calls for many keys go through a closure, so that they read one snapshot or are one transaction:
/// ```swift
/// let colors = try await settings.read { store in try store.all(as: String.self, prefix: "color.") }
/// try await settings.write { store in try store.setAll(["volume": 7, "theme": "dark"]) }
/// ```
public struct SharedKeyValueStore: Sendable {
    /// The database that contains the store.
    public let schema: SharedSchema
    let table: KeyValueTable

    /// Creates a store in a database of a queue or a pool, without reading or writing anything yet.
    /// - Parameters:
    ///   - name: the store's name, any text. Its table is named `kv_` followed by this name.
    ///   - schema: the database, as `attach` returns it.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a name that is empty or has a NUL character.
    public init(_ name: String, in schema: SharedSchema) throws {
        self.schema = schema
        table = try KeyValueTable(name, schemaName: schema.name)
    }

    /// Creates a store in the main database of a queue or a pool, without reading or writing anything yet.
    /// - Throws: the same errors as ``init(_:in:)-(_,SharedSchema)``.
    public init(_ name: String, in database: DatabaseWriter) throws { try self.init(name, in: database.main) }

    /// The queue or the pool.
    public var database: DatabaseWriter { schema.database }

    /// The store's name.
    public var name: String { table.name }

    // MARK: Several calls at once

    /// Runs `body` with one snapshot of the store.
    /// - Throws: the same errors as ``DatabaseWriter/read(timeout:_:)-35mpe``.
    public func read<R>(_ body: (KeyValueStore) throws -> sending R) throws -> sending R {
        try database.read { db in try body(table.store(db)) }
    }

    /// Runs `body` with one snapshot of the store, and suspends the task instead of blocking a thread.
    /// - Parameter body: receives the store, and must not keep it.
    /// - Returns: the result of `body`.
    /// - Throws: the same errors as the other form, or `CancellationError` when the task is cancelled.
    public func read<R>(_ body: sending @escaping (KeyValueStore) throws -> sending R) async throws -> sending R {
        try await database.read { [table] db in try body(table.store(db)) }
    }

    /// Runs `body` in a transaction.
    /// - Throws: the same errors as ``DatabaseWriter/write(timeout:_:)-4fc77``.
    @discardableResult
    public func write<R>(_ body: (KeyValueStore) throws -> sending R) throws -> sending R {
        try database.write { db in try body(table.store(db)) }
    }

    /// Runs `body` in a transaction, and suspends the task instead of blocking a thread.
    /// - Parameter body: receives the store, and must not keep it.
    /// - Returns: the result of `body`.
    /// - Throws: the same errors as the other form, or `CancellationError` when the task is cancelled; nothing is changed then.
    @discardableResult
    public func write<R>(_ body: sending @escaping (KeyValueStore) throws -> sending R) async throws -> sending R {
        try await database.write { [table] db in try body(table.store(db)) }
    }

    // MARK: Observation

    /// Observes the value of a key, or nil if there is none: delivers it now and after each commit that changes it (see
    /// ``DatabaseObservation``). A key that expires does not cause a delivery, as no commit takes place.
    public func observe<T: SQLValueConvertible & Equatable>(_ key: String, as type: T.Type = T.self) -> DatabaseObservation<T?> {
        database.observe { [table] db in try table.store(db).get(key, as: type) }.removingDuplicates()
    }

    /// Observes the value of a key and decodes it.
    @_disfavoredOverload
    public func observe<T: Decodable & Equatable & Sendable>(_ key: String, as type: T.Type = T.self) -> DatabaseObservation<T?> {
        database.observe { [table] db in try table.store(db).get(key, as: type) }.removingDuplicates()
    }
}

extension KeyValueTable {
    fileprivate func store(_ db: Connection) -> KeyValueStore { KeyValueStore(self, Schema(db, schemaName)) }
}

/// Calls for a single key, in a separate read or transaction, as in a ``KeyValueStore``. Each has an asynchronous form,
/// which suspends the task instead of blocking a thread. For many keys, use `read` and `write`.
extension SharedKeyValueStore {
    // MARK: Reading

    /// The value of a key, or nil if there is none.
    /// - Throws: the same errors as ``KeyValueStore``'s `get(_:as:)` and `read`.
    public func get<T: SQLValueConvertible>(_ key: String, as type: T.Type = T.self) throws -> T? {
        try reading { store in try store.get(key, as: type) }
    }

    /// The asynchronous form.
    /// - Throws: the same errors as the other form, or `CancellationError` when the task is cancelled.
    public func get<T: SQLValueConvertible>(_ key: String, as type: T.Type = T.self) async throws -> T? {
        try await read { store in try store.get(key, as: type) }
    }

    /// The value of a key, decoded, or nil if there is none.
    /// - Throws: the same errors as ``KeyValueStore``'s `get(_:as:)` and `read`.
    @_disfavoredOverload
    public func get<T: Decodable & Sendable>(_ key: String, as type: T.Type = T.self) throws -> T? {
        try reading { store in try store.get(key, as: type) }
    }

    /// The asynchronous form.
    /// - Throws: the same errors as the other form, or `CancellationError` when the task is cancelled.
    @_disfavoredOverload
    public func get<T: Decodable & Sendable>(_ key: String, as type: T.Type = T.self) async throws -> T? {
        try await read { store in try store.get(key, as: type) }
    }

    /// The value of a key, or `value` if there is none.
    /// - Throws: the same errors as ``KeyValueStore``'s `get(_:default:)` and `read`.
    public func get<T: SQLValueConvertible>(_ key: String, default value: T) throws -> T {
        try reading { store in try store.get(key, default: value) }
    }

    /// The asynchronous form.
    /// - Throws: the same errors as the other form, or `CancellationError` when the task is cancelled.
    public func get<T: SQLValueConvertible>(_ key: String, default value: T) async throws -> T {
        try await read { store in try store.get(key, default: value) }
    }

    /// The value of a key, decoded, or `value` if there is none.
    /// - Throws: the same errors as ``KeyValueStore``'s `get(_:default:)` and `read`.
    public func get<T: Decodable & Sendable>(_ key: String, default value: T) throws -> T {
        try reading { store in try store.get(key, default: value) }
    }

    /// The asynchronous form.
    /// - Throws: the same errors as the other form, or `CancellationError` when the task is cancelled.
    public func get<T: Decodable & Sendable>(_ key: String, default value: T) async throws -> T {
        try await read { store in try store.get(key, default: value) }
    }

    /// The value of a key, or `value` if there is none.
    /// - Throws: the same errors as for a type that has only one of the two conformances.
    // Resolves the ambiguity between the two above, as in KeyValueStore.
    @_documentation(visibility: private)
    public func get<T: SQLValueConvertible & Decodable>(_ key: String, default value: T) throws -> T {
        try reading { store in try store.get(key, default: value) }
    }

    /// The asynchronous form.
    /// - Throws: the same errors as the other form, or `CancellationError` when the task is cancelled.
    @_documentation(visibility: private)
    public func get<T: SQLValueConvertible & Decodable>(_ key: String, default value: T) async throws -> T {
        try await read { store in try store.get(key, default: value) }
    }

    /// Returns whether a key exists, even if its value is nil.
    /// - Throws: the same errors as ``KeyValueStore/contains(_:)`` and `read`.
    public func contains(_ key: String) throws -> Bool { try reading { store in try store.contains(key) } }

    /// The asynchronous form.
    /// - Throws: the same errors as the other form, or `CancellationError` when the task is cancelled.
    public func contains(_ key: String) async throws -> Bool { try await read { store in try store.contains(key) } }

    // MARK: Writing

    /// Sets the value of a key and replaces any earlier value.
    /// - Parameters:
    ///   - key: the key.
    ///   - value: the value to store.
    ///   - expiry: when the key expires, to the millisecond. Default: never, which also removes an earlier expiry.
    /// - Throws: the same errors as ``KeyValueStore``'s `set(_:to:expires:)` and `write`.
    public func set<T: SQLValueConvertible>(_ key: String, to value: T, expires expiry: Date? = nil) throws {
        try writing { store in try store.set(key, to: value, expires: expiry) }
    }

    /// The asynchronous form.
    /// - Throws: the same errors as the other form, or `CancellationError` when the task is cancelled; nothing is changed then.
    public func set<T: SQLValueConvertible>(_ key: String, to value: T, expires expiry: Date? = nil) async throws {
        try await write { store in try store.set(key, to: value, expires: expiry) }
    }

    /// Sets the value of a key, coded as JSONB, and replaces any earlier value.
    /// - Parameters:
    ///   - key: the key.
    ///   - value: the value.
    ///   - expiry: when the key expires; nil, the default, for never.
    /// - Throws: the same errors as ``KeyValueStore``'s `set(_:to:expires:)` and `write`; nothing is changed then.
    public func set<T: Encodable & Sendable>(_ key: String, to value: T, expires expiry: Date? = nil) throws {
        try writing { store in try store.set(key, to: value, expires: expiry) }
    }

    /// The asynchronous form.
    /// - Throws: the same errors as the other form, or `CancellationError` when the task is cancelled; nothing is changed then.
    public func set<T: Encodable & Sendable>(_ key: String, to value: T, expires expiry: Date? = nil) async throws {
        try await write { store in try store.set(key, to: value, expires: expiry) }
    }

    /// Sets the value of a key and replaces any earlier value.
    /// - Throws: the same errors as for a type that has only one of the two conformances.
    // Resolves the ambiguity between the two above, as in KeyValueStore.
    @_documentation(visibility: private)
    public func set<T: SQLValueConvertible & Encodable>(
        _ key: String, to value: T, expires expiry: Date? = nil
    ) throws {
        try writing { store in try store.set(key, to: value, expires: expiry) }
    }

    /// The asynchronous form.
    /// - Throws: the same errors as the other form, or `CancellationError` when the task is cancelled; nothing is changed then.
    @_documentation(visibility: private)
    public func set<T: SQLValueConvertible & Encodable>(_ key: String, to value: T, expires expiry: Date? = nil) async throws {
        try await write { store in try store.set(key, to: value, expires: expiry) }
    }

    /// Removes a key.
    /// - Returns: whether it existed.
    /// - Throws: the same errors as ``KeyValueStore/remove(_:)`` and `write`; nothing is changed then.
    @discardableResult
    public func remove(_ key: String) throws -> Bool { try writing { store in try store.remove(key) } }

    /// The asynchronous form.
    /// - Throws: the same errors as the other form, or `CancellationError` when the task is cancelled; nothing is changed then.
    @discardableResult
    public func remove(_ key: String) async throws -> Bool { try await write { store in try store.remove(key) } }

    private func reading<R>(_ body: (KeyValueStore) throws -> sending R) throws -> sending R {
        try read(body)
    }

    private func writing<R>(_ body: (KeyValueStore) throws -> sending R) throws -> sending R {
        try write(body)
    }
}
