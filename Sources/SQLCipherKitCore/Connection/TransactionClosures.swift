import CSQLCipher

/// The closures on the stack that run in a transaction: those of `transaction`, `savepoint`, a migration, queues and pools.
package struct TransactionClosures {
    /// The rights of a closure.
    package enum Kind {
        /// The closure may begin and end transactions.
        case unrestricted
        /// There is no transaction, and the closure must not begin one, as in a read of a database in memory.
        case withoutControl
        /// The closure relies on the open transaction.
        case inTransaction
    }

    /// The number of closures in which SQL must not begin or end a transaction.
    fileprivate var count = 0
    /// The number of closures that rely on an open transaction.
    fileprivate var relying = 0
    /// True if this package itself is beginning or ending one of the transactions.
    fileprivate var isControlling = false
    /// The error for which SQLite has rolled the transaction back; kept until the outermost closure has ended.
    package var cause: DatabaseError?
    /// True if the error is not known yet: the statement may end with it, or without one.
    fileprivate var isCauseOpen = false
}

extension Connection {
    /// Runs a closure of the caller in the open transaction, which only this package ends.
    ///
    /// SQLite rolls back by itself after some errors: `ON CONFLICT ROLLBACK`, `RAISE(ROLLBACK)`, an interrupted write, a full disk.
    /// The statements after that would be committed one by one. So after such an error no statement runs until the outermost
    /// closure has ended, and each closure throws, even if it has caught the error.
    func inTransaction<R>(_ body: () throws -> R) throws -> R {
        enter(.inTransaction)
        defer { leave(.inTransaction) }
        let result = try body()
        try requireTransaction()
        return result
    }

    package func enter(_ closure: TransactionClosures.Kind) {
        if closure != .unrestricted { closures.count += 1 }
        if closure == .inTransaction { closures.relying += 1 }
    }

    package func leave(_ closure: TransactionClosures.Kind) {
        if closure != .unrestricted { closures.count -= 1 }
        guard closure == .inTransaction else { return }
        closures.relying -= 1
        guard closures.relying == 0, closures.cause != nil else { return }
        (closures.cause, closures.isCauseOpen) = (nil, false)
        refusals &= ~Refusals.aborted
        guard let handle else { return }
        if let hooks { hooks.installCommitHooks(handle) } else { sqlite3_commit_hook(handle, nil, nil) }
    }

    /// - Throws: ``DatabaseError/Reason/transactionAborted`` if SQLite has rolled the transaction back, or the reason why the
    ///   connection cannot be used.
    package func requireTransaction() throws {
        guard isUsable, hasHandle else { throw refusal() }
        if let cause = closures.cause { throw DatabaseError.aborted(cause) }
        if !isInTransaction { throw DatabaseError.misuse("the transaction was ended inside its closure") }
    }

    /// Checks, after an error, whether SQLite has rolled back a transaction that a closure relies on.
    func noting(_ error: DatabaseError) -> DatabaseError {
        guard closures.relying > 0, let handle, sqlite3_get_autocommit(handle) != 0 else { return error }
        // The hook of ``abort(_:)`` has refused what went on.
        if closures.isCauseOpen, error.code == .constraintCommitHook { return .aborted(closures.cause, sql: error.sql) }
        if closures.isCauseOpen { (closures.cause, closures.isCauseOpen) = (error, false) } else { abort(error) }
        return error
    }

    /// Lets SQLite tell of each rollback. It also rolls back after an error of a statement of its own, and may then go on without
    /// an error: `PRAGMA table_list` does so if a virtual table cannot be read.
    func watchRollbacks(_ handle: OpaquePointer) {
        sqlite3_rollback_hook(
            handle, { context in
                guard let context else { return }
                Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().noteRollback()
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    func noteRollback() {
        guard closures.relying > 0, !closures.isControlling, closures.cause == nil else { return }
        abort(DatabaseError(code: .abortRollback, message: "after an error of a statement of its own"))
        closures.isCauseOpen = true
    }

    /// Lets no statement run until the outermost closure has ended.
    func abort(_ cause: any Error) {
        guard closures.relying > 0, closures.cause == nil else { return }
        closures.cause = DatabaseError(wrapping: cause)
        refusals |= Refusals.aborted
        // The statement that runs may go on, and would be committed by itself.
        if let handle { sqlite3_commit_hook(handle, { _ in 1 }, nil) }
    }

    /// Runs `body`, which puts something back on the way out, even if no other statement may run. Neither a handler nor an
    /// authorizer of the caller's stops it, nor the end of a queue's call.
    package func restoring<E>(_ body: () throws(E) -> Void) throws(E) {
        let aborted = refusals & Refusals.aborted, hooks = hooks, before = hooks?.isRestoring ?? false
        refusals &= ~Refusals.aborted
        hooks?.isRestoring = true
        defer {
            refusals |= aborted
            hooks?.isRestoring = before
        }
        try body()
    }

    /// Runs SQL that begins or ends a transaction or a savepoint.
    func control(_ sql: String) throws {
        closures.isControlling = true
        defer { closures.isControlling = false }
        try execute(SQL(raw: sql))
    }

    /// True if SQL may begin or end a transaction now.
    var allowsTransactionControl: Bool { closures.count == 0 || closures.isControlling }
}

extension DatabaseError {
    package static func aborted(_ cause: DatabaseError?, sql: String? = nil) -> DatabaseError {
        let why = cause.map { " (\($0.message))" } ?? ""
        return DatabaseError(
            code: .abortRollback, reason: .transactionAborted,
            message: "SQLite has rolled the transaction back\(why): nothing of it is kept, and nothing runs until its closure ends",
            sql: sql, underlying: cause)
    }

    static func transactionControl(_ sql: String) -> DatabaseError {
        .misuse(
            "SQL cannot begin or end a transaction inside a closure that has one: use savepoint(_:_:) for a part of it; "
                + "to roll back, throw, or return .rollback", sql: sql)
    }
}
