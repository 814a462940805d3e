import CSQLCipher
import Synchronization

/// Which thread may use a connection. For a connection of your own the compiler checks this, because the type is not `Sendable`. A
/// connection of a queue or a pool is lent to a closure on one thread, and every call checks that it is on that thread: a reference
/// that escapes the closure only throws.
extension Connection {
    /// The values of ``Connection/holder`` other than the number of the thread that the connection is lent to.
    package enum Holder {
        /// The connection does not belong to a queue or a pool.
        static let anyThread: UInt = 0
        /// The connection is not lent.
        static let noThread: UInt = 1
        /// The connection is lent, but its task was cancelled.
        package static let cancelled: UInt = 2
        /// The connection is lent, but its timeout has passed.
        package static let late: UInt = 3
        /// The connection is lent, but its database was suspended.
        package static let suspended: UInt = 4
    }

    /// Whether the calling thread may use the connection.
    @inlinable
    @inline(__always)
    package var isUsable: Bool {
        let holder = holder.load(ordering: .relaxed)
        return (holder == 0 || holder == sqlcipherkit_thread()) && forks == sqlcipherkit_forks()
    }

    /// Whether the connection was opened by the parent process, before a fork.
    package var isForked: Bool { forks != sqlcipherkit_forks() }

    /// Returns why the connection cannot be used.
    @usableFromInline
    @inline(never)
    package func refusal() -> DatabaseError {
        if isForked { return .forked }
        switch holder.load(ordering: .relaxed) {
        case Holder.cancelled: return DatabaseError(code: .interrupted, message: "the task was cancelled")
        case Holder.late: return .timeout
        case Holder.suspended: return .suspended
        case Holder.anyThread, sqlcipherkit_thread(): return .closedConnection
        default: return .misuse("the connection is used outside of the closure that it was lent to")
        }
    }

    // MARK: Lending

    /// What a queue or a pool keeps for a connection that it lends.
    package final class Loan {
        /// What a pool forbids on each of its connections.
        @exclusivity(unchecked) package var pool = OneOfMany()
        /// The time by which the running call must have ended.
        @exclusivity(unchecked) var deadline: Deadline?
        /// How to reset what the closure has set.
        @exclusivity(unchecked) var settings: [LoanSetting: (Connection) throws -> Void] = [:]
        /// The settings that SQL can change, as they were when the connection was lent. Nil before the first time.
        @exclusivity(unchecked) private(set) var settingsBefore: OpaquePointer?
        /// Whether the closure has tried to close the connection.
        @exclusivity(unchecked) var closeWasRefused = false

        /// Makes room for the settings, before the connection is lent for the first time.
        package func prepare() throws(DatabaseError) {
            if settingsBefore == nil { settingsBefore = sqlcipherkit_new_settings() }
            if settingsBefore == nil { throw DatabaseError(rc: SQLITE_NOMEM, database: nil) }
        }

        deinit { sqlcipherkit_free_settings(settingsBefore) }
    }

    /// Lends the connection to the calling thread.
    package func lend(until deadline: Deadline?) {
        let loan = loan
        loan.deadline = deadline
        if let handle, let settings = loan.settingsBefore { sqlcipherkit_read_settings(handle, settings) }
        borrower.store(sqlcipherkit_thread(), ordering: .relaxed)
        holder.store(sqlcipherkit_thread(), ordering: .relaxed)
    }

    /// Refuses all further use, from any thread: the next call on the connection throws.
    package func refuseUse(_ reason: UInt, to thread: UInt) {
        _ = holder.compareExchange(expected: thread, desired: reason, ordering: .relaxed)
    }

    /// Takes the connection back. Statements and cursors that escaped the closure throw from now on.
    package func takeBack() {
        guard !isForked else { return }
        holder.store(sqlcipherkit_thread(), ordering: .relaxed)
        let loan = loan
        loan.deadline = nil
        loan.closeWasRefused = false
        if heldStatements > 0 { invalidateHeldStatements() }
        if !dependents.isEmpty { endDependentsOfLoan() }
        abandon()
        borrower.store(0, ordering: .relaxed)
        if !loan.settings.isEmpty { putSettingsBack() }
        if let handle, let settings = loan.settingsBefore { sqlcipherkit_restore_settings(handle, settings) }
        holder.store(Holder.noThread, ordering: .relaxed)
    }

    /// Whether the calling thread has the connection, even if its call was cancelled.
    var isOwn: Bool { isUsable || !isForked && borrower.load(ordering: .relaxed) == sqlcipherkit_thread() }

    /// Throws if the closure has tried to close the lent connection.
    package func requireUnclosed() throws(DatabaseError) {
        if loan.closeWasRefused {
            throw .misuse("a closure cannot close the connection of a queue or a pool: close the queue or the pool")
        }
    }

    /// Whether the running statement must stop. SQLite asks regularly.
    package var mustStop: Bool {
        switch holder.load(ordering: .relaxed) {
        case Holder.cancelled, Holder.late, Holder.suspended: return true
        default: break
        }
        guard let deadline = loan.deadline, deadline.hasPassed else { return false }
        refuseUse(Holder.late, to: sqlcipherkit_thread())
        return true
    }
}

extension DatabaseError {
    package static let forked = DatabaseError(
        code: .misuse, reason: .forked, message: "the connection belongs to the parent process: open another one after a fork")

    package static let timeout = DatabaseError(
        code: .interrupted, reason: .timeout, message: "the call took longer than its timeout")

    package static let suspended = DatabaseError(
        code: .interrupted, reason: .suspended, message: "the database is suspended: resume it before the next call")
}
