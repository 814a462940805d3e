import Foundation
import SQLCipherKitCore

/// Identifies the snapshot that a read saw.
struct SnapshotID: Sendable {
    /// The writer's last commit, if the read ran on the writer itself and so saw all commits up to this commit.
    var commit: UInt64?
    /// The ends of the write-ahead logs, if the read ran on a reader.
    var positions: [SQLName: DatabaseChanges.LogPosition] = [:]

    init() {}

    init(_ db: Connection, isWriter: Bool) throws {
        let handle = try db.live()
        if isWriter { commit = db.hooks?.tracker?.commits ?? 0 } else { positions = DatabaseChanges.LogPosition.all(handle) }
    }
}

/// Decides whether a commit has touched tables or columns that an observation read, and wakes the loops that wait for it.
final class ObservationListener: CommitObserver {
    private struct State {
        var region = DatabaseRegion.fullDatabase
        var snapshot = SnapshotID()
        var isDirty = true
        /// The number of the running fetch, 0 for none.
        var fetch = 0
        /// Commits during a fetch. Only when it ends is it known whether it saw them and whether they matter.
        var missed: [DatabaseChanges] = []
        var failure: (any Error)?
    }

    private let state = Lock(State())
    private let registry: ObserverRegistry
    let events = ObservationEvents()
    /// For the time when the last result expires.
    private let alarm = ObservationAlarm()

    /// Hears of commits until the registry forgets it.
    init(_ registry: ObserverRegistry) {
        self.registry = registry
        registry.add(self)
    }

    // MARK: Commits

    func interest(in table: DatabaseTable) -> UInt64 {
        state.withLock { state in
            // The tables of the first read are not known before it ends.
            state.fetch != 0 && state.region.isEverything ? .max : state.region.columns[table]?.bits ?? 0
        }
    }

    func notify(_ changes: DatabaseChanges) {
        let isEvent = state.withLock { state in
            if state.isDirty { return false }
            if state.fetch != 0 {
                state.missed.append(changes)
                // After that many commits another read is due anyway.
                if state.missed.count > 1000 { state.isDirty = true }
                return false
            }
            state.isDirty = [changes].touch(state.region, after: state.snapshot)
            return state.isDirty
        }
        if isEvent { events.signal() }
    }

    func fail(_ error: any Error) {
        state.withLock { $0.failure = error }
        events.signal()
    }

    // MARK: Fetches

    /// True if a fetch may have a different result from the last fetch.
    var isDirty: Bool { state.withLock { $0.isDirty } }

    var failure: (any Error)? { state.withLock { $0.failure } }

    /// - Parameter fetch: its number. Fetches with smaller numbers are ignored from now on.
    func beginFetch(_ fetch: Int) {
        state.withLock { state in
            state.isDirty = false
            state.fetch = fetch
            state.missed = []
            registry.unsettle(self)
        }
    }

    /// Call this when a fetch has ended without a result. The next change causes another fetch.
    func abandonFetch(_ fetch: Int) {
        state.withLock { state in
            guard state.fetch == fetch else { return }
            state.fetch = 0
            if !state.missed.isEmpty { state.isDirty = true }
            state.missed = []
            registry.settle(self, on: state.region)
        }
    }

    /// - Parameter expiry: when time alone changes the result, in milliseconds since 1970.
    func endFetch(_ fetch: Int, _ region: DatabaseRegion, _ snapshot: SnapshotID, _ expiry: Int64? = nil) {
        let isCurrent = state.withLock { state in
            guard state.fetch == fetch else { return false }
            state.fetch = 0
            state.region = region
            state.snapshot = snapshot
            if state.missed.touch(region, after: snapshot) { state.isDirty = true }
            state.missed = []
            registry.settle(self, on: region)
            return true
        }
        if isCurrent { wait(until: expiry) }
    }

    private func wait(until expiry: Int64?) {
        guard let expiry else { return alarm.cancel() }
        // A clock that is set meanwhile is noticed after a day at the latest.
        let left = min(max(0, Double(expiry) - Date().timeIntervalSince1970 * 1000), 86_400_000)
        do {
            try alarm.set(after: .milliseconds(Int64(left) + 1)) { [weak self] in self?.notify(DatabaseChanges(isUnknown: true)) }
        } catch {
            fail(error)
        }
    }
}

extension [DatabaseChanges] {
    /// Returns whether any of these commits, which are in order, touches a region and is newer than a snapshot.
    ///
    /// A read that has seen a commit has also seen all earlier commits, including commits in a log that was restarted since.
    fileprivate func touch(_ region: DatabaseRegion, after snapshot: SnapshotID) -> Bool {
        var seen: Set<SQLName> = []
        for var changes in reversed() {
            if let commit = snapshot.commit, changes.commit != 0, changes.commit <= commit { return false }
            for (schema, end) in changes.positions {
                if let position = snapshot.positions[schema], position.log == end.log, end.frame <= position.frame {
                    seen.insert(schema)
                }
            }
            if !seen.isEmpty {
                if changes.positions.keys.allSatisfy(seen.contains) { continue }
                changes.changes = changes.changes.filter { !seen.contains(SQLName($0.key.schema)) }
            }
            if region.isAffected(by: changes) { return true }
        }
        return false
    }
}
