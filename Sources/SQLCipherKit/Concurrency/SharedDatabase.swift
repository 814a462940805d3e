import CSQLCipher
import Synchronization

/// A database for any thread and any task: a ``DatabaseQueue`` or a ``DatabasePool``.
///
/// ```swift
/// let titles = try await database.read { db in try db.fetchAll(String.self, "SELECT title FROM note") }
/// try await database.write { db in try db.execute("INSERT INTO note(title) VALUES (\(title))") }
/// ```
/// Use this type where your code works with either. Each call exists in two forms. In an `async` function the compiler takes the
/// asynchronous one: the task is suspended, no thread waits, and the closure runs in the same task, on a thread of this package: it
/// sees the task's local values, its cancellation and its priority. Elsewhere the call waits, and works, on the thread that it is
/// made on.
///
/// Calls are served in the order in which they were made. The number of waiting calls is not limited: a producer that outpaces the
/// database should wait for each call before it makes the next.
///
/// The connection is only lent: after the closure has returned, the connection, its statements and its cursors throw
/// ``DatabaseError/Reason/misuse`` or ``DatabaseError/Reason/closed``. A call inside of a closure of the same database
/// throws ``DatabaseError/Reason/misuse``, because it would wait for itself; use the connection that the closure has.
///
/// When a task is cancelled, its waiting call ends at once, and its running call soon: the statement is interrupted, the
/// transaction is rolled back, and the call throws `CancellationError`. A commit that has begun is finished.
///
/// The database closes when the last reference to it is gone, or with `close()`.
public class SharedDatabase: @unchecked Sendable {
    // Sendable: all stored properties are constants of Sendable types, here and in the subclasses. The compiler checks that for
    // final classes only.

    let writer: ConnectionPool
    /// Nil where the writer reads as well.
    let readers: ConnectionPool?
    let forks = sqlcipherkit_forks()
    let readDuration = ReadDurationEstimate()
    /// What observes the writer's commits.
    let observers = ObserverRegistry()
    /// How readers are opened; nil without any.
    let readerConfiguration: ReaderConfiguration.Shared?
    let idleReaders: IdleReaders?
    let checkpointer: AutoCheckpointer?
    /// What ``DatabaseConfiguration/label`` was.
    public let label: String?
    /// What connections have beyond what they are opened with.
    let additions: SharedAdditions
    /// The snapshots of a pool.
    let snapshots = SnapshotRegistry()

    // Lock order: the writer, then the readers.

    /// One connection for everything.
    init(_ connection: Connection) {
        label = connection.configuration.label
        writer = ConnectionPool([ConnectionSlot(connection)])
        (readers, readerConfiguration, idleReaders, checkpointer) = (nil, nil, nil, nil)
        additions = SharedAdditions(isPool: false)
        share(additions)
    }

    /// A connection that writes, and as many readers as its configuration says.
    init(writer connection: Connection) throws(DatabaseError) {
        let settings = connection.configuration.pool
        label = connection.configuration.label
        let shared = ReaderConfiguration.Shared(try ReaderConfiguration(connection))
        checkpointer = connection.configuration.access == .readOnly ? nil : try AutoCheckpointer(connection)
        readers = ConnectionPool(
            (0..<settings.maximumReaders).map { _ in
                ConnectionSlot {
                    guard let configuration = shared.current else { throw DatabaseError.closedDatabase }
                    return try configuration.openReader()
                }
            })
        writer = ConnectionPool([ConnectionSlot(connection)])
        (readerConfiguration, idleReaders) = (shared, IdleReaders(period: settings.readerIdleTime))
        additions = SharedAdditions(isPool: true)
        share(additions)
    }

    /// Several readers of one state, which another connection keeps in its write-ahead log.
    init(
        reading state: WALSnapshot, heldBy holder: Connection, _ additions: SharedAdditions
    ) throws(DatabaseError) {
        let settings = holder.configuration.pool
        label = holder.configuration.label
        let shared = ReaderConfiguration.Shared(try ReaderConfiguration(holder))
        readers = ConnectionPool(
            (0..<settings.maximumReaders).map { _ in
                let slot = ConnectionSlot {
                    guard let configuration = shared.current else { throw DatabaseError.closedDatabase }
                    return try configuration.openReader()
                }
                slot.state = state
                return slot
            })
        writer = ConnectionPool([ConnectionSlot(holder)])
        (readerConfiguration, checkpointer, idleReaders) = (shared, nil, IdleReaders(period: settings.readerIdleTime))
        self.additions = additions
        share(additions)
    }

    /// Gives the slots what their connections have in common. None of them was acquired yet.
    private func share(_ additions: SharedAdditions) {
        for slot in writer.slots { (slot.additions, slot.isWriter) = (additions, true) }
        for slot in readers?.slots ?? [] { slot.additions = additions }
    }

    deinit {
        // The engine's state is the parent's, and a lock may have been another thread's when the process forked.
        if forks != sqlcipherkit_forks() { return }
        close(for: .closedDatabase)
    }

    /// Throws where a call would wait for itself, or in a child process, whose parent may hold the locks forever.
    func checkCall() throws(DatabaseError) {
        if forks != sqlcipherkit_forks() { throw .forked }
        // In no closure at all, as nearly always.
        if sqlcipherkit_calls() == 0 { return }
        let thread = sqlcipherkit_thread()
        for slot in writer.slots where slot.user.load(ordering: .relaxed) == thread { throw .insideCall }
        try snapshots.checkCall()
        guard let readers else { return }
        for slot in readers.slots where slot.user.load(ordering: .relaxed) == thread { throw .insideCall }
    }
}

extension SharedDatabase: CustomStringConvertible {
    /// The type and the label.
    public var description: String { label.map { "\(type(of: self)) \($0)" } ?? "\(type(of: self))" }
}

extension DatabaseError {
    static let insideCall = misuse(
        "a call inside of another call's closure would wait for itself: use the connection that is there already")
}
