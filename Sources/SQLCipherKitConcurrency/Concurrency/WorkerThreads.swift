import Foundation
import SQLCipherKitCore

/// Work for a thread.
package struct Job: Sendable {
    /// Does the work, and may return the next work for the same thread.
    let run: @Sendable () -> Job?
    /// Called in its place if there is no thread for it. It may return the next work, which got the turn.
    let refuse: @Sendable (DatabaseError) -> Job?
}

/// The threads on which tasks use connections, because SQLite blocks and Swift's own threads must not.
///
/// The process has as many as are working at the same time. A thread without work ends after some seconds, so idle queues and pools
/// have no threads.
final class WorkerThreads: Sendable {
    private static let threads = PerProcess { WorkerThreads() }
    /// The stack size of the main thread, so that the same work runs on both.
    static let stackSize = 8 << 20
    private static let idleTime = Duration.seconds(2)

    /// Threads without work; the thread that worked last is at the end.
    private let idle = Lock<[Worker]>([])

    /// Runs a job, or refuses it if the system refuses a thread: no job is lost, and with it the turn that it has.
    static func run(_ job: Job) {
        var next: Job? = job
        while let job = next {
            do { return try threads.current.run(job) } catch { next = job.refuse(DatabaseError(wrapping: error)) }
        }
    }

    private func run(_ job: Job) throws {
        if let worker = idle.withLock({ $0.popLast() }) { return worker.give(job) }
        let worker = Worker()
        worker.give(job)
        try SystemThread.start(stackSize: Self.stackSize) { [self] in work(worker) }
    }

    private func work(_ worker: Worker) {
        while var job = worker.next(until: .after(Self.idleTime)) ?? retire(worker) {
            while let following = SystemThread.withPool(job.run) { job = following }
            // Release the objects that the job holds before waiting for the next job.
            job = Job(run: { nil }, refuse: { _ in nil })
            idle.withLock { $0.append(worker) }
        }
    }

    /// - Returns: work that it has just been given; nil to end the thread.
    private func retire(_ worker: Worker) -> Job? {
        let isIdle = idle.withLock { idle in
            guard let index = idle.firstIndex(where: { $0 === worker }) else { return false }
            idle.remove(at: index)
            return true
        }
        return isIdle ? nil : worker.next(until: nil)
    }

    /// A thread and its work.
    private final class Worker: @unchecked Sendable {
        // Sendable: `job` is accessed only under the condition's lock.
        private let condition = NSCondition()
        private var job: Job?

        func give(_ job: Job) {
            condition.lock()
            self.job = job
            condition.signal()
            condition.unlock()
        }

        func next(until deadline: Deadline?) -> Job? {
            condition.lock()
            defer { condition.unlock() }
            while job == nil, condition.wait(until: deadline) {}
            return job.take()
        }
    }
}

extension NSCondition {
    /// Waits until it is signalled. The lock must be held.
    /// - Returns: false if the deadline has passed.
    func wait(until deadline: Deadline?) -> Bool {
        guard let deadline else {
            wait()
            return true
        }
        let left = deadline - .now
        if left <= .zero { return false }
        _ = wait(until: Date(timeIntervalSinceNow: left / .seconds(1)))
        return true
    }
}
