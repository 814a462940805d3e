import Foundation
import SQLCipherKitCore
import SQLCipherKitMaintenance

extension Replica {
    /// Restores the newest state if there is no database at `path` and the store has one: the first step of a server, which then
    /// starts on a new machine as it does on its own.
    ///
    /// ```swift
    /// try await Replica.restoreIfMissing("notes.db", from: store, key: key)
    /// let pool = try DatabasePool(.file("notes.db"), key: key)
    /// let replica = try await Replica(following: pool, in: store)
    /// ```
    /// A store in which no replica was begun is no error, and neither is one whose first snapshot was never completed: the program
    /// then creates the database. But a replica that the key does not open is an error, and so are objects without a head, as
    /// an empty database would otherwise take the place of the one that is there.
    /// - Parameters: as for ``restore(to:from:key:at:replacing:progress:)``.
    /// - Returns: the state that was restored; nil if there is a file at `path`, or nothing to restore.
    /// - Throws: as ``restore(to:from:key:at:replacing:progress:)``.
    @discardableResult
    public static func restoreIfMissing(
        _ path: String, from store: any ReplicaStore, key: Encryption,
        progress: (@Sendable (RewriteProgress) throws -> Void)? = nil
    ) async throws -> Position? {
        let path = try DatabaseFile.newPath(path, of: "the restored database")
        if FileManager.default.fileExists(atPath: path) { return nil }
        let store = CheckedStore(store)
        guard let (head, _) = try await ReplicaHead.read(store) else {
            guard try await !store.list(prefix: "").contains(where: { ReplicaHead.isObject($0.name) }) else {
                throw DatabaseError.damagedReplica("the store has objects of a replica, and no head")
            }
            return nil
        }
        // What this machine has stored or restored before must be there.
        for section in head.sections.suffix(1) {
            guard let held = try ReplicaMemory(of: path, section: section.id).read().first else { continue }
            _ = try await ReplicaReader(store, key: key, holding: held)
        }
        // Without a complete snapshot there is nothing to lose. With several keys, a former one may open something.
        if head.sections.count == 1, try await ReplicaReader(store, key: key).generations().isEmpty { return nil }
        return try await restored(path, store, key, .newest, false, progress)
    }
}
