import Foundation
import SQLCipherKitCore

/// The calls of a ``KeyValueStore``, each of which is a separate read or transaction.
extension SharedKeyValueStore {
    // MARK: Reading

    /// The value of a key, or nil if there is none.
    /// - Throws: the same errors as ``KeyValueStore``'s `get(_:as:)` and `read`.
    public func get<T: SQLValueConvertible>(_ key: String, as type: T.Type = T.self) throws -> T? {
        try read { store in try store.get(key, as: type) }
    }

    /// The asynchronous form.
    public func get<T: SQLValueConvertible>(_ key: String, as type: T.Type = T.self) async throws -> T? {
        try await read { store in try store.get(key, as: type) }
    }

    /// The value of a key, decoded, or nil if there is none.
    @_disfavoredOverload
    public func get<T: Decodable & Sendable>(_ key: String, as type: T.Type = T.self) throws -> T? {
        try read { store in try store.get(key, as: type) }
    }

    /// The asynchronous form.
    @_disfavoredOverload
    public func get<T: Decodable & Sendable>(_ key: String, as type: T.Type = T.self) async throws -> T? {
        try await read { store in try store.get(key, as: type) }
    }

    /// The value of a key, or `value` if there is none.
    public func get<T: SQLValueConvertible>(_ key: String, default value: T) throws -> T {
        try read { store in try store.get(key, default: value) }
    }

    /// The asynchronous form.
    public func get<T: SQLValueConvertible>(_ key: String, default value: T) async throws -> T {
        try await read { store in try store.get(key, default: value) }
    }

    /// The value of a key, decoded, or `value` if there is none.
    public func get<T: Decodable & Sendable>(_ key: String, default value: T) throws -> T {
        try read { store in try store.get(key, default: value) }
    }

    /// The asynchronous form.
    public func get<T: Decodable & Sendable>(_ key: String, default value: T) async throws -> T {
        try await read { store in try store.get(key, default: value) }
    }

    /// The value of a key, or `value` if there is none.
    // Resolves the ambiguity between the two above, as in KeyValueStore.
    public func get<T: SQLValueConvertible & Decodable>(_ key: String, default value: T) throws -> T {
        try read { store in try store.get(key, default: value) }
    }

    /// The asynchronous form.
    public func get<T: SQLValueConvertible & Decodable>(_ key: String, default value: T) async throws -> T {
        try await read { store in try store.get(key, default: value) }
    }

    /// Whether a key exists, even if its value is nil.
    public func contains(_ key: String) throws -> Bool { try read { store in try store.contains(key) } }

    /// The asynchronous form.
    public func contains(_ key: String) async throws -> Bool { try await read { store in try store.contains(key) } }

    /// The keys that begin with a prefix, in the order of their UTF-8 bytes. Default: all keys.
    public func keys(prefix: String = "") throws -> [String] { try read { store in try store.keys(prefix: prefix) } }

    /// The asynchronous form.
    public func keys(prefix: String = "") async throws -> [String] { try await read { store in try store.keys(prefix: prefix) } }

    /// The number of keys that begin with a prefix. Default: of all keys.
    public func count(prefix: String = "") throws -> Int { try read { store in try store.count(prefix: prefix) } }

    /// The asynchronous form.
    public func count(prefix: String = "") async throws -> Int { try await read { store in try store.count(prefix: prefix) } }

    /// The keys that begin with a prefix and their values, in order. Default: all of them.
    /// - Throws: the same errors as `get(_:as:)`, for the first value that cannot be read as `type`.
    public func all<T: SQLValueConvertible>(as type: T.Type = T.self, prefix: String = "") throws -> [(key: String, value: T)] {
        try read { store in try store.all(as: type, prefix: prefix) }
    }

    /// The asynchronous form.
    public func all<T: SQLValueConvertible>(
        as type: T.Type = T.self, prefix: String = ""
    ) async throws -> [(key: String, value: T)] { try await read { store in try store.all(as: type, prefix: prefix) } }

    /// The keys that begin with a prefix and their decoded values, in order. Default: all of them.
    @_disfavoredOverload
    public func all<T: Decodable & Sendable>(as type: T.Type = T.self, prefix: String = "") throws -> [(key: String, value: T)] {
        try read { store in try store.all(as: type, prefix: prefix) }
    }

    /// The asynchronous form.
    @_disfavoredOverload
    public func all<T: Decodable & Sendable>(
        as type: T.Type = T.self, prefix: String = ""
    ) async throws -> [(key: String, value: T)] { try await read { store in try store.all(as: type, prefix: prefix) } }

    /// Calls `body` for each key that begins with a prefix, in order, in one read. See ``KeyValueStore/forEach(prefix:_:)``.
    public func forEach(prefix: String = "", _ body: (borrowing KeyValueEntry) throws -> Void) throws {
        try read { store in try store.forEach(prefix: prefix, body) }
    }

    /// The asynchronous form.
    public func forEach(prefix: String = "", _ body: sending @escaping (borrowing KeyValueEntry) throws -> Void) async throws {
        try await read { store in try store.forEach(prefix: prefix, body) }
    }

    // MARK: Writing

    /// Sets the value of a key and replaces any earlier value.
    /// - Throws: the same errors as ``KeyValueStore``'s `set(_:to:expires:)` and `write`.
    public func set<T: SQLValueConvertible>(_ key: String, to value: T, expires expiry: Date? = nil) throws {
        try write { store in try store.set(key, to: value, expires: expiry) }
    }

    /// The asynchronous form.
    public func set<T: SQLValueConvertible>(_ key: String, to value: T, expires expiry: Date? = nil) async throws {
        try await write { store in try store.set(key, to: value, expires: expiry) }
    }

    /// Sets the value of a key, coded as JSONB, and replaces any earlier value.
    public func set<T: Encodable & Sendable>(_ key: String, to value: T, expires expiry: Date? = nil) throws {
        try write { store in try store.set(key, to: value, expires: expiry) }
    }

    /// The asynchronous form.
    public func set<T: Encodable & Sendable>(_ key: String, to value: T, expires expiry: Date? = nil) async throws {
        try await write { store in try store.set(key, to: value, expires: expiry) }
    }

    /// Sets the value of a key and replaces any earlier value.
    // Resolves the ambiguity between the two above, as in KeyValueStore.
    public func set<T: SQLValueConvertible & Encodable>(_ key: String, to value: T, expires expiry: Date? = nil) throws {
        try write { store in try store.set(key, to: value, expires: expiry) }
    }

    /// The asynchronous form.
    public func set<T: SQLValueConvertible & Encodable>(_ key: String, to value: T, expires expiry: Date? = nil) async throws {
        try await write { store in try store.set(key, to: value, expires: expiry) }
    }

    /// Sets many keys in one transaction: if one fails, none of them is set.
    public func setAll<T: SQLValueConvertible>(
        _ values: some Sequence<(key: String, value: T)> & Sendable, expires expiry: Date? = nil
    ) throws { try write { store in try store.setAll(values, expires: expiry) } }

    /// The asynchronous form.
    public func setAll<T: SQLValueConvertible>(
        _ values: some Sequence<(key: String, value: T)> & Sendable, expires expiry: Date? = nil
    ) async throws { try await write { store in try store.setAll(values, expires: expiry) } }

    /// Sets many keys to coded values in one transaction: if one fails, none of them is set.
    public func setAll<T: Encodable & Sendable>(
        _ values: some Sequence<(key: String, value: T)> & Sendable, expires expiry: Date? = nil
    ) throws { try write { store in try store.setAll(values, expires: expiry) } }

    /// The asynchronous form.
    public func setAll<T: Encodable & Sendable>(
        _ values: some Sequence<(key: String, value: T)> & Sendable, expires expiry: Date? = nil
    ) async throws { try await write { store in try store.setAll(values, expires: expiry) } }

    /// Sets many keys in one transaction: if one fails, none of them is set.
    public func setAll<T: SQLValueConvertible & Encodable>(
        _ values: some Sequence<(key: String, value: T)> & Sendable, expires expiry: Date? = nil
    ) throws { try write { store in try store.setAll(values, expires: expiry) } }

    /// The asynchronous form.
    public func setAll<T: SQLValueConvertible & Encodable>(
        _ values: some Sequence<(key: String, value: T)> & Sendable, expires expiry: Date? = nil
    ) async throws { try await write { store in try store.setAll(values, expires: expiry) } }

    /// Sets keys to values of different types in one transaction: if one fails, none of them is set.
    @_disfavoredOverload
    public func setAll(_ values: [String: any Encodable & Sendable], expires expiry: Date? = nil) throws {
        try write { store in try store.setAll(values, expires: expiry) }
    }

    /// The asynchronous form.
    @_disfavoredOverload
    public func setAll(_ values: [String: any Encodable & Sendable], expires expiry: Date? = nil) async throws {
        try await write { store in try store.setAll(values, expires: expiry) }
    }

    /// Removes a key.
    /// - Returns: whether it existed.
    @discardableResult
    public func remove(_ key: String) throws -> Bool { try write { store in try store.remove(key) } }

    /// The asynchronous form.
    @discardableResult
    public func remove(_ key: String) async throws -> Bool { try await write { store in try store.remove(key) } }

    /// Removes all keys that begin with a prefix. Default: all keys.
    public func removeAll(prefix: String = "") throws { try write { store in try store.removeAll(prefix: prefix) } }

    /// The asynchronous form.
    public func removeAll(prefix: String = "") async throws { try await write { store in try store.removeAll(prefix: prefix) } }

    /// Deletes the rows of expired keys.
    /// - Returns: the number of deleted rows.
    @discardableResult
    public func purgeExpired() throws -> Int { try write { store in try store.purgeExpired() } }

    /// The asynchronous form.
    @discardableResult
    public func purgeExpired() async throws -> Int { try await write { store in try store.purgeExpired() } }
}
