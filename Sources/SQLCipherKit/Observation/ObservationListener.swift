import Synchronization

/// The moment that a read has seen.
struct FetchPoint: Sendable {
    /// The writer's last commit, where the writer itself has read.
    var commit: UInt64 = 0
    /// Where the read stood in the write-ahead logs.
    var positions: [String: DatabaseChanges.LogPosition] = [:]

    init() {}

    init(_ db: Connection) throws(DatabaseError) {
        let handle = try db.live()
        commit = db.hooks?.tracker?.commits ?? 0
        positions = DatabaseChanges.LogPosition.all(handle)
    }
}

/// What one observation has to know of commits: whether one has touched what it has read.
final class ObservationListener: Sendable {
    private struct State {
        var region = DatabaseRegion.everything
        var point = FetchPoint()
        var isDirty = true
        var isFetching = false
        /// Commits during a fetch: whether it has seen them, and cares for them, is known at its end.
        var missed: [DatabaseChanges] = []
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func interest(in table: DatabaseTable) -> UInt64 { state.withLock { $0.region.columns[table]?.bits ?? 0 } }

    /// A commit. Called on the writer's thread, for each in its order.
    func tell(_ changes: DatabaseChanges) {
        let waiter: CheckedContinuation<Void, Never>? = state.withLock { state in
            if state.isDirty { return nil }
            if state.isFetching {
                state.missed.append(changes)
                // A reader that takes so long is worth another read.
                if state.missed.count > 1000 { state.isDirty = true }
                return nil
            }
            guard [changes].touch(state.region, after: state.point) else { return nil }
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

    func endFetch(_ region: DatabaseRegion, _ point: FetchPoint) {
        state.withLock { state in
            state.isFetching = false
            state.region = region
            state.point = point
            if state.missed.touch(region, after: point) { state.isDirty = true }
            state.missed = []
        }
    }

    /// Waits until a fetch may give something else than the last one did, or until the task is cancelled.
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
    /// Whether any of these commits, which are in order, touches a region and was not yet to be seen at a point.
    ///
    /// A read that has seen a commit has seen those before it; so one that began a log anew tells of those in the log before.
    fileprivate func touch(_ region: DatabaseRegion, after point: FetchPoint) -> Bool {
        var seen: Set<String> = []
        for var changes in reversed() {
            if changes.commit != 0, changes.commit <= point.commit { return false }
            for (schema, end) in changes.positions {
                if let position = point.positions[schema], position.log == end.log, end.frame <= position.frame { seen.insert(schema) }
            }
            if !seen.isEmpty {
                if changes.positions.keys.allSatisfy(seen.contains) { continue }
                changes.changes = changes.changes.filter { !seen.contains($0.key.schema) }
            }
            if changes.affect(region) { return true }
        }
        return false
    }
}
