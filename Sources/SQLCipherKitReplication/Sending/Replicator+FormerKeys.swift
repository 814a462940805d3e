import SQLCipherKitCore

extension Replicator {
    /// Removes the objects that can be opened only with former keys of the database, for example after a key has leaked.
    ///
    /// Without this call, these objects stay for ``Replicator/Options/retention`` after the change of the key. A running replica
    /// continues. If the call is interrupted, call it again.
    /// - Parameters:
    ///   - store: where the replica is.
    ///   - key: the database's present key.
    /// - Returns: the number of objects that were removed.
    /// - Throws: ``DatabaseError/Reason/replicaKeyChanged`` for a former key; ``DatabaseError/Reason/replicaDamaged`` if the key
    ///   opens nothing in the store; ``DatabaseError/Reason/busy`` if the first snapshot with the present key is not complete:
    ///   until then, only states with former keys can be restored; errors of the store.
    @discardableResult
    public static func removeContentOfFormerKeys(in store: any ObjectStore, key: DatabaseKey) async throws -> Int {
        let store = CheckedStore(store)
        var reader = try await ReplicaReader(store, key: key)
        for _ in 0..<100 {
            if reader.isSuperseded {
                throw DatabaseError.changedReplicaKey("give the newest key to remove the content of former keys")
            }
            guard reader.contents.snapshot != nil else {
                throw DatabaseError(
                    code: .busy, reason: .busy,
                    message: "the first snapshot with this key is not complete: let a replica store it, and try again")
            }
            var head = reader.head
            if head.sections.count > 1 {
                head.removed += head.sections.dropLast().map(\.id)
                head.removed = Array(head.removed.suffix(4 * ReplicaHead.largestSectionCount))
                head.sections.removeFirst(head.sections.count - 1)
                if try await store.put(ReplicaHead.name, head.bytes, if: .isVersion(reader.version)) == nil {
                    // The replica has stored something.
                    try await reader.update()
                    continue
                }
            }
            var count = 0
            for id in head.removed { count += try await removeSection(id, in: store) }
            return count
        }
        throw DatabaseError.unavailableStore("the head changed at each attempt: try again later")
    }

    /// Removes the objects of a section that was taken out of the head.
    static func removeSection(_ id: [UInt8], in store: CheckedStore) async throws -> Int {
        var count = 0
        let prefix = ReplicaNames(id).prefix
        for object in try await store.list(prefix: prefix) {
            guard object.name.hasPrefix(prefix), ReplicaHead.isObject(object.name) else { continue }
            try Task.checkCancellation()
            try await store.delete(object.name)
            count += 1
        }
        return count
    }
}
