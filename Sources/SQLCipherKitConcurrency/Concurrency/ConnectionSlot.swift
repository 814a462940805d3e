import CSQLCipher
import Foundation
import SQLCipherKitCore
import Synchronization

/// A connection of a queue or a pool, opened when it is first needed.
package final class ConnectionSlot: @unchecked Sendable {
    // Sendable: properties that are not atomic are accessed only by the call that has acquired the slot, and the pool's lock orders
    // one call before the next. `isOpen` and `uses` are also read under that lock, while the slot is free.

    /// The rights of a closure.
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
        /// Anything, while no other connection is open: attached databases are attached to connections that are opened later.
        case alone
    }

    /// The thread that uses the slot; 0 for none.
    let user = Atomic<UInt>(0)
    /// True if the call that has the slot itself checks for its end, as it must not be interrupted at an arbitrary
    /// point.
    let endsAtChecks = Atomic<Bool>(false)
    private(set) var connection: Connection?
    /// The number of times that the slot has been used.
    private(set) var uses = 0
    private let open: @Sendable () throws -> Connection
    /// The snapshot that reads use; nil, the default, for the current state.
    var state: WALSnapshot?
    /// The additions to the connection after it was opened.
    var additions = SharedAdditions(isPool: false)
    var isWriter = false
    /// Before then, no write begins.
    private var nextWrite: ContinuousClock.Instant?
    private var added = ConnectionAdditions()
    /// Nil while no connection is open. Any thread may read it.
    private let interrupter = Lock<Interrupter?>(nil)

    /// The actions that other threads may take on an open connection.
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
    package func run<R>(
        _ mode: Mode, _ limits: CallLimits = CallLimits(), _ body: (Connection) throws -> sending R
    ) throws -> sending R {
        beginUse()
        defer { endUse() }
        uses &+= 1
        if let deadline = limits.deadline, deadline.hasPassed { throw DatabaseError.timeout }
        let db = try opened()
        db.lend(until: limits.deadline)
        defer { db.takeBack() }
        if !added.isCurrent(with: additions) { try added.update(db, additions, isWriter: isWriter) }
        let cancellation = limits.cancellation
        if let cancellation { try watch(cancellation, db) }
        // From here on it cannot be cancelled: the statement that runs may already be the next caller's.
        defer { cancellation?.setHandler(nil) }
        do {
            defer { reset(mode, db) }
            if mode == .write || mode == .withoutTransaction { leaveLockToOthers() }
            let closure = try begin(mode, db), start = ContinuousClock.now
            defer { if mode == .write || mode == .withoutTransaction { wrote(for: ContinuousClock.now - start) } }
            let result: R
            do {
                db.enter(closure)
                defer { db.leave(closure) }
                result = try body(db)
                try db.requireUnclosed()
                if closure == .inTransaction { try db.requireTransaction() }
            }
            if mode == .write, TransactionEnd.undoes(result) { db.abandon() } else { try end(mode, db, closure) }
            return result
        } catch {
            throw db.cancellationError(cancellation) ?? error
        }
    }

    /// Runs a caller's closure while no other connection is open. Unlike the package's own work on the whole file, it may be
    /// interrupted anywhere.
    func runAlone<R>(_ limits: CallLimits, _ body: (Connection) throws -> sending R) throws -> sending R {
        endsAtChecks.store(false, ordering: .relaxed)
        return try run(.alone, limits, body)
    }

    /// Marks this thread, so that a call of the same database inside a closure throws instead of waiting for itself.
    func beginUse() {
        user.store(sqlcipherkit_thread(), ordering: .relaxed)
        sqlcipherkit_enter_call()
    }

    func endUse() {
        sqlcipherkit_leave_call()
        user.store(0, ordering: .relaxed)
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

    // MARK: Other writers

    /// Sets the time until the next write. Another connection looks for the lock each millisecond, and a writer that never pauses
    /// leaves it free for microseconds. The longer its transactions are, the fewer such moments there are.
    private func wrote(for time: Duration) {
        nextWrite = time < .milliseconds(10) ? nil : .now + min(time / 20, .milliseconds(2))
    }

    private func leaveLockToOthers() {
        guard let pause = nextWrite.map({ $0 - .now }), pause > .zero else { return }
        usleep(useconds_t(pause / .microseconds(1)))
    }

    // MARK: Modes

    /// Begins the transaction or the restrictions of a mode.
    private func begin(_ mode: Mode, _ db: Connection) throws -> TransactionClosures.Kind {
        switch mode {
        case .unrestricted: return .unrestricted
        case .alone:
            db.setAttachesForAll(true)
            return .unrestricted
        case .withoutTransaction:
            db.loan.pool.isBesideReaders = additions.isPool
            return .unrestricted
        case .write:
            try db.begin(.immediate)
            return .inTransaction
        case .readOnly:
            sqlcipherkit_set_query_only(try db.live(), 1)
            // Only this connection sees an in-memory database.
            if !db.location.isOnDisk { return .withoutControl }
        case .read: break
        }
        if let state {
            try db.begin(.deferred)
            try state.open(db)
        }
        try db.check(sqlcipherkit_begin_read(db.live()))
        return .inTransaction
    }

    /// Ends it after a closure that has succeeded.
    private func end(_ mode: Mode, _ db: Connection, _ closure: TransactionClosures.Kind) throws {
        switch mode {
        case .unrestricted, .alone: break
        case .withoutTransaction: if db.isInTransaction { throw DatabaseError.openTransaction }
        case .write: try db.commit()
        case .read, .readOnly: if closure == .inTransaction, try sqlcipherkit_end_read(db.live()) == 0 { try commit?.execute() }
        }
    }

    /// Resets the settings of a mode.
    private func reset(_ mode: Mode, _ db: Connection) {
        switch mode {
        case .readOnly: if let handle = db.handle { sqlcipherkit_set_query_only(handle, 0) }
        case .alone: db.setAttachesForAll(false)
        case .withoutTransaction: db.loan.pool.isBesideReaders = false
        case .unrestricted, .write, .read: break
        }
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

    /// Closes the connection; the next use opens another connection.
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

    /// True if a connection is open, or was very recently.
    var seemsOpen: Bool { interrupter.withLock { $0 != nil } }

    /// True if a call is running on it.
    var isInUse: Bool { user.load(ordering: .relaxed) != 0 }

    /// Ends the running statements, if a call has the slot.
    func interrupt() {
        guard isInUse else { return }
        interrupter.withLock { $0?.handle }?.interrupt()
    }

    /// Ends the call that has the slot: the running statement is interrupted, and each later statement throws.
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
    fileprivate func prepareForLending() throws {
        try loan.prepare()
        try usableHooks().hooks.stopsLentWork = true
        // Handlers that were set in `prepare` stay.
        try settings.setProgressHandler(every: hooks?.progressInterval ?? 10_000, hooks?.progress)
    }
}

extension DatabaseError {
    fileprivate static let openTransaction = misuse("the closure has left a transaction open, which was rolled back")
}
