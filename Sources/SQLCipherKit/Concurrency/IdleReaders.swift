import Foundation

/// Closes readers that nobody needs, on a thread that lives while there are open ones.
final class IdleReaders: @unchecked Sendable {
    // Sendable: `isRunning`, `isStopped` are touched under the condition's lock only, `uses` on the one thread.
    private let condition = NSCondition()
    private var isRunning = false
    private var isStopped = false
    private var uses: [ObjectIdentifier: Int] = [:]
    private let period: Duration

    init(period: Duration) { self.period = period }

    /// A reader was opened.
    func watch(_ lender: @autoclosure () -> Lender) {
        condition.lock()
        defer { condition.unlock() }
        guard !isRunning, !isStopped, period > .zero else { return }
        isRunning = true
        // Not the pool: it shall go when nobody else holds it.
        let lender = WeakLender(lender())
        Thread { [self] in work(lender) }.start()
    }

    func stop() {
        condition.lock()
        isStopped = true
        condition.signal()
        condition.unlock()
    }

    private struct WeakLender: Sendable {
        weak let lender: Lender?
        init(_ lender: Lender) { self.lender = lender }
    }

    private func work(_ weak: WeakLender) {
        while waited() {
            guard let lender = weak.lender, closeIdle(lender) else { break }
        }
    }

    /// - Returns: false to end the thread.
    private func waited() -> Bool {
        condition.lock()
        defer { condition.unlock() }
        let end = Date(timeIntervalSinceNow: period / .seconds(1))
        while !isStopped, condition.wait(until: end) {}
        if isStopped { isRunning = false }
        return !isStopped
    }

    /// - Returns: whether a reader is still open.
    private func closeIdle(_ lender: Lender) -> Bool {
        var used: [ObjectIdentifier: Int] = [:]
        var idle = 0
        lender.withFree { slot in
            guard slot.isOpen else {
                idle += 1
                return false
            }
            used[ObjectIdentifier(slot)] = slot.uses
            return uses[ObjectIdentifier(slot)] == slot.uses
        } _: { slots in
            for slot in slots { slot.close() }
            idle += slots.count
        }
        uses = used
        guard idle == lender.slots.count else { return true }
        condition.lock()
        isRunning = false
        condition.unlock()
        return false
    }
}
