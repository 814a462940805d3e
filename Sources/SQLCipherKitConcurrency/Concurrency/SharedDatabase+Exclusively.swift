import SQLCipherKitCore

extension ConnectionSlot {
    /// Runs `body` while no reader is open. Readers that are opened later have what it attaches.
    fileprivate func runAlone<R>(_ limits: CallLimits, _ body: (Connection) throws -> sending R) throws -> sending R {
        try run(.unrestricted, until: limits.deadline, limits.cancellation) { db in
            db.setAttachesForAll(true)
            defer { db.setAttachesForAll(false) }
            return try body(db)
        }
    }
}

extension SharedDatabase {
    package func runExclusively<R>(timeout: Duration?, _ body: (Connection) throws -> sending R) throws -> sending R {
        try claim(.closedReaders, timeout: timeout) { slot, limits in try slot.runAlone(limits, body) }
    }

    package func runExclusively<R>(
        timeout: Duration?, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        // Sent on, and called once.
        nonisolated(unsafe) let body = body
        return try await claim(.closedReaders, timeout: timeout) { slot, limits in try slot.runAlone(limits, body) }
    }
}
