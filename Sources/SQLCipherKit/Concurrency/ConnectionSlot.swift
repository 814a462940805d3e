import CSQLCipher
import Foundation
import Synchronization

/// One connection of a queue or a pool, opened when it is first needed, with the thread for its asynchronous work.
final class ConnectionSlot: @unchecked Sendable {
    // Sendable: what is not atomic is touched only by the one who has the slot from its lender, whose lock lies between one and the
    // next; `isOpen` and `uses` also under that lock, while nobody has the slot.

    /// What a closure may do.
    enum Mode {
        /// Read one moment of the database.
        case read
        /// Read, on a connection that could also write.
        case readOnly
        /// Write, in a transaction.
        case write
        /// Anything.
        case anything
    }

    let worker = Worker()
    /// The thread that has the slot, 0 for none.
    let user = Atomic<UInt>(0)
    private(set) var connection: Connection?
    /// How often it was used.
    private(set) var uses = 0
    private let open: @Sendable () throws -> Connection
    // Kept, as every read needs them.
    private var begin: Statement?, commit: Statement?
    private var looks: [Statement] = []
    private let forks = sqlcipherkit_forks()

    /// A slot that opens its connection when it needs one.
    init(open: @escaping @Sendable () throws -> Connection) { self.open = open }

    /// A slot with a connection, which is not opened again when it was closed.
    convenience init(_ connection: Connection) {
        self.init { throw DatabaseError.closedConnection }
        self.connection = connection
    }

    deinit {
        // A child has no such thread, and must not wait for a lock that one may have held.
        if forks == sqlcipherkit_forks() { worker.stop() }
    }

    var isOpen: Bool { connection?.hasHandle ?? false }

    /// Runs `body` with the connection, on this thread.
    /// - Parameters:
    ///   - deadline: when it must be over.
    ///   - ticket: what may stop it.
    func run<R>(
        _ mode: Mode, until deadline: ContinuousClock.Instant? = nil, _ ticket: Ticket? = nil,
        _ body: (Connection) throws -> sending R
    ) throws -> sending R {
        user.store(sqlcipherkit_thread(), ordering: .relaxed)
        defer { user.store(0, ordering: .relaxed) }
        uses &+= 1
        if let deadline, ContinuousClock.now >= deadline { throw DatabaseError.timeout }
        let db = try opened(mode)
        db.lend(until: deadline)
        defer { db.takeBack() }
        if let ticket { try watch(ticket, db) }
        // From here on nobody stops what runs, which may be the next caller's.
        defer { ticket?.whenStopped(nil) }
        do { return try perform(mode, db, body) } catch {
            throw db.stopError(ticket) ?? error
        }
    }

    private func watch(_ ticket: Ticket, _ db: Connection) throws {
        let interrupter = try db.interruptHandle
        let thread = sqlcipherkit_thread()
        // Only what is atomic is touched of the connection, which lives until the ticket forgets this closure.
        nonisolated(unsafe) let db = db
        ticket.whenStopped { error in
            db.refuseUse((error as? DatabaseError)?.reason == .timeout ? Connection.Holder.late : Connection.Holder.cancelled, to: thread)
            interrupter.interrupt()
        }
        if let error = ticket.error { throw error }
    }

    private func perform<R>(_ mode: Mode, _ db: Connection, _ body: (Connection) throws -> sending R) throws -> sending R {
        switch mode {
        case .anything: return try body(db)
        case .write: return try write(db, body)
        case .read: return try read(db, body)
        case .readOnly:
            let handle = try db.live()
            sqlcipherkit_set_query_only(handle, 1)
            defer { if db.hasHandle { sqlcipherkit_set_query_only(handle, 0) } }
            // What is in memory is seen by this connection alone.
            return db.location.isOnDisk ? try read(db, body) : try body(db)
        }
    }

    private func read<R>(_ db: Connection, _ body: (Connection) throws -> sending R) throws -> sending R {
        guard let begin, let commit else { throw DatabaseError.closedConnection }
        try begin.execute()
        // The moment is that of the first look.
        for look in looks { try look.execute() }
        let result = try body(db)
        guard db.isInTransaction else { throw db.isUsable ? DatabaseError.endedInside : db.refusal() }
        try commit.execute()
        return result
    }

    private func write<R>(_ db: Connection, _ body: (Connection) throws -> sending R) throws -> sending R {
        try db.begin(.immediate)
        let result = try body(db)
        // SQLite itself may have rolled back, after a full disk for instance, in a statement whose error `body` swallowed.
        guard db.isInTransaction else { throw db.isUsable ? DatabaseError.endedInside : db.refusal() }
        try db.commit()
        return result
    }

    // MARK: Opening and closing

    private func opened(_ mode: Mode) throws -> Connection {
        if let connection, begin != nil {
            if connection.hasHandle { return connection }
            throw DatabaseError.closedConnection
        }
        let db = try connection ?? open()
        try db.isLent()
        begin = try db.prepareKept("BEGIN")
        looks = [try db.prepareKept("PRAGMA main.schema_version")]
        // What a reader has attached stays while it is open.
        if case .read = mode {
            for database in try db.attachedDatabases() where database.name != "main" && database.name != "temp" {
                looks.append(try db.prepareKept("PRAGMA \(database.name.quotedSQLIdentifier).schema_version"))
            }
        }
        commit = try db.prepareKept("COMMIT")
        connection = db
        return db
    }

    /// Closes the connection; the next use opens another one.
    func close() {
        (begin, commit, looks) = (nil, nil, [])
        if let connection, !connection.isForked {
            connection.lend(until: nil)
            connection.close()
        }
        connection = nil
    }

    /// Puts an open connection in the place of the one that was closed.
    func replace(by connection: Connection) {
        close()
        self.connection = connection
    }
}

extension Connection {
    /// Why a call was stopped, if it was.
    fileprivate func stopError(_ ticket: Ticket?) -> (any Error)? {
        switch holder.load(ordering: .relaxed) {
        case Holder.cancelled: ticket?.error ?? CancellationError()
        case Holder.late: DatabaseError.timeout
        default: nil
        }
    }

    /// Prepares the connection for being lent.
    fileprivate func isLent() throws(DatabaseError) {
        try usableHooks().hooks.stopsLentWork = true
        try setProgressHandler(nil)
        try setInterruptibleBusyHandler()
    }

    /// Waits for locks as SQLite does with a timeout, but no longer than the running call may take.
    private func setInterruptibleBusyHandler() throws(DatabaseError) {
        // A handler of the user's, set in `prepare`, stays.
        if hooks?.busy != nil { return }
        let patience = try settings.busyTimeout
        let delays: [Duration] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100].map { .milliseconds($0) }
        var waited = Duration.zero
        try setBusyHandler { [unowned self] attempts in
            if attempts == 0 { waited = .zero }
            guard waited < patience, !mustStop else { return false }
            let delay = min(delays[min(attempts, delays.count - 1)], patience - waited)
            waited += delay
            usleep(UInt32(delay / .microseconds(1)))
            return true
        }
    }
}

extension DatabaseError {
    fileprivate static let endedInside = misuse("the transaction was ended inside of its closure")
}
