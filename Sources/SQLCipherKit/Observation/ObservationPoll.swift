import Synchronization

/// Polls for commits by other connections than the writer, while it is there.
final class ObservationPoll: Sendable {
    private let database: SharedDatabase
    private let listener: ObservationListener
    /// The databases' versions for the writer, when it looked last.
    private let known = Mutex<[SQLName: Int]?>(nil)
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ database: SharedDatabase, every interval: Duration, _ listener: ObservationListener) {
        (self.database, self.listener) = (database, listener)
        let interval = interval.betweenPolls
        task.withLock { task in
            task = Task.detached { [weak self] in
                repeat { try? await Task.sleep(for: interval) } while await self?.poll() == true
            }
        }
    }

    deinit { task.withLock { $0 }?.cancel() }

    /// What is read on the writer now has seen these versions.
    func note(_ db: Connection) throws(DatabaseError) {
        let versions = try db.dataVersions()
        known.withLock { $0 = versions }
    }

    /// - Returns: whether to poll again.
    private func poll() async -> Bool {
        if Task.isCancelled { return false }
        let known = known.withLock { $0 }
        do {
            let (now, positions) = try await database.run(.unrestricted, timeout: nil) { db in
                // In this order: the versions make the connection look where the logs end.
                (try db.dataVersions(), DatabaseChanges.LogPosition.all(try db.live()))
            }
            if now != known {
                self.known.withLock { $0 = now }
                // Where a database has no log, its position does not tell what a read has seen.
                let isComplete = now.keys.allSatisfy { $0 == SQLName("temp") || positions[$0] != nil }
                let positions = isComplete ? positions : [:]
                listener.notify(DatabaseChanges(isUnknown: true, positions: positions))
            }
        } catch {
            if Task.isCancelled { return false }
            if error.isSuspension { return true }
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
