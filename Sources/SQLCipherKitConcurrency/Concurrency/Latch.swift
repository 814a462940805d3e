import Foundation
import SQLCipherKitCore

/// A one-shot latch: a thread waits until it is opened. It then stays open.
final class Latch: @unchecked Sendable {
    // Sendable: `isOpen` is accessed only under the condition's lock.
    private let condition = NSCondition()
    private var isOpen = false

    func open() {
        condition.lock()
        isOpen = true
        condition.signal()
        condition.unlock()
    }

    /// Waits until the latch is open.
    /// - Returns: false if the deadline passed first.
    func wait(until deadline: Deadline? = nil) -> Bool {
        condition.lock()
        defer { condition.unlock() }
        while !isOpen { guard condition.wait(until: deadline) else { return false } }
        return true
    }
}
