import CSQLCipher
import SQLCipherKitCore
import Synchronization

/// A database that any thread and any task can use: a ``DatabaseQueue`` or a ``DatabasePool``.
///
/// ```swift
/// let titles = try await database.read { db in try db.fetchAll(String.self, "SELECT title FROM note") }
/// try await database.write { db in try db.execute("INSERT INTO note(title) VALUES (\(title))") }
/// ```
/// Use this type if your code works with either. Each call exists in two forms. In an `async` function the compiler chooses the
/// asynchronous one: the task is suspended, no thread waits, and the closure runs in the same task, on a thread of this package,
/// with the task's local values, cancellation and priority. Elsewhere the call waits and runs on the calling thread.
///
/// Calls are served in the order in which they are made. The number of waiting calls is not limited: a producer that outpaces the
/// database should wait for each call before it makes the next.
///
/// The connection is only lent: after the closure has returned, the connection, its statements and its cursors throw
/// ``DatabaseError/Reason/misuse`` or ``DatabaseError/Reason/closed``. A call inside a closure of the same database throws
/// ``DatabaseError/Reason/misuse``, because it would wait for itself; use the connection that the closure has.
///
/// When a task is cancelled, its waiting call ends at once, and its running call soon: the statement is interrupted, the
/// transaction is rolled back, and the call throws `CancellationError`. A commit that has begun is finished.
///
/// The database closes with `close()`, or when the last reference to it goes away.
public class SharedDatabase: @unchecked Sendable {
    // Sendable: all stored properties are constants of Sendable types, here and in the subclasses. The compiler checks that only
    // for final classes.

    let writer: ConnectionPool
    /// Nil if the writer also reads.
    let readers: ConnectionPool?
    let forks = sqlcipherkit_forks()
    let readDuration = ReadDurationEstimate()
    /// The observers of the writer's commits.
    package let observers = ObserverRegistry()
    /// How to open readers; nil if there are none.
    let readerConfiguration: ReaderConfiguration.Shared?
    let idleReaders: IdleReaders?
    package let checkpointer: AutoCheckpointer?
    /// The value of ``DatabaseConfiguration/label``.
    public let label: String?
    /// What is added to connections after they are opened.
    let additions: SharedAdditions
    /// The snapshots of a pool.
    package let snapshots = SnapshotRegistry()

    // Lock order: the writer, then the readers.

    /// Creates a database with one connection for everything.
    init(_ connection: Connection) {
        label = connection.configuration.label
        writer = ConnectionPool([ConnectionSlot(connection)])
        (readers, readerConfiguration, idleReaders, checkpointer) = (nil, nil, nil, nil)
        additions = SharedAdditions(isPool: false)
        share(additions)
    }

    /// Creates a database with a connection that writes, and as many readers as its configuration says.
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

    /// Creates several readers of one state, which another connection keeps in its write-ahead log.
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

    /// Gives the slots the additions that all connections share. No slot has been acquired yet.
    private func share(_ additions: SharedAdditions) {
        for slot in writer.slots { (slot.additions, slot.isWriter) = (additions, true) }
        for slot in readers?.slots ?? [] { slot.additions = additions }
    }

    deinit {
        // The engine's state belongs to the parent, and another thread may have held a lock when the process forked.
        if forks != sqlcipherkit_forks() { return }
        close(for: .closedDatabase)
    }

    /// Throws if a call would wait for itself, or in a child process, whose parent may hold the locks forever.
    func checkCall() throws(DatabaseError) {
        if forks != sqlcipherkit_forks() { throw .forked }
        // The usual case: the thread is in no closure at all.
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
        "a call inside another call's closure would wait for itself: use the connection that is there already")
}
