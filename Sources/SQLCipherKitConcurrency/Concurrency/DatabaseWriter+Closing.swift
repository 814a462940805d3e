import CSQLCipher
import Foundation
import SQLCipherKitCore

extension DatabaseWriter {
    /// True while the database accepts calls: it is not closed, and no call without a timeout is closing it.
    public final var isOpen: Bool { forks == sqlcipherkit_forks() && writer.isOpen }

    /// Closes the database after waiting for the running calls. Waiting and later calls throw ``DatabaseError/Reason/closed``.
    ///
    /// You can call it at any time, from any number of threads and tasks: each call returns when the database is closed. Closing a
    /// closed database does nothing.
    /// - Parameter timeout: how long to wait for the running calls. If this time passes, the database stays open, and calls that
    ///   were made during the wait run after it. Default: nil, no limit.
    /// - Throws: ``DatabaseError/Reason/misuse`` inside another call; ``DatabaseError/Reason/timeout``.
    public final func close(timeout: Duration? = nil) throws {
        guard forks == sqlcipherkit_forks(), !writer.isClosed else { return }
        try checkCall()
        let limits = CallLimits(timeout)
        // Closing without a timeout cannot fail, so calls that would get nothing need not wait for it.
        if timeout == nil { refuseCalls(with: .closedDatabase) }
        do {
            try writer.acquire(.closing, within: limits)
            defer { writer.releaseAll() }
            try closeConnections(for: .closedDatabase, limits)
        } catch {
            // Another call has closed it.
            if writer.isClosed { return }
            throw error as? DatabaseError ?? .closedDatabase
        }
    }

    /// The asynchronous form. It closes the database even in a cancelled task. To wait less, cancel the running calls, or set a
    /// timeout.
    /// - Throws: the errors of the synchronous form; ``DatabaseError/Reason/noThread``, after which only `close()` is accepted.
    public final func close(timeout: Duration? = nil) async throws {
        guard forks == sqlcipherkit_forks(), !writer.isClosed else { return }
        try checkCall()
        if timeout == nil { refuseCalls(with: .closedDatabase) }
        do {
            try await withSlot(of: writer, .closing, timeout: timeout, cleansUp: true) { [self] _, limits, _ in
                try closeConnections(for: .closedDatabase, limits)
            }
        } catch {
            if !writer.isClosed { throw error }
        }
    }

    /// Closes the database while no call is using it.
    final func close(for reason: DatabaseError) {
        refuseCalls(with: reason)
        guard (try? writer.acquire(.closing)) != nil else { return }
        try? closeConnections(for: reason, CallLimits())
    }

    /// Makes waiting and later calls throw. Running calls continue.
    final func refuseCalls(with error: DatabaseError) {
        idleReaders?.stop()
        writer.beginClosing(error)
        readers?.beginClosing(error)
    }

    /// Closes all connections permanently. The caller has acquired the writer, and may release it afterwards.
    private func closeConnections(for reason: DatabaseError, _ limits: CallLimits) throws {
        try readers?.acquire(.closing, within: limits)
        // Before the writer: the last connection to close empties the log.
        do { try snapshots.endAll(because: "its pool was closed", limits) } catch {
            readers?.releaseAll()
            throw error
        }
        idleReaders?.stop()
        for slot in (readers?.slots ?? []) + writer.slots { slot.close() }
        // Drops the derived key of the readers.
        readerConfiguration?.current = nil
        readers?.finishClosing(reason)
        writer.finishClosing(reason)
        observers.writerWasReplaced()
    }

    /// Accepts no more calls if the call has closed the writer's connection, as a failed change of key does. The caller has
    /// acquired the slot.
    final func requireLiveWriter(_ slot: ConnectionSlot, after error: any Error) {
        guard !slot.isOpen, !writer.isClosed, writer.slots.first === slot else { return }
        let why = (error as? DatabaseError)?.message ?? "\(type(of: error))"
        refuseCalls(
            with: DatabaseError(
                code: .misuse, reason: .closed, message: "the database is closed, because its connection was lost: \(why)",
                underlying: error as? DatabaseError))
        observers.writerWasReplaced()
    }
}

/// For systems that stop or kill a process that holds locks, such as an app in the background whose database is in an app group.
extension DatabaseWriter {
    /// Ends all transactions, and refuses new transactions until ``resume()``.
    ///
    /// Running calls are ended as soon as they notice: the statement is interrupted, the transaction is rolled back, and the call
    /// throws ``DatabaseError/Reason/suspended``; a commit that has begun is finished. Waiting and later calls throw the same
    /// error. The snapshots of a pool end. Observations continue after ``resume()``. This call returns when nothing is running any
    /// more. You can call it from any thread, any number of times.
    ///
    /// On Apple's platforms, a process that is suspended while it holds a lock on a file in an app group is killed with the code
    /// `0xdead10cc`; <doc:AppGroups> has the whole recipe.
    /// - Parameter timeout: how long to wait for the running calls. Default: nil, no limit.
    /// - Throws: ``DatabaseError/Reason/timeout`` if a call that may hold locks is still running; the database is suspended
    ///   nevertheless. ``DatabaseError/Reason/misuse`` inside another call, ``DatabaseError/Reason/closed``.
    public final func suspend(timeout: Duration? = nil) throws {
        try checkCall()
        if writer.isClosed { throw DatabaseError.closedDatabase }
        let deadline = timeout.map(Deadline.after)
        // The writer first, as everywhere: the call that has it may be waiting for the readers.
        writer.beginSuspending(.suspended)
        readers?.beginSuspending(.suspended)
        do {
            try drain(writer, until: deadline)
            if let readers { try drain(readers, until: deadline) }
            snapshots.endCalls()
            try snapshots.endAll(because: "the database was suspended", CallLimits(until: deadline))
        } catch {
            if writer.isClosed { throw DatabaseError.closedDatabase }
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

    /// True between ``suspend(timeout:)`` and ``resume()``.
    public final var isSuspended: Bool { writer.isSuspended }

    /// Suspends the database on one notification and resumes it on another, on the thread that posts them, until the returned
    /// token is released. The token does not keep the database open.
    ///
    /// On iOS these are `UIApplication.didEnterBackgroundNotification` and `UIApplication.willEnterForegroundNotification`; in an
    /// extension, use the notifications of its host. An error while suspending is ignored: the system may then end the process.
    /// - Parameters:
    ///   - suspending: the notification at which the database is suspended.
    ///   - resuming: the notification at which the database is resumed.
    ///   - center: the center that posts them. Default: the default center of the process.
    ///   - timeout: how long to wait for the running calls. Default: three seconds, because the system allows about five.
    /// - Returns: a token; observing ends when it is cancelled or released.
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

    /// Waits until no call has a connection of the pool, and ends the calls that have a connection.
    private func drain(_ pool: ConnectionPool, until deadline: Deadline?) throws {
        while true {
            for slot in pool.slots { slot.suspend() }
            // A call that has just acquired its slot, but does not have its connection yet, is ended in the next round.
            let step = Deadline.after(.milliseconds(20))
            do {
                try pool.acquire(.closing, within: CallLimits(until: deadline.map { min($0, step) } ?? step))
                return pool.releaseAll()
            } catch let error as DatabaseError where error.reason == .timeout {
                if let deadline, deadline.hasPassed { throw error }
            }
        }
    }
}

extension Error {
    /// True if a call has ended because its database is suspended.
    var isSuspension: Bool { (self as? DatabaseError)?.reason == .suspended }
}

extension DatabaseWriter {
    /// Interrupts all running statements, on all connections and in snapshots: each soon throws an error with the code
    /// ``ResultCode/interrupted`` (<https://sqlite.org/c3ref/interrupt.html>). You can call it from any thread.
    ///
    /// A write is rolled back if its closure throws that error. Waiting calls, later calls, commits and rollbacks are not affected,
    /// and neither is a closure that runs no statement at that moment. To end one call, cancel its task.
    public final func interrupt() {
        for slot in writer.slots { slot.interrupt() }
        for slot in readers?.slots ?? [] { slot.interrupt() }
        snapshots.interrupt()
    }

    /// Frees memory that the connections use for speed: cached pages and compiled statements. Idle readers are closed; a reader in
    /// use keeps its memory. Waits for a running write.
    /// - Throws: the errors of `write(timeout:_:)`.
    public final func releaseMemory() throws {
        closeFreeReaders()
        try make(releasing)
    }

    /// The asynchronous form. It frees the memory even in a cancelled task.
    /// - Throws: the errors of the synchronous form.
    public final func releaseMemory() async throws {
        closeFreeReaders()
        try await make(releasing)
    }

    private var releasing: SharedCall<Void> {
        SharedCall(.writer, cleansUp: true) { slot, limits in
            try slot.run(.unrestricted, limits) { db in try db.releaseMemory() }
        }
    }

    private func closeFreeReaders() {
        readers?.withFree { $0.isOpen } _: { slots in for slot in slots { slot.close() } }
    }
}

extension Connection {
    /// Frees memory that the connection uses for speed: cached pages that are not in use, and compiled statements that are not
    /// running (<https://sqlite.org/c3ref/db_release_memory.html>).
    /// - Throws: ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` inside a hook.
    package func releaseMemory() throws {
        let handle = try liveOutsideHooks()
        cache.removeAll()
        sqlite3_db_release_memory(handle)
    }
}
