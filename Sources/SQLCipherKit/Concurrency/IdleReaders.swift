import Foundation

/// Closes readers that are idle, on a thread that runs while there are open ones.
final class IdleReaders: @unchecked Sendable {
    // Sendable: `isRunning`, `isStopped` are touched under the condition's lock only, `uses` on the one thread.
    private let condition = NSCondition()
    private var isRunning = false
    private var isStopped = false
    private var uses: [ObjectIdentifier: Int] = [:]
    private let period: Duration

    init(period: Duration) { self.period = period }

    /// A reader was opened.
    func watch(_ pool: @autoclosure () -> ConnectionPool) {
        condition.lock()
        defer { condition.unlock() }
        guard !isRunning, !isStopped, period > .zero else { return }
        isRunning = true
        // Weakly: the thread must not keep the connections open.
        let pool = WeakPool(pool())
        Thread { [self] in work(pool) }.start()
    }

    func stop() {
        condition.withLock {
            isStopped = true
            condition.signal()
        }
    }

    private struct WeakPool: Sendable {
        weak let pool: ConnectionPool?
        init(_ pool: ConnectionPool) { self.pool = pool }
    }

    private func work(_ weak: WeakPool) {
        while waited() {
            guard let pool = weak.pool, closeIdle(pool) else { break }
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
    private func closeIdle(_ pool: ConnectionPool) -> Bool {
        var used: [ObjectIdentifier: Int] = [:]
        var idle = 0
        pool.withFree { slot in
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
        guard idle == pool.slots.count else { return true }
        condition.withLock { isRunning = false }
        return false
    }
}
