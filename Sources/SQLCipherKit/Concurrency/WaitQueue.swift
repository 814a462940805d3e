/// A call that waits for a slot, or for all of them.
final class Waiter: @unchecked Sendable {
    // Sendable: `isQueued` is touched under the pool's lock only.
    let wantsAll: Bool
    /// Whether it is served on its slot's thread.
    let isJob: Bool
    fileprivate(set) var isQueued = false
    /// Called once: with the slot, with nil where it wanted all, or with the reason why there will be none.
    let serve: @Sendable (Result<ConnectionSlot?, any Error>) -> Job?

    init(wantsAll: Bool = false, isJob: Bool, serve: @escaping @Sendable (Result<ConnectionSlot?, any Error>) -> Job?) {
        (self.wantsAll, self.isJob, self.serve) = (wantsAll, isJob, serve)
    }
}

/// Waiting calls, first in, first out. A call that gives up is skipped when its turn comes.
struct WaitQueue {
    private var queue: [Waiter?] = []
    private var head = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// The next in turn.
    var first: Waiter? {
        mutating get {
            while head < queue.count {
                if let next = queue[head], next.isQueued { return next }
                advance()
            }
            return nil
        }
    }

    mutating func append(_ waiter: Waiter) {
        waiter.isQueued = true
        queue.append(waiter)
        count += 1
    }

    /// Removes the next in turn.
    mutating func removeFirst() -> Waiter? {
        guard let next = first else { return nil }
        next.isQueued = false
        count -= 1
        advance()
        return next
    }

    /// - Returns: false if it was no longer in the queue.
    mutating func remove(_ waiter: Waiter) -> Bool {
        guard waiter.isQueued else { return false }
        waiter.isQueued = false
        count -= 1
        return true
    }

    mutating func removeAll() -> [Waiter] {
        var all: [Waiter] = []
        while let next = removeFirst() { all.append(next) }
        return all
    }

    private mutating func advance() {
        queue[head] = nil
        head += 1
        if head > 64, head > queue.count / 2 {
            queue.removeFirst(head)
            head = 0
        }
    }
}

/// A blocked thread that waits for a slot.
final class BlockedThread: @unchecked Sendable {
    // Sendable: `outcome` is written before the latch is opened, and read after that.
    private let latch = Latch()
    private var outcome: Result<ConnectionSlot?, any Error> = .failure(DatabaseError.closedDatabase)

    func waiter(wantsAll: Bool = false) -> Waiter {
        Waiter(wantsAll: wantsAll, isJob: false) { [self] outcome in
            self.outcome = outcome
            latch.open()
            return nil
        }
    }

    /// The slot; nil for all of them.
    func wait(for waiter: Waiter, in pool: ConnectionPool, until deadline: ContinuousClock.Instant?) throws -> ConnectionSlot? {
        if !latch.wait(until: deadline) {
            pool.abandon(waiter, DatabaseError.timeout)
            // It may have been served just before.
            _ = latch.wait()
        }
        return try outcome.get()
    }
}
