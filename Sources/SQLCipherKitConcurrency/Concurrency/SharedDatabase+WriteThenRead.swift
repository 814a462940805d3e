import SQLCipherKitCore

/// A write, and a read of exactly what it has committed.
extension SharedDatabase {
    /// Runs `body` as a write, and after its commit `read`, which sees the database as this write has left it, whatever is written
    /// in the meantime.
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
    /// - Throws: what `write(timeout:_:)` throws; nothing has changed then. After the commit: what `read` throws,
    ///   ``DatabaseError/Reason/timeout``, and ``DatabaseError/Reason/snapshotLost`` if another process has moved the log into the
    ///   database in between. The write then stays.
    public func write<W, R>(
        timeout: Duration? = nil, _ body: (Connection) throws -> sending W, then read: (Connection, W) throws -> sending R
    ) throws -> sending R {
        try writeThenRead(timeout, body, read)
    }

    /// The asynchronous form.
    /// - Throws: as the synchronous form; `CancellationError` when the task is cancelled. If that happens after the commit, the
    ///   write stays.
    public func write<W: Sendable, R>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> W,
        then read: sending @escaping (Connection, W) throws -> sending R
    ) async throws -> sending R {
        try await writeThenRead(timeout, body, read)
    }

    // One implementation for both kinds of results.

    func writeThenRead<W, R>(
        _ timeout: Duration?, _ body: (Connection) throws -> sending W, _ read: (Connection, W) throws -> sending R
    ) throws -> sending R {
        try checkCall()
        let deadline = timeout.map(Deadline.after)
        let slot = try writer.acquire(until: deadline)
        var hasWriter = true
        func release() {
            if hasWriter { writer.giveBack(slot) }
            hasWriter = false
        }
        defer { release() }
        return try perform(slot, until: deadline, nil, body, then: read, afterwards: release)
    }

    func writeThenRead<W: Sendable, R>(
        _ timeout: Duration?, _ body: sending @escaping (Connection) throws -> W,
        _ read: sending @escaping (Connection, W) throws -> sending R
    ) async throws -> sending R {
        let deadline = timeout.map(Deadline.after)
        let cancellation = Cancellation()
        // Sent to the part of the task that calls it, once.
        nonisolated(unsafe) let read = read
        return try await lend(writer, .one, cancellation, until: deadline) { [self] slot, call in
            try perform(slot, until: deadline, cancellation, { db in try body(db) }, then: read) { call.release() }
        }
    }

    /// - Parameter release: releases the writer. Called when the read has begun.
    private func perform<W, R>(
        _ slot: ConnectionSlot, until deadline: Deadline?, _ cancellation: Cancellation?,
        _ body: (Connection) throws -> sending W, then read: (Connection, W) throws -> sending R, afterwards release: () -> Void
    ) throws -> sending R {
        guard let readers else {
            let written = try perform(.write, slot, until: deadline, cancellation, body)
            return try perform(.readOnly, slot, until: deadline, cancellation) { db in try read(db, written) }
        }
        let reader = try acquireReader(until: deadline, cancellation)
        defer { readers.giveBack(reader) }
        let written = try slot.run(.write, until: deadline, cancellation, body)
        reader.state = committedState(slot)
        defer { reader.state = nil }
        return try perform(.read, reader, until: deadline, cancellation) { db in
            checkpointBesideReader(slot)
            release()
            return try read(db, written)
        }
    }

    /// Acquires an open reader, because opening one must not fail after the commit. The caller has acquired the writer.
    private func acquireReader(until deadline: Deadline?, _ cancellation: Cancellation?) throws -> ConnectionSlot {
        guard let readers else { throw DatabaseError.closedDatabase }
        let reader = try readers.acquire(until: deadline, cancellation)
        do { if !reader.isOpen { try perform(.read, reader, until: deadline, cancellation) { _ in } } } catch {
            readers.giveBack(reader)
            throw error
        }
        return reader
    }

    /// Returns what the writer has just committed; nil if its log has never been written to, so that the current state is the right
    /// one.
    private func committedState(_ slot: ConnectionSlot) -> WALSnapshot? {
        try? slot.run(.unrestricted) { db in try WALSnapshot(committedBy: db) }
    }

    /// Checkpoints if it is due, as far as possible during the read that has begun.
    private func checkpointBesideReader(_ slot: ConnectionSlot) {
        try? slot.run(.unrestricted) { db in checkpointer?.committed(db) { _ in } }
    }
}
