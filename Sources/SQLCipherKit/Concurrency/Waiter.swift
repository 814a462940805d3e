/// Work for a worker's thread. It may know the next work for the same thread.
struct Job: Sendable {
    let run: @Sendable () -> Job?
}

/// A call that waits for a slot, or for all of them.
final class Waiter: @unchecked Sendable {
    // Sendable: `isQueued` is touched under the lender's lock only.
    let wantsAll: Bool
    /// Whether it is served on the thread of its slot's worker.
    let isJob: Bool
    fileprivate(set) var isQueued = false
    /// Told the slot, nil where it wanted all, or why there will be none. Called once.
    let serve: @Sendable (Result<ConnectionSlot?, any Error>) -> Job?

    init(wantsAll: Bool = false, isJob: Bool, serve: @escaping @Sendable (Result<ConnectionSlot?, any Error>) -> Job?) {
        (self.wantsAll, self.isJob, self.serve) = (wantsAll, isJob, serve)
    }
}

/// Waiting calls, first in first out. One that gives up is passed over when its turn comes.
struct Waiters {
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

    /// Takes the next in turn, which `first` has shown to be there.
    mutating func removeFirst() -> Waiter? {
        guard let next = first else { return nil }
        next.isQueued = false
        count -= 1
        advance()
        return next
    }

    /// - Returns: false if it was not in the queue any more.
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

/// A thread that waits for a slot.
final class WaitingThread: @unchecked Sendable {
    // Sendable: `outcome` is written before the signal is set, and read after it was waited for.
    private let signal = Signal()
    private var outcome: Result<ConnectionSlot?, any Error> = .failure(DatabaseError.closedDatabase)

    func waiter(wantsAll: Bool = false) -> Waiter {
        Waiter(wantsAll: wantsAll, isJob: false) { [self] outcome in
            self.outcome = outcome
            signal.set()
            return nil
        }
    }

    /// The slot; nil for all of them.
    func wait(for waiter: Waiter, at lender: Lender, until deadline: ContinuousClock.Instant?) throws -> ConnectionSlot? {
        if !signal.wait(until: deadline) {
            lender.abandon(waiter, DatabaseError.timeout)
            // It may have been served just before.
            _ = signal.wait()
        }
        return try outcome.get()
    }
}
