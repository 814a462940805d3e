import CSQLCipher

extension Connection {
    /// Calls `body` after each commit of this connection that may change the results of a region's queries.
    ///
    /// The call comes after the commit, and never for changes that were rolled back, with the transaction or with
    /// ``savepoint(_:_:)-(_,(Connection)->R)``. All changes by this connection are reported: rows of `WITHOUT ROWID` tables, rows
    /// that `REPLACE` removes, rows that triggers and foreign keys change, a DELETE without WHERE, the tables behind full-text
    /// tables, writes to blobs (<https://sqlite.org/c3ref/preupdate_blobwrite.html>), and a restored backup. Changes by other
    /// connections are not reported. Changes undone by `ROLLBACK TO` in SQL are still reported.
    /// ```swift
    /// let (count, region) = try db.recordingReads { try $0.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 }
    /// let token = try db.addChangeHook(affecting: region) { _ in print("the number of notes has changed") }
    /// ```
    /// - Parameters:
    ///   - region: the region that a commit must touch. An UPDATE counts only if it gives one of the region's columns another
    ///     value. Default: every commit that writes.
    ///   - body: receives the changes. It must not use the connection: its calls throw ``DatabaseError/Reason/misuse`` while `body`
    ///     runs.
    /// - Throws: ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` inside a hook.
    @discardableResult
    public func addChangeHook(
        affecting region: DatabaseRegion = .fullDatabase, _ body: @escaping (DatabaseChanges) -> Void
    ) throws -> HookToken {
        var resolved = try region.resolved(on: self)
        return try addChangeHook(
            ChangeHook(interest: { resolved.columns[$0]?.bits ?? 0 }) { [weak self] changes in
                if resolved.isAffected(by: changes) { body(changes) }
                // The same names may now belong to other columns.
                if changes.isSchemaChanged, let handle = self?.handle { resolved = region.resolved(handle) }
            })
    }

    package func addChangeHook(_ hook: ChangeHook) throws -> HookToken {
        let (hooks, handle) = try usableHooks()
        let tracker = hooks.tracker ?? ChangeTracker(handle)
        let id = tracker.hooks.add(hook)
        if hooks.tracker == nil {
            hooks.tracker = tracker
            hooks.installChangeHook(handle)
            hooks.installCommitHooks(handle)
            // Statements compiled earlier would still delete all rows at once, without calling the hook.
            hooks.installAuthorizer(handle)
        }
        return HookToken { [weak self] in
            guard let self, isOwn, let hooks = self.hooks else { return }
            tracker.hooks.remove(id)
            if hooks.tracker === tracker { dropIdleTracker() }
        }
    }

    /// Removes SQLite's hook when there are no observers left. Inside a hook this must wait.
    private func dropIdleTracker() {
        guard let hooks, hooks.tracker?.hooks.isEmpty == true, let handle = try? liveOutsideHooks() else { return }
        hooks.tracker = nil
        sqlcipherkit_set_change_hook(handle, nil, nil)
        hooks.installCommitHooks(handle)
    }

    /// Call this after a change that SQLite's hooks do not report, once other connections can see it.
    package func changedWithoutHook() {
        guard let tracker = hooks?.tracker, let handle else { return }
        tracker.changeUnknown()
        if !isInTransaction { inHook { tracker.committed(handle) } }
    }

    /// Called at the end of a statement that may have committed a transaction, or attached or detached a database.
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

    /// Tells change hooks and observations about a change that SQLite does not see, as if the region's tables had been written to.
    /// They receive it after the commit, and not at all if the transaction or the enclosing savepoint is rolled back; outside a
    /// transaction, at once.
    ///
    /// ```swift
    /// try await pool.write { db in
    ///     try images.save(data, for: id)                      // a file beside the database
    ///     try db.notifyChanges(in: DatabaseRegion(DatabaseTable("image")))
    /// }
    /// ```
    /// Call it when your reads also use data outside the database and that data changes, or after a change to tables that is not
    /// reported.
    /// - Parameter region: the region that has changed. A table without columns counts as the whole table.
    /// - Throws: ``DatabaseError/Reason/misuse`` on a read-only connection, as in `read(_:)`, and inside a hook;
    ///   ``DatabaseError/Reason/invalidArgument`` for a view in the region; ``DatabaseError/Reason/closed``.
    public func notifyChanges(in region: DatabaseRegion) throws {
        let (hooks, handle) = try usableHooks()
        if sqlite3_db_readonly(handle, "main") == 1 || sqlcipherkit_is_query_only(handle) != 0 {
            throw DatabaseError.misuse("changes cannot be reported on a connection that only reads")
        }
        let resolved = try region.resolved(on: self)
        guard let tracker = hooks.tracker, resolved != .empty else { return }
        tracker.notice(resolved)
        if isInTransaction { awaitsCommit = true } else { inHook { tracker.ended(handle) } }
        dropIdleTracker()
    }
}

extension ConnectionHooks {
    fileprivate func installChangeHook(_ handle: OpaquePointer) {
        sqlcipherkit_set_change_hook(
            handle,
            { context, db, operation, schema, table, moves in
                guard let tracker = ConnectionHooks.at(context)?.tracker, let db, let schema, let table else { return }
                tracker.rowChanges(db, operation, schema, table, moves: moves != 0)
            }, pointer)
    }
}
