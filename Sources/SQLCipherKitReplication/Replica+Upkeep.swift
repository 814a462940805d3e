import SQLCipherKitCore

/// Joining small objects to larger ones, and removing what is no longer needed.
extension Replica {
    private static let orphansPerSweep = 1000

    func maintain() async throws {
        do {
            if snapshot == nil, try await joinObjects() { return }
            damagedJoins = 0
        } catch let error as DatabaseError {
            // The line may be bad. If it is the store, a snapshot is needed, as the newest state can no longer be restored.
            damagedJoins += 1
            if damagedJoins == 3 { (damagedJoins, needsGeneration) = (0, true) }
            throw error
        }
        let interval = min(options.sweepInterval, options.retention / 4)
        if let lastSweep, .now - lastSweep < interval { return }
        lastSweep = .now
        retire()
        retireFormerSections()
        if isChanged { try await storeManifest(reachesTarget: false) }
        try await removeObjects()
    }

    /// Joins the oldest objects of a level to one of the next: the blocks stay as they are, so every commit can still be restored.
    /// - Returns: whether it did.
    private func joinObjects() async throws -> Bool {
        let last = contents.generations.count - 1
        guard last >= 0, let key = source?.key else { return false }
        let log = contents.generations[last].log, number = contents.generations[last].number
        for level in 0..<8 {
            guard let start = log.firstIndex(where: { $0.level == level }) else { continue }
            let run = log[start...].prefix { $0.level == level }
            guard run.count >= options.fanOut else { continue }
            var end = start + 1, size = run[start].size
            while end < start + options.fanOut, size + log[end].size <= options.objectSize {
                size += log[end].size
                end += 1
            }
            var joined = log[start]
            joined.level += 1
            if end > start + 1 {
                var bytes: [UInt8] = []
                bytes.reserveCapacity(size)
                for object in log[start..<end] {
                    // What a bad line has changed must not replace what is in the store.
                    guard let part = try await store.get(object.name) else {
                        throw DatabaseError.damagedReplica("the object \(object.name) is missing")
                    }
                    try object.check(part.bytes, of: number, with: key)
                    bytes += part.bytes
                }
                joined.name = nextName("log")
                joined.end = log[end - 1].end
                joined.commits = log[end - 1].commits
                joined.earliest = log[start..<end].reduce(joined.earliest) { min($0, $1.earliest) }
                joined.latest = log[start..<end].reduce(joined.latest) { max($0, $1.latest) }
                joined.tag = log[end - 1].tag
                joined.size = size
                try await store.put(joined.name, bytes, if: .always)
                count(\.joinedBytes, size)
                remove(log[start..<end].map(\.name))
            }
            contents.generations[last].log.replaceSubrange(start..<end, with: [joined])
            isChanged = true
            try await storeManifest(reachesTarget: false)
            return true
        }
        return false
    }

    private func remove(_ names: [String]) {
        let time = options.time
        contents.removed += names.map { ReplicaContents.Removed(name: $0, time: time) }
        isChanged = true
    }

    /// Takes what is older than the retention out of the manifest.
    private func retire() {
        let horizon = steadyTime - options.retention.milliseconds
        guard let newest = contents.generations.lastIndex(where: { $0.isRestorable }) else { return }
        // A generation is needed until the next one can restore everything since the horizon.
        let old = contents.generations[..<newest].enumerated().filter { index, generation in
            guard generation.isRestorable else { return true }
            let next = contents.generations[(index + 1)...].first { $0.isRestorable }
            return next?.snapshots.first.map { $0.time < horizon } ?? false
        }.map(\.element)
        for generation in old {
            remove(generation.log.map(\.name) + generation.snapshots.flatMap { $0.names })
            contents.generations.removeAll { $0.number == generation.number }
        }
        for index in contents.generations.indices {
            let generation = contents.generations[index]
            // The newest snapshot from before the horizon is needed for what follows it.
            guard let first = generation.snapshots.lastIndex(where: { $0.time < horizon }), first > 0 else { continue }
            let needed = generation.snapshots[first].first
            remove(generation.snapshots[..<first].flatMap { $0.names })
            let useless = generation.log.prefix { $0.end <= needed }
            remove(useless.map(\.name))
            contents.generations[index].snapshots.removeFirst(first)
            contents.generations[index].log.removeFirst(useless.count)
        }
    }

    /// Takes the sections of former keys out of the manifest: nothing in them is newer than the change of the key.
    private func retireFormerSections() {
        let horizon = steadyTime - options.retention.milliseconds - options.grace.milliseconds
        let count = manifest.sections.count
        var number = 0
        manifest.sections.removeAll { section in
            number += 1
            return number < count && section.supersededAt != 0 && section.supersededAt < horizon
        }
        if manifest.sections.count < count { (isChanged, collectsOrphans) = (true, true) }
    }

    /// Removes objects that have been out of the manifest for the time of grace.
    private func removeObjects() async throws {
        if collectsOrphans { try await collectOrphans() }
        let limit = steadyTime - options.grace.milliseconds
        let due = contents.removed.filter { $0.time < limit }
        for object in due { try await store.delete(object.name) }
        guard !due.isEmpty else { return }
        let names = Set(due.map(\.name))
        contents.removed.removeAll { names.contains($0.name) }
        // Stored with the next manifest: to remove an object twice is no error.
        isChanged = true
    }

    /// Finds what earlier writers have stored and not listed. They cannot list it any more.
    private func collectOrphans() async throws {
        guard let section = manifest.sections.last, pending == nil else { return }
        try await Self.removeUnlistedSections(in: store)
        var known = Set(contents.removed.map(\.name))
        for generation in contents.generations {
            known.formUnion(generation.log.map(\.name))
            known.formUnion(generation.snapshots.flatMap { $0.names })
        }
        let orphans = try await store.list(prefix: section.prefix).map(\.name).filter { name in
            guard name.utf8.count <= 100, !known.contains(name) else { return false }
            let parts = name.split(separator: "-")
            return parts.count == 3 && UInt64(parts[1]).map { $0 < manifest.epoch } ?? false
        }
        // The manifest holds their names until they are removed: the next sweep goes on.
        remove(Array(orphans.prefix(Self.orphansPerSweep)))
        collectsOrphans = orphans.count > Self.orphansPerSweep
    }
}

extension ReplicaContents.Snapshot {
    var names: [String] { (0..<parts).map { "\(name).\($0)" } }
}
