import Foundation

/// Runs tasks on one thread, which a test may hold up: for moments between the steps of a task that last no time otherwise.
package final class PausableExecutor: TaskExecutor, @unchecked Sendable {
    // Sendable: variables are used only under the condition's lock.
    private let condition = NSCondition()
    private var jobs: [UnownedJob] = []
    private var isPaused = false
    private var isStopped = false
    private var thread: Thread?

    package init() {
        let thread = Thread { [self] in
            while let job = next() { job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
        self.thread = thread
        thread.start()
    }

    /// True if the caller runs on this executor.
    package var isCurrent: Bool { condition.withLock { Thread.current === thread } }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        change { jobs.append(job) }
    }

    package func pause() { change { isPaused = true } }

    package func goOn() { change { isPaused = false } }

    /// Ends the thread. To be called when its tasks have ended.
    package func stop() { change { isStopped = true } }

    private func change(_ body: () -> Void) {
        condition.withLock {
            body()
            condition.signal()
        }
    }

    private func next() -> UnownedJob? {
        condition.withLock {
            while jobs.isEmpty || isPaused {
                if isStopped { return nil }
                condition.wait()
            }
            return jobs.removeFirst()
        }
    }
}
