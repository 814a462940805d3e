import CSQLCipher
import Foundation
import Synchronization

/// The thread that may use a connection. For a connection of your own the compiler checks this, because the type is not `Sendable`.
/// A connection of a queue or a pool is lent to a closure on one thread, and every call checks that it is on that thread: a
/// reference that escapes the closure only throws.
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

    /// True if the calling thread may use the connection.
    @inlinable
    @inline(__always)
    package var isUsable: Bool {
        let holder = holder.load(ordering: .relaxed)
        return (holder == 0 || holder == sqlcipherkit_thread()) && forks == sqlcipherkit_forks()
    }

    /// True if the connection was opened by the parent process, before a fork.
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

    /// The state that a queue or a pool keeps for a connection that it lends.
    package final class Loan {
        /// The calls that a pool forbids on each of its connections.
        @exclusivity(unchecked) package var pool = OneOfMany()
        /// The time by which the running call must have ended.
        @exclusivity(unchecked) var deadline: Deadline?
        /// The closures that reset the settings that the closure has changed.
        @exclusivity(unchecked) var settings: [LoanSetting: (Connection) throws -> Void] = [:]
        /// The settings that SQL can change, as they were when the connection was lent. Nil before the first time.
        @exclusivity(unchecked) private(set) var settingsBefore: OpaquePointer?
        /// True if the closure has tried to close the connection.
        @exclusivity(unchecked) var closeWasRefused = false

        /// Makes room for the settings, before the connection is lent for the first time.
        package func prepare() throws {
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

    /// True if the calling thread has the connection, even if its call was cancelled.
    var isOwn: Bool { isUsable || !isForked && borrower.load(ordering: .relaxed) == sqlcipherkit_thread() }

    /// Throws if the closure has tried to close the lent connection.
    package func requireUnclosed() throws {
        if loan.closeWasRefused {
            throw DatabaseError.misuse("a closure cannot close the connection of a queue or a pool: close the queue or the pool")
        }
    }

    /// True if the running statement must stop. SQLite asks regularly.
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
        code: .misuse, reason: .usedAfterFork,
                message: "the connection belongs to the parent process: open another one after a fork")

    package static let timeout = DatabaseError(
        code: .interrupted, reason: .timeout, message: "the call took longer than its timeout")

    package static let suspended = DatabaseError(
        code: .interrupted, reason: .suspended, message: "the database is suspended: resume it before the next call")
}

/// A setting that a closure changes on a connection that is lent to it. It is reset when the closure ends, for the next call.
enum LoanSetting: Hashable {
    case busy, progress, authorizer, option(Int32), limit(Int32)
}

extension Connection {
    /// True if the connection is lent to a closure on this thread.
    var isLent: Bool { borrower.load(ordering: .relaxed) == sqlcipherkit_thread() }

    /// Records how to reset a setting when the closure has ended, if the closure changes it for the first time.
    func untilReturn(_ setting: LoanSetting, _ putBack: @autoclosure () -> ((Connection) throws -> Void)) {
        guard isLent, case let loan = loan, loan.settings[setting] == nil else { return }
        loan.settings[setting] = putBack()
    }

    /// Resets what the closure has changed, after it has ended.
    private func putSettingsBack() {
        let changed = loan.settings
        loan.settings = [:]
        for putBack in changed.values { try? putBack(self) }
    }

    // MARK: Waiting for locks

    /// - Parameter body: decides whether to wait on; nil for the timeout, which SQLite has.
    func setBusyBody(_ body: ((Int) -> Bool)?) throws {
        let (hooks, _) = try usableHooks(), before = hooks.busy
        // SQLite's side is restored with the other settings.
        untilReturn(.busy) { db in db.hooks?.busy = before }
        hooks.busy = body
    }
}

/// When a connection is open but cannot be used: inside a hook, inside a closure called by a rewrite of a whole database, and in
/// the rest of a transaction's closure after SQLite has rolled the transaction back.
///
/// All three are in one number, ``Connection/refusals``. A statement checks it once, when it begins to run; rows do not.
extension Connection {
    /// The parts of ``Connection/refusals``: a count of callbacks, and one bit above it.
    enum Refusals {
        static var callbacks: Int { aborted - 1 }
        static var aborted: Int { 1 << 24 }
    }

    /// True if SQLite or a rewrite is calling a closure that may not use the connection.
    var isInCallback: Bool { refusals & Refusals.callbacks != 0 }

    /// Returns the handle, for a call that SQLite does not allow inside a hook.
    package func liveOutsideHooks() throws -> OpaquePointer {
        let handle = try live()
        if isInCallback { throw refusalInside() }
        return handle
    }

    /// Returns the handle, for a call that reads or writes a database.
    package func liveForUse() throws -> OpaquePointer {
        let handle = try live()
        if refusals != 0 { throw refusalInside() }
        return handle
    }

    /// Returns why no statement may begin.
    func refusalInside(sql: String? = nil) -> DatabaseError {
        if isInCallback { return exclusiveUse == nil ? .insideHook(sql: sql) : .insideExclusiveUse(sql: sql) }
        return .aborted(closures.cause, sql: sql)
    }

    // MARK: Callbacks

    /// Runs a user's function that SQLite has called and that may use the connection, unless a rewrite is running.
    @inline(__always)
    package func inFunction<R>(_ body: () -> R) -> R {
        guard exclusiveUse == nil else { return inHook(body) }
        callbackDepth += 1
        defer { callbackDepth -= 1 }
        return body()
    }

    /// Runs a user's hook. SQLite does not allow a hook to use the connection, so its calls throw.
    @inline(__always)
    func inHook<R>(_ body: () -> R) -> R {
        callbackDepth += 1
        defer { callbackDepth -= 1 }
        if let exclusiveUse { return exclusiveUse.call(body) }
        refusals += 1
        defer { refusals -= 1 }
        return body()
    }
}

extension DatabaseError {
    fileprivate static func insideHook(sql: String? = nil) -> DatabaseError {
        .misuse("a hook, a handler, a collation or the authorizer cannot use the connection that called it", sql: sql)
    }

    static func insideExclusiveUse(sql: String? = nil) -> DatabaseError {
        .misuse(
            "closures that the connection calls cannot use it while it rewrites or copies a database",
            sql: sql)
    }
}

/// The present values of the settings that pragmas can change, to be put back without a statement: reading the schema, a handler or
/// an authorizer could stop that.
package final class KeptSettings {
    private let connection: Connection
    private let settings: OpaquePointer

    package init(of connection: Connection) throws {
        guard let settings = sqlcipherkit_new_settings() else { throw DatabaseError(rc: SQLITE_NOMEM, database: nil) }
        (self.connection, self.settings) = (connection, settings)
        sqlcipherkit_read_settings(try connection.live(), settings)
    }

    package func putBack() { if let handle = connection.handle { sqlcipherkit_restore_settings(handle, settings) } }

    deinit { sqlcipherkit_free_settings(settings) }
}
