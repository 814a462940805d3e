import CSQLCipher
import SQLCipherKitCore
import Synchronization

/// One connection of a queue or a pool. It is opened when it is first needed.
package final class ConnectionSlot: @unchecked Sendable {
    // Sendable: what is not atomic is accessed only by the call that has acquired the slot, and the pool's lock orders one call
    // before the next. `isOpen` and `uses` are also read under that lock, while the slot is free.

    /// What a closure may do.
    package enum Mode {
        /// Read one snapshot of the database.
        case read
        /// Read, on a connection that could also write.
        case readOnly
        /// Write, in a transaction.
        case write
        /// Write, in transactions that the closure begins and ends itself.
        case withoutTransaction
        /// Anything.
        case unrestricted
    }

    /// The thread that uses the slot; 0 for none.
    let user = Atomic<UInt>(0)
    /// Whether the call that has the slot checks for itself whether it has to end, as it must not be interrupted at an arbitrary
    /// point.
    let endsAtChecks = Atomic<Bool>(false)
    private(set) var connection: Connection?
    /// How many times it has been used.
    private(set) var uses = 0
    private let open: @Sendable () throws -> Connection
    /// The snapshot that reads use; nil, the default, for the current state.
    var state: WALSnapshot?
    /// What was added to the connection after it was opened.
    var additions = SharedAdditions(isPool: false)
    var isWriter = false
    private var added = ConnectionAdditions()
    /// Nil while no connection is open. Any thread may read it.
    private let interrupter = Lock<Interrupter?>(nil)

    /// What other threads may do to an open connection.
    private struct Interrupter: Sendable {
        let handle: InterruptHandle
        /// Makes each later call on the connection throw, if the given thread has it.
        let refuseUse: @Sendable (_ reason: UInt, _ thread: UInt) -> Void
    }
    // Kept, because every read needs it. Nil before the first use.
    private var commit: Statement?

    /// A slot that opens its connection when it needs one.
    package init(open: @escaping @Sendable () throws -> Connection) { self.open = open }

    /// Creates a slot with a connection that is already open. After it has been closed, it is not opened again.
    convenience init(_ connection: Connection) {
        self.init { throw DatabaseError.closedConnection }
        self.connection = connection
    }

    package var isOpen: Bool { connection?.hasHandle ?? false }

    /// Runs `body` with the connection, on this thread.
    /// - Parameters:
    ///   - deadline: the time by which it must have ended.
    ///   - cancellation: may cancel it.
    package func run<R>(
        _ mode: Mode, until deadline: Deadline? = nil, _ cancellation: Cancellation? = nil,
        _ body: (Connection) throws -> sending R
    ) throws -> sending R {
        try beingUsed { try lend(mode, until: deadline, cancellation, body) }
    }

    /// Runs `body`, and marks this thread so that a call of the same database inside it throws instead of waiting for itself.
    func beingUsed<R>(_ body: () throws -> sending R) rethrows -> sending R {
        user.store(sqlcipherkit_thread(), ordering: .relaxed)
        sqlcipherkit_enter_call()
        defer {
            sqlcipherkit_leave_call()
            user.store(0, ordering: .relaxed)
        }
        return try body()
    }

    private func lend<R>(
        _ mode: Mode, until deadline: Deadline?, _ cancellation: Cancellation?,
        _ body: (Connection) throws -> sending R
    ) throws -> sending R {
        uses &+= 1
        if let deadline, deadline.hasPassed { throw DatabaseError.timeout }
        let db = try opened()
        db.lend(until: deadline)
        defer { db.takeBack() }
        if !added.isCurrent(with: additions) { try added.update(db, additions, isWriter: isWriter) }
        if let cancellation { try watch(cancellation, db) }
        // From here on it cannot be cancelled: the statement that runs may already be the next caller's.
        defer { cancellation?.setHandler(nil) }
        do { return try perform(mode, db, body) } catch {
            throw db.cancellationError(cancellation) ?? error
        }
    }

    private func watch(_ cancellation: Cancellation, _ db: Connection) throws {
        let interrupter = try db.interruptHandle
        let thread = sqlcipherkit_thread()
        // Only the atomic properties of the connection are accessed. It lives until the cancellation drops this closure.
        nonisolated(unsafe) let db = db
        cancellation.setHandler { error in
            let isLate = (error as? DatabaseError)?.reason == .timeout
            db.refuseUse(isLate ? Connection.Holder.late : Connection.Holder.cancelled, to: thread)
            interrupter.interrupt()
        }
        if let error = cancellation.error { throw error }
    }

    private func perform<R>(_ mode: Mode, _ db: Connection, _ body: (Connection) throws -> sending R) throws -> sending R {
        switch mode {
        case .unrestricted: return try unclosed(db, body)
        case .write: return try write(db, body)
        case .withoutTransaction:
            db.loan.pool.isBesideReaders = additions.isPool
            defer { db.loan.pool.isBesideReaders = false }
            let result = try unclosed(db, body)
            guard !db.isInTransaction else { throw DatabaseError.openTransaction }
            return result
        case .read: return try read(db, body)
        case .readOnly:
            let handle = try db.live()
            sqlcipherkit_set_query_only(handle, 1)
            defer { if db.hasHandle { sqlcipherkit_set_query_only(handle, 0) } }
            // Only this connection sees an in-memory database.
            if db.location.isOnDisk { return try read(db, body) }
            db.closures.count += 1
            defer { db.closures.count -= 1 }
            return try unclosed(db, body)
        }
    }

    private func read<R>(_ db: Connection, _ body: (Connection) throws -> sending R) throws -> sending R {
        guard let commit else { throw DatabaseError.closedConnection }
        if let state {
            try db.begin(.deferred)
            try state.open(db)
        }
        try db.check(sqlcipherkit_begin_read(db.live()))
        let result = try inTransaction(db, body)
        if try sqlcipherkit_end_read(db.live()) == 0 { try commit.execute() }
        return result
    }

    private func write<R>(_ db: Connection, _ body: (Connection) throws -> sending R) throws -> sending R {
        try db.begin(.immediate)
        let result = try inTransaction(db, body)
        if TransactionEnd.undoes(result) { db.abandon() } else { try db.commit() }
        return result
    }

    /// Like ``Connection/inTransaction(_:)``, for a value that is sent.
    private func inTransaction<R>(_ db: Connection, _ body: (Connection) throws -> sending R) throws -> sending R {
        db.enterTransaction()
        defer { db.leaveTransaction() }
        let result = try unclosed(db, body)
        try db.requireTransaction()
        return result
    }

    private func unclosed<R>(_ db: Connection, _ body: (Connection) throws -> sending R) throws -> sending R {
        let result = try body(db)
        try db.requireUnclosed()
        return result
    }

    // MARK: Opening and closing

    private func opened() throws -> Connection {
        if let connection, commit != nil {
            if connection.hasHandle { return connection }
            throw DatabaseError.closedConnection
        }
        let db = try connection ?? open()
        try db.prepareForLending()
        if additions.isPool { try db.restrictToWhatAllShare() }
        let handle = try db.interruptHandle, commit = try db.prepareKept("COMMIT")
        // Only the atomic properties of the connection are accessed. It lives until it is closed.
        nonisolated(unsafe) let lent = db
        let made = Interrupter(handle: handle) { reason, thread in lent.refuseUse(reason, to: thread) }
        interrupter.withLock { $0 = made }
        self.commit = commit
        connection = db
        return db
    }

    /// Closes the connection; the next use opens another one.
    func close() {
        commit = nil
        if let connection, !connection.isForked {
            connection.lend(until: nil)
            connection.closeNow()
        }
        connection = nil
        added = ConnectionAdditions()
        interrupter.withLock { $0 = nil }
    }

    // MARK: From any thread

    /// Whether a connection is open, or was very recently.
    var seemsOpen: Bool { interrupter.withLock { $0 != nil } }

    /// Whether a call is running on it.
    var isInUse: Bool { user.load(ordering: .relaxed) != 0 }

    /// Ends the running statements, if a call has the slot.
    func interrupt() {
        guard isInUse else { return }
        interrupter.withLock { $0?.handle }?.interrupt()
    }

    /// Ends the call that has the slot: the running statement is interrupted, and each later one throws.
    func suspend() {
        if endsAtChecks.load(ordering: .relaxed) { return }
        let thread = user.load(ordering: .relaxed)
        guard thread != 0 else { return }
        interrupter.withLock { interrupter in
            interrupter?.refuseUse(Connection.Holder.suspended, thread)
            interrupter?.handle.interrupt()
        }
    }

    // MARK: When descriptors run out

    /// Opens the connection if it is not open.
    func openConnection() throws { _ = try opened() }

    /// Takes over the open connection of another slot, which is then closed. Both slots are acquired.
    func takeConnection(of other: ConnectionSlot) {
        (connection, added) = (other.connection, other.added)
        commit = other.commit
        let handle = other.interrupter.withLock { $0 }
        interrupter.withLock { $0 = handle }
        (other.connection, other.commit) = (nil, nil)
        other.close()
    }

    /// Replaces the connection with another open one.
    package func replace(by connection: Connection) {
        close()
        self.connection = connection
    }
}

extension Connection {
    /// The error that a call was cancelled with; nil if it was not.
    fileprivate func cancellationError(_ cancellation: Cancellation?) -> (any Error)? {
        switch holder.load(ordering: .relaxed) {
        case Holder.cancelled: cancellation?.error ?? CancellationError()
        case Holder.late: DatabaseError.timeout
        case Holder.suspended: DatabaseError.suspended
        default: nil
        }
    }

    /// Makes the connection stop when the call that it is lent to is cancelled.
    fileprivate func prepareForLending() throws(DatabaseError) {
        try loan.prepare()
        try usableHooks().hooks.stopsLentWork = true
        // Handlers that were set in `prepare` stay.
        try settings.setProgressHandler(every: hooks?.progressInterval ?? 10_000, hooks?.progress)
        if hooks?.busy == nil { try setInterruptibleBusyHandler(try settings.busyTimeout) }
    }
}
