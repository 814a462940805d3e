import SQLCipherKitCore

/// Calls that lend a connection. A timeout counts from the start of the call, and covers both waiting and running.
extension SharedDatabase {
    /// Runs `body` on a connection that can only read and that sees one consistent snapshot of the database.
    /// - Parameters:
    ///   - timeout: how long the call may take. Default: nil, no limit.
    ///   - body: reads. Its result must not be part of the connection.
    /// - Throws: what `body` throws; ``DatabaseError/Reason/timeout``; ``DatabaseError/Reason/closed``;
    ///   ``DatabaseError/Reason/misuse`` inside another call; ``DatabaseError/Reason/forked`` in a child process.
    public func read<R>(timeout: Duration? = nil, _ body: (Connection) throws -> sending R) throws -> sending R {
        try run(reading, timeout: timeout, body)
    }

    /// The asynchronous form.
    /// - Throws: as the synchronous form; `CancellationError` when the task is cancelled.
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
    /// - Throws: what `body` throws, and any error of beginning and committing, such as ``DatabaseError/Reason/busy``; nothing has
    ///   changed then. Also what `read(timeout:_:)` throws.
    @discardableResult
    public func write<R>(timeout: Duration? = nil, _ body: (Connection) throws -> sending R) throws -> sending R {
        try run(.write, timeout: timeout, body)
    }

    /// The asynchronous form.
    /// - Throws: as the synchronous form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func write<R>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        try await run(.write, timeout: timeout, body)
    }

    /// Runs `body` outside a transaction while no other call has a connection: for `VACUUM`, and whatever else needs the database
    /// to itself.
    /// - Parameters:
    ///   - timeout: how long the call may take. Default: nil, no limit.
    ///   - body: may begin and end transactions; one that it leaves open is rolled back.
    /// - Throws: what `body` throws, and what `read(timeout:_:)` throws.
    @discardableResult
    public func barrier<R>(timeout: Duration? = nil, _ body: (Connection) throws -> sending R) throws -> sending R {
        try runExclusively(timeout: timeout, body)
    }

    /// The asynchronous form.
    /// - Throws: as the synchronous form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func barrier<R>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        try await runExclusively(timeout: timeout, body)
    }
}

/// Running calls on the caller's thread.
extension SharedDatabase {
    /// How a read is done: the connection of a queue could also write.
    var reading: ConnectionSlot.Mode { readers == nil ? .readOnly : .read }

    func pool(for mode: ConnectionSlot.Mode) -> ConnectionPool {
        if case .read = mode, let readers { readers } else { writer }
    }

    func run<R>(
        _ mode: ConnectionSlot.Mode, timeout: Duration?, _ body: (Connection) throws -> sending R
    ) throws -> sending R {
        try checkCall()
        let deadline = timeout.map(Deadline.after)
        let pool = pool(for: mode)
        let slot = try pool.acquire(until: deadline)
        defer { pool.giveBack(slot) }
        return try perform(mode, slot, until: deadline, nil, body)
    }

    /// Runs `body` on an acquired slot.
    func perform<R>(
        _ mode: ConnectionSlot.Mode, _ slot: ConnectionSlot, until deadline: Deadline?,
        _ cancellation: Cancellation?, _ body: (Connection) throws -> sending R
    ) throws -> sending R {
        let wasOpen = slot.isOpen
        defer { if !wasOpen, let idleReaders, let readers { idleReaders.watch(readers) } }
        if !wasOpen, case .read = mode { try open(slot, until: deadline, cancellation) }
        let result: R
        do { result = try slot.run(mode, until: deadline, cancellation, body) } catch {
            if wasOpen { requireLiveWriter(slot, after: error) }
            throw error
        }
        switch mode {
        case .write, .withoutTransaction: checkpointIfDue(slot)
        case .read, .readOnly, .unrestricted: break
        }
        return result
    }

    private func checkpointIfDue(_ slot: ConnectionSlot) {
        guard let checkpointer, let readers else { return }
        try? slot.run(.unrestricted) { db in
            checkpointer.committed(db) { body in
                // A snapshot would keep the log from being emptied.
                guard snapshots.isEmpty else { return }
                guard (try? readers.acquireAll(until: .now + AutoCheckpointer.longestPause)) != nil else { return }
                defer { readers.releaseAll() }
                // One of the reads that this has waited for may have taken one.
                guard snapshots.isEmpty else { return }
                // Another connection or process may read for long, and all reads of the pool wait meanwhile.
                guard (try? db.setInterruptibleBusyHandler(AutoCheckpointer.longestPause)) != nil else { return }
                body()
                observers.logsWereReset(db)
            }
        }
    }
}
