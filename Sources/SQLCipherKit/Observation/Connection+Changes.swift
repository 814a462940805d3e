import CSQLCipher

extension Connection {
    /// Calls `body` after each commit of this connection that may have changed what a region's queries have read.
    ///
    /// It is called after the commit, never for a transaction that was rolled back, nor for what
    /// ``savepoint(_:_:)-(_,(Connection)->R)`` has undone. Nothing is missed: rows of `WITHOUT ROWID` tables, rows that `REPLACE`
    /// removes, that triggers and foreign keys change, a DELETE without WHERE, the tables behind full-text tables, writes into
    /// blobs (<https://sqlite.org/c3ref/preupdate_blobwrite.html>), a backup that is restored. Changes by other connections are not
    /// reported. What `ROLLBACK TO`, given as SQL, has undone is reported nevertheless.
    /// ```swift
    /// let (count, region) = try db.recordingReads { try $0.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 }
    /// let token = try db.addChangeHook(affecting: region) { _ in print("the number of notes has changed") }
    /// ```
    /// - Parameters:
    ///   - region: what has to be touched. An UPDATE counts only if it gives one of the region's columns another value. Default:
    ///     each commit that writes.
    ///   - body: must not use the connection: its calls throw ``DatabaseError/Reason/misuse`` meanwhile.
    /// - Throws: ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` inside of a hook.
    @discardableResult
    public func addChangeHook(
        affecting region: DatabaseRegion = .everything, _ body: @escaping (DatabaseChanges) -> Void
    ) throws(DatabaseError) -> HookToken {
        var resolved = try region.resolved(on: self)
        return try addChangeHook(
            ChangeHook(interest: { resolved.columns[$0]?.bits ?? 0 }) { [weak self] changes in
                if resolved.isAffected(by: changes) { body(changes) }
                // The columns may be others now, under the same names.
                if changes.isSchemaChanged, let handle = self?.handle { resolved = region.resolved(handle) }
            })
    }

    func addChangeHook(_ hook: ChangeHook) throws(DatabaseError) -> HookToken {
        let (hooks, handle) = try usableHooks()
        let tracker = hooks.tracker ?? ChangeTracker(handle)
        let id = tracker.hooks.add(hook)
        if hooks.tracker == nil {
            hooks.tracker = tracker
            try hooks.installChangeHook(handle)
            hooks.installCommitHooks(handle)
            // Statements that were compiled before would go on to delete all rows at once, without calling the hook.
            hooks.installAuthorizer(handle)
        }
        return HookToken { [weak self] in
            guard let self, isOwn, let hooks = self.hooks else { return }
            tracker.hooks.remove(id)
            if hooks.tracker === tracker { dropIdleTracker() }
        }
    }

    /// Removes SQLite's hook when there are no observers left. Inside of a hook that has to wait.
    private func dropIdleTracker() {
        guard let hooks, hooks.tracker?.hooks.isEmpty == true, let handle = try? liveOutsideHooks() else { return }
        hooks.tracker = nil
        _ = sqlcipherkit_set_change_hook(handle, nil, nil)
        hooks.installCommitHooks(handle)
    }

    /// Call this when a session was created or ended, which removes the hook.
    func restoreChangeHook() throws(DatabaseError) {
        if let hooks, hooks.tracker != nil, let handle { try hooks.installChangeHook(handle) }
    }

    /// Call this when something was changed that SQLite's hooks do not report, once other connections can see it.
    func changedWithoutHook() {
        guard let tracker = hooks?.tracker, let handle else { return }
        tracker.changeUnknown()
        if !isInTransaction { inHook { tracker.committed(handle) } }
    }

    /// The end of a statement that may have committed, attached or detached.
    @usableFromInline
    @inline(never)
    func settleCommit() {
        guard !isInCallback, let handle else { return }
        awaitsCommit = false
        guard let tracker = hooks?.tracker else { return }
        if sqlite3_get_autocommit(handle) != 0 {
            inHook { tracker.ended(handle) }
            awaitsCommit = tracker.isAttaching
            dropIdleTracker()
        } else {
            // A commit that found the database busy leaves the transaction open.
            inHook { tracker.goesOn(handle) }
            awaitsCommit = tracker.hasNotices || tracker.isAttaching
        }
    }

    /// Reports a change that SQLite does not see to change hooks and observations, as if the region's tables had been written to:
    /// after the commit, and not at all if the transaction, or the savepoint around it, is rolled back. Outside of a transaction
    /// it is reported at once.
    ///
    /// ```swift
    /// try await pool.write { db in
    ///     try images.save(data, for: id)                      // a file beside the database
    ///     try db.notifyChanges(in: DatabaseRegion(DatabaseTable("image")))
    /// }
    /// ```
    /// Call it where something changes that the fetches of observations read besides the database's rows, or after a change of
    /// tables that is not reported.
    /// - Parameter region: what has changed. A table without columns stands for its rows, and so for the table.
    /// - Throws: ``DatabaseError/Reason/misuse`` on a connection that only reads, as in `read(_:)`, and inside of a hook;
    ///   ``DatabaseError/Reason/invalidArgument`` for a view in the region; ``DatabaseError/Reason/closed``.
    public func notifyChanges(in region: DatabaseRegion) throws(DatabaseError) {
        let (hooks, handle) = try usableHooks()
        if sqlite3_db_readonly(handle, "main") == 1 || sqlcipherkit_is_query_only(handle) != 0 {
            throw .misuse("changes cannot be reported on a connection that only reads")
        }
        let resolved = try region.resolved(on: self)
        guard let tracker = hooks.tracker, resolved != .nothing else { return }
        tracker.notice(resolved)
        if isInTransaction { awaitsCommit = true } else { inHook { tracker.ended(handle) } }
        dropIdleTracker()
    }
}

extension ConnectionHooks {
    func installChangeHook(_ handle: OpaquePointer) throws(DatabaseError) {
        try connection.check(
            sqlcipherkit_set_change_hook(
                handle,
                { context, db, operation, schema, table, moves in
                    guard let tracker = ConnectionHooks.at(context)?.tracker, let db, let schema, let table else { return }
                    tracker.rowChanges(db, operation, schema, table, moves: moves != 0)
                }, pointer))
    }
}
