import CSQLCipher
import Foundation
import SQLCipherKitCore
import Synchronization

/// A database that any thread and any task can use: a ``DatabaseQueue`` or a ``DatabasePool``.
///
/// ```swift
/// let titles = try await database.read { db in try db.fetchAll(String.self, "SELECT title FROM note") }
/// try await database.write { db in try db.execute("INSERT INTO note(title) VALUES (\(title))") }
/// ```
/// Use this type if your code works with both. Each call exists in two forms. In an `async` function the compiler chooses the
/// asynchronous form: the task is suspended, no thread waits, and the closure runs in the same task, on a thread of this package,
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
public class DatabaseWriter: @unchecked Sendable {
    // Sendable: all stored properties are constants of Sendable types, here and in the subclasses. The compiler checks that only
    // for final classes.

    let writer: ConnectionPool
    /// Nil if the writer also reads.
    let readers: ConnectionPool?
    let forks = sqlcipherkit_forks()
    private let readDuration = ReadDurationEstimate()
    /// The observers of the writer's commits.
    package let observers = ObserverRegistry()
    /// The configuration for opening readers; nil if there are none.
    let readerConfiguration: ReaderConfiguration.Shared?
    let idleReaders: IdleReaders?
    package let checkpointer: AutoCheckpointer?
    /// The value of ``DatabaseConfiguration/label``.
    public let label: String?
    /// The additions to connections after they are opened.
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
    init(writer connection: Connection) throws {
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
    ) throws {
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
    func checkCall() throws {
        if forks != sqlcipherkit_forks() { throw DatabaseError.forked }
        // The usual case: the thread is in no closure at all.
        if sqlcipherkit_calls() == 0 { return }
        let thread = sqlcipherkit_thread()
        for slot in writer.slots where slot.user.load(ordering: .relaxed) == thread { throw DatabaseError.insideCall }
        try snapshots.checkCall()
        guard let readers else { return }
        for slot in readers.slots where slot.user.load(ordering: .relaxed) == thread { throw DatabaseError.insideCall }
    }
}

extension DatabaseWriter: CustomStringConvertible {
    /// The type and the label.
    public var description: String { label.map { "\(type(of: self)) \($0)" } ?? "\(type(of: self))" }
}

extension DatabaseError {
    fileprivate static let insideCall = misuse(
        "a call inside another call's closure would wait for itself: use the connection of the outer closure")
}

/// The way of each call, of a thread or of a task: a slot is acquired, the work is performed on it, and the slot is given back.
extension DatabaseWriter {
    /// The mode of a read: the connection of a queue could also write.
    var reading: ConnectionSlot.Mode { readers == nil ? .readOnly : .read }

    private func pool(for mode: ConnectionSlot.Mode) -> ConnectionPool {
        if mode == .read, let readers { readers } else { writer }
    }

    /// Runs a call on the calling thread.
    func run<R>(
        _ mode: ConnectionSlot.Mode, timeout: Duration?, _ body: (Connection) throws -> sending R
    ) throws -> sending R {
        try checkCall()
        let limits = CallLimits(timeout), pool = pool(for: mode)
        let slot = try pool.acquire(within: limits)
        defer { pool.giveBack(slot) }
        return try perform(mode, slot, limits, body)
    }

    /// Runs a call in the calling task, on a thread that may block.
    func run<R>(
        _ mode: ConnectionSlot.Mode, timeout: Duration?, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        try checkCall()
        try Task.checkCancellation()
        let pool = pool(for: mode)
        if mode == .read, let slot = try acquireForShortRead(pool) {
            let cancellation = Cancellation(), limits = CallLimits(timeout, cancellation)
            defer { readDuration.end() }
            return try await withTaskCancellationHandler {
                defer { pool.giveBack(slot) }
                let start = Deadline.now
                defer { readDuration.record(since: start) }
                return try perform(mode, slot, limits, body)
            } onCancel: {
                cancellation.cancel(CancellationError())
            }
        }
        return try await withSlot(of: pool, timeout: timeout) { [self] slot, limits, _ in
            let start = Deadline.now
            defer { readDuration.record(since: start) }
            return try perform(mode, slot, limits, body)
        }
    }

    /// Returns a free reader for a read that is likely to be short and then runs on the current thread.
    private func acquireForShortRead(_ pool: ConnectionPool) throws -> ConnectionSlot? {
        guard readers != nil, readDuration.begin() else { return nil }
        do {
            if let slot = try pool.tryAcquire(opened: true) { return slot }
        } catch {
            readDuration.end()
            throw error
        }
        readDuration.end()
        return nil
    }

    /// Performs `body` on an acquired slot.
    func perform<R>(
        _ mode: ConnectionSlot.Mode, _ slot: ConnectionSlot, _ limits: CallLimits, _ body: (Connection) throws -> sending R
    ) throws -> sending R {
        let wasOpen = slot.isOpen
        defer { if !wasOpen, let idleReaders, let readers { idleReaders.watch(readers) } }
        if !wasOpen, mode == .read { try open(slot, limits) }
        let result: R
        do { result = try slot.run(mode, limits, body) } catch {
            if wasOpen { requireLiveWriter(slot, after: error) }
            throw error
        }
        if mode == .write || mode == .withoutTransaction { checkpointIfDue(slot) }
        return result
    }

    private func checkpointIfDue(_ slot: ConnectionSlot) {
        guard let checkpointer, let readers else { return }
        try? slot.run(.unrestricted) { db in
            checkpointer.committed(db) { body in
                // A snapshot would keep the log from being emptied.
                guard snapshots.isEmpty else { return }
                guard (try? readers.acquire(.all, within: CallLimits(AutoCheckpointer.longestPause))) != nil else { return }
                defer { readers.releaseAll() }
                // A read that this call has waited for may have taken a snapshot.
                guard snapshots.isEmpty else { return }
                // Another connection or process may read for long, and all reads of the pool wait meanwhile.
                guard (try? db.settings.setBusyTimeout(AutoCheckpointer.longestPause)) != nil else { return }
                body()
                observers.logsWereReset(db)
            }
        }
    }

    // MARK: Opening readers

    /// Opens a reader. If that fails, for example because there are no descriptors or no memory left, the call gets the connection
    /// of another reader as soon as one is free.
    /// - Throws: the error of opening the reader, if no other is open; ``DatabaseError/Reason/timeout``; the cancellation's error.
    private func open(_ slot: ConnectionSlot, _ limits: CallLimits) throws {
        do { try slot.openConnection() } catch {
            guard let readers else { throw error }
            // A reader that passes from a call to the next call seems to be unused.
            var misses = 0
            while !borrow(for: slot, from: readers) {
                try limits.check()
                let isOneInUse = readers.slots.contains { $0 !== slot && $0.isInUse && $0.seemsOpen }
                misses = isOneInUse ? 0 : misses + 1
                if misses == 20 { throw error }
                // A rare emergency, so polling is enough.
                usleep(1000)
            }
        }
    }

    private func borrow(for slot: ConnectionSlot, from readers: ConnectionPool) -> Bool {
        var isDone = false
        readers.withFree { other in
            guard !isDone, other.isOpen else { return false }
            isDone = true
            return true
        } _: { others in
            for other in others { slot.takeConnection(of: other) }
        }
        return isDone
    }
}

/// Calls that need more than one connection.
extension DatabaseWriter {
    /// The reads that have to wait while the writer is used.
    package enum Claim: Sendable {
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
        let limits = CallLimits(timeout)
        let slot = try writer.acquire(within: limits)
        defer { writer.giveBack(slot) }
        return try withoutReaders(claim, slot, limits, body)
    }

    /// The asynchronous form.
    package func claim<R>(
        _ claim: Claim, timeout: Duration?, cleansUp: Bool = false,
        _ body: sending @escaping (ConnectionSlot, CallLimits) throws -> sending R
    ) async throws -> sending R {
        try await withSlot(of: writer, timeout: timeout, cleansUp: cleansUp) { [self] slot, limits, _ in
            try withoutReaders(claim, slot, limits, body)
        }
    }

    private func withoutReaders<R>(
        _ claim: Claim, _ slot: ConnectionSlot, _ limits: CallLimits, _ body: (ConnectionSlot, CallLimits) throws -> sending R
    ) throws -> sending R {
        var limits = limits
        limits.pool = writer
        slot.endsAtChecks.store(true, ordering: .relaxed)
        defer { slot.endsAtChecks.store(false, ordering: .relaxed) }
        do {
            guard let readers, claim != .writer else { return try body(slot, limits) }
            slot.beginUse()
            do {
                defer { slot.endUse() }
                try readers.acquire(.all, within: limits)
            }
            defer { readers.releaseAll() }
            guard claim == .closedReaders else { return try body(slot, limits) }
            try snapshots.endAll(because: "a call needed the database for itself", limits)
            for reader in readers.slots { reader.close() }
            defer { try? reconfigureReaders(slot) }
            return try body(slot, limits)
        } catch {
            requireLiveWriter(slot, after: error)
            throw error
        }
    }

    /// Makes a call on the calling thread.
    func make<R>(_ call: SharedCall<R>, timeout: Duration? = nil) throws -> R {
        try claim(call.claim, timeout: timeout) { slot, limits in try call.step(slot, limits) }
    }

    /// Makes a call in the calling task.
    func make<R>(_ call: SharedCall<R>, timeout: Duration? = nil) async throws -> R {
        try await claim(call.claim, timeout: timeout, cleansUp: call.cleansUp) { slot, limits in try call.step(slot, limits) }
    }

    /// The key or the attached databases may have changed, even in a call that was cancelled.
    private func reconfigureReaders(_ slot: ConnectionSlot) throws {
        try slot.run(.unrestricted) { db in
            observers.logsWereReset(db)
            readerConfiguration?.current = try ReaderConfiguration(db)
        }
    }
}

/// A call of a queue or a pool that runs no closure of the caller, for both of its forms.
struct SharedCall<R: Sendable>: Sendable {
    let claim: DatabaseWriter.Claim
    /// True if a cancelled task makes it all the same.
    let cleansUp: Bool
    let step: @Sendable (ConnectionSlot, CallLimits) throws -> R

    init(
        _ claim: DatabaseWriter.Claim, cleansUp: Bool = false, _ step: @escaping @Sendable (ConnectionSlot, CallLimits) throws -> R
    ) {
        (self.claim, self.cleansUp, self.step) = (claim, cleansUp, step)
    }
}
