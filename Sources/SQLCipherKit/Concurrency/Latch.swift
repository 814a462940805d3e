import Foundation

/// A one-shot latch: a thread waits for it until it is opened, and then it stays open.
final class Latch: @unchecked Sendable {
    // Sendable: `isOpen` is touched under the condition's lock only.
    private let condition = NSCondition()
    private var isOpen = false

    func open() {
        condition.lock()
        isOpen = true
        condition.signal()
        condition.unlock()
    }

    /// Waits until the latch is open.
    /// - Returns: false if the deadline came first.
    func wait(until deadline: Deadline? = nil) -> Bool {
        condition.lock()
        defer { condition.unlock() }
        while !isOpen { guard condition.wait(until: deadline) else { return false } }
        return true
    }
}
