import CSQLCipher

extension SharedDatabase {
    /// Whether the database takes calls: it was not closed, and is not being closed by a call that cannot be given up.
    public final var isOpen: Bool { forks == sqlcipherkit_forks() && writer.isOpen }

    /// Closes the database. It waits for the calls that run. Those that wait throw ``DatabaseError/Reason/closed``, and so does
    /// each later one.
    ///
    /// You can call it at any time, from any number of threads and tasks: each call returns when the database is closed. Closing a
    /// closed database does nothing.
    /// - Parameter timeout: how long to wait for the calls that run. When it has passed, the database stays open: calls that were
    ///   made meanwhile go on, after a wait. Default: nil, any time.
    /// - Throws: ``DatabaseError/Reason/misuse`` inside of another call; ``DatabaseError/Reason/timeout``.
    public final func close(timeout: Duration? = nil) throws(DatabaseError) {
        guard forks == sqlcipherkit_forks(), !writer.isClosed else { return }
        try checkCall()
        let deadline = timeout.map(Deadline.after)
        // What cannot fail need not keep calls waiting that will get nothing.
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

    /// The same for a task. When the task is cancelled before the database is closed, it stays open.
    /// - Throws: as the other form; `CancellationError` when the task is cancelled.
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

    /// Closes the database, which no call is using.
    final func close(for reason: DatabaseError) {
        refuseCalls(with: reason)
        guard (try? writer.acquireAll(closing: true)) != nil else { return }
        try? closeConnections(for: reason)
    }

    /// Makes calls throw, those that wait and each later one. Those that run go on.
    final func refuseCalls(with error: DatabaseError) {
        idleReaders?.stop()
        writer.beginClosing(error)
        readers?.beginClosing(error)
    }

    /// Closes all connections permanently. The caller has acquired the writer, and may release it after that.
    private func closeConnections(
        for reason: DatabaseError, until deadline: Deadline? = nil, _ cancellation: Cancellation? = nil
    ) throws {
        try readers?.acquireAll(closing: true, until: deadline, cancellation)
        // Before the writer: what closes last empties the log.
        do { try snapshots.endAll(because: "its pool was closed", until: deadline, cancellation) } catch {
            readers?.releaseAll()
            throw error
        }
        idleReaders?.stop()
        for slot in (readers?.slots ?? []) + writer.slots { slot.close() }
        // The readers' derived key.
        readerConfiguration?.current = nil
        readers?.finishClosing(reason)
        writer.finishClosing(reason)
        observers.writerWasReplaced()
    }

    /// Takes no more calls if what a call has done has closed the writer's connection, as a failed change of key does. The caller
    /// has acquired the slot.
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
