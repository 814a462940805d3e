/// Removes a hook of a queue or a pool, from any thread. Letting go of it removes nothing: the hook stays until ``remove()`` or
/// until the database closes.
public final class SharedHookToken: Sendable {
    private let action: @Sendable () -> Void

    init(_ action: @escaping @Sendable () -> Void) { self.action = action }

    /// Removes the hook: it is not called for anything that happens after this. A call of it that another thread has begun may
    /// still run. A second call does nothing.
    public func remove() { action() }
}

/// Hooks of the connection that writes. They stay when that connection is replaced by another one, as a change of key does.
///
/// A hook is called on the thread that runs the call, and must not use the database: with a call of the same queue or pool it would
/// wait for itself, which throws ``DatabaseError/Reason/misuse``. A hook counts from the next call on that begins to run.
extension SharedDatabase {
    /// Calls `body` before each commit; if it throws, the transaction is rolled back instead. As ``Connection/addCommitHook(_:)``.
    ///
    /// ```swift
    /// let token = pool.addCommitHook { if quota.isExceeded { throw QuotaError() } }
    /// token.remove()
    /// ```
    @discardableResult
    public func addCommitHook(_ body: @escaping @Sendable () throws -> Void) -> SharedHookToken {
        additions.add(body, to: \.commits)
    }

    /// Calls `body` after each rollback of a write. As ``Connection/addRollbackHook(_:)``.
    @discardableResult
    public func addRollbackHook(_ body: @escaping @Sendable () -> Void) -> SharedHookToken {
        additions.add(body, to: \.rollbacks)
    }

    /// Calls `body` for each row that is inserted, updated or deleted. As ``Connection/addUpdateHook(_:)``. For what was committed,
    /// observe a query.
    @discardableResult
    public func addUpdateHook(_ body: @escaping @Sendable (RowChange) -> Void) -> SharedHookToken {
        additions.add(body, to: \.updates)
    }

    /// Calls `body` when a statement begins and when it ends, on every connection, those that read included: it may be called by
    /// several threads at the same time. As ``Connection/addTraceHook(showingValues:_:)``.
    @discardableResult
    public func addTraceHook(showingValues: Bool = false, _ body: @escaping @Sendable (TraceEvent) -> Void) -> SharedHookToken {
        additions.add(body, to: showingValues ? \.tracesWithValues : \.traces)
    }
}
