/// A place that keeps objects by name: a folder, or an object store.
///
/// A replica stores immutable objects and one manifest, which it replaces only if no other writer has. All bytes are sealed before
/// they reach the store. Any error but ``ReplicaStoreError/conditionFailed`` and ``ReplicaStoreError/unsupported(_:)`` is taken for
/// temporary: the call is repeated later, with the same bytes. A call that throws may have taken effect.
public protocol ReplicaStore: Sendable {
    /// Returns the objects whose names begin with `prefix`, in any order.
    func list(prefix: String) async throws -> [ReplicaObjectInfo]

    /// Returns an object; nil if there is none of that name.
    func get(_ name: String) async throws -> ReplicaObject?

    /// Stores an object, whole or not at all, so that it survives a crash of the store.
    /// - Returns: the version of the object, which differs from that of every other content under the name.
    /// - Throws: ``ReplicaStoreError/conditionFailed`` if the condition does not hold; nothing has changed then.
    @discardableResult
    func put(_ name: String, _ bytes: [UInt8], if condition: ReplicaCondition) async throws -> String

    /// Removes an object. It is not an error if there is none of that name.
    func delete(_ name: String) async throws
}

/// What must hold for an object to be stored.
public enum ReplicaCondition: Hashable, Sendable {
    /// Nothing: an object of that name is replaced.
    case always
    /// There is no object of that name.
    case isAbsent
    /// The object has this version.
    case isVersion(String)
}

/// The name and the size of an object in a store.
public struct ReplicaObjectInfo: Hashable, Sendable {
    /// The name, with `/` between its parts.
    public let name: String
    /// The size in bytes.
    public let size: Int

    /// What a store returns in a list.
    public init(name: String, size: Int) { (self.name, self.size) = (name, size) }
}

/// An object in a store.
public struct ReplicaObject: Sendable {
    /// What is larger was not stored by a replica: ``ReplicaOptions/objectSize`` at most, with the table of the pages.
    static let largestSize = 320 << 20
    /// The number of objects that a store is believed to have.
    static let largestCount = 1 << 20

    /// The content.
    public let bytes: [UInt8]
    /// The version, for ``ReplicaCondition/isVersion(_:)``.
    public let version: String

    /// What a store returns for a name.
    public init(bytes: [UInt8], version: String) { (self.bytes, self.version) = (bytes, version) }
}

/// An error of a store.
public enum ReplicaStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The condition of a call did not hold.
    case conditionFailed
    /// The store refused a call or could not be reached; the text says why.
    case unavailable(String)
    /// The store lacks what replication needs, and no later call can succeed; the text says what. Nothing was stored.
    case unsupported(String)

    /// What happened, in words.
    public var description: String {
        switch self {
        case .conditionFailed: "the store has another version of the object"
        case .unavailable(let text), .unsupported(let text): text
        }
    }
}
