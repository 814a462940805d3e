import SQLCipherKitCore

/// Closes idle readers. A timer checks them while any are open.
final class IdleReaders: Sendable {
    private struct State: Sendable {
        var alarm: DeadlineTimer.Alarm?
        var isStopped = false
        /// The number of uses of each reader at the last check.
        var uses: [ObjectIdentifier: Int] = [:]
    }

    private let state = Lock(State())
    private let period: Duration

    init(period: Duration) { self.period = period.bounded }

    /// Called when a reader has been opened.
    func watch(_ pool: ConnectionPool) {
        guard period > .zero else { return }
        state.withLock { state in
            guard state.alarm == nil, !state.isStopped else { return }
            let watched = Watched(readers: self, pool: pool)
            // Without a thread, the readers stay open until the next reader is opened.
            state.alarm = try? DeadlineTimer.current.set(at: .after(period)) {
                // Closing may take too long for the timer's thread.
                WorkerThreads.run(
                    Job {
                        if let readers = watched.readers, let pool = watched.pool { readers.closeIdle(pool) }
                        return nil
                    } refuse: { _ in
                        watched.readers?.state.withLock { $0.alarm = nil }
                        return nil
                    })
            }
        }
    }

    /// Holds weak references: the timer must not keep connections open.
    private struct Watched: Sendable {
        weak let readers: IdleReaders?
        weak let pool: ConnectionPool?

        init(readers: IdleReaders, pool: ConnectionPool) { (self.readers, self.pool) = (readers, pool) }
    }

    func stop() {
        let alarm = state.withLock { state in
            state.isStopped = true
            return state.alarm.take()
        }
        if let alarm { DeadlineTimer.current.cancel(alarm) }
    }

    private func closeIdle(_ pool: ConnectionPool) {
        let uses = state.withLock { $0.uses }
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
        state.withLock { state in
            state.alarm = nil
            state.uses = used
        }
        if idle < pool.slots.count { watch(pool) }
    }
}
