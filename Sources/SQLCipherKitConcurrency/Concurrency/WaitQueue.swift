import SQLCipherKitCore

/// A call that waits for a slot, or for all of them.
package final class Waiter: @unchecked Sendable {
    // Sendable: `ticket` is accessed only under the pool's lock.

    /// The slots that a call asks for.
    package enum Wish: Sendable {
        case one, all
        /// All, to close the database.
        case closing
    }

    package let wish: Wish
    /// The place in the queue; 0 for none.
    fileprivate(set) var ticket: UInt64 = 0
    /// Called once, outside the pool's lock, with the slot, with nil for all slots, or with an error. It may return work for a
    /// thread.
    let serve: @Sendable (Outcome) -> Job?

    package typealias Outcome = Result<ConnectionSlot?, any Error>

    package init(_ wish: Wish, serve: @escaping @Sendable (Outcome) -> Job?) { (self.wish, self.serve) = (wish, serve) }
}

/// Waiting calls, first in, first out. Removing one takes constant time: it is skipped when its turn comes.
struct WaitQueue {
    private var queue: [(waiter: Waiter, ticket: UInt64)] = []
    private var head = 0
    private var lastTicket: UInt64 = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// The next waiting call.
    var first: Waiter? {
        mutating get {
            if queue.isEmpty { return nil }
            while head < queue.count {
                let next = queue[head]
                if next.waiter.ticket == next.ticket { return next.waiter }
                head += 1
            }
            queue.removeAll(keepingCapacity: queue.count <= 64)
            head = 0
            return nil
        }
    }

    mutating func append(_ waiter: Waiter) {
        if queue.count > 2 * count + 64 { compact() }
        lastTicket += 1
        waiter.ticket = lastTicket
        queue.append((waiter, lastTicket))
        count += 1
    }

    /// - Returns: false if it was not in the queue.
    mutating func remove(_ waiter: Waiter) -> Bool {
        guard waiter.ticket != 0 else { return false }
        waiter.ticket = 0
        count -= 1
        return true
    }

    mutating func removeAll() -> [Waiter] {
        compact()
        let all = queue.map(\.waiter)
        for waiter in all { waiter.ticket = 0 }
        (queue, count) = ([], 0)
        return all
    }

    /// Drops calls that have left the queue.
    private mutating func compact() {
        queue = queue[head...].filter { $0.waiter.ticket == $0.ticket }
        head = 0
    }
}

/// A blocked thread that waits for a slot.
final class BlockedThread: @unchecked Sendable {
    // Sendable: `outcome` is written before the latch is opened, and read after that.
    private let latch = Latch()
    private var outcome: Waiter.Outcome = .failure(DatabaseError.closedDatabase)

    func waiter(_ wish: Waiter.Wish) -> Waiter {
        Waiter(wish) { [self] outcome in
            self.outcome = outcome
            latch.open()
            return nil
        }
    }

    /// Waits until the waiter has been served.
    /// - Returns: false if the deadline passed first.
    func wait(until deadline: Deadline?) -> Bool { latch.wait(until: deadline) }

    /// Returns the slot, or nil for all slots. Call it when the waiter has been served, or is certain to be.
    func served() throws -> ConnectionSlot? {
        _ = latch.wait()
        return try outcome.get()
    }
}
