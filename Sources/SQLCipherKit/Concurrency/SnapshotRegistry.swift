import Synchronization

/// The snapshots of a pool.
final class SnapshotRegistry: Sendable {
    private struct Entry: Sendable {
        weak let snapshot: DatabaseSnapshot?
    }

    private let entries = Mutex<[ObjectIdentifier: Entry]>([:])
    // Looked at in each call, without the lock.
    private let count = Atomic<Int>(0)

    var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    func add(_ snapshot: DatabaseSnapshot) {
        entries.withLock { entries in
            entries[ObjectIdentifier(snapshot)] = Entry(snapshot: snapshot)
            count.store(entries.count, ordering: .relaxed)
        }
    }

    func remove(_ snapshot: ObjectIdentifier) {
        entries.withLock { entries in
            entries[snapshot] = nil
            count.store(entries.count, ordering: .relaxed)
        }
    }

    private var all: [DatabaseSnapshot] { entries.withLock { $0.values.compactMap(\.snapshot) } }

    /// Throws inside of a closure that reads one of the snapshots: a call that waits for that closure could hold what this call
    /// waits for.
    func checkCall() throws(DatabaseError) {
        if isEmpty { return }
        for snapshot in all { try snapshot.core.checkCall() }
    }

    /// Ends all snapshots, once the reads that run have ended. Called by the one call that has the writer and the readers.
    /// - Throws: when the deadline or the cancellation comes first. No snapshot can be read then either.
    func endAll(
        because cause: String, until deadline: ContinuousClock.Instant? = nil, _ cancellation: Cancellation? = nil
    ) throws {
        if isEmpty { return }
        let snapshots = all
        // First of all of them: a closure that reads one may be waiting for another.
        for snapshot in snapshots { snapshot.refuse(cause) }
        for snapshot in snapshots {
            do { try snapshot.core.readers?.acquireAll(closing: true, until: deadline, cancellation) } catch {
                if snapshot.core.writer.isClosed { continue }
                throw error
            }
            snapshot.core.readers?.releaseAll()
            try snapshot.core.close()
        }
    }

    func interrupt() { for snapshot in all { snapshot.core.interrupt() } }

    /// Throws if there is a snapshot: SQLite would wait for it until its timeout.
    func requireNone(for call: String) throws(DatabaseError) {
        if isEmpty { return }
        throw DatabaseError(
            code: .busy, reason: .busy, message: "\(call) has to wait for the snapshots of the pool: \(all.count) of them are open")
    }
}
