import SQLCipherKitCore

/// Calls that run a closure with a connection. A timeout counts from the start of the call, and covers both waiting and running.
extension DatabaseWriter {
    /// Runs `body` on a connection that can only read and that sees one consistent snapshot of the database.
    /// - Parameters:
    ///   - timeout: how long the call may take. Default: nil, no limit.
    ///   - body: reads from the connection. Its result must not be a part of the connection, such as a statement.
    /// - Throws: any error that `body` throws; ``DatabaseError/Reason/timeout``; ``DatabaseError/Reason/closed``;
    ///   ``DatabaseError/Reason/suspended`` between ``suspend(timeout:)`` and ``resume()``; ``DatabaseError/Reason/misuse`` inside
    ///   another call of this database; ``DatabaseError/Reason/usedAfterFork`` in a child process.
    public func read<R>(timeout: Duration? = nil, _ body: (Connection) throws -> sending R) throws -> sending R {
        try run(reading, timeout: timeout, body)
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    public func read<R>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        try await run(reading, timeout: timeout, body)
    }

    /// Runs `body` in a transaction that may write (`BEGIN IMMEDIATE`): commits and returns its result, or rolls back if it throws
    /// or returns ``TransactionEnd/rollback(_:)``.
    /// - Parameters:
    ///   - timeout: how long the call may take. Default: nil, no limit. A commit that has begun is finished.
    ///   - body: reads and writes.
    /// - Throws: any error that `body` throws; errors of beginning and committing, such as ``DatabaseError/Reason/busy``; and the
    ///   errors of `read(timeout:_:)`. Nothing has changed then.
    @discardableResult
    public func write<R>(timeout: Duration? = nil, _ body: (Connection) throws -> sending R) throws -> sending R {
        try run(.write, timeout: timeout, body)
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func write<R>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        try await run(.write, timeout: timeout, body)
    }

    /// Runs `body` outside a transaction while no other call has a connection. Use it for `VACUUM` and other work that needs
    /// exclusive use of the database.
    /// - Parameters:
    ///   - timeout: how long the call may take. Default: nil, no limit.
    ///   - body: may begin and end transactions; a transaction that it leaves open is rolled back.
    /// - Throws: any error that `body` throws, and the errors of `read(timeout:_:)`.
    @discardableResult
    public func barrierWriteWithoutTransaction<R>(
        timeout: Duration? = nil, _ body: (Connection) throws -> sending R
    ) throws -> sending R {
        try claim(.closedReaders, timeout: timeout) { slot, limits in try slot.runAlone(limits, body) }
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func barrierWriteWithoutTransaction<R>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        // Sent on, and called once.
        nonisolated(unsafe) let body = body
        return try await claim(.closedReaders, timeout: timeout) { slot, limits in try slot.runAlone(limits, body) }
    }
}

/// Writing without a transaction around the closure.
extension DatabaseWriter {
    /// Runs `body` on the connection that writes, without a transaction, while reads of a pool continue. Use it for several
    /// transactions in succession, for `VACUUM`, and for pragmas that a transaction does not allow.
    ///
    /// ```swift
    /// try await pool.writeWithoutTransaction { db in
    ///     for chunk in chunks { try db.transaction { db in try insert(chunk, db) } }
    ///     try db.execute("VACUUM")
    /// }
    /// ```
    /// Other writes wait until it has ended. To block reads as well, use `barrierWriteWithoutTransaction(timeout:_:)`.
    /// - Parameters:
    ///   - timeout: how long the call may take. Default: nil, no limit.
    ///   - body: reads and writes. Its changes outside a transaction stay, even if it throws.
    /// - Throws: any error that `body` throws; ``DatabaseError/Reason/misuse`` if `body` leaves a transaction open, which is then
    ///   rolled back; and the errors of `read(timeout:_:)`.
    @discardableResult
    public func writeWithoutTransaction<R>(timeout: Duration? = nil, _ body: (Connection) throws -> sending R) throws -> sending R {
        try run(.withoutTransaction, timeout: timeout, body)
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func writeWithoutTransaction<R>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        try await run(.withoutTransaction, timeout: timeout, body)
    }
}

/// Writing in a transaction of another kind.
extension DatabaseWriter {
    /// Runs `body` in a transaction of the given kind: commits and returns its result, or rolls back if it throws.
    ///
    /// ```swift
    /// try queue.transaction(.exclusive) { db in try db.execute("UPDATE note SET title = upper(title)") }
    /// ```
    /// For an immediate transaction, `write(timeout:_:)` is shorter.
    /// - Parameters:
    ///   - kind: how the transaction begins (<https://sqlite.org/lang_transaction.html>).
    ///   - timeout: how long the call may take. Default: nil, no limit. A commit that has begun is finished.
    ///   - body: reads and writes.
    /// - Throws: the errors of `write(timeout:_:)`. With `deferred`, ``DatabaseError/Reason/busy`` also at the first write of
    ///   `body`.
    @discardableResult
    public func transaction<R: Sendable>(
        _ kind: TransactionKind, timeout: Duration? = nil, _ body: (Connection) throws -> R
    ) throws -> R {
        try writeWithoutTransaction(timeout: timeout) { db in try db.transaction(kind) { db in try body(db) } }
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func transaction<R: Sendable>(
        _ kind: TransactionKind, timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> R
    ) async throws -> R {
        try await writeWithoutTransaction(timeout: timeout) { db in try db.transaction(kind) { db in try body(db) } }
    }

    /// Writes in a transaction of the given kind, and commits or rolls back according to the result of `body`.
    /// - Parameters: as for the form that returns a value.
    /// - Throws: the errors of the form that returns a value.
    @discardableResult
    public func transaction<R: Sendable>(
        _ kind: TransactionKind, timeout: Duration? = nil, _ body: (Connection) throws -> TransactionEnd<R>
    ) throws -> R {
        try writeWithoutTransaction(timeout: timeout) { db in try db.transaction(kind, body) }
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func transaction<R: Sendable>(
        _ kind: TransactionKind, timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> TransactionEnd<R>
    ) async throws -> R {
        try await writeWithoutTransaction(timeout: timeout) { db in try db.transaction(kind, body) }
    }
}

// The same calls for functions and closures that are not written inline: their results are not `sending`, and the compiler does not
// convert them. They return Sendable results instead. The forms with a `sending` result are documented.

@_documentation(visibility: private)
extension DatabaseWriter {
    /// Reads with a function, or a closure that is not written inline. See the form with a `sending` result.
    /// - Throws: the errors of the form with a `sending` result.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: (Connection) throws -> R) throws -> R {
        try run(reading, timeout: timeout) { db in try body(db) }
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> R) async throws -> R {
        try await run(reading, timeout: timeout) { db in try body(db) }
    }

    /// Writes with a function, or a closure that is not written inline. See the form with a `sending` result.
    /// - Throws: the errors of the form with a `sending` result.
    @discardableResult
    public func write<R: Sendable>(timeout: Duration? = nil, _ body: (Connection) throws -> R) throws -> R {
        try run(.write, timeout: timeout) { db in try body(db) }
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func write<R: Sendable>(timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> R) async throws -> R {
        try await run(.write, timeout: timeout) { db in try body(db) }
    }

    /// Writes with a closure that returns nothing. This form spares you a type annotation where the call is the only expression of
    /// another closure.
    /// - Throws: the errors of the form with a `sending` result.
    public func write(timeout: Duration? = nil, _ body: (Connection) throws -> Void) throws {
        try run(.write, timeout: timeout) { db in try body(db) }
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    public func write(timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> Void) async throws {
        try await run(.write, timeout: timeout) { db in try body(db) }
    }
}

extension DatabaseWriter {
    /// Writes, and commits or rolls back according to the result of `body`.
    /// ```swift
    /// let isFeasible = try await pool.write { db in
    ///     try plan.apply(to: db)
    ///     return .rollback(try plan.check(db))
    /// }
    /// ```
    /// - Throws: the errors of the form that returns a value.
    @discardableResult
    public func write<R: Sendable>(
        timeout: Duration? = nil, _ body: (Connection) throws -> TransactionEnd<R>
    ) throws -> R {
        try run(.write, timeout: timeout) { db in try body(db) }.value
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func write<R: Sendable>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> TransactionEnd<R>
    ) async throws -> R {
        try await run(.write, timeout: timeout) { db in try body(db) }.value
    }
}

/// A write, and a read of the state that it has committed.
extension DatabaseWriter {
    /// Runs `body` as a write and, after its commit, runs `read`, which sees the database as this write has left it, without any
    /// later write.
    ///
    /// ```swift
    /// let notes = try await pool.write { db in
    ///     try db.execute("INSERT INTO note(title) VALUES (\(title))")
    /// } then: { db, _ in
    ///     try db.fetchAll(Note.self, "SELECT * FROM note ORDER BY title")
    /// }
    /// ```
    /// The next writes of a pool continue while `read` runs on a reader. A queue has one connection, so the next call waits until
    /// `read` has ended.
    /// - Parameters:
    ///   - timeout: how long both may take together. Default: nil, no limit.
    ///   - body: reads and writes, as in `write(timeout:_:)`.
    ///   - read: reads. Its argument is the result of `body`. It is not called if the write fails.
    /// - Throws: the errors of `write(timeout:_:)`; nothing has changed then. After the commit: any error that `read` throws,
    ///   ``DatabaseError/Reason/timeout``, and ``DatabaseError/Reason/snapshotLost`` if another process has moved the log into the
    ///   database between the commit and the read. The write then stays.
    public func write<W, R>(
        timeout: Duration? = nil, _ body: (Connection) throws -> sending W, then read: (Connection, W) throws -> sending R
    ) throws -> sending R {
        try checkCall()
        let limits = CallLimits(timeout)
        let slot = try writer.acquire(within: limits)
        var hasWriter = true
        func release() {
            if hasWriter { writer.giveBack(slot) }
            hasWriter = false
        }
        defer { release() }
        return try write(slot, limits, body, then: read, release)
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled. If that happens after the
    ///   commit, the write stays.
    public func write<W: Sendable, R>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> W,
        then read: sending @escaping (Connection, W) throws -> sending R
    ) async throws -> sending R {
        // Sent to the part of the task that calls it, once.
        nonisolated(unsafe) let read = read
        return try await withSlot(of: writer, timeout: timeout) { [self] slot, limits, executor in
            try write(slot, limits, { db in try body(db) }, then: read) { executor.giveBack() }
        }
    }

    /// - Parameter release: releases the writer. Called when the read has begun.
    private func write<W, R>(
        _ slot: ConnectionSlot, _ limits: CallLimits, _ body: (Connection) throws -> sending W,
        then read: (Connection, W) throws -> sending R, _ release: () -> Void
    ) throws -> sending R {
        guard let readers else {
            let written = try perform(.write, slot, limits, body)
            return try perform(.readOnly, slot, limits) { db in try read(db, written) }
        }
        let reader = try acquireReader(readers, limits)
        defer { readers.giveBack(reader) }
        let written = try slot.run(.write, limits, body)
        reader.state = committedState(slot)
        defer { reader.state = nil }
        return try perform(.read, reader, limits) { db in
            checkpointBesideReader(slot)
            release()
            return try read(db, written)
        }
    }

    /// Acquires an open reader, because opening one must not fail after the commit. The caller has acquired the writer.
    private func acquireReader(_ readers: ConnectionPool, _ limits: CallLimits) throws -> ConnectionSlot {
        let reader = try readers.acquire(within: limits)
        do { if !reader.isOpen { try perform(.read, reader, limits) { _ in } } } catch {
            readers.giveBack(reader)
            throw error
        }
        return reader
    }

    /// Returns the state that the writer has just committed; nil if its log has never been written to, so that the current state is
    /// that state.
    private func committedState(_ slot: ConnectionSlot) -> WALSnapshot? {
        try? slot.run(.unrestricted) { db in try WALSnapshot(committedBy: db) }
    }

    /// Checkpoints if it is due, as far as possible during the read that has begun.
    private func checkpointBesideReader(_ slot: ConnectionSlot) {
        try? slot.run(.unrestricted) { db in checkpointer?.committed(db) { _ in } }
    }
}
