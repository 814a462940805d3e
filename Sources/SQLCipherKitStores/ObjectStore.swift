import SQLCipherKitCore

/// Storage that keeps objects by name: a folder, or an object store. Implement this protocol for another kind of storage.
///
/// A replica stores immutable objects and one *head*, which it replaces only if no other writer has replaced it. All bytes are
/// sealed before they reach the store.
///
/// A store may throw any error, and a call that throws may have taken effect. The error counts as temporary, and the call is
/// repeated later with the same bytes. Only a ``DatabaseError`` with the reason `storeUnsupported` means that no later call can
/// succeed. Your program receives every error as a ``DatabaseError``, with the store's error as its underlying error.
public protocol ObjectStore: Sendable {
    /// Returns the names and sizes of the objects whose names begin with `prefix`, in any order.
    /// - Parameter prefix: the beginning of the names, which may end within a part of a name; empty for all objects.
    /// - Throws: any error if the list would be incomplete. An empty store is not an error.
    func list(prefix: String) async throws -> [StoredObject.Info]

    /// Returns an object; nil if there is none of that name.
    /// - Throws: any error if the object cannot be read, or if the store cannot tell whether it exists: nil means that it is gone.
    func get(_ name: String) async throws -> StoredObject?

    /// Stores an object, whole or not at all, so that it survives a crash of the store.
    /// - Parameters:
    ///   - name: the name, with `/` between its parts.
    ///   - bytes: the content, up to 320 MiB.
    ///   - condition: the condition for storing. The check and the write are one atomic step, so of two writers only one stores its
    ///     object.
    /// - Returns: the version of the object; other content under the same name has another version. Nil if the condition does not
    ///   hold: then nothing has changed.
    /// - Throws: any error if the object was not stored, or if the store cannot tell; ``DatabaseError/Reason/storeUnsupported`` if
    ///   the store cannot check conditions.
    @discardableResult
    func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String?

    /// Removes an object. It is not an error if there is none of that name.
    /// - Throws: any error if the object may still exist.
    func delete(_ name: String) async throws
}

extension StoredObject {
    /// The condition under which an object is stored.
    public enum Condition: Hashable, Sendable {
        /// No condition: an object of that name is replaced.
        case always
        /// There is no object of that name.
        case isAbsent
        /// The object has this version.
        case isVersion(String)
    }
}

extension StoredObject {
    /// The name and the size of an object in a store.
    public struct Info: Hashable, Sendable {
        /// The name, with `/` between its parts.
        public let name: String
        /// The size in bytes.
        public let size: Int

        /// Creates an entry of a list, for a store of your own.
        /// - Parameters:
        ///   - name: the name, with `/` between its parts.
        ///   - size: the size in bytes.
        public init(name: String, size: Int) { (self.name, self.size) = (name, size) }
    }
}

/// An object in a store.
public struct StoredObject: Sendable {
    /// The largest size in bytes of an object that a replica stores: ``Replicator/Options/objectSize`` at most, with the table of
    /// the pages.
    package static let largestSize = 320 << 20
    /// The number of objects that a store is believed to have.
    package static let largestCount = 1 << 20

    /// The content.
    public let bytes: [UInt8]
    /// The version, for ``StoredObject/Condition/isVersion(_:)``.
    public let version: String

    /// Creates an object, for a store of your own.
    /// - Parameters:
    ///   - bytes: the content.
    ///   - version: the version; other content under the same name has another version.
    public init(bytes: [UInt8], version: String) { (self.bytes, self.version) = (bytes, version) }
}

/// A store as synchronization and replication use it: it throws database errors with one of two reasons, unless the task was
/// cancelled.
package struct CheckedStore: Sendable {
    private let store: any ObjectStore

    package init(_ store: any ObjectStore) { self.store = store }

    package func list(prefix: String) async throws -> [StoredObject.Info] {
        try await checked { try await store.list(prefix: prefix) }
    }

    package func get(_ name: String) async throws -> StoredObject? { try await checked { try await store.get(name) } }

    package func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
        try await checked { try await store.put(name, bytes, if: condition) }
    }

    package func delete(_ name: String) async throws { try await checked { try await store.delete(name) } }

    private func checked<R>(_ body: () async throws -> R) async throws -> R {
        do { return try await body() } catch {
            if Task.isCancelled { throw CancellationError() }
            if let error = error as? DatabaseError, error.isOfStore { throw error }
            throw DatabaseError.unavailableStore("the store has failed: \(error)", underlying: error)
        }
    }
}

extension DatabaseError {
    /// - Parameter underlying: the error of a store that is not this package's.
    package static func unavailableStore(_ message: String, underlying: (any Error)? = nil) -> DatabaseError {
        DatabaseError(code: .ioError, reason: .storeUnavailable, message: message, underlying: underlying)
    }

    package static func unsupportedStore(_ message: String) -> DatabaseError {
        DatabaseError(reason: .storeUnsupported, message: message)
    }

    package static func refusedObject(_ name: String) -> DatabaseError { unavailableStore("the store did not store \(name)") }

    /// True if a store has failed; false if its content is at fault.
    package var isOfStore: Bool { reason == .storeUnavailable || reason == .storeUnsupported }
}
