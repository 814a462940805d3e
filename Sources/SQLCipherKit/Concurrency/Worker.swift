import Foundation

/// A thread that does the asynchronous work of one connection. It begins with the first job.
final class Worker: @unchecked Sendable {
    // Sendable: everything that changes is touched under the condition's lock only.
    private let condition = NSCondition()
    private var jobs: [Job] = []
    private var hasThread = false
    private var isStopped = false

    func run(_ job: Job) {
        condition.lock()
        jobs.append(job)
        isStopped = false
        if !hasThread {
            hasThread = true
            let thread = Thread { [self] in work() }
            thread.name = "SQLCipherKit"
            // As much as the main thread has: what runs on one runs on the other.
            thread.stackSize = 8 << 20
            thread.start()
        }
        condition.signal()
        condition.unlock()
    }

    /// Ends the thread when its jobs are done. A later job begins another one.
    func stop() {
        condition.lock()
        isStopped = true
        condition.signal()
        condition.unlock()
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
                hasThread = false
                return nil
            }
            condition.wait()
        }
        return jobs.removeFirst()
    }
}
