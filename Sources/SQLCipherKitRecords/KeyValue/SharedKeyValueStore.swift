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
    public init(_ name: String, in schema: SharedSchema) throws(DatabaseError) {
        self.schema = schema
        table = try KeyValueTable(name, schemaName: schema.name)
    }

    /// Creates a store in the main database of a queue or a pool, without reading or writing anything yet.
    /// - Throws: the same errors as ``init(_:in:)-(_,SharedSchema)``.
    public init(_ name: String, in database: SharedDatabase) throws(DatabaseError) { try self.init(name, in: database.main) }

    /// The queue or the pool.
    public var database: SharedDatabase { schema.database }

    /// The store's name.
    public var name: String { table.name }

    // MARK: Several calls at once

    /// Runs `body` with one snapshot of the store.
    /// - Throws: the same errors as ``SharedDatabase/read(timeout:_:)-3n0y5``.
    public func read<R>(_ body: (KeyValueStore) throws -> sending R) throws -> sending R {
        try database.read { db in try body(table.store(db)) }
    }

    /// Runs `body` with one snapshot of the store, and suspends the task instead of blocking a thread.
    public func read<R>(_ body: sending @escaping (KeyValueStore) throws -> sending R) async throws -> sending R {
        try await database.read { [table] db in try body(table.store(db)) }
    }

    /// Runs `body` in a transaction.
    /// - Throws: the same errors as ``SharedDatabase/write(timeout:_:)-7g9pr``.
    @discardableResult
    public func write<R>(_ body: (KeyValueStore) throws -> sending R) throws -> sending R {
        try database.write { db in try body(table.store(db)) }
    }

    /// Runs `body` in a transaction, and suspends the task instead of blocking a thread.
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
