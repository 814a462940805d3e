import SQLCipherKitCore
import Synchronization

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
