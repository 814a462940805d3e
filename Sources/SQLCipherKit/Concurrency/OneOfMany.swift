import CSQLCipher

/// What a single connection of a pool may not do, because the other connections would have to do it too.
struct OneOfMany {
    /// Whether the connection is one of several that calls use in turn.
    var isRestricted = false
    /// Whether what is attached now is also attached to the others.
    var attachesForAll = false
    /// Whether other connections are reading at the same time.
    var isBesideReaders = false
}

extension Connection {
    /// From now on, refuses what would change only this connection of a pool. The engine refuses it in SQL.
    func restrictToWhatAllShare() throws(DatabaseError) {
        sqlcipherkit_set_one_of_many(try live(), 1)
        pool.isRestricted = true
    }

    /// Sets whether a closure may attach and detach databases, for all connections.
    func setAttachesForAll(_ attachesForAll: Bool) {
        guard pool.isRestricted, let handle else { return }
        pool.attachesForAll = attachesForAll
        sqlcipherkit_set_one_of_many(handle, attachesForAll ? Int32(SQLCIPHERKIT_ATTACHES_FOR_ALL) : 1)
    }

    /// Runs `body`, which changes only this connection, for a call that changes all of them or undoes the change.
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
    ///   - call: the call that changes all connections.
    func refuseIfOneOfMany(_ what: String, _ call: String) throws(DatabaseError) {
        if pool.isRestricted { throw .misuse("\(what) would change one connection of the pool only: use \(call)") }
    }
}

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
