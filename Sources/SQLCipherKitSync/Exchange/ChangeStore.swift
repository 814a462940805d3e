import SQLCipherKitConcurrency
import SQLCipherKitCore

/// A place through which the copies of a database exchange changes: a folder that all copies can reach, or a bucket.
///
/// ```swift
/// let store = ChangeStore(try FolderStore("/shared/notes"), key: key)
/// let log = try await SharedChangeLog(pool, tables: ["note", "tag"], localPeer: "laptop")
/// try await log.synchronize(with: store)
/// ```
/// Each copy writes only its own objects: a chain, in which each object names the previous one. All objects are encrypted and
/// authenticated with a key that all copies have and the store never has. A replica can be in the same store.
public struct ChangeStore: Sendable {
    let store: CheckedStore
    private let encryption: DatabaseKey
    /// How long a copy that does not synchronize keeps the others from pruning their logs. A copy that was away for longer loses
    /// nothing: it receives all rows of the others, merged with its own changes. Default: 365 days.
    public var gracePeriod: Duration = .seconds(365 * 86_400)
    /// The size of an object, and the number and size of a copy's messages after which the copy stores all rows instead. Tests set
    /// these.
    package var partSize = 8 << 20, largestCount: Int64 = 256, largestSize = 4 << 20
    /// The time between two checksums that a changed copy sends to the others.
    package var checkInterval: Duration = .seconds(86_400)
    /// Random bytes that need not be secret. Tests set it, so that a run can be repeated.
    package var random: @Sendable (Int) throws -> [UInt8] = { try ReplicaKey.random($0) }
    private let known = Known()

    /// - Parameters:
    ///   - store: the folder or the bucket.
    ///   - key: the key that all copies have, such as the key of their databases: a passphrase, or a raw key. The databases may
    ///     have other keys. The key of a store cannot be changed: to use another key, begin with an empty store.
    public init(_ store: any ObjectStore, key: DatabaseKey) { (self.store, encryption) = (CheckedStore(store), key) }

    private final class Known: Sendable { let opened = Lock<Opened?>(nil) }

    /// The content of the store's head.
    struct Opened: Sendable, Equatable {
        let salt: [UInt8]
        /// A random identity of the store: a chain that was read in one store does not count as read in another store.
        let id: [UInt8]
        let key: ReplicaKey

        static func == (a: Opened, b: Opened) -> Bool { a.salt == b.salt && a.id == b.id }
    }

    static let prefix = "changes/"
    private static let headName = prefix + "head", magic = Array("SCKS".utf8) + [1]
    private static let idCount = 16, saltCount = 16
    private static var headCount: Int { magic.count + saltCount + ReplicaKey.nonceCount + idCount + ReplicaKey.tagCount }

    /// Reads the head, or creates it in an empty store.
    /// - Throws: ``DatabaseError/Reason/replicaDamaged`` if the key does not open the head.
    func open() async throws -> Opened {
        for _ in 0..<3 {
            if let object = try await store.get(Self.headName) { return try await open(object.bytes) }
            let salt = try random(Self.saltCount), nonce = try random(ReplicaKey.nonceCount)
            let key = try await key(for: salt), head = Self.magic + salt
            let id = try random(Self.idCount)
            let sealed = try key.seal(id, with: head, nonce: nonce)
            _ = try await store.put(Self.headName, head + nonce + sealed, if: .isAbsent)
        }
        throw DatabaseError.unavailableStore("the head of the changes can be neither stored nor read")
    }

    private func open(_ bytes: [UInt8]) async throws -> Opened {
        guard bytes.count == Self.headCount, bytes.starts(with: Self.magic) else {
            throw DatabaseError.damagedChanges("the head has an unknown form")
        }
        let head = Array(bytes.prefix(Self.magic.count + Self.saltCount)), salt = Array(head.suffix(Self.saltCount))
        let key = try await key(for: salt), nonce = Array(bytes.dropFirst(head.count).prefix(ReplicaKey.nonceCount))
        guard let id = key.open(bytes.dropFirst(head.count + nonce.count), with: head, nonce: nonce) else {
            throw DatabaseError(
                code: .notADatabase, reason: .replicaDamaged,
                message: "the key does not open the changes in the store: it is another key, or their head was changed")
        }
        let opened = Opened(salt: salt, id: id, key: key)
        known.opened.withLock { $0 = opened }
        return opened
    }

    /// Derives the key for a salt, once.
    private func key(for salt: [UInt8]) async throws -> ReplicaKey {
        if let opened = known.opened.withLock({ $0 }), opened.salt == salt { return opened.key }
        let encryption = encryption
        return try await BlockingExecutor.run { try ReplicaKey(encryption, salt: salt) }
    }
}

extension DatabaseError {
    static func damagedChanges(_ message: String) -> DatabaseError {
        DatabaseError(code: .corrupt, reason: .replicaDamaged, message: "the changes in the store cannot be used: \(message)")
    }
}
