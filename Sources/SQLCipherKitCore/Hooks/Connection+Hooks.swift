import CSQLCipher

/// A row that was inserted, updated or deleted, as reported to an update hook.
public struct RowChange: Hashable, Sendable {
    /// The kind of the change.
    public enum Kind: Hashable, Sendable {
        case insert, update, delete
    }

    /// The change of the row.
    public let kind: Kind
    /// The database that contains the table: `main`, `temp` or the name that it was attached under.
    public let schema: String
    /// The table's name.
    public let table: String
    /// The row id; after an update that changed it, the new row id.
    public let rowID: Int64
}

extension Connection {
    /// Calls `body` before each commit of a transaction that has the write lock. If `body` throws, the transaction is rolled back
    /// instead (<https://sqlite.org/c3ref/commit_hook.html>).
    ///
    /// The statement that was to commit then throws the ``DatabaseError`` that `body` threw. For any other error, it throws an
    /// error with the reason ``DatabaseError/Reason/callback``, the code ``ResultCode/constraintCommitHook`` and that error in
    /// ``DatabaseError/underlyingError``. Hooks are called in the order in which they were added, up to the first that throws.
    /// ```swift
    /// let token = try db.addCommitHook { if quota.isExceeded { throw QuotaError() } }
    /// token.remove()
    /// ```
    /// - Parameter body: must not use the connection: its calls throw ``DatabaseError/Reason/misuse`` while `body` runs.
    /// - Throws: ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` inside a hook.
    @discardableResult
    public func addCommitHook(_ body: @escaping () throws -> Void) throws -> HookToken {
        let (hooks, handle) = try usableHooks()
        let id = hooks.commits.add(body)
        hooks.installCommitHooks(handle)
        return token(\.commits, id) { db, handle in db.hooks?.installCommitHooks(handle) }
    }

    /// Calls `body` after each rollback, including rollbacks by SQLite itself, but not when the connection closes, nor for a
    /// rollback to a savepoint (<https://sqlite.org/c3ref/commit_hook.html>).
    /// - Parameter body: must not use the connection: its calls throw ``DatabaseError/Reason/misuse`` while `body` runs.
    /// - Throws: ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` inside a hook.
    @discardableResult
    public func addRollbackHook(_ body: @escaping () -> Void) throws -> HookToken {
        let (hooks, handle) = try usableHooks()
        let id = hooks.rollbacks.add(body)
        hooks.installCommitHooks(handle)
        return token(\.rollbacks, id) { db, handle in db.hooks?.installCommitHooks(handle) }
    }

    /// Calls `body` for each row that is inserted, updated or deleted through this connection
    /// (<https://sqlite.org/c3ref/update_hook.html>).
    ///
    /// For a DELETE without WHERE, SQLite deletes all rows at once without calling the hook. This shortcut is off while there is an
    /// update hook, so that each row is reported. Rows of `WITHOUT ROWID` tables, of SQLite's own tables, and rows that
    /// `INSERT OR REPLACE` removes are not reported. A change is reported before it is committed, and may be rolled back.
    /// ```swift
    /// var changed: Set<String> = []
    /// let token = try db.addUpdateHook { changed.insert($0.table) }
    /// ```
    /// - Parameter body: must not use the connection: its calls throw ``DatabaseError/Reason/misuse`` while `body` runs.
    /// - Throws: ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` inside a hook.
    @discardableResult
    public func addUpdateHook(_ body: @escaping (RowChange) -> Void) throws -> HookToken {
        let (hooks, handle) = try usableHooks()
        let id = hooks.updates.add(body)
        sqlite3_update_hook(
            handle,
            { context, action, schema, table, rowID in
                guard let hooks = ConnectionHooks.at(context), let schema, let table else { return }
                hooks.updated(action, schema, table, rowID)
            }, hooks.pointer)
        hooks.installAuthorizer(handle)
        return token(\.updates, id) { db, handle in
            sqlite3_update_hook(handle, nil, nil)
            db.hooks?.installAuthorizer(handle)
        }
    }
}

extension ConnectionHooks {
    /// Installs or removes SQLite's commit and rollback hooks, as needed.
    func installCommitHooks(_ handle: OpaquePointer) {
        if commits.isEmpty, tracker == nil {
            sqlite3_commit_hook(handle, nil, nil)
        } else {
            sqlite3_commit_hook(handle, { ConnectionHooks.at($0)?.committing() ?? 0 }, pointer)
        }
        if rollbacks.isEmpty, tracker == nil {
            connection.watchRollbacks(handle)
        } else {
            sqlite3_rollback_hook(handle, { ConnectionHooks.at($0)?.rolledBack() }, pointer)
        }
    }

    private func committing() -> Int32 {
        let rc = vote()
        // Whether the commit succeeds is known only when the statement has ended.
        if rc == 0, let tracker {
            tracker.isCommitting = true
            connection.awaitsCommit = true
        }
        return rc
    }

    private func vote() -> Int32 {
        connection.inHook {
            for hook in commits.bodies {
                do { try hook.body() } catch {
                    connection.keepCallbackError(
                        DatabaseError(thrownBy: "a commit hook", error, code: .constraintCommitHook),
                        rc: ResultCode.constraintCommitHook.rawValue)
                    return 1
                }
            }
            return 0
        }
    }

    private func rolledBack() {
        connection.noteRollback()
        tracker?.rollBack()
        connection.awaitsCommit = false
        connection.inHook { for hook in rollbacks.bodies { hook.body() } }
    }

    fileprivate func updated(_ action: Int32, _ schema: UnsafePointer<CChar>, _ table: UnsafePointer<CChar>, _ rowID: Int64) {
        let kind: RowChange.Kind = action == SQLITE_INSERT ? .insert : action == SQLITE_DELETE ? .delete : .update
        let change = RowChange(kind: kind, schema: String(cString: schema), table: String(cString: table), rowID: rowID)
        connection.inHook { for hook in updates.bodies { hook.body(change) } }
    }
}
