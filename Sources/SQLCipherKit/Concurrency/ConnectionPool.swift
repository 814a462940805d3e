import Synchronization

/// Gives connection slots to callers in the order in which they asked: one each, or all of them to one caller.
final class ConnectionPool: Sendable {
    /// All slots. A caller that has acquired all of them may use each.
    let slots: [ConnectionSlot]

    private struct State: Sendable {
        /// The slot that was used last is at the end, and is used next: its page cache is warm.
        var free: [ConnectionSlot]
        /// The number of all slots.
        let count: Int
        var waiters = WaitQueue()
        var isClosed = false

        /// Takes all slots, if all are free.
        mutating func takeAll() -> Bool {
            guard free.count == count else { return false }
            free.removeAll(keepingCapacity: true)
            return true
        }

        /// The next call that can be served, and its slot, or nil for all of them.
        mutating func takeNext() -> (Waiter, ConnectionSlot?)? {
            guard let next = waiters.first, next.wantsAll ? takeAll() : !free.isEmpty else { return nil }
            return waiters.removeFirst().map { ($0, next.wantsAll ? nil : free.popLast()) }
        }
    }

    private let state: Mutex<State>

    init(_ slots: [ConnectionSlot]) {
        self.slots = slots
        state = Mutex(State(free: slots, count: slots.count))
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    // MARK: Acquiring

    /// A slot, if one is free and no call waits.
    /// - Parameter opened: whether it must have an open connection.
    func tryAcquire(opened: Bool = false) throws(DatabaseError) -> ConnectionSlot? {
        try attempt { state in
            guard state.waiters.isEmpty, let last = state.free.last, !opened || last.isOpen else { return nil }
            return state.free.removeLast()
        }
    }

    /// Waits for a slot.
    func acquire(until deadline: ContinuousClock.Instant?) throws -> ConnectionSlot {
        if let slot = try tryAcquire() { return slot }
        let thread = BlockedThread()
        let waiter = thread.waiter()
        if let slot = try acquireOrWait(waiter) { return slot }
        guard let slot = try thread.wait(for: waiter, in: self, until: deadline) else { throw DatabaseError.closedDatabase }
        return slot
    }

    /// A slot; nil if none was free, and the waiter is in the queue.
    func acquireOrWait(_ waiter: Waiter) throws(DatabaseError) -> ConnectionSlot? {
        try attempt { state in
            if state.waiters.isEmpty, let slot = state.free.popLast() { return slot }
            state.waiters.append(waiter)
            return nil
        }
    }

    /// Waits for all slots.
    /// - Parameters:
    ///   - cancellation: cancels the wait as well.
    ///   - closing: whether the pool may be closed already.
    func acquireAll(
        until deadline: ContinuousClock.Instant? = nil, cancellation: Cancellation? = nil, closing: Bool = false
    ) throws {
        let thread = BlockedThread()
        let waiter = thread.waiter(wantsAll: true)
        cancellation?.setHandler { [self] in abandon(waiter, $0) }
        let isGranted = try attempt(closing: closing) { state in
            if state.waiters.isEmpty, state.takeAll() { return true }
            state.waiters.append(waiter)
            return false
        }
        if isGranted { return }
        if let error = cancellation?.error { abandon(waiter, error) }
        _ = try thread.wait(for: waiter, in: self, until: deadline)
    }

    private func attempt<T: Sendable>(closing: Bool = false, _ body: (inout State) -> T) throws(DatabaseError) -> T {
        try state.withLock { state throws(DatabaseError) in
            if state.isClosed, !closing { throw DatabaseError.closedDatabase }
            return body(&state)
        }
    }

    // MARK: Releasing

    /// Releases a slot, to the next call that waits.
    /// - Parameter thread: the connection's thread that this is called on, if it is one.
    /// - Returns: the next job for that thread.
    @discardableResult
    func release(_ slot: ConnectionSlot, on thread: ConnectionThread? = nil) -> Job? {
        let next = state.withLock { state in
            state.free.append(slot)
            return state.takeNext()
        }
        return next.flatMap { waiter, slot in grant(slot, to: waiter, on: thread) }
    }

    /// Releases all slots.
    func releaseAll() {
        state.withLock { $0.free = slots.filter { !$0.isOpen } + slots.filter(\.isOpen) }
        serveWaiters()
    }

    /// Acquires the free slots that meet a condition, calls `body` with them, and releases them as those to be used last.
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

    /// Removes a call that waits from the queue, and makes it throw.
    func abandon(_ waiter: Waiter, _ error: any Error) {
        guard state.withLock({ $0.waiters.remove(waiter) }) else { return }
        _ = waiter.serve(.failure(error))
        // Others may have been waiting for it.
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
        while let (waiter, slot) = state.withLock({ $0.takeNext() }) { _ = grant(slot, to: waiter, on: nil) }
    }

    private func grant(_ slot: ConnectionSlot?, to waiter: Waiter, on thread: ConnectionThread?) -> Job? {
        guard waiter.isJob, let slot else { return waiter.serve(.success(slot)) }
        let job = Job { waiter.serve(.success(slot)) }
        if thread === slot.thread { return job }
        slot.thread.run(job)
        return nil
    }
}

extension DatabaseError {
    static let closedDatabase = DatabaseError(code: .misuse, reason: .closed, message: "the database is closed")
}
