import CSQLCipher

/// The actions that a single connection of a pool may not take, because the other connections would have to take them too.
package struct OneOfMany {
    /// True if the connection is one of several that calls use in turn.
    fileprivate var isRestricted = false
    /// True if what is attached now is also attached to the others.
    var attachesForAll = false
    /// True if other connections are reading at the same time.
    package var isBesideReaders = false
}

extension Connection {
    /// From now on, refuses what would change only this connection of a pool. The engine refuses it in SQL.
    package func restrictToWhatAllShare() throws {
        sqlcipherkit_set_one_of_many(try live(), 1)
        loan.pool.isRestricted = true
    }

    /// Sets whether a closure may attach and detach databases, for all connections.
    package func setAttachesForAll(_ attachesForAll: Bool) {
        guard loan.pool.isRestricted, let handle else { return }
        loan.pool.attachesForAll = attachesForAll
        sqlcipherkit_set_one_of_many(handle, attachesForAll ? Int32(SQLCIPHERKIT_ATTACHES_FOR_ALL) : 1)
    }

    /// Runs `body`, which changes only this connection, for a call that changes all of them or undoes the change.
    package func changingThisOneOnly<R, E>(_ body: () throws(E) -> R) throws(E) -> R {
        guard loan.pool.isRestricted else { return try body() }
        let before = handle
        loan.pool.isRestricted = false
        if let before { sqlcipherkit_set_one_of_many(before, 0) }
        defer {
            loan.pool.isRestricted = true
            if let handle, handle == before {
                sqlcipherkit_set_one_of_many(handle, loan.pool.attachesForAll ? Int32(SQLCIPHERKIT_ATTACHES_FOR_ALL) : 1)
            }
        }
        return try body()
    }

    /// - Parameters:
    ///   - what: what would be changed.
    ///   - call: the call that changes all connections.
    func refuseIfOneOfMany(_ what: String, _ call: String) throws {
        if loan.pool.isRestricted {
            throw DatabaseError.misuse("\(what) would change one connection of the pool only: use \(call)")
        }
    }
}
