import Synchronization

/// Registers one loop as an observer of commits, until it is deallocated.
final class ObservationSubscription: Sendable {
    let listener = ObservationListener()
    private let database: SharedDatabase
    private let poll = Mutex<Task<Void, Never>?>(nil)
    /// The databases' versions at the writer's last poll for commits by others.
    private let versions = Mutex<[SQLName: Int]>([:])

    init(_ database: SharedDatabase) { self.database = database }

    deinit {
        database.observers.remove(listener)
        poll.withLock { $0 }?.cancel()
    }

    /// From here on no commit is missed.
    func begin(interval: Duration?) async throws {
        let observers = database.observers
        observers.add(listener)
        if interval == nil, observers.isInstalled { return }
        let version = try await database.run(.unrestricted, timeout: nil) { db in
            try observers.install(on: db)
            return interval == nil ? [:] : try db.dataVersions()
        }
        guard let interval else { return }
        versions.withLock { $0 = version }
        poll.withLock { poll in
            poll = Task { [weak self] in
                repeat { try? await Task.sleep(for: interval.betweenPolls) } while await self?.pollOnce() == true
            }
        }
    }

    func fetch<T>(_ body: @escaping @Sendable (Connection) throws -> T) async throws -> T where T: Sendable {
        listener.beginFetch()
        if !database.observers.isInstalled {
            // The writer was replaced by another connection.
            let observers = database.observers
            try await database.run(.unrestricted, timeout: nil) { db in try observers.install(on: db) }
        }
        let listener = self.listener
        return try await database.run(database.reading, timeout: nil) { db in
            let (value, region) = try db.recordingReads(body)
            listener.endFetch(region, try SnapshotID(db))
            return value
        }
    }

    /// Polls for commits by other connections than the writer.
    /// - Returns: whether to poll again.
    private func pollOnce() async -> Bool {
        if Task.isCancelled { return false }
        do {
            let now = try await database.run(.unrestricted, timeout: nil) { db in try db.dataVersions() }
            let isNew = versions.withLock { known in
                defer { known = now }
                return known != now
            }
            if isNew { listener.notify(DatabaseChanges(isUnknown: true)) }
        } catch {
            if Task.isCancelled { return false }
            // The next read reports what is wrong.
            listener.notify(DatabaseChanges(isUnknown: true))
        }
        return database.isOpen
    }
}

extension Connection {
    /// Numbers that change when another connection has committed to one of the databases.
    fileprivate func dataVersions() throws(DatabaseError) -> [SQLName: Int] {
        var versions: [SQLName: Int] = [:]
        for database in try schemas() {
            versions[SQLName(database.name)] = try fetchOne(Int.self, SQL(raw: "PRAGMA \(database.quotedName).data_version"))
        }
        return versions
    }
}
