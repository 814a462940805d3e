import SQLCipherKitCore

extension ChangeLog {
    /// Gives this copy a new name, under which its changes go on.
    ///
    /// Call it if other copies know changes of this one that it no longer has, and that nothing can give back: it was restored from
    /// a backup, or begun again, and there is no store that has what it has sent, or what it has stored there was removed. Then
    /// ``receive(_:)`` throws ``DatabaseError/Reason/misuse`` here or there, or `synchronize(with:)` stores nothing. Under the new
    /// name it receives its former changes like those of any other copy. Those that no other copy is known to have are logged again
    /// after them.
    /// ```swift
    /// let former = try await SharedChangeLog(pool, tables: ["note"], peer: "laptop")
    /// try await former.withLog { log in _ = try log.rename(to: "laptop-2") }
    /// let renamed = try await SharedChangeLog(pool, tables: ["note"], peer: "laptop-2")
    /// ```
    /// The former name must not be used again. ``remove(peer:)`` at any other copy says that it will not be, so that
    /// ``prune(patience:)`` no longer waits for it there.
    /// - Returns: the number of rows that were logged again.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for an invalid name, and for one that a peer has or had;
    ///   ``DatabaseError/Reason/misuse`` inside a transaction. Then nothing has changed.
    @discardableResult
    public func rename(to name: String) throws(DatabaseError) -> Int {
        guard name.isPeerName else { throw Self.invalidPeerName }
        let former = peer
        do {
            return try DatabaseError.typed { try merging { enforces in try takeName(name, enforces) } }
        } catch {
            peer = former
            throw error
        }
    }

    private func takeName(_ name: String, _ enforces: Bool) throws -> Int {
        let own = try position
        guard try store.members()[name] == nil, own.sequence(of: name) == 0 else {
            throw DatabaseError.invalidArgument("there is or was a peer \(name)")
        }
        // Others may have different entries with the numbers of those that they are not known to have.
        let last = try published()
        let taken = try takeBack(store.entries(of: peer, after: last.sequence))
        if last.sequence < own.sequence(of: peer) { try store.removeEntries(of: peer, after: last, for: peer) }
        try store.setPosition(try position, of: name)
        // If another copy has the former name too, it will be heard of again.
        try store.forget(member: peer)
        try store.add(member: name, at: ChangeStamp.tick(after: 0, now: now()))
        try store.setState("peer", to: .text(name))
        // Its chains in stores are those of another copy now.
        try store.forgetChains()
        peer = name
        let tables = try tables()
        var merge = ChangeLogMerge(self, tables, horizon: try store.horizon)
        try finish(&merge, [], taken, enforces)
        try keepSettings(tables)
        return taken.count
    }
}
