import CSQLCipher
import Foundation

/// A write, and a read of exactly what it has committed.
extension SharedDatabase {
    /// Runs `body` as a write, and after its commit `read`, which sees the database as this write has left it, whatever is written
    /// meanwhile.
    ///
    /// ```swift
    /// let notes = try await pool.write { db in
    ///     try db.execute("INSERT INTO note(title) VALUES (\(title))")
    /// } then: { db, _ in
    ///     try db.fetchAll(Note.self, "SELECT * FROM note ORDER BY title")
    /// }
    /// ```
    /// The next writes of a pool go on while `read` runs, on a connection that reads. A queue has one connection: the next call
    /// waits until `read` has ended.
    /// - Parameters:
    ///   - timeout: how long both may take. Default: nil, any time.
    ///   - body: reads and writes, as in `write(timeout:_:)`.
    ///   - read: reads. It is given what `body` has returned, and not called if the write fails.
    /// - Throws: what `write(timeout:_:)` throws; nothing has changed then. After the commit, what `read` throws,
    ///   ``DatabaseError/Reason/timeout``, and ``DatabaseError/Reason/snapshotLost`` if another process has moved the log into the
    ///   database in between: the write stays.
    public func write<W, R>(
        timeout: Duration? = nil, _ body: (Connection) throws -> sending W, then read: (Connection, W) throws -> sending R
    ) throws -> sending R {
        try checkCall()
        let deadline = timeout.map { ContinuousClock.Instant.after($0) }
        let slot = try writer.acquire(until: deadline)
        var hasWriter = true
        defer { if hasWriter { writer.release(slot) } }
        guard let readers else {
            let written = try perform(.write, slot, until: deadline, nil, body)
            return try perform(.readOnly, slot, until: deadline, nil) { db in try read(db, written) }
        }
        let reader = try acquireReader(until: deadline, nil)
        defer { readers.release(reader) }
        let written = try slot.run(.write, until: deadline, nil, body)
        reader.state = committedState(slot)
        defer { reader.state = nil }
        return try perform(.read, reader, until: deadline, nil) { db in
            checkpointBesideReader(slot)
            writer.release(slot)
            hasWriter = false
            return try read(db, written)
        }
    }

    /// The same for a task.
    /// - Throws: as the other form; `CancellationError` when the task is cancelled: if that is after the commit, the write stays.
    public func write<W: Sendable, R>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> W,
        then read: sending @escaping (Connection, W) throws -> sending R
    ) async throws -> sending R {
        try checkCall()
        try Task.checkCancellation()
        let deadline = timeout.map { ContinuousClock.Instant.after($0) }
        let cancellation = Cancellation()
        guard let readers else {
            return try await wait(for: writer, cancellation, timeout) { [self] slot in
                let written = try perform(.write, slot, until: deadline, cancellation) { db in try body(db) }
                return try perform(.readOnly, slot, until: deadline, cancellation) { db in try read(db, written) }
            }
        }
        let reading = Cancellation()
        let outcome = PendingOutcome<R>()
        // Sent to the one job that calls it, once.
        nonisolated(unsafe) let read = read
        try await wait(for: writer, cancellation, timeout) { [self] slot in
            let reader = try acquireReader(until: deadline, cancellation)
            let written: W
            do { written = try slot.run(.write, until: deadline, cancellation, { db in try body(db) }) } catch {
                readers.release(reader)
                throw error
            }
            reader.state = committedState(slot)
            let begun = Latch()
            reader.thread.run(
                Job { [self] in
                    let result: Result<R, any Error>
                    do {
                        result = .success(
                            try perform(.read, reader, until: deadline, reading) { db in
                                begun.open()
                                return try read(db, written)
                            })
                    } catch { result = .failure(error) }
                    begun.open()
                    reader.state = nil
                    let next = readers.release(reader, on: reader.thread)
                    outcome.resolve(result)
                    return next
                })
            _ = begun.wait()
            checkpointBesideReader(slot)
        }
        return try await withTaskCancellationHandler {
            try await outcome.value()
        } onCancel: {
            reading.cancel(CancellationError())
        }
    }

    /// A reader that is open: after the commit nothing of it may fail. With the writer acquired.
    private func acquireReader(until deadline: ContinuousClock.Instant?, _ cancellation: Cancellation?) throws -> ConnectionSlot {
        guard let readers else { throw DatabaseError.closedDatabase }
        let thread = BlockedThread()
        let waiter = thread.waiter()
        cancellation?.setHandler { readers.abandon(waiter, $0) }
        defer { cancellation?.setHandler(nil) }
        var reader = try readers.acquireOrWait(waiter)
        if reader == nil {
            if let error = cancellation?.error { readers.abandon(waiter, error) }
            reader = try thread.wait(for: waiter, in: readers, until: deadline)
        }
        guard let reader else { throw DatabaseError.closedDatabase }
        do { if !reader.isOpen { try perform(.read, reader, until: deadline, cancellation) { _ in } } } catch {
            readers.release(reader)
            throw error
        }
        return reader
    }

    /// What the writer has just committed; nil if its log has never been written to, so that the present state is what there is.
    private func committedState(_ slot: ConnectionSlot) -> WALSnapshot? {
        try? slot.run(.unrestricted) { db in try WALSnapshot(committedBy: db) }
    }

    /// Checkpoints if it is due, as far as that goes beside the read that has begun.
    private func checkpointBesideReader(_ slot: ConnectionSlot) {
        try? slot.run(.unrestricted) { db in checkpointer?.committed(db) { _ in } }
    }
}

/// What a job comes to, for the one task that waits for it.
private final class PendingOutcome<R>: @unchecked Sendable {
    // Sendable: the result is sent from the job to the task, once, under the lock.
    private enum State {
        case running
        case awaited(UnsafeContinuation<R, any Error>)
        case done(Result<R, any Error>)
    }

    private let lock = NSLock()
    private var state = State.running

    func resolve(_ result: Result<R, any Error>) {
        let continuation: UnsafeContinuation<R, any Error>? = lock.withLock {
            if case .awaited(let continuation) = state { return continuation }
            state = .done(result)
            return nil
        }
        nonisolated(unsafe) let sent = result
        continuation?.resume(with: sent)
    }

    func value() async throws -> sending R {
        try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<R, any Error>) in
            let result: Result<R, any Error>? = lock.withLock {
                if case .done(let result) = state { return result }
                state = .awaited(continuation)
                return nil
            }
            nonisolated(unsafe) let sent = result
            if let sent { continuation.resume(with: sent) }
        }
    }
}
