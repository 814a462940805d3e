import Foundation

/// A thread's wait for one event.
final class Signal: @unchecked Sendable {
    // Sendable: `isSet` is touched under the condition's lock only.
    private let condition = NSCondition()
    private var isSet = false

    func set() {
        condition.lock()
        isSet = true
        condition.signal()
        condition.unlock()
    }

    /// - Returns: false if the deadline came first.
    func wait(until deadline: ContinuousClock.Instant? = nil) -> Bool {
        condition.lock()
        defer { condition.unlock() }
        while !isSet {
            guard let deadline else {
                condition.wait()
                continue
            }
            let left = deadline - .now
            if left <= .zero { return false }
            _ = condition.wait(until: Date(timeIntervalSinceNow: left / .seconds(1)))
        }
        return true
    }
}
