import CSQLCipher
import SQLCipherKitCore
import Synchronization

/// For tasks: a call waits without blocking a thread, and runs in its task, on a thread that may block.
extension SharedDatabase {
    func run<R>(
        _ mode: ConnectionSlot.Mode, timeout: Duration?, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        try checkCall()
        try Task.checkCancellation()
        let deadline = timeout.map(Deadline.after)
        let cancellation = Cancellation()
        let pool = pool(for: mode)
        if case .read = mode, let slot = try acquireForShortRead(pool) {
            defer { self.readDuration.end() }
            return try await withTaskCancellationHandler {
                defer { pool.giveBack(slot) }
                return try self.readDuration.measure { try self.perform(mode, slot, until: deadline, cancellation, body) }
            } onCancel: {
                cancellation.cancel(CancellationError())
            }
        }
        return try await lend(pool, .one, cancellation, until: deadline) { [self] slot, _ in
            try readDuration.measure { try perform(mode, slot, until: deadline, cancellation, body) }
        }
    }

    /// Waits for a slot, or for all of them, and runs `work` in the calling task, on a thread that may block.
    func lend<R>(
        _ pool: ConnectionPool, _ wish: Waiter.Wish, _ cancellation: Cancellation, until deadline: Deadline?,
        _ work: sending @escaping (ConnectionSlot, LentCall) throws -> sending R
    ) async throws -> sending R {
        try checkCall()
        try Task.checkCancellation()
        let alarm = try deadline.map { deadline throws(DatabaseError) in
            try DeadlineTimer.current.set(at: deadline) { cancellation.cancel(DatabaseError.timeout) }
        }
        defer {
            if let alarm { DeadlineTimer.current.cancel(alarm) }
            // The handler holds the waiter, which holds the call, which holds the cancellation.
            cancellation.setHandler(nil)
        }
        let call = LentCall(pool, wish, cancellation)
        // Sent to the part of the task that calls it, once; the result is sent back.
        nonisolated(unsafe) let work = work
        nonisolated(unsafe) let result: R = try await withTaskCancellationHandler {
            try await withTaskExecutorPreference(call, isolation: nil) {
                nonisolated(unsafe) let result = try call.perform(work)
                return result
            }
        } onCancel: {
            cancellation.cancel(CancellationError())
        }
        return result
    }

    /// Returns a free reader for a read that is likely to be short and then runs on the current thread.
    private func acquireForShortRead(_ pool: ConnectionPool) throws(DatabaseError) -> ConnectionSlot? {
        guard readers != nil, readDuration.begin() else { return nil }
        do throws(DatabaseError) {
            if let slot = try pool.tryAcquire(opened: true) { return slot }
        } catch {
            readDuration.end()
            throw error
        }
        readDuration.end()
        return nil
    }
}

/// Lets a task block before it has a connection. If the system refuses a thread, it blocks one of Swift's own.
package final class BlockingExecutor: TaskExecutor {
    package static let shared = BlockingExecutor()

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        WorkerThreads.run(Job { [self] in
            job.runSynchronously(on: asUnownedTaskExecutor())
            return nil
        } refuse: { _ in
            globalConcurrentExecutor.enqueue(job)
            return nil
        })
    }

    /// Runs `body` in the calling task, on a thread that may block.
    package static func run<R: Sendable>(_ body: @Sendable () throws -> R) async throws -> R {
        try await withTaskExecutorPreference(shared, isolation: nil) { try body() }
    }
}

// The same calls for functions and closures that are not written inline: their results are not `sending`, and the compiler does not
// convert them. They return Sendable results instead. The forms with a `sending` result are documented.

@_documentation(visibility: private)
extension SharedDatabase {
    /// Reads with a function, or a closure that is not written inline. See the form with a `sending` result.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: (Connection) throws -> R) throws -> R {
        try run(reading, timeout: timeout) { db in try body(db) }
    }

    /// The asynchronous form.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> R) async throws -> R {
        try await run(reading, timeout: timeout) { db in try body(db) }
    }

    /// Writes with a function, or a closure that is not written inline. See the form with a `sending` result.
    @discardableResult
    public func write<R: Sendable>(timeout: Duration? = nil, _ body: (Connection) throws -> R) throws -> R {
        try run(.write, timeout: timeout) { db in try body(db) }
    }

    /// The asynchronous form.
    @discardableResult
    public func write<R: Sendable>(timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> R) async throws -> R {
        try await run(.write, timeout: timeout) { db in try body(db) }
    }

    /// Writes with a closure that returns nothing. With this form the compiler needs no help where the call is the only expression
    /// of another closure.
    public func write(timeout: Duration? = nil, _ body: (Connection) throws -> Void) throws {
        try run(.write, timeout: timeout) { db in try body(db) }
    }

    /// The asynchronous form.
    public func write(timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> Void) async throws {
        try await run(.write, timeout: timeout) { db in try body(db) }
    }
}

extension SharedDatabase {
    /// Writes, and commits or rolls back according to the result of `body`.
    /// ```swift
    /// let isFeasible = try await pool.write { db in
    ///     try plan.apply(to: db)
    ///     return .rollback(try plan.check(db))
    /// }
    /// ```
    /// - Throws: as the form that returns a value.
    @discardableResult
    public func write<R: Sendable>(
        timeout: Duration? = nil, _ body: (Connection) throws -> TransactionEnd<R>
    ) throws -> R {
        try run(.write, timeout: timeout) { db in try body(db) }.value
    }

    /// The asynchronous form.
    @discardableResult
    public func write<R: Sendable>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> TransactionEnd<R>
    ) async throws -> R {
        try await run(.write, timeout: timeout) { db in try body(db) }.value
    }
}

@_documentation(visibility: private)
extension DatabaseSnapshot {
    /// Reads with a function, or a closure that is not written inline. See the form with a `sending` result.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: (Connection) throws -> R) throws -> R {
        try readSent(timeout: timeout) { db in try body(db) }
    }

    /// The asynchronous form.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> R) async throws -> R {
        try await readSent(timeout: timeout) { db in try body(db) }
    }
}

@_documentation(visibility: private)
extension DatabaseReader {
    /// Reads with a function, or a closure that is not written inline. See the form with a `sending` result.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: (Connection) throws -> R) throws -> R {
        try readSent(timeout: timeout) { db in try body(db) }
    }

    /// The asynchronous form.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> R) async throws -> R {
        try await readSent(timeout: timeout) { db in try body(db) }
    }
}

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

/// The part of a task that uses a connection, and runs when and where there is one.
///
/// It is the task executor of that part. The task's job is queued here until it has a slot, and then runs on a thread that may
/// block. So the closure runs in the calling task, with its task-local values, cancellation and priority, and no other thread has
/// to be free between the end of one call and the start of the next.
final class LentCall: TaskExecutor, @unchecked Sendable {
    // Sendable: `outcome`, `held` and `next` are accessed only by the thread that runs the task, after the waiter was served.
    private let pool: ConnectionPool
    private let wish: Waiter.Wish
    private let cancellation: Cancellation
    private let hasWaited = Atomic<Bool>(false)
    private var outcome: Waiter.Outcome?
    private var held: ConnectionSlot?
    /// What the thread does after the task has left it.
    private var next: Job?

    init(_ pool: ConnectionPool, _ wish: Waiter.Wish, _ cancellation: Cancellation) {
        (self.pool, self.wish, self.cancellation) = (pool, wish, cancellation)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // Jobs after the first one are brief.
        let isFirst = !hasWaited.exchange(true, ordering: .relaxed)
        let run = Job { [self] in
            job.runSynchronously(on: asUnownedTaskExecutor())
            return next.take()
        } refuse: { [self] error in
            let following = isFirst ? giveUp(error) : nil
            globalConcurrentExecutor.enqueue(job)
            return following
        }
        if !isFirst { return WorkerThreads.run(run) }
        let waiter = Waiter(wish) { [self] outcome in
            self.outcome = outcome
            return run
        }
        cancellation.setHandler { [pool] in pool.abandon(waiter, $0) }
        if let outcome = pool.acquireOrWait(waiter) {
            self.outcome = outcome
            WorkerThreads.run(run)
        } else if let error = cancellation.error {
            pool.abandon(waiter, error)
        }
    }

    /// Makes the call throw, on one of Swift's own threads, and passes its turn on.
    private func giveUp(_ error: DatabaseError) -> Job? {
        defer { outcome = .failure(error) }
        switch outcome {
        case .success(let slot?): return pool.release(slot)
        case .success(nil): pool.releaseAll()
        case .failure, nil: break
        }
        return nil
    }

    /// Runs `work` with the slot, and releases it. Must be called once, in the part of the task that runs here.
    func perform<R>(_ work: (ConnectionSlot, LentCall) throws -> sending R) throws -> sending R {
        guard let outcome else { throw DatabaseError.misuse("this system's tasks cannot be sent to a connection's thread") }
        let slot = try outcome.get()
        defer {
            if slot == nil { pool.releaseAll() } else if let held { next = pool.release(held) }
            held = nil
        }
        held = slot
        return try work(slot ?? pool.slots[0], self)
    }

    /// Releases the slot before the work has ended.
    func release() {
        if let held { pool.giveBack(held) }
        held = nil
    }
}
