import CSQLCipher
import SQLCipherKitCore

extension SharedDatabase {
    /// Whether the database accepts calls: it is not closed, and no call without a timeout is closing it.
    public final var isOpen: Bool { forks == sqlcipherkit_forks() && writer.isOpen }

    /// Closes the database after waiting for the running calls. Waiting and later calls throw ``DatabaseError/Reason/closed``.
    ///
    /// You can call it at any time, from any number of threads and tasks: each call returns when the database is closed. Closing a
    /// closed database does nothing.
    /// - Parameter timeout: how long to wait for the running calls. When it has passed, the database stays open, and calls that
    ///   were made in the meantime run after this wait. Default: nil, no limit.
    /// - Throws: ``DatabaseError/Reason/misuse`` inside another call; ``DatabaseError/Reason/timeout``.
    public final func close(timeout: Duration? = nil) throws(DatabaseError) {
        guard forks == sqlcipherkit_forks(), !writer.isClosed else { return }
        try checkCall()
        let deadline = timeout.map(Deadline.after)
        // Closing without a timeout cannot fail, so calls that would get nothing need not wait for it.
        if timeout == nil { refuseCalls(with: .closedDatabase) }
        do {
            try writer.acquireAll(closing: true, until: deadline)
            defer { writer.releaseAll() }
            try closeConnections(for: .closedDatabase, until: deadline)
        } catch {
            // Another call has closed it.
            if writer.isClosed { return }
            throw error as? DatabaseError ?? .closedDatabase
        }
    }

    /// The asynchronous form. If the task is cancelled before the database is closed, the database stays open.
    /// - Throws: as the synchronous form; `CancellationError` when the task is cancelled.
    public final func close(timeout: Duration? = nil) async throws {
        guard forks == sqlcipherkit_forks(), !writer.isClosed else { return }
        let deadline = timeout.map(Deadline.after)
        let cancellation = Cancellation()
        do {
            try await lend(writer, .closing, cancellation, until: deadline) { [self] _, _ in
                try closeConnections(for: .closedDatabase, until: deadline, cancellation)
            }
        } catch {
            if !writer.isClosed { throw error }
        }
    }

    /// Closes the database while no call is using it.
    final func close(for reason: DatabaseError) {
        refuseCalls(with: reason)
        guard (try? writer.acquireAll(closing: true)) != nil else { return }
        try? closeConnections(for: reason)
    }

    /// Makes waiting and later calls throw. Running calls continue.
    final func refuseCalls(with error: DatabaseError) {
        idleReaders?.stop()
        writer.beginClosing(error)
        readers?.beginClosing(error)
    }

    /// Closes all connections permanently. The caller has acquired the writer, and may release it afterwards.
    private func closeConnections(
        for reason: DatabaseError, until deadline: Deadline? = nil, _ cancellation: Cancellation? = nil
    ) throws {
        try readers?.acquireAll(closing: true, until: deadline, cancellation)
        // Before the writer: the last connection to close empties the log.
        do { try snapshots.endAll(because: "its pool was closed", until: deadline, cancellation) } catch {
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
                code: .misuse, reason: .closed, message: "the database is closed, as its connection was lost: \(why)",
                underlying: error as? DatabaseError))
        observers.writerWasReplaced()
    }
}
