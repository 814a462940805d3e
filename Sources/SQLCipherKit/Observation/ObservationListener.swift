import Synchronization

/// Identifies the snapshot that a read has seen.
struct SnapshotID: Sendable {
    /// The writer's last commit, if the read was on the writer itself.
    var commit: UInt64 = 0
    /// The ends of the write-ahead logs for this read.
    var positions: [SQLName: DatabaseChanges.LogPosition] = [:]

    init() {}

    init(_ db: Connection) throws(DatabaseError) {
        let handle = try db.live()
        commit = db.hooks?.tracker?.commits ?? 0
        positions = DatabaseChanges.LogPosition.all(handle)
    }
}

/// One observer of commits: decides whether a commit has touched what the observer has read.
final class ObservationListener: Sendable {
    private struct State {
        var region = DatabaseRegion.everything
        var snapshot = SnapshotID()
        var isDirty = true
        var isFetching = false
        /// Commits during a fetch. Whether it has seen them, and whether they matter, is known at its end.
        var missed: [DatabaseChanges] = []
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func interest(in table: DatabaseTable) -> UInt64 {
        state.withLock { state in
            // What the first read looks at is not known before its end.
            state.isFetching && state.region.isEverything ? .max : state.region.columns[table]?.bits ?? 0
        }
    }

    /// Called on the writer's thread for each commit, in order.
    func notify(_ changes: DatabaseChanges) {
        let waiter: CheckedContinuation<Void, Never>? = state.withLock { state in
            if state.isDirty { return nil }
            if state.isFetching {
                state.missed.append(changes)
                // After so many commits another read is due anyway.
                if state.missed.count > 1000 { state.isDirty = true }
                return nil
            }
            guard [changes].touch(state.region, after: state.snapshot) else { return nil }
            state.isDirty = true
            return state.waiter.take()
        }
        waiter?.resume()
    }

    func beginFetch() {
        state.withLock { state in
            state.isDirty = false
            state.isFetching = true
            state.missed = []
        }
    }

    func endFetch(_ region: DatabaseRegion, _ snapshot: SnapshotID) {
        state.withLock { state in
            state.isFetching = false
            state.region = region
            state.snapshot = snapshot
            if state.missed.touch(region, after: snapshot) { state.isDirty = true }
            state.missed = []
        }
    }

    /// Waits until a fetch may have another result than the last one, or until the task is cancelled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.isDirty || Task.isCancelled { return true }
                    state.waiter = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiter.take() }?.resume()
        }
    }
}

extension [DatabaseChanges] {
    /// Whether any of these commits, which are in order, touches a region and is later than a snapshot.
    ///
    /// A read that has seen a commit has seen those before it, also those in the log before a log was restarted.
    fileprivate func touch(_ region: DatabaseRegion, after snapshot: SnapshotID) -> Bool {
        var seen: Set<SQLName> = []
        for var changes in reversed() {
            if changes.commit != 0, changes.commit <= snapshot.commit { return false }
            for (schema, end) in changes.positions {
                if let position = snapshot.positions[schema], position.log == end.log, end.frame <= position.frame {
                    seen.insert(schema)
                }
            }
            if !seen.isEmpty {
                if changes.positions.keys.allSatisfy(seen.contains) { continue }
                changes.changes = changes.changes.filter { !seen.contains(SQLName($0.key.schemaName)) }
            }
            if region.isAffected(by: changes) { return true }
        }
        return false
    }
}
