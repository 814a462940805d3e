import Foundation
import SQLCipherKitCore

/// One key at a time, in a separate read or transaction, with the calls of a ``KeyValueStore``. Each has an asynchronous form,
/// which suspends the task instead of blocking a thread. For many keys, use `read` and `write`.
extension SharedKeyValueStore {
    // MARK: Reading

    /// The value of a key, or nil if there is none.
    /// - Throws: the same errors as ``KeyValueStore``'s `get(_:as:)` and `read`.
    public func get<T: SQLValueConvertible>(_ key: String, as type: T.Type = T.self) throws(DatabaseError) -> T? {
        try reading { store in try store.get(key, as: type) }
    }

    /// The asynchronous form.
    public func get<T: SQLValueConvertible>(_ key: String, as type: T.Type = T.self) async throws -> T? {
        try await read { store in try store.get(key, as: type) }
    }

    /// The value of a key, decoded, or nil if there is none.
    @_disfavoredOverload
    public func get<T: Decodable & Sendable>(_ key: String, as type: T.Type = T.self) throws(DatabaseError) -> T? {
        try reading { store in try store.get(key, as: type) }
    }

    /// The asynchronous form.
    @_disfavoredOverload
    public func get<T: Decodable & Sendable>(_ key: String, as type: T.Type = T.self) async throws -> T? {
        try await read { store in try store.get(key, as: type) }
    }

    /// The value of a key, or `value` if there is none.
    public func get<T: SQLValueConvertible>(_ key: String, default value: T) throws(DatabaseError) -> T {
        try reading { store in try store.get(key, default: value) }
    }

    /// The asynchronous form.
    public func get<T: SQLValueConvertible>(_ key: String, default value: T) async throws -> T {
        try await read { store in try store.get(key, default: value) }
    }

    /// The value of a key, decoded, or `value` if there is none.
    public func get<T: Decodable & Sendable>(_ key: String, default value: T) throws(DatabaseError) -> T {
        try reading { store in try store.get(key, default: value) }
    }

    /// The asynchronous form.
    public func get<T: Decodable & Sendable>(_ key: String, default value: T) async throws -> T {
        try await read { store in try store.get(key, default: value) }
    }

    /// The value of a key, or `value` if there is none.
    // Resolves the ambiguity between the two above, as in KeyValueStore.
    @_documentation(visibility: private)
    public func get<T: SQLValueConvertible & Decodable>(_ key: String, default value: T) throws(DatabaseError) -> T {
        try reading { store in try store.get(key, default: value) }
    }

    /// The asynchronous form.
    @_documentation(visibility: private)
    public func get<T: SQLValueConvertible & Decodable>(_ key: String, default value: T) async throws -> T {
        try await read { store in try store.get(key, default: value) }
    }

    /// Whether a key exists, even if its value is nil.
    public func contains(_ key: String) throws(DatabaseError) -> Bool { try reading { store in try store.contains(key) } }

    /// The asynchronous form.
    public func contains(_ key: String) async throws -> Bool { try await read { store in try store.contains(key) } }

    // MARK: Writing

    /// Sets the value of a key and replaces any earlier value.
    /// - Throws: the same errors as ``KeyValueStore``'s `set(_:to:expires:)` and `write`.
    public func set<T: SQLValueConvertible>(_ key: String, to value: T, expires expiry: Date? = nil) throws(DatabaseError) {
        try writing { store in try store.set(key, to: value, expires: expiry) }
    }

    /// The asynchronous form.
    public func set<T: SQLValueConvertible>(_ key: String, to value: T, expires expiry: Date? = nil) async throws {
        try await write { store in try store.set(key, to: value, expires: expiry) }
    }

    /// Sets the value of a key, coded as JSONB, and replaces any earlier value.
    public func set<T: Encodable & Sendable>(_ key: String, to value: T, expires expiry: Date? = nil) throws(DatabaseError) {
        try writing { store in try store.set(key, to: value, expires: expiry) }
    }

    /// The asynchronous form.
    public func set<T: Encodable & Sendable>(_ key: String, to value: T, expires expiry: Date? = nil) async throws {
        try await write { store in try store.set(key, to: value, expires: expiry) }
    }

    /// Sets the value of a key and replaces any earlier value.
    // Resolves the ambiguity between the two above, as in KeyValueStore.
    @_documentation(visibility: private)
    public func set<T: SQLValueConvertible & Encodable>(
        _ key: String, to value: T, expires expiry: Date? = nil
    ) throws(DatabaseError) {
        try writing { store in try store.set(key, to: value, expires: expiry) }
    }

    /// The asynchronous form.
    @_documentation(visibility: private)
    public func set<T: SQLValueConvertible & Encodable>(_ key: String, to value: T, expires expiry: Date? = nil) async throws {
        try await write { store in try store.set(key, to: value, expires: expiry) }
    }

    /// Removes a key.
    /// - Returns: whether it existed.
    @discardableResult
    public func remove(_ key: String) throws(DatabaseError) -> Bool { try writing { store in try store.remove(key) } }

    /// The asynchronous form.
    @discardableResult
    public func remove(_ key: String) async throws -> Bool { try await write { store in try store.remove(key) } }

    private func reading<R>(_ body: (KeyValueStore) throws -> sending R) throws(DatabaseError) -> sending R {
        try DatabaseError.only("a key-value store") { try read(body) }
    }

    private func writing<R>(_ body: (KeyValueStore) throws -> sending R) throws(DatabaseError) -> sending R {
        try DatabaseError.only("a key-value store") { try write(body) }
    }
}
