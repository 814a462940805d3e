import CSQLCipher

/// Removes a hook. Letting go of it removes nothing: the hook stays until ``remove()`` or until the connection closes. A hook that
/// holds its connection keeps it from closing by itself: let it hold it `weak` or `unowned`.
///
/// The connection of a queue or a pool keeps its hooks from call to call; the token removes one inside of a call that has that
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

/// What SQLite calls back on one connection. SQLite is given a pointer to this object, which lives as long as the connection;
/// the connection lives as long as any call that can lead here.
final class ConnectionHooks {
    unowned(unsafe) let connection: Connection

    var commits = HookList<() throws -> Void>()
    var rollbacks = HookList<() -> Void>()
    var updates = HookList<(RowChange) -> Void>()
    var traces = HookList<TraceHook>()
    /// When the statements that are running have begun, by their handles.
    var starts: [OpaquePointer: ContinuousClock.Instant] = [:]
    var busy: ((Int) -> Bool)?
    /// For how long `busy` waits; nil if it is the user's.
    var patience: Duration?
    var progress: (() throws -> Bool)?
    var progressInterval = 10_000
    /// The frames in the write-ahead logs after the last commit.
    var logFrames = 0
    /// Whether the progress handler asks whether the call of a queue or a pool must end.
    var stopsLentWork = false
    var gate = Gate.open
    // Here and not in the state of Observation: SQLite's callbacks come with a pointer to this object, for each row and each
    // column, and it outlives every one of them.
    /// Collects what is changed, while there is a change hook.
    var tracker: ChangeTracker?
    /// Collects what is read, during ``Connection/recordingReads(_:)``.
    var recorder: RegionRecorder?
    /// The table of a DROP whose authorization SQLite asked for last.
    var droppedTable: String?

    /// The authorizer, which decides what statements may do.
    enum Gate {
        case open
        case authorizer((AuthorizationRequest) -> AuthorizationDecision)
        case access(AccessPolicy)

        /// For an authorizer that asks the one before it. A restricted access, which allows no writing, allows nothing here.
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
    /// The hooks of an open connection that SQLite is not just calling.
    func usableHooks() throws(DatabaseError) -> (hooks: ConnectionHooks, handle: OpaquePointer) {
        let handle = try liveOutsideHooks()
        if let hooks { return (hooks, handle) }
        let made = ConnectionHooks(self)
        hooks = made
        return (made, handle)
    }

    /// A token that takes a hook off its list, and then tells SQLite if it was the last. Inside of a hook SQLite cannot be told;
    /// the callback stays and finds an empty list.
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
