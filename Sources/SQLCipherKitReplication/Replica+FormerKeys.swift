import SQLCipherKitCore

extension Replica {
    /// Removes at once what only former keys of the database open, as after a key has leaked.
    ///
    /// Without this call it stays for ``ReplicaOptions/retention`` after the change of the key. A replica that runs goes on. If the
    /// call is interrupted, call it again.
    /// - Parameters:
    ///   - store: where the replica is.
    ///   - key: how the database is encrypted now.
    /// - Returns: the number of objects that were removed.
    /// - Throws: ``DatabaseError/Reason/replicaKeyChanged`` if the key is a former one; ``DatabaseError/Reason/replicaDamaged`` if
    ///   it opens nothing; ``DatabaseError/Reason/busy`` if the first snapshot with the key is not complete, so that nothing else
    ///   can be restored; errors of the store.
    @discardableResult
    public static func removeFormerKeys(in store: any ReplicaStore, key: Encryption) async throws -> Int {
        var reader = try await ReplicaReader(store, key: key)
        for _ in 0..<100 {
            if reader.isSuperseded {
                throw DatabaseError.changedReplicaKey("the newest key is needed to remove what former ones open")
            }
            guard reader.contents.newest != nil else {
                throw DatabaseError(
                    code: .busy, reason: .busy,
                    message: "the first snapshot with the key is not complete: a replica has to store it")
            }
            var manifest = reader.manifest
            guard manifest.sections.count > 1 else { return try await removeUnlistedSections(in: store) }
            manifest.sections.removeFirst(manifest.sections.count - 1)
            do { try await store.put(ReplicaManifest.name, manifest.bytes, if: .isVersion(reader.version)) } catch
                ReplicaStoreError.conditionFailed
            {
                // The replica has stored something.
            }
            try await reader.update()
        }
        throw ReplicaStoreError.unavailable("the manifest changes all the time")
    }

    /// Removes the objects of sections that the manifest no longer has.
    ///
    /// A section is in the manifest before its first object is stored. So what was listed before the manifest is read belongs to a
    /// section that is there, or that was removed.
    @discardableResult
    static func removeUnlistedSections(in store: any ReplicaStore) async throws -> Int {
        let objects = try await store.list(prefix: "")
        guard let present = try await store.get(ReplicaManifest.name) else { return 0 }
        let prefixes = Set(try ReplicaManifest(present.bytes).sections.map(\.prefix))
        var count = 0
        for object in objects {
            guard let prefix = ReplicaManifest.sectionPrefix(of: object.name), !prefixes.contains(prefix) else { continue }
            try Task.checkCancellation()
            try await store.delete(object.name)
            count += 1
        }
        return count
    }
}

extension ReplicaManifest {
    /// The part of an object's name that tells its section; nil for what is no object of a replica.
    static func sectionPrefix(of name: String) -> String? {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 16, parts[1].hasPrefix("log-") || parts[1].hasPrefix("snapshot-"),
            parts[0].utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        return parts[0] + "/"
    }
}
