import CSQLCipher
import SQLCipherKitCore
import Synchronization

/// Removes a hook of a queue or a pool, from any thread. Releasing the token does not remove the hook: it stays until ``remove()``
/// is called or the database closes.
public final class SharedHookToken: Sendable {
    private let action: @Sendable () -> Void

    fileprivate init(_ action: @escaping @Sendable () -> Void) { self.action = action }

    /// Removes the hook: later events do not call it. A call that another thread has begun may still be running. A second
    /// `remove()` does nothing.
    public func remove() { action() }
}

/// Hooks of the connection that writes. They stay when that connection is replaced by another, as by a change of key.
///
/// A hook is called on the thread that runs the call, and must not use the database: a call of the same queue or pool would wait
/// for itself, and throws ``DatabaseError/Reason/misuse``. A hook takes effect with the next call that begins to run.
extension DatabaseWriter {
    /// Calls `body` before each commit. If `body` throws, the transaction is rolled back instead, and the committing statement
    /// throws, as ``Connection/addCommitHook(_:)`` describes.
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
    /// - Parameters:
    ///   - showingValues: true to show bound values in the SQL of an event. Default: false, placeholders.
    ///   - body: receives each event.
    /// - Returns: a token, whose ``SharedHookToken/remove()`` removes the hook.
    @discardableResult
    public func addTraceHook(showingValues: Bool = false, _ body: @escaping @Sendable (TraceEvent) -> Void) -> SharedHookToken {
        additions.add(body, to: showingValues ? \.tracesWithValues : \.traces)
    }
}

/// Functions, collations and tokenizers on all connections.
extension DatabaseWriter {
    /// Adds an extension to the SQL of all connections, including connections opened later, or replaces the extension with the same
    /// name.
    ///
    /// ```swift
    /// try await pool.register(.function("half") { (x: Double) in x / 2 })
    /// ```
    /// Running reads continue without the extension; every later call has it. If a schema needs an extension, such as the collation
    /// of an index, register it in ``DatabaseConfiguration/prepareDatabase`` instead, before anything is read.
    /// - Parameter item: the extension. It is created once for each connection.
    /// - Throws: the errors of ``Connection/register(_:)``, and the errors of `write(timeout:_:)`; nothing has changed then.
    public func register(_ item: @autoclosure @escaping @Sendable () -> SQLExtension) throws {
        try make(adding { db in try db.register(item()) })
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    public func register(_ item: @autoclosure @escaping @Sendable () -> SQLExtension) async throws {
        try await make(adding { db in try db.register(item()) })
    }

    /// Removes a function or a collation from all connections. A name that is not registered is ignored.
    /// - Throws: the errors of ``Connection/unregister(_:)``, and the errors of `write(timeout:_:)`.
    public func unregister(_ name: SQLExtension.Name) throws {
        try make(adding { db in try db.unregister(name) })
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    public func unregister(_ name: SQLExtension.Name) async throws {
        try await make(adding { db in try db.unregister(name) })
    }

    private func adding(_ action: @escaping SharedAdditions.Action) -> SharedCall<Void> {
        SharedCall(.writer) { [additions] slot, limits in
            try slot.run(.unrestricted, limits) { db in
                // Here first, so that a refused action is added to no connection. The next call repeats it here, which changes
                // nothing.
                try db.changingThisOneOnly { () throws in try action(db) }
                additions.add(action)
            }
        }
    }
}

/// The additions to the connections of a queue or a pool after they were opened: extensions and trace hooks on all of them, other
/// hooks on the writer. The next call that gets a connection brings it up to date.
final class SharedAdditions: Sendable {
    typealias Action = @Sendable (Connection) throws -> Void

    struct Hook<Body: Sendable>: Sendable {
        let id: Int
        let body: Body
    }

    /// Each kind of hook, in the order in which the hooks were added.
    struct Hooks: Sendable {
        var commits: [Hook<@Sendable () throws -> Void>] = []
        var rollbacks: [Hook<@Sendable () -> Void>] = []
        var updates: [Hook<@Sendable (RowChange) -> Void>] = []
        var traces: [Hook<@Sendable (TraceEvent) -> Void>] = []
        var tracesWithValues: [Hook<@Sendable (TraceEvent) -> Void>] = []
        fileprivate var lastID = 0
    }

    private struct State {
        var actions: [Action] = []
        var hooks = Hooks()
    }

    /// True if there are several connections, which must not differ from each other.
    let isPool: Bool
    private let state = Lock(State())
    // Read in each call, without the lock.
    private let changes = Atomic<Int>(0)

    init(isPool: Bool) { self.isPool = isPool }

    /// Counts additions and removals.
    var version: Int { changes.load(ordering: .acquiring) }

    var hooks: Hooks { state.withLock { $0.hooks } }

    func add(_ action: @escaping Action) {
        state.withLock { $0.actions.append(action) }
        changes.add(1, ordering: .releasing)
    }

    func actions(after count: Int) -> ArraySlice<Action> { state.withLock { $0.actions.dropFirst(count) } }

    /// Adds a hook to one of the lists.
    func add<Body: Sendable>(_ body: Body, to list: WritableKeyPath<Hooks, [Hook<Body>]> & Sendable) -> SharedHookToken {
        let id = state.withLock { state in
            state.hooks.lastID += 1
            state.hooks[keyPath: list].append(Hook(id: state.hooks.lastID, body: body))
            return state.hooks.lastID
        }
        changes.add(1, ordering: .releasing)
        return SharedHookToken { [weak self] in
            guard let self else { return }
            state.withLock { state in state.hooks[keyPath: list].removeAll { $0.id == id } }
            changes.add(1, ordering: .releasing)
        }
    }
}

/// The additions that one connection has. Accessed only by the call that has the connection.
struct ConnectionAdditions {
    private var version = 0
    private var actions = 0
    private var tokens: [Kind: HookToken] = [:]

    private enum Kind { case commits, rollbacks, updates, traces, tracesWithValues }

    func isCurrent(with shared: SharedAdditions) -> Bool { version == shared.version }

    /// Brings the connection up to date.
    mutating func update(_ db: Connection, _ shared: SharedAdditions, isWriter: Bool) throws {
        let newest = shared.version
        for action in shared.actions(after: actions) {
            try db.changingThisOneOnly { () throws in try action(db) }
            actions += 1
        }
        let hooks = shared.hooks
        try set(.traces, !hooks.traces.isEmpty) { () throws in
            try db.addTraceHook { event in for hook in shared.hooks.traces { hook.body(event) } }
        }
        try set(.tracesWithValues, !hooks.tracesWithValues.isEmpty) { () throws in
            try db.addTraceHook(showingValues: true) { event in
                for hook in shared.hooks.tracesWithValues { hook.body(event) }
            }
        }
        if isWriter {
            try set(.commits, !hooks.commits.isEmpty) { () throws in
                try db.addCommitHook { for hook in shared.hooks.commits { try hook.body() } }
            }
            try set(.rollbacks, !hooks.rollbacks.isEmpty) { () throws in
                try db.addRollbackHook { for hook in shared.hooks.rollbacks { hook.body() } }
            }
            try set(.updates, !hooks.updates.isEmpty) { () throws in
                try db.addUpdateHook { change in for hook in shared.hooks.updates { hook.body(change) } }
            }
        }
        version = newest
    }

    /// Installs a kind of hook while there are any hooks of it, and removes it otherwise.
    private mutating func set(
        _ kind: Kind, _ isWanted: Bool, _ add: () throws -> HookToken
    ) throws {
        if !isWanted {
            tokens.removeValue(forKey: kind)?.remove()
        } else if tokens[kind] == nil {
            tokens[kind] = try add()
        }
    }
}
