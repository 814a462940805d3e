import CSQLCipher
import Foundation

/// For systems that end or stop a process which holds locks: an application in the background whose database is in an app group.
extension SharedDatabase {
    /// Ends all transactions, and begins none before ``resume()``.
    ///
    /// Calls that run are ended as soon as they notice: the statement is interrupted, the transaction is rolled back, and the call
    /// throws ``DatabaseError/Reason/suspended``; a commit that has begun is finished. Calls that wait, and each later one, throw
    /// the same. The snapshots of a pool end. Observations go on after ``resume()``. This call returns when nothing runs any
    /// more. Any thread may call it, any number of times.
    ///
    /// On Apple's platforms a process that is suspended while it holds a lock of a file in an app group is ended with the code
    /// `0xdead10cc`; <doc:AppGroups> has the whole recipe.
    /// - Parameter timeout: how long to wait for the calls that run. Default: nil, any time.
    /// - Throws: ``DatabaseError/Reason/timeout`` when a call still runs, which may hold locks; the database is suspended all the
    ///   same. ``DatabaseError/Reason/misuse`` inside of another call, ``DatabaseError/Reason/closed``.
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

    /// Takes calls again after ``suspend(timeout:)``. Nothing happens if the database is not suspended, or is closed.
    public final func resume() {
        guard forks == sqlcipherkit_forks() else { return }
        readers?.endSuspending()
        writer.endSuspending()
        observers.allMayHaveChanged()
    }

    /// Whether the database is suspended.
    public final var isSuspended: Bool { writer.isSuspended }

    /// Suspends the database with one notification and resumes it with another, on the thread that posts them, until what is
    /// returned is gone. The database is not kept open by it.
    ///
    /// On iOS these are `UIApplication.didEnterBackgroundNotification` and `UIApplication.willEnterForegroundNotification`; in an
    /// extension, those of its host. What suspending throws is left: the system then decides.
    /// - Parameters:
    ///   - suspending: the notification that suspends.
    ///   - resuming: the one that resumes.
    ///   - center: where they are posted. Default: the process's own centre.
    ///   - timeout: how long to wait for the calls that run. Default: three seconds, as the system gives about five.
    public final func observeSuspension(
        suspending: Notification.Name, resuming: Notification.Name, in center: NotificationCenter = .default,
        timeout: Duration? = .seconds(3)
    ) -> SuspensionObservation {
        SuspensionObservation(
            center,
            [
                center.addObserver(forName: suspending, object: nil, queue: nil) { [weak self] _ in
                    try? self?.suspend(timeout: timeout)
                },
                center.addObserver(forName: resuming, object: nil, queue: nil) { [weak self] _ in self?.resume() },
            ])
    }

    /// Waits until no call has a connection of the pool, ending those that have.
    private func drain(_ pool: ConnectionPool, until deadline: Deadline?) throws {
        while true {
            for slot in pool.slots { slot.suspend() }
            // A call that had acquired its slot a moment ago, and not yet its connection, is met the next time.
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

/// Keeps a database to the notifications of ``SharedDatabase/observeSuspension(suspending:resuming:in:timeout:)``, until it is
/// released.
public final class SuspensionObservation: @unchecked Sendable {
    // Sendable: the two properties are constants, and a centre may be used from any thread.
    private let center: NotificationCenter
    private let tokens: [any NSObjectProtocol]

    init(_ center: NotificationCenter, _ tokens: [any NSObjectProtocol]) { (self.center, self.tokens) = (center, tokens) }

    deinit { for token in tokens { center.removeObserver(token) } }
}

extension Error {
    /// Whether a call has ended because its database is suspended.
    var isSuspension: Bool { (self as? DatabaseError)?.reason == .suspended }
}

extension DatabaseError {
    static let suspended = DatabaseError(
        code: .interrupted, reason: .suspended, message: "the database is suspended: resume it before the next call")
}
