import SQLCipherKitCore
import Synchronization

/// The open snapshots of a pool: their connections, until these are closed.
package final class SnapshotRegistry: Sendable {
    private let cores = Lock<[ObjectIdentifier: DatabaseWriter]>([:])
    // Read in each call, without the lock.
    private let count = Atomic<Int>(0)

    var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    func add(_ core: DatabaseWriter) { change { $0[ObjectIdentifier(core)] = core } }

    /// Must be called once the core is closed.
    func remove(_ core: DatabaseWriter) { change { $0[ObjectIdentifier(core)] = nil } }

    private func change(_ body: (inout [ObjectIdentifier: DatabaseWriter]) -> Void) {
        cores.withLock { cores in
            body(&cores)
            count.store(cores.count, ordering: .relaxed)
        }
    }

    private var all: [DatabaseWriter] { cores.withLock { Array($0.values) } }

    /// Throws inside a closure that reads one of the snapshots: a call that waits for that closure could hold a connection that
    /// this call would wait for.
    func checkCall() throws {
        if isEmpty { return }
        for core in all { try core.checkCall() }
    }

    /// Ends all snapshots after their running reads have ended. Called only by a call that has the writer and the readers.
    /// - Throws: if the deadline passes or the call is cancelled first. The snapshots cannot be read then either.
    package func endAll(because cause: String, _ limits: CallLimits) throws {
        if isEmpty { return }
        let cores = all
        let lost = DatabaseError(code: .errorSnapshot, reason: .snapshotLost, message: "the snapshot has ended: \(cause)")
        // Refuse calls of all of them first: a closure that reads one may be waiting for another.
        for core in cores { core.refuseCalls(with: lost) }
        for core in cores {
            do {
                try core.readers?.acquire(.closing, within: limits)
                core.readers?.releaseAll()
            } catch {
                // The snapshot's own `close()` may have come first.
                if core.readers?.isClosed != true { throw error }
            }
            try core.close()
            remove(core)
        }
    }

    /// Ends the running reads.
    func endCalls() {
        for core in all {
            for slot in core.readers?.slots ?? [] { slot.suspend() }
        }
    }

    func interrupt() { for core in all { core.interrupt() } }

    /// Throws if a snapshot is open: SQLite would wait for it until its timeout.
    func requireNone(for call: String) throws {
        if isEmpty { return }
        throw DatabaseError(
            code: .busy, reason: .busy, message: "\(call) has to wait for the snapshots of the pool: \(all.count) of them are open")
    }
}
