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
    fileprivate static let insideCall = misuse(
        "a call inside another call's closure would wait for itself: use the connection that is there already")
}

/// Calls that lend a connection. A timeout counts from the start of the call, and covers both waiting and running.
extension SharedDatabase {
    /// Runs `body` on a connection that can only read and that sees one consistent snapshot of the database.
    /// - Parameters:
    ///   - timeout: how long the call may take. Default: nil, no limit.
    ///   - body: reads. Its result must not be part of the connection.
    /// - Throws: what `body` throws; ``DatabaseError/Reason/timeout``; ``DatabaseError/Reason/closed``;
    ///   ``DatabaseError/Reason/misuse`` inside another call; ``DatabaseError/Reason/forked`` in a child process.
    public func read<R>(timeout: Duration? = nil, _ body: (Connection) throws -> sending R) throws -> sending R {
        try run(reading, timeout: timeout, body)
    }

    /// The asynchronous form.
    /// - Throws: as the synchronous form; `CancellationError` when the task is cancelled.
    public func read<R>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        try await run(reading, timeout: timeout, body)
    }

    /// Runs `body` in a transaction that may write (`BEGIN IMMEDIATE`): commits and returns its result, or rolls back if it throws
    /// or returns ``TransactionEnd/rollback(_:)``.
    /// - Parameters:
    ///   - timeout: how long the call may take. Default: nil, no limit. A commit that has begun is finished.
    ///   - body: reads and writes.
    /// - Throws: what `body` throws, and any error of beginning and committing, such as ``DatabaseError/Reason/busy``; nothing has
    ///   changed then. Also what `read(timeout:_:)` throws.
    @discardableResult
    public func write<R>(timeout: Duration? = nil, _ body: (Connection) throws -> sending R) throws -> sending R {
        try run(.write, timeout: timeout, body)
    }

    /// The asynchronous form.
    /// - Throws: as the synchronous form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func write<R>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        try await run(.write, timeout: timeout, body)
    }

    /// Runs `body` outside a transaction while no other call has a connection: for `VACUUM`, and whatever else needs the database
    /// to itself.
    /// - Parameters:
    ///   - timeout: how long the call may take. Default: nil, no limit.
    ///   - body: may begin and end transactions; one that it leaves open is rolled back.
    /// - Throws: what `body` throws, and what `read(timeout:_:)` throws.
    @discardableResult
    public func barrier<R>(timeout: Duration? = nil, _ body: (Connection) throws -> sending R) throws -> sending R {
        try runExclusively(timeout: timeout, body)
    }

    /// The asynchronous form.
    /// - Throws: as the synchronous form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func barrier<R>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        try await runExclusively(timeout: timeout, body)
    }
}

/// Running calls on the caller's thread.
extension SharedDatabase {
    /// How a read is done: the connection of a queue could also write.
    var reading: ConnectionSlot.Mode { readers == nil ? .readOnly : .read }

    func pool(for mode: ConnectionSlot.Mode) -> ConnectionPool {
        if case .read = mode, let readers { readers } else { writer }
    }

    func run<R>(
        _ mode: ConnectionSlot.Mode, timeout: Duration?, _ body: (Connection) throws -> sending R
    ) throws -> sending R {
        try checkCall()
        let deadline = timeout.map(Deadline.after)
        let pool = pool(for: mode)
        let slot = try pool.acquire(until: deadline)
        defer { pool.giveBack(slot) }
        return try perform(mode, slot, until: deadline, nil, body)
    }

    /// Runs `body` on an acquired slot.
    func perform<R>(
        _ mode: ConnectionSlot.Mode, _ slot: ConnectionSlot, until deadline: Deadline?,
        _ cancellation: Cancellation?, _ body: (Connection) throws -> sending R
    ) throws -> sending R {
        let wasOpen = slot.isOpen
        defer { if !wasOpen, let idleReaders, let readers { idleReaders.watch(readers) } }
        if !wasOpen, case .read = mode { try open(slot, until: deadline, cancellation) }
        let result: R
        do { result = try slot.run(mode, until: deadline, cancellation, body) } catch {
            if wasOpen { requireLiveWriter(slot, after: error) }
            throw error
        }
        switch mode {
        case .write, .withoutTransaction: checkpointIfDue(slot)
        case .read, .readOnly, .unrestricted: break
        }
        return result
    }

    private func checkpointIfDue(_ slot: ConnectionSlot) {
        guard let checkpointer, let readers else { return }
        try? slot.run(.unrestricted) { db in
            checkpointer.committed(db) { body in
                // A snapshot would keep the log from being emptied.
                guard snapshots.isEmpty else { return }
                guard (try? readers.acquireAll(until: .now + AutoCheckpointer.longestPause)) != nil else { return }
                defer { readers.releaseAll() }
                // One of the reads that this has waited for may have taken one.
                guard snapshots.isEmpty else { return }
                // Another connection or process may read for long, and all reads of the pool wait meanwhile.
                guard (try? db.setInterruptibleBusyHandler(AutoCheckpointer.longestPause)) != nil else { return }
                body()
                observers.logsWereReset(db)
            }
        }
    }
}

/// The limits of a call: its deadline, and the cancellation of its task.
package struct CallLimits {
    package var deadline: Deadline?
    package var cancellation: Cancellation?
    /// The pool that ends the call when it is suspended.
    let pool: ConnectionPool

    /// Throws if the call has to end.
    package func check() throws {
        if let error = cancellation?.error { throw error }
        if let deadline, deadline.hasPassed { throw DatabaseError.timeout }
        if pool.isSuspended { throw DatabaseError.suspended }
    }
}

/// Calls that need more than one connection.
extension SharedDatabase {
    /// Which reads have to wait while the writer is used.
    package enum Claim {
        /// No reads.
        case writer
        /// All reads: no reader has a snapshot.
        case idleReaders
        /// All reads, and no reader is even open: their locks would block work that needs the whole file.
        case closedReaders
    }

    /// Runs `body` with the writer, and keeps readers out as claimed.
    package func claim<R>(
        _ claim: Claim, timeout: Duration?, _ body: (ConnectionSlot, CallLimits) throws -> sending R
    ) throws -> sending R {
        try checkCall()
        let limits = CallLimits(deadline: timeout.map(Deadline.after), pool: writer)
        let slot = try writer.acquire(until: limits.deadline)
        defer { writer.giveBack(slot) }
        return try perform(claim, slot, limits, body)
    }

    /// The asynchronous form.
    package func claim<R>(
        _ claim: Claim, timeout: Duration?, _ body: sending @escaping (ConnectionSlot, CallLimits) throws -> sending R
    ) async throws -> sending R {
        let cancellation = Cancellation()
        let limits = CallLimits(deadline: timeout.map(Deadline.after), cancellation: cancellation, pool: writer)
        return try await lend(writer, .one, cancellation, until: limits.deadline) { [self] slot, _ in
            try perform(claim, slot, limits, body)
        }
    }

    private func perform<R>(
        _ claim: Claim, _ slot: ConnectionSlot, _ limits: CallLimits, _ body: (ConnectionSlot, CallLimits) throws -> sending R
    ) throws -> sending R {
        slot.endsAtChecks.store(true, ordering: .relaxed)
        defer { slot.endsAtChecks.store(false, ordering: .relaxed) }
        do {
            guard let readers, claim != .writer else { return try body(slot, limits) }
            try slot.beingUsed { try readers.acquireAll(until: limits.deadline, limits.cancellation) }
            defer { readers.releaseAll() }
            guard claim == .closedReaders else { return try body(slot, limits) }
            try snapshots.endAll(because: "a call needed the database for itself", until: limits.deadline, limits.cancellation)
            for reader in readers.slots { reader.close() }
            defer { try? reconfigureReaders(slot) }
            return try body(slot, limits)
        } catch {
            requireLiveWriter(slot, after: error)
            throw error
        }
    }

    /// The key or the attached databases may have changed, even in a call that was cancelled.
    private func reconfigureReaders(_ slot: ConnectionSlot) throws {
        try slot.run(.unrestricted) { db in
            observers.logsWereReset(db)
            readerConfiguration?.current = try ReaderConfiguration(db)
        }
    }
}

extension ConnectionSlot {
    /// Runs `body` while no reader is open. Readers that are opened later have what it attaches.
    fileprivate func runAlone<R>(_ limits: CallLimits, _ body: (Connection) throws -> sending R) throws -> sending R {
        try run(.unrestricted, until: limits.deadline, limits.cancellation) { db in
            db.setAttachesForAll(true)
            defer { db.setAttachesForAll(false) }
            return try body(db)
        }
    }
}

extension SharedDatabase {
    package func runExclusively<R>(timeout: Duration?, _ body: (Connection) throws -> sending R) throws -> sending R {
        try claim(.closedReaders, timeout: timeout) { slot, limits in try slot.runAlone(limits, body) }
    }

    package func runExclusively<R>(
        timeout: Duration?, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        // Sent on, and called once.
        nonisolated(unsafe) let body = body
        return try await claim(.closedReaders, timeout: timeout) { slot, limits in try slot.runAlone(limits, body) }
    }
}

/// Writing without a transaction around the closure.
extension SharedDatabase {
    /// Runs `body` on the connection that writes, without a transaction, while reads of a pool continue. Use it for several
    /// transactions in succession, for `VACUUM`, and for pragmas that a transaction does not allow.
    ///
    /// ```swift
    /// try await pool.withWriter { db in
    ///     for chunk in chunks { try db.transaction { db in try insert(chunk, db) } }
    ///     try db.execute("VACUUM")
    /// }
    /// ```
    /// Other writes wait until it has ended. To block reads as well, use `barrier(timeout:_:)`.
    /// - Parameters:
    ///   - timeout: how long the call may take. Default: nil, no limit.
    ///   - body: reads and writes. What it does outside a transaction stays, even if it throws.
    /// - Throws: what `body` throws; ``DatabaseError/Reason/misuse`` if it leaves a transaction open, which is rolled back; and
    ///   what `read(timeout:_:)` throws.
    @discardableResult
    public func withWriter<R>(timeout: Duration? = nil, _ body: (Connection) throws -> sending R) throws -> sending R {
        try run(.withoutTransaction, timeout: timeout, body)
    }

    /// The asynchronous form.
    /// - Throws: as the synchronous form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func withWriter<R>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        try await run(.withoutTransaction, timeout: timeout, body)
    }
}

extension DatabaseError {
    static let openTransaction = misuse("the closure has left a transaction open, which was rolled back")
}
