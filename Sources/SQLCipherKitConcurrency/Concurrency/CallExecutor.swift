import CSQLCipher
import SQLCipherKitCore
import Synchronization

/// The part of a task that uses a connection, and runs when and where there is one.
/// The executor is the task executor of that part. The task's job is queued here until it has a slot, and then runs on a thread
/// that may block. So the closure runs in the calling task, with its task-local values, cancellation and priority, and no other
/// thread has to be free between the end of one call and the start of the next.
final class CallExecutor: TaskExecutor, @unchecked Sendable {
    // Sendable: `outcome`, `held` and `next` are accessed only by the thread that runs the task, after the waiter was served.
    private let pool: ConnectionPool
    private let wish: Waiter.Wish
    private let cancellation: Cancellation
    private let hasWaited = Atomic<Bool>(false)
    private var outcome: Waiter.Outcome?
    private var held: ConnectionSlot?
    /// The job that the thread runs after the task has left it.
    private var next: Job?

    init(_ pool: ConnectionPool, _ wish: Waiter.Wish, _ cancellation: Cancellation) {
        (self.pool, self.wish, self.cancellation) = (pool, wish, cancellation)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // Jobs after the first job are brief.
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

    /// Returns the acquired slot; the first slot if all were wanted. Must be called once, in the part of the task that runs here.
    fileprivate func begin() throws -> ConnectionSlot {
        guard let outcome else { throw DatabaseError.misuse("this system's tasks cannot be sent to a connection's thread") }
        held = try outcome.get()
        return held ?? pool.slots[0]
    }

    /// Gives back the slot that ``begin()`` has returned.
    fileprivate func end() {
        if wish != .one { pool.releaseAll() } else if let held { next = pool.release(held) }
        held = nil
    }

    /// Gives the slot back before the work has ended.
    func giveBack() {
        if let held { pool.giveBack(held) }
        held = nil
    }
}

extension DatabaseWriter {
    /// Waits for a slot, or for all of them, and runs `work` in the calling task, on a thread that may block.
    ///
    /// A cancelled task stops waiting, unless the call cleans up: neither a key nor pages must stay in memory because a task ended
    /// early.
    func withSlot<R>(
        of pool: ConnectionPool, _ wish: Waiter.Wish = .one, timeout: Duration?, cleansUp: Bool = false,
        _ work: sending @escaping (ConnectionSlot, CallLimits, CallExecutor) throws -> sending R
    ) async throws -> sending R {
        try checkCall()
        let isGivenUp = !cleansUp
        if isGivenUp { try Task.checkCancellation() }
        let cancellation = Cancellation(), limits = CallLimits(timeout, cancellation)
        let alarm = try limits.deadline.map { deadline in
            try DeadlineTimer.current.set(at: deadline) { cancellation.cancel(DatabaseError.timeout) }
        }
        defer {
            if let alarm { DeadlineTimer.current.cancel(alarm) }
            // The handler holds the waiter, which holds the executor, which holds the cancellation.
            cancellation.setHandler(nil)
        }
        let executor = CallExecutor(pool, wish, cancellation)
        // Sent to the part of the task that calls it, once; the result is sent back.
        nonisolated(unsafe) let work = work
        nonisolated(unsafe) let result: R = try await withTaskCancellationHandler {
            try await withTaskExecutorPreference(executor, isolation: nil) {
                let slot = try executor.begin()
                defer { executor.end() }
                nonisolated(unsafe) let result = try work(slot, limits, executor)
                return result
            }
        } onCancel: {
            if isGivenUp { cancellation.cancel(CancellationError()) }
        }
        return result
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
