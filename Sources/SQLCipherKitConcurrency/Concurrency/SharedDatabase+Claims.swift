import SQLCipherKitCore

/// The limits of a call: its deadline, and the cancellation of its task.
package struct CallLimits {
    package var deadline: Deadline?
    package var cancellation: Cancellation?
    /// The pool that ends the call when it is suspended.
    let pool: ConnectionPool

    /// Throws if the call has to end.
    package func check() throws {
        if let error = cancellation?.error { throw error }
        if let deadline, deadline.hasPassed { throw DatabaseError.timeout }
        if pool.isSuspended { throw DatabaseError.suspended }
    }
}

/// Calls that need more than one connection.
extension SharedDatabase {
    /// Which reads have to wait while the writer is used.
    package enum Claim {
        /// No reads.
        case writer
        /// All reads: no reader has a snapshot.
        case idleReaders
        /// All reads, and no reader is even open: their locks would block work that needs the whole file.
        case closedReaders
    }

    /// Runs `body` with the writer, and keeps readers out as claimed.
    package func claim<R>(
        _ claim: Claim, timeout: Duration?, _ body: (ConnectionSlot, CallLimits) throws -> sending R
    ) throws -> sending R {
        try checkCall()
        let limits = CallLimits(deadline: timeout.map(Deadline.after), pool: writer)
        let slot = try writer.acquire(until: limits.deadline)
        defer { writer.giveBack(slot) }
        return try perform(claim, slot, limits, body)
    }

    /// The asynchronous form.
    package func claim<R>(
        _ claim: Claim, timeout: Duration?, _ body: sending @escaping (ConnectionSlot, CallLimits) throws -> sending R
    ) async throws -> sending R {
        let cancellation = Cancellation()
        let limits = CallLimits(deadline: timeout.map(Deadline.after), cancellation: cancellation, pool: writer)
        return try await lend(writer, .one, cancellation, until: limits.deadline) { [self] slot, _ in
            try perform(claim, slot, limits, body)
        }
    }

    private func perform<R>(
        _ claim: Claim, _ slot: ConnectionSlot, _ limits: CallLimits, _ body: (ConnectionSlot, CallLimits) throws -> sending R
    ) throws -> sending R {
        slot.endsAtChecks.store(true, ordering: .relaxed)
        defer { slot.endsAtChecks.store(false, ordering: .relaxed) }
        do {
            guard let readers, claim != .writer else { return try body(slot, limits) }
            try slot.beingUsed { try readers.acquireAll(until: limits.deadline, limits.cancellation) }
            defer { readers.releaseAll() }
            guard claim == .closedReaders else { return try body(slot, limits) }
            try snapshots.endAll(because: "a call needed the database for itself", until: limits.deadline, limits.cancellation)
            for reader in readers.slots { reader.close() }
            defer { try? reconfigureReaders(slot) }
            return try body(slot, limits)
        } catch {
            requireLiveWriter(slot, after: error)
            throw error
        }
    }

    /// The key or the attached databases may have changed, even in a call that was cancelled.
    private func reconfigureReaders(_ slot: ConnectionSlot) throws {
        try slot.run(.unrestricted) { db in
            observers.logsWereReset(db)
            readerConfiguration?.current = try ReaderConfiguration(db)
        }
    }
}
