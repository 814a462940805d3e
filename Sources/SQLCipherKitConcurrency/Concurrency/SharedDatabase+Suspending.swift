import CSQLCipher
import Foundation
import SQLCipherKitCore

/// For systems that stop or kill a process that holds locks, such as an app in the background whose database is in an app group.
extension SharedDatabase {
    /// Ends all transactions, and begins none before ``resume()``.
    ///
    /// Running calls are ended as soon as they notice: the statement is interrupted, the transaction is rolled back, and the call
    /// throws ``DatabaseError/Reason/suspended``; a commit that has begun is finished. Waiting and later calls throw the same
    /// error. The snapshots of a pool end. Observations continue after ``resume()``. This call returns when nothing is running any
    /// more. You can call it from any thread, any number of times.
    ///
    /// On Apple's platforms, a process that is suspended while it holds a lock on a file in an app group is killed with the code
    /// `0xdead10cc`; <doc:AppGroups> has the whole recipe.
    /// - Parameter timeout: how long to wait for the running calls. Default: nil, no limit.
    /// - Throws: ``DatabaseError/Reason/timeout`` if a call is still running, which may hold locks; the database is suspended
    ///   nevertheless. ``DatabaseError/Reason/misuse`` inside another call, ``DatabaseError/Reason/closed``.
    public final func suspend(timeout: Duration? = nil) throws(DatabaseError) {
        try checkCall()
        if writer.isClosed { throw .closedDatabase }
        let deadline = timeout.map(Deadline.after)
        // The writer first, as everywhere: the call that has it may be waiting for the readers.
        writer.beginSuspending(.suspended)
        readers?.beginSuspending(.suspended)
        do {
            try drain(writer, until: deadline)
            if let readers { try drain(readers, until: deadline) }
            snapshots.endCalls()
            try snapshots.endAll(because: "the database was suspended", until: deadline)
        } catch {
            if writer.isClosed { throw .closedDatabase }
            throw error as? DatabaseError ?? .timeout
        }
    }

    /// Accepts calls again after ``suspend(timeout:)``. Does nothing if the database is not suspended, or is closed.
    public final func resume() {
        guard forks == sqlcipherkit_forks() else { return }
        readers?.endSuspending()
        writer.endSuspending()
        observers.allMayHaveChanged()
    }

    /// Whether the database is suspended.
    public final var isSuspended: Bool { writer.isSuspended }

    /// Suspends the database on one notification and resumes it on another, on the thread that posts them, until the returned
    /// token is released. The token does not keep the database open.
    ///
    /// On iOS these are `UIApplication.didEnterBackgroundNotification` and `UIApplication.willEnterForegroundNotification`; in an
    /// extension, those of its host. An error while suspending is ignored; the system then decides.
    /// - Parameters:
    ///   - suspending: the notification that suspends.
    ///   - resuming: the notification that resumes.
    ///   - center: where they are posted. Default: the default centre of the process.
    ///   - timeout: how long to wait for the running calls. Default: three seconds, because the system allows about five.
    public final func observeSuspension(
        suspending: Notification.Name, resuming: Notification.Name, in center: NotificationCenter = .default,
        timeout: Duration? = .seconds(3)
    ) -> ObservationToken {
        // Sent to the returned token alone.
        nonisolated(unsafe) let tokens = [
            center.addObserver(forName: suspending, object: nil, queue: nil) { [weak self] _ in
                try? self?.suspend(timeout: timeout)
            },
            center.addObserver(forName: resuming, object: nil, queue: nil) { [weak self] _ in self?.resume() },
        ]
        return ObservationToken { for token in tokens { center.removeObserver(token) } }
    }

    /// Waits until no call has a connection of the pool, and ends those that have one.
    private func drain(_ pool: ConnectionPool, until deadline: Deadline?) throws {
        while true {
            for slot in pool.slots { slot.suspend() }
            // A call that has just acquired its slot, but does not have its connection yet, is ended in the next round.
            let step = Deadline.after(.milliseconds(20))
            do {
                try pool.acquireAll(closing: true, until: deadline.map { min($0, step) } ?? step, nil)
                return pool.releaseAll()
            } catch let error as DatabaseError where error.reason == .timeout {
                if let deadline, deadline.hasPassed { throw error }
            }
        }
    }
}

extension Error {
    /// Whether a call has ended because its database is suspended.
    var isSuspension: Bool { (self as? DatabaseError)?.reason == .suspended }
}
