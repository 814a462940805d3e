import Foundation

/// Work for a connection's thread. It may return the next work for the same thread.
struct Job: Sendable {
    let run: @Sendable () -> Job?
}

/// The thread that does the asynchronous work of one connection. It starts with the first job.
final class ConnectionThread: @unchecked Sendable {
    // Sendable: everything that changes is touched under the condition's lock only.
    private let condition = NSCondition()
    private var jobs: [Job] = []
    private var isRunning = false
    private var isStopped = false

    func run(_ job: Job) {
        condition.lock()
        jobs.append(job)
        isStopped = false
        if !isRunning {
            isRunning = true
            let thread = Thread { [self] in work() }
            thread.name = "SQLCipherKit"
            // As much as the main thread has: what runs on one runs on the other.
            thread.stackSize = 8 << 20
            thread.start()
        }
        condition.signal()
        condition.unlock()
    }

    /// Ends the thread when its jobs are done. A later job starts another one.
    func stop() {
        condition.withLock {
            isStopped = true
            condition.signal()
        }
    }

    private func work() {
        while var job = next() {
            while let following = job.run() { job = following }
        }
    }

    private func next() -> Job? {
        condition.lock()
        defer { condition.unlock() }
        while jobs.isEmpty {
            if isStopped {
                isRunning = false
                return nil
            }
            condition.wait()
        }
        return jobs.removeFirst()
    }
}
