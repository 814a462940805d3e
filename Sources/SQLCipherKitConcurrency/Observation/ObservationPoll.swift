import SQLCipherKitCore

/// Polls for commits by connections other than the writer, for as long as it is allocated.
final class ObservationPoll: Sendable {
    private let database: DatabaseWriter
    private let listener: ObservationListener
    /// The databases' versions when the writer last checked them.
    private let known = Lock<[SQLName: Int]?>(nil)
    private let interval: Duration
    private let task = Lock<Task<Void, Never>?>(nil)
    private let alarm = ObservationAlarm()

    init(_ database: DatabaseWriter, every interval: Duration, _ listener: ObservationListener) {
        (self.database, self.listener, self.interval) = (database, listener, interval.betweenPolls)
        wait()
    }

    deinit { task.withLock { $0 }?.cancel() }

    private func wait() {
        do {
            try alarm.set(after: interval) { [weak self] in self?.begin() }
        } catch {
            listener.fail(error)
        }
    }

    private func begin() {
        task.withLock { task in
            task = Task.detached { [weak self] in if await self?.poll() == true { self?.wait() } }
        }
    }

    /// Records the versions that a read on the writer is about to see.
    func note(_ db: Connection) throws {
        let versions = try db.dataVersions()
        known.withLock { $0 = versions }
    }

    /// - Returns: whether to poll again.
    private func poll() async -> Bool {
        if Task.isCancelled { return false }
        let known = known.withLock { $0 }
        do {
            let (now, positions) = try await database.run(.unrestricted, timeout: nil) { db in
                // In this order: reading the versions makes the connection update its view of where the logs end.
                (try db.dataVersions(), DatabaseChanges.LogPosition.all(try db.live()))
            }
            if now != known {
                self.known.withLock { $0 = now }
                // If any database has no log, positions do not show which commits a read has seen.
                let isComplete = now.keys.allSatisfy { $0 == SQLName("temp") || positions[$0] != nil }
                let positions = isComplete ? positions : [:]
                listener.notify(DatabaseChanges(isUnknown: true, positions: positions))
            }
        } catch {
            if Task.isCancelled { return false }
            if error.isSuspension { return true }
            // The next read reports the error.
            listener.notify(DatabaseChanges(isUnknown: true))
        }
        return database.isOpen
    }
}

/// A single alarm at a time, which leaves nothing behind when it is released: a task that sleeps keeps its memory until it would
/// wake.
final class ObservationAlarm: Sendable {
    private let current = Lock<(timer: DeadlineTimer, alarm: DeadlineTimer.Alarm)?>(nil)

    deinit { cancel() }

    func set(after time: Duration, _ action: @escaping @Sendable () -> Void) throws {
        cancel()
        let timer = DeadlineTimer.current
        let alarm = try timer.set(at: .after(time), action)
        current.withLock { $0 = (timer, alarm) }
    }

    func cancel() {
        guard let (timer, alarm) = current.withLock({ $0.take() }) else { return }
        timer.cancel(alarm)
    }
}

extension Connection {
    /// Numbers that change when another connection commits to one of the databases.
    fileprivate func dataVersions() throws -> [SQLName: Int] {
        var versions: [SQLName: Int] = [:]
        for database in try schemas() {
            versions[SQLName(database.name)] = try fetchOne(Int.self, SQL(raw: "PRAGMA \(database.quotedName).data_version"))
        }
        return versions
    }
}
