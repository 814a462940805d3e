import Synchronization

/// One loop's place among those who are told of commits. Letting go of it ends that.
final class ObservationSubscription: Sendable {
    let listener = ObservationListener()
    private let core: DatabaseCore
    private let poll = Mutex<Task<Void, Never>?>(nil)
    /// The databases as the writer has last seen them, where others are looked for.
    private let versions = Mutex<[String: Int]>([:])

    init(_ core: DatabaseCore) { self.core = core }

    deinit {
        core.changes.remove(listener)
        poll.withLock { $0 }?.cancel()
    }

    /// From here on no commit is missed.
    func begin(interval: Duration?) async throws {
        let changes = core.changes
        changes.add(listener)
        if interval == nil, changes.isInstalled { return }
        let version = try await core.run(.anything, timeout: nil) { db in
            try changes.install(on: db)
            return interval == nil ? [:] : try db.dataVersions()
        }
        guard let interval else { return }
        versions.withLock { $0 = version }
        poll.withLock { poll in
            poll = Task { [weak self] in
                repeat { try? await Task.sleep(for: interval) } while await self?.look() == true
            }
        }
    }

    func fetch<T>(_ body: @escaping @Sendable (Connection) throws -> T) async throws -> T where T: Sendable {
        listener.beginFetch()
        if !core.changes.isInstalled {
            // The writer is another connection than before.
            let changes = core.changes
            try await core.run(.anything, timeout: nil) { db in try changes.install(on: db) }
        }
        let listener = self.listener
        return try await core.run(core.readers == nil ? .readOnly : .read, timeout: nil) { db in
            let (value, region) = try db.recordingReads(body)
            listener.endFetch(region, try FetchPoint(db))
            return value
        }
    }

    /// Looks for commits by other connections than the writer.
    /// - Returns: whether to look again.
    private func look() async -> Bool {
        if Task.isCancelled { return false }
        do {
            let now = try await core.run(.anything, timeout: nil) { db in try db.dataVersions() }
            let isNew = versions.withLock { known in
                defer { known = now }
                return known != now
            }
            if isNew { listener.tell(DatabaseChanges(isUnknown: true)) }
        } catch {
            if Task.isCancelled { return false }
            // The next read finds out what is wrong.
            listener.tell(DatabaseChanges(isUnknown: true))
        }
        return core.isOpen
    }
}

extension Connection {
    /// Numbers that become others when another connection has committed to one of the databases.
    fileprivate func dataVersions() throws(DatabaseError) -> [String: Int] {
        var versions: [String: Int] = [:]
        for database in try attachedDatabases() {
            versions[database.name] = try fetchOne(Int.self, SQL(raw: "PRAGMA \(database.name.quotedSQLIdentifier).data_version"))
        }
        return versions
    }
}
