import Synchronization

/// Lends slots to callers in the order in which they asked: one each, or all of them to one.
final class Lender: Sendable {
    /// All slots there are. Whoever has all of them may use each.
    let slots: [ConnectionSlot]

    private struct State: Sendable {
        /// The one that was used last is at the end, and used next: its page cache is warm.
        var free: [ConnectionSlot]
        var waiters = Waiters()
        var isClosed = false
    }

    private let state: Mutex<State>

    init(_ slots: [ConnectionSlot]) {
        self.slots = slots
        state = Mutex(State(free: slots))
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    // MARK: Taking

    /// A slot, if one is free and nobody waits.
    /// - Parameter opened: whether it must have an open connection.
    func takeAtOnce(opened: Bool = false) throws(DatabaseError) -> ConnectionSlot? {
        try attempt { state in
            guard state.waiters.isEmpty, let last = state.free.last, !opened || last.isOpen else { return nil }
            return state.free.removeLast()
        }
    }

    /// Waits for a slot.
    func take(until deadline: ContinuousClock.Instant?) throws -> ConnectionSlot {
        if let slot = try takeAtOnce() { return slot }
        let thread = WaitingThread()
        let waiter = thread.waiter()
        if let slot = try takeOrWait(waiter) { return slot }
        guard let slot = try thread.wait(for: waiter, at: self, until: deadline) else { throw DatabaseError.closedDatabase }
        return slot
    }

    /// A slot, or the waiter is in the queue.
    func takeOrWait(_ waiter: Waiter) throws(DatabaseError) -> ConnectionSlot? {
        try attempt { state in
            if state.waiters.isEmpty, let slot = state.free.popLast() { return slot }
            state.waiters.append(waiter)
            return nil
        }
    }

    /// Waits for all slots.
    /// - Parameters:
    ///   - ticket: what stops the wait as well.
    ///   - closing: whether the lender may be closed.
    func takeAll(until deadline: ContinuousClock.Instant? = nil, ticket: Ticket? = nil, closing: Bool = false) throws {
        let thread = WaitingThread()
        let waiter = thread.waiter(wantsAll: true)
        ticket?.whenStopped { [self] in abandon(waiter, $0) }
        let isGranted = try attempt(closing: closing) { state in
            if state.waiters.isEmpty, state.free.count == slots.count {
                state.free.removeAll(keepingCapacity: true)
                return true
            }
            state.waiters.append(waiter)
            return false
        }
        if isGranted { return }
        if let error = ticket?.error { abandon(waiter, error) }
        _ = try thread.wait(for: waiter, at: self, until: deadline)
    }

    private func attempt<T: Sendable>(closing: Bool = false, _ body: (inout State) -> T) throws(DatabaseError) -> T {
        try state.withLock { state throws(DatabaseError) in
            if state.isClosed, !closing { throw DatabaseError.closedDatabase }
            return body(&state)
        }
    }

    // MARK: Giving back

    /// Gives a slot back, to the next one who waits.
    /// - Parameter worker: the worker on whose thread this is called.
    /// - Returns: the next job for that thread.
    @discardableResult
    func giveBack(_ slot: ConnectionSlot, on worker: Worker? = nil) -> Job? {
        let next = state.withLock { state -> Waiter? in
            guard let next = state.waiters.first else {
                state.free.append(slot)
                return nil
            }
            guard next.wantsAll else { return state.waiters.removeFirst() }
            state.free.append(slot)
            guard state.free.count == slots.count else { return nil }
            state.free.removeAll(keepingCapacity: true)
            return state.waiters.removeFirst()
        }
        guard let next else { return nil }
        return grant(next.wantsAll ? nil : slot, to: next, on: worker)
    }

    /// Gives all slots back.
    func giveBackAll() {
        state.withLock { $0.free = slots.filter { !$0.isOpen } + slots.filter(\.isOpen) }
        serveWaiters()
    }

    /// Takes free slots that meet a condition, lets `body` have them, and gives them back as those to be used last.
    func withFree(where condition: (ConnectionSlot) -> Bool, _ body: ([ConnectionSlot]) -> Void) {
        let taken = state.withLock { state in
            let taken = state.free.filter(condition)
            state.free.removeAll { slot in taken.contains { $0 === slot } }
            return taken
        }
        guard !taken.isEmpty else { return }
        body(taken)
        state.withLock { $0.free.insert(contentsOf: taken, at: 0) }
        serveWaiters()
    }

    /// Takes a call that waits out of the queue, and makes it throw.
    func abandon(_ waiter: Waiter, _ error: any Error) {
        guard state.withLock({ $0.waiters.remove(waiter) }) else { return }
        _ = waiter.serve(.failure(error))
        // It may have been in the way of others.
        serveWaiters()
    }

    /// Makes all calls that wait throw, and each later one.
    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            return state.waiters.removeAll()
        }
        for waiter in waiters { _ = waiter.serve(.failure(DatabaseError.closedDatabase)) }
    }

    private func serveWaiters() {
        while true {
            let served = state.withLock { state -> (Waiter, ConnectionSlot?)? in
                guard let next = state.waiters.first else { return nil }
                if next.wantsAll {
                    guard state.free.count == slots.count else { return nil }
                    state.free.removeAll(keepingCapacity: true)
                    return state.waiters.removeFirst().map { ($0, nil) }
                }
                guard let slot = state.free.popLast() else { return nil }
                return state.waiters.removeFirst().map { ($0, slot) }
            }
            guard let (waiter, slot) = served else { return }
            _ = grant(slot, to: waiter, on: nil)
        }
    }

    private func grant(_ slot: ConnectionSlot?, to waiter: Waiter, on worker: Worker?) -> Job? {
        guard waiter.isJob, let slot else { return waiter.serve(.success(slot)) }
        let job = Job { waiter.serve(.success(slot)) }
        if worker === slot.worker { return job }
        slot.worker.run(job)
        return nil
    }
}

extension DatabaseError {
    static let closedDatabase = DatabaseError(code: .misuse, reason: .closed, message: "the database is closed")
}
