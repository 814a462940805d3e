import CSQLCipher
import SQLCipherKitCore
import Synchronization

/// What was added to the connections of a queue or a pool after they were opened: extensions and trace hooks on all of them, other
/// hooks on the writer. The next call that gets a connection brings it up to date.
final class SharedAdditions: Sendable {
    typealias Action = @Sendable (Connection) throws(DatabaseError) -> Void

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

    /// Whether there are several connections, which must not differ from each other.
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
    mutating func update(_ db: Connection, _ shared: SharedAdditions, isWriter: Bool) throws(DatabaseError) {
        let newest = shared.version
        for action in shared.actions(after: actions) {
            try db.changingThisOneOnly { () throws(DatabaseError) in try action(db) }
            actions += 1
        }
        let hooks = shared.hooks
        try set(.traces, !hooks.traces.isEmpty) { () throws(DatabaseError) in
            try db.addTraceHook { event in for hook in shared.hooks.traces { hook.body(event) } }
        }
        try set(.tracesWithValues, !hooks.tracesWithValues.isEmpty) { () throws(DatabaseError) in
            try db.addTraceHook(showingValues: true) { event in
                for hook in shared.hooks.tracesWithValues { hook.body(event) }
            }
        }
        if isWriter {
            try set(.commits, !hooks.commits.isEmpty) { () throws(DatabaseError) in
                try db.addCommitHook { for hook in shared.hooks.commits { try hook.body() } }
            }
            try set(.rollbacks, !hooks.rollbacks.isEmpty) { () throws(DatabaseError) in
                try db.addRollbackHook { for hook in shared.hooks.rollbacks { hook.body() } }
            }
            try set(.updates, !hooks.updates.isEmpty) { () throws(DatabaseError) in
                try db.addUpdateHook { change in for hook in shared.hooks.updates { hook.body(change) } }
            }
        }
        version = newest
    }

    /// Installs a kind of hook while there are any hooks of it, and removes it otherwise.
    private mutating func set(
        _ kind: Kind, _ isWanted: Bool, _ add: () throws(DatabaseError) -> HookToken
    ) throws(DatabaseError) {
        if !isWanted {
            tokens.removeValue(forKey: kind)?.remove()
        } else if tokens[kind] == nil {
            tokens[kind] = try add()
        }
    }
}
