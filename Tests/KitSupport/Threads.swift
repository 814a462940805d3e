import Foundation
import TestSupport

/// Runs `body` on as many threads at once, and waits for all. Threads, because waiting work must not take the threads of Swift's
/// tasks.
package func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
    let outcomes = Outcomes(count)
    for number in 0..<count {
        let thread = Thread { outcomes.finish(Result { try body(number) }) }
        thread.stackSize = 1 << 20
        thread.start()
    }
    try outcomes.wait()
}

/// Starts `body` on a thread of its own.
package func onThread(_ body: @escaping @Sendable () throws -> Void) -> Outcomes {
    let outcomes = Outcomes(1)
    Thread { outcomes.finish(Result { try body() }) }.start()
    return outcomes
}

/// The outcomes of threads.
package final class Outcomes: @unchecked Sendable {
    // Sendable: variables are used only under the condition's lock.
    private let condition = NSCondition()
    private var left: Int
    private var error: (any Error)?

    package init(_ count: Int) { left = count }

    package func finish(_ result: Result<Void, any Error>) {
        condition.withLock {
            left -= 1
            if case .failure(let error) = result, self.error == nil { self.error = error }
            condition.broadcast()
        }
    }

    /// Waits for all of them, for five minutes at most; throws the first error.
    package func wait(atMost seconds: Double = 300) throws {
        try condition.withLock {
            while left > 0 {
                guard condition.wait(until: Date(timeIntervalSinceNow: seconds)) else { throw StillRunning() }
            }
            if let error { throw error }
        }
    }

    /// The same without holding a thread, for tests with tasks.
    package func ended() async throws {
        try await suspendUntil("all threads have ended", atMost: .seconds(3600)) { isEnded }
        try wait()
    }

    package var isEnded: Bool { condition.withLock { left <= 0 } }

    package struct StillRunning: Error {}
}

/// A gate that threads wait at until it is opened.
package final class Latch: @unchecked Sendable {
    // Sendable: `isOpen` is touched under the condition's lock only.
    private let condition = NSCondition()
    private var isOpen = false

    package init() {}

    package func open() {
        condition.withLock {
            isOpen = true
            condition.broadcast()
        }
    }

    package var isOpened: Bool { condition.withLock { isOpen } }

    /// The same as `wait` without holding a thread, for tests with tasks.
    package func opened() async throws {
        try await suspendUntil("the latch is open", atMost: .seconds(3600)) { isOpened }
    }

    /// Waits for an hour at most: beside tests that hold all of Swift's threads a task may get its turn only after them, which
    /// took 27 minutes on a machine at work.
    package func wait() {
        condition.withLock { while !isOpen, condition.wait(until: Date(timeIntervalSinceNow: 3600)) {} }
    }
}
