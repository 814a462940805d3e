import SQLCipherKitCore

/// Removes a hook of a queue or a pool, from any thread. Releasing the token does not remove the hook: it stays until ``remove()``
/// is called or the database closes.
public final class SharedHookToken: Sendable {
    private let action: @Sendable () -> Void

    init(_ action: @escaping @Sendable () -> Void) { self.action = action }

    /// Removes the hook: it is not called for anything that happens afterwards. A call that another thread has begun may still be
    /// running. A second `remove()` does nothing.
    public func remove() { action() }
}

/// Hooks of the connection that writes. They stay when that connection is replaced by another one, as by a change of key.
///
/// A hook is called on the thread that runs the call, and must not use the database: a call of the same queue or pool would wait
/// for itself, and throws ``DatabaseError/Reason/misuse``. A hook takes effect with the next call that begins to run.
extension SharedDatabase {
    /// Calls `body` before each commit; if it throws, the transaction is rolled back instead. See ``Connection/addCommitHook(_:)``.
    ///
    /// ```swift
    /// let token = pool.addCommitHook { if quota.isExceeded { throw QuotaError() } }
    /// token.remove()
    /// ```
    @discardableResult
    public func addCommitHook(_ body: @escaping @Sendable () throws -> Void) -> SharedHookToken {
        additions.add(body, to: \.commits)
    }

    /// Calls `body` after each rollback of a write. See ``Connection/addRollbackHook(_:)``.
    @discardableResult
    public func addRollbackHook(_ body: @escaping @Sendable () -> Void) -> SharedHookToken {
        additions.add(body, to: \.rollbacks)
    }

    /// Calls `body` for each row that is inserted, updated or deleted. See ``Connection/addUpdateHook(_:)``. To see only committed
    /// changes, observe a query.
    @discardableResult
    public func addUpdateHook(_ body: @escaping @Sendable (RowChange) -> Void) -> SharedHookToken {
        additions.add(body, to: \.updates)
    }

    /// Calls `body` when a statement begins and when it ends, on every connection, including readers. Several threads may call it
    /// at the same time. See ``Connection/addTraceHook(showingValues:_:)``.
    @discardableResult
    public func addTraceHook(showingValues: Bool = false, _ body: @escaping @Sendable (TraceEvent) -> Void) -> SharedHookToken {
        additions.add(body, to: showingValues ? \.tracesWithValues : \.traces)
    }
}

/// Functions, collations and tokenizers on all connections.
extension SharedDatabase {
    /// Adds an extension to the SQL of all connections, including those opened later, or replaces the one with the same name.
    ///
    /// ```swift
    /// try await pool.register(.function("half") { (x: Double) in x / 2 })
    /// ```
    /// Running reads continue without it; every later call has it. If a schema needs an extension, such as the collation of an
    /// index, register it in ``DatabaseConfiguration/prepare`` instead, before anything is read.
    /// - Parameter item: the extension. It is made once for each connection.
    /// - Throws: as ``Connection/register(_:)``, and what `write(timeout:_:)` throws; nothing has changed then.
    public func register(_ item: @autoclosure @escaping @Sendable () -> SQLExtension) throws(DatabaseError) {
        let additions = additions
        try DatabaseError.only("a call") {
            try run(.unrestricted, timeout: nil) { db in
                try db.add({ db throws(DatabaseError) in try db.register(item()) }, to: additions)
            }
        }
    }

    /// The asynchronous form.
    public func register(_ item: @autoclosure @escaping @Sendable () -> SQLExtension) async throws {
        let additions = additions
        try await run(.unrestricted, timeout: nil) { db in
            try db.add({ db throws(DatabaseError) in try db.register(item()) }, to: additions)
        }
    }

    /// Removes a function or a collation from all connections. A name that is not registered is ignored.
    /// - Throws: as ``Connection/unregister(_:)``, and what `write(timeout:_:)` throws.
    public func unregister(_ name: SQLExtension.Name) throws(DatabaseError) {
        let additions = additions
        try DatabaseError.only("a call") {
            try run(.unrestricted, timeout: nil) { db in
                try db.add({ db throws(DatabaseError) in try db.unregister(name) }, to: additions)
            }
        }
    }

    /// The asynchronous form.
    public func unregister(_ name: SQLExtension.Name) async throws {
        let additions = additions
        try await run(.unrestricted, timeout: nil) { db in
            try db.add({ db throws(DatabaseError) in try db.unregister(name) }, to: additions)
        }
    }
}

extension Connection {
    /// Performs the action here first, so that a refused one is added to no connection. The next call repeats it here, which
    /// changes nothing.
    fileprivate func add(_ action: @escaping SharedAdditions.Action, to additions: SharedAdditions) throws(DatabaseError) {
        try changingThisOneOnly { () throws(DatabaseError) in try action(self) }
        additions.add(action)
    }
}
