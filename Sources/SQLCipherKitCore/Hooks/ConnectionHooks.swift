import CSQLCipher

/// Removes a hook. Releasing the token does not remove the hook: it stays until ``remove()`` is called or the connection closes. A
/// hook that captures its connection strongly keeps it open, so capture it as `weak` or `unowned`.
///
/// The connection of a queue or a pool keeps its hooks from call to call. The token removes a hook only inside a call that has that
/// connection, and does nothing elsewhere.
public final class HookToken {
    private let action: () -> Void

    init(_ action: @escaping () -> Void) { self.action = action }

    /// Removes the hook. A second call does nothing.
    public func remove() { action() }
}

/// The closures of one kind of hook, in the order in which they were added.
struct HookList<Body> {
    private(set) var bodies: [(id: Int, body: Body)] = []
    private var lastID = 0

    var isEmpty: Bool { bodies.isEmpty }

    mutating func add(_ body: Body) -> Int {
        lastID += 1
        bodies.append((lastID, body))
        return lastID
    }

    mutating func remove(_ id: Int) { bodies.removeAll { $0.id == id } }
}

/// The closures that SQLite calls on one connection. SQLite gets a pointer to this object, which lives as long as the connection;
/// the connection lives as long as any call that can lead here.
package final class ConnectionHooks {
    unowned(unsafe) let connection: Connection

    var commits = HookList<() throws -> Void>()
    var rollbacks = HookList<() -> Void>()
    var updates = HookList<(RowChange) -> Void>()
    var traces = HookList<TraceHook>()
    /// When each running statement began, by its handle.
    var starts: [OpaquePointer: ContinuousClock.Instant] = [:]
    /// The caller's busy handler.
    package var busy: ((Int) -> Bool)?
    package var progress: (() throws -> Bool)?
    package var progressInterval = 10_000
    /// The number of frames in the write-ahead logs after the last commit.
    var logFrames = 0
    /// True if the progress handler checks whether the call of a queue or a pool must end.
    package var stopsLentWork = false
    var gate = Gate.open
    /// True if something is put back: see ``Connection/restoring(_:)``.
    var isRestoring = false
    // These are here and not in the state of Observation, because SQLite's callbacks get a pointer to this object, for each row and
    // each column, and it outlives all of them.
    /// Collects changes while there is a change hook.
    package var tracker: ChangeTracker?
    /// Collects reads during ``Connection/recordingReads(_:)``.
    var recorder: RegionRecorder?
    /// The table of the last DROP that SQLite has asked the authorizer about.
    var droppedTable: String?

    /// The authorizer, which decides what statements may do.
    enum Gate {
        case open
        case authorizer((AuthorizationRequest) -> AuthorizationDecision)
        case access(AccessPolicy)

        /// Lets a new authorizer consult the one before it. A restricted access allows no writes, so it denies everything here.
        func decide(_ request: AuthorizationRequest) -> AuthorizationDecision {
            switch self {
            case .open: .allow
            case .authorizer(let body): body(request)
            case .access: .deny
            }
        }
    }

    init(_ connection: Connection) { self.connection = connection }

    var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    static func at(_ pointer: UnsafeMutableRawPointer?) -> ConnectionHooks? {
        pointer.map { Unmanaged<ConnectionHooks>.fromOpaque($0).takeUnretainedValue() }
    }
}

extension Connection {
    /// Returns the hooks of an open connection. Throws while SQLite is calling one of them.
    package func usableHooks() throws -> (hooks: ConnectionHooks, handle: OpaquePointer) {
        let handle = try liveOutsideHooks()
        if let hooks { return (hooks, handle) }
        let made = ConnectionHooks(self)
        hooks = made
        return (made, handle)
    }

    /// Returns a token that removes a hook from its list, and unregisters the callback with SQLite if it was the last. Inside a
    /// hook that is not possible: the callback stays and finds an empty list.
    func token<Body>(
        _ list: ReferenceWritableKeyPath<ConnectionHooks, HookList<Body>>, _ id: Int,
        whenEmpty unhook: @escaping (Connection, OpaquePointer) -> Void
    ) -> HookToken {
        HookToken { [weak self] in
            guard let self, isUsable, let hooks else { return }
            hooks[keyPath: list].remove(id)
            if hooks[keyPath: list].isEmpty, let handle = try? liveOutsideHooks() { unhook(self, handle) }
        }
    }
}
