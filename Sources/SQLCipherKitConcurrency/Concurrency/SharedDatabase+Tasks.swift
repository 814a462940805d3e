import CSQLCipher
import SQLCipherKitCore

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
