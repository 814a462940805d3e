import CSQLCipher

/// What a connection of a pool may not do by itself: whatever the others would have to do as well.
struct OneOfMany {
    /// Whether the connection is one of several that calls get in turn.
    var isRestricted = false
    /// Whether what is attached now is attached to the others as well.
    var attachesForAll = false
    /// Whether others are reading meanwhile.
    var isBesideReaders = false
}

extension Connection {
    /// Refuses, from now on, what would change this connection of a pool only. SQL is refused by the engine.
    func restrictToWhatAllShare() throws(DatabaseError) {
        sqlcipherkit_set_one_of_many(try live(), 1)
        pool.isRestricted = true
    }

    /// Lets a closure attach and detach, for all connections.
    func setAttachesForAll(_ attachesForAll: Bool) {
        guard pool.isRestricted, let handle else { return }
        pool.attachesForAll = attachesForAll
        sqlcipherkit_set_one_of_many(handle, attachesForAll ? Int32(SQLCIPHERKIT_ATTACHES_FOR_ALL) : 1)
    }

    /// Runs `body`, which changes the connection for a call that changes all of them, or that takes the change back.
    func changingThisOneOnly<R, E>(_ body: () throws(E) -> R) throws(E) -> R {
        guard pool.isRestricted else { return try body() }
        let before = handle
        pool.isRestricted = false
        if let before { sqlcipherkit_set_one_of_many(before, 0) }
        defer {
            pool.isRestricted = true
            if let handle, handle == before {
                sqlcipherkit_set_one_of_many(handle, pool.attachesForAll ? Int32(SQLCIPHERKIT_ATTACHES_FOR_ALL) : 1)
            }
        }
        return try body()
    }

    /// - Parameters:
    ///   - what: what would be changed.
    ///   - call: what does it for all connections.
    func refuseIfOneOfMany(_ what: String, _ call: String) throws(DatabaseError) {
        if pool.isRestricted { throw .misuse("\(what) would change one connection of the pool only: use \(call)") }
    }
}

extension ConnectionSlot {
    /// Runs `body` while no reader is open: those that are opened after it have what it attaches.
    fileprivate func runAlone<R>(_ limits: CallLimits, _ body: (Connection) throws -> sending R) throws -> sending R {
        try run(.unrestricted, until: limits.deadline, limits.cancellation) { db in
            db.setAttachesForAll(true)
            defer { db.setAttachesForAll(false) }
            return try body(db)
        }
    }
}

extension SharedDatabase {
    func runExclusively<R>(timeout: Duration?, _ body: (Connection) throws -> sending R) throws -> sending R {
        try claim(.closedReaders, timeout: timeout) { slot, limits in try slot.runAlone(limits, body) }
    }

    func runExclusively<R>(
        timeout: Duration?, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        // Sent on, and called once.
        nonisolated(unsafe) let body = body
        return try await claim(.closedReaders, timeout: timeout) { slot, limits in try slot.runAlone(limits, body) }
    }
}
