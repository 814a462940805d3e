import SQLCipherKitCore

/// Gives connection slots to callers in the order of their requests: one to each, or all of them to one caller.
package final class ConnectionPool: Sendable {
    /// All slots. A caller that has acquired all of them may use each.
    package let slots: [ConnectionSlot]

    /// The progress of closing.
    private enum Phase: Sendable {
        case open
        /// Until it is resumed, only calls that close are accepted. Others throw this error.
        case suspended(DatabaseError)
        /// The pool is about to be closed: only calls that close are accepted. Others throw this error.
        case closing(DatabaseError)
        case closed(DatabaseError)
    }

    private struct State: Sendable {
        /// The slot that was used last is at the end, and is used next, because its page cache is warm.
        var free: [ConnectionSlot]
        /// The number of all slots.
        let count: Int
        var phase = Phase.open
        /// Calls that close. They are served first.
        var closers: [Waiter] = []
        var line = WaitQueue()
        /// Calls that want all slots and let other calls go first for a while.
        var patient: [Waiter] = []

        func refusal(of wish: Waiter.Wish) -> DatabaseError? {
            switch phase {
            case .open: nil
            case .suspended(let error), .closing(let error): wish == .closing ? nil : error
            case .closed(let error): error
            }
        }

        /// Takes all slots, if all are free.
        mutating func takeAll() -> Bool {
            guard free.count == count else { return false }
            free.removeAll(keepingCapacity: true)
            return true
        }

        /// The outcome of a call that can be served at once; nil if it has to wait.
        mutating func take(_ wish: Waiter.Wish) -> Waiter.Outcome? {
            if let error = refusal(of: wish) { return .failure(error) }
            guard closers.isEmpty, wish == .closing || line.isEmpty else { return nil }
            if wish == .one { return free.popLast().map { .success($0) } }
            return takeAll() ? .success(nil) : nil
        }

        mutating func enter(_ waiter: Waiter) {
            if waiter.wish == .closing { closers.append(waiter) } else { line.append(waiter) }
        }

        mutating func leave(_ waiter: Waiter) -> Bool {
            for list in [\State.closers, \.patient] {
                guard let index = self[keyPath: list].firstIndex(where: { $0 === waiter }) else { continue }
                self[keyPath: list].remove(at: index)
                return true
            }
            return line.remove(waiter)
        }

        /// Removes the next call that can be served, and returns it with its slot, or with nil for all slots.
        mutating func takeNext() -> (Waiter, ConnectionSlot?)? {
            guard let next = closers.first ?? line.first ?? patient.first else { return nil }
            guard next.wish == .one ? !free.isEmpty : takeAll() else { return nil }
            _ = leave(next)
            return (next, next.wish == .one ? free.popLast() : nil)
        }
    }

    private let state: Lock<State>

    package init(_ slots: [ConnectionSlot]) {
        self.slots = slots
        state = Lock(State(free: slots, count: slots.count))
    }

    /// True if calls are accepted.
    var isOpen: Bool { state.withLock { $0.refusal(of: .one) == nil } }

    /// True if all connections are closed permanently.
    var isClosed: Bool { state.withLock { $0.refusal(of: .closing) != nil } }

    var isSuspended: Bool { state.withLock { if case .suspended = $0.phase { true } else { false } } }

    // MARK: Acquiring

    /// Returns a slot, if one is free and no call waits.
    /// - Parameter opened: whether the slot must have an open connection.
    func tryAcquire(opened: Bool = false) throws -> ConnectionSlot? {
        try state.withLock { state in
            if let error = state.refusal(of: .one) { throw error }
            guard state.closers.isEmpty, state.line.isEmpty, let last = state.free.last, !opened || last.isOpen else { return nil }
            return state.free.removeLast()
        }
    }

    /// Serves a call if that is possible at once, and returns the outcome; nil if the waiter is now in the queue.
    package func acquireOrWait(_ waiter: Waiter) -> Waiter.Outcome? {
        state.withLock { state in
            if let outcome = state.take(waiter.wish) { return outcome }
            state.enter(waiter)
            return nil
        }
    }

    /// The time that new calls wait at first for a call that wants all slots, before they go first for the same time.
    private static let firstPause = Duration.milliseconds(100)

    /// Waits for a slot, or for all of them.
    ///
    /// New calls wait for a call that wants all, but not until the longest running call has ended: after 100 ms they go first for
    /// 100 ms, then they wait for 200 ms and go first for 200 ms, and so on. So one long read does not hold up all others, and
    /// reads that always overlap do not hold up this call forever.
    /// - Returns: the slot; the first slot if all were wanted.
    @discardableResult
    package func acquire(_ wish: Waiter.Wish = .one, within limits: CallLimits = CallLimits()) throws -> ConnectionSlot {
        if wish == .one, let slot = try tryAcquire() { return slot }
        let (deadline, cancellation) = (limits.deadline, limits.cancellation)
        let thread = BlockedThread()
        let waiter = thread.waiter(wish)
        cancellation?.setHandler { [self] in abandon(waiter, $0) }
        defer { cancellation?.setHandler(nil) }
        if let outcome = acquireOrWait(waiter) { return try outcome.get() ?? slots[0] }
        if let error = cancellation?.error { abandon(waiter, error) }
        var pause = Self.firstPause, letsOthersGo = false
        func nextCheck() -> Deadline? {
            if wish == .one { return deadline }
            let end = Deadline.after(pause)
            return deadline.map { min($0, end) } ?? end
        }
        while !thread.wait(until: nextCheck()) {
            // It may have been served just before the timeout.
            if let deadline, deadline.hasPassed {
                abandon(waiter, DatabaseError.timeout)
                break
            }
            if letsOthersGo { pause = (pause * 2).bounded }
            letsOthersGo.toggle()
            setPatient(waiter, letsOthersGo)
        }
        return try thread.served() ?? slots[0]
    }

    /// Moves a waiting call to the end, after all others, or back into the queue.
    package func setPatient(_ waiter: Waiter, _ isPatient: Bool) {
        state.withLock { state in
            guard state.leave(waiter) else { return }
            if isPatient { state.patient.append(waiter) } else { state.enter(waiter) }
        }
        serveWaiters()
    }

    // MARK: Releasing

    /// Releases a slot to the next waiting call.
    /// - Returns: the job that a thread has to run next, if the waiting call belongs to a task.
    func release(_ slot: ConnectionSlot) -> Job? {
        let next = state.withLock { state in
            state.free.append(slot)
            return state.takeNext()
        }
        return next.flatMap { waiter, slot in waiter.serve(.success(slot)) }
    }

    /// Releases a slot to the next waiting call.
    package func giveBack(_ slot: ConnectionSlot) {
        if let job = release(slot) { WorkerThreads.run(job) }
    }

    /// Releases all slots.
    package func releaseAll() {
        state.withLock { $0.free = slots.filter { !$0.isOpen } + slots.filter(\.isOpen) }
        serveWaiters()
    }

    /// Acquires the free slots that meet a condition, calls `body` with them, and releases them so that they are used last.
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

    /// Removes a waiting call from the queue, and makes it throw.
    package func abandon(_ waiter: Waiter, _ error: any Error) {
        guard state.withLock({ $0.leave(waiter) }) else { return }
        serve(waiter, .failure(error))
        // Other calls may have been waiting for this call.
        serveWaiters()
    }

    private func serveWaiters() {
        while let (waiter, slot) = state.withLock({ $0.takeNext() }) { serve(waiter, .success(slot)) }
    }

    private func serve(_ waiter: Waiter, _ outcome: Waiter.Outcome) {
        if let job = waiter.serve(outcome) { WorkerThreads.run(job) }
    }

    // MARK: Closing

    /// From now on, accepts only calls that close. Waiting calls throw.
    /// - Parameter error: the error that calls throw from now on.
    package func beginClosing(_ error: DatabaseError) { refuse(.closing(error), error) }

    /// Accepts only calls that close, until ``endSuspending()``. Waiting calls throw.
    func beginSuspending(_ error: DatabaseError) { refuse(.suspended(error), error) }

    /// Accepts calls again.
    func endSuspending() {
        state.withLock { state in if case .suspended = state.phase { state.phase = .open } }
        serveWaiters()
    }

    private func refuse(_ phase: Phase, _ error: DatabaseError) {
        let waiters = state.withLock { state in
            switch (state.phase, phase) {
            case (.open, _), (.suspended, .closing): state.phase = phase
            default: return [Waiter]()
            }
            let patient = state.patient.filter { $0.wish != .closing }
            state.patient.removeAll { $0.wish != .closing }
            return state.line.removeAll() + patient
        }
        for waiter in waiters { serve(waiter, .failure(error)) }
        serveWaiters()
    }

    /// Closes permanently. The caller must have acquired all slots and closed their connections. Every waiting call throws,
    /// including calls of `close()`.
    package func finishClosing(_ error: DatabaseError) {
        beginClosing(error)
        let closers = state.withLock { state in
            if case .closing(let error) = state.phase { state.phase = .closed(error) }
            defer { (state.closers, state.patient) = ([], []) }
            return state.closers + state.patient
        }
        for waiter in closers { serve(waiter, .failure(error)) }
    }
}

extension DatabaseError {
    static let closedDatabase = DatabaseError(code: .misuse, reason: .closed, message: "the database is closed")
}
