import SQLCipherKitCore
import SQLCipherKitMaintenance

/// Taking over the store's manifest, and replacing it.
extension Replica {
    struct PendingManifest {
        let bytes: [UInt8]
        let manifest: ReplicaManifest
        /// Whether it includes everything up to the target of the look at the log.
        let reachesTarget: Bool
    }

    /// Takes over the manifest with the next epoch, so that no earlier writer can replace it again.
    func claim() async throws {
        guard let source else { return }
        let present = try await store.get(ReplicaManifest.name)
        var manifest = try present.map { try ReplicaManifest($0.bytes) } ?? ReplicaManifest()
        var contents = ReplicaContents()
        let last = manifest.sections.indices.last
        if let last, manifest.sections[last].salt == source.key.salt,
            let known = try manifest.sections[last].contents(with: source.key)
        {
            contents = known
        } else {
            if let last, manifest.sections[last].supersededAt == 0 { manifest.sections[last].supersededAt = options.time }
            // As many as a reader accepts.
            let surplus = manifest.sections.count + 1 - ReplicaManifest.largestSectionCount
            if surplus > 0 { manifest.sections.removeFirst(surplus) }
            manifest.sections.append(ReplicaManifest.Section(id: try ReplicaKey.random(8), salt: source.key.salt))
        }
        // An earlier attempt may have been successful although it failed.
        if manifest.writer != writer {
            manifest.epoch += 1
            manifest.writer = writer
        }
        try manifest.sections[manifest.sections.count - 1].seal(contents, with: source.key)
        let bytes = manifest.bytes
        let version: String
        do {
            version = try await store.put(
                ReplicaManifest.name, bytes, if: present.map { .isVersion($0.version) } ?? .isAbsent)
        } catch ReplicaStoreError.conditionFailed {
            // Another writer, or this call twice: look again.
            throw ReplicaStoreError.unavailable("the manifest has changed in the meantime")
        }
        (self.manifest, self.version, self.contents) = (manifest, version, contents)
        isClaimed = true
        needsGeneration = true
        if let generation = contents.generations.last {
            do {
                try source.resume(at: generation.mark)
                needsGeneration = false
            } catch is ReplicaSource.Gap {}
        }
    }

    /// Replaces the manifest. If that fails, the next call stores the same bytes again: it may have succeeded.
    func storeManifest(reachesTarget: Bool) async throws {
        guard let source else { return }
        var next = manifest
        contents.serial += 1
        try next.sections[next.sections.count - 1].seal(contents, with: source.key)
        isChanged = false
        pending = PendingManifest(bytes: next.bytes, manifest: next, reachesTarget: reachesTarget)
        try await finishPendingManifest()
    }

    func finishPendingManifest() async throws {
        guard let pending, let version else { return }
        do {
            self.version = try await store.put(ReplicaManifest.name, pending.bytes, if: .isVersion(version))
        } catch ReplicaStoreError.conditionFailed {
            let present = try await store.get(ReplicaManifest.name)
            guard let present else { throw DatabaseError.fencedReplica }
            if present.bytes != pending.bytes { return try await follow(present, pending) }
            self.version = present.version
        }
        count(\.manifestBytes, pending.bytes.count)
        manifest = pending.manifest
        self.pending = nil
        if pending.reachesTarget { reachedTarget() }
    }

    /// Follows a manifest that has the same writer, and from which former sections were removed.
    private func follow(_ present: ReplicaObject, _ pending: PendingManifest) async throws {
        let other = try ReplicaManifest(present.bytes)
        guard other.epoch == manifest.epoch, other.writer == writer, other.sections.count < pending.manifest.sections.count,
            let last = other.sections.last, let wanted = pending.manifest.sections.last
        else { throw DatabaseError.fencedReplica }
        // Before the pending manifest was stored, or after.
        guard last == wanted || last == manifest.sections.last else { throw DatabaseError.fencedReplica }
        (manifest, version) = (other, present.version)
        var next = other
        next.sections[next.sections.count - 1] = wanted
        self.pending = PendingManifest(bytes: next.bytes, manifest: next, reachesTarget: pending.reachesTarget)
        try await finishPendingManifest()
    }
}
