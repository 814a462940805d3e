import CSQLCipher

/// The closures on the stack that have a transaction: those of `transaction`, `savepoint`, a migration, and the calls of a queue or
/// a pool.
struct TransactionClosures {
    /// How many there are. In them, SQL may not begin or end a transaction.
    var count = 0
    /// How many of them rely on an open transaction; a read of a database in memory has none.
    var relying = 0
    /// Whether this package itself begins or ends one of the transactions just now.
    var isControlling = false
    /// The error with which SQLite has rolled the transaction back, until the outermost closure has ended.
    var cause: DatabaseError?
}

extension Connection {
    /// Runs a closure of the caller's in the open transaction, which only this package ends.
    ///
    /// SQLite rolls back by itself after some errors: `ON CONFLICT ROLLBACK`, `RAISE(ROLLBACK)`, an interrupted write, a full disk.
    /// Statements that followed would then be committed one by one. So from such an error on none runs until the outermost closure
    /// has ended, and each closure throws, even if it has swallowed the error.
    func inTransaction<R>(_ body: () throws -> R) throws -> R {
        enterTransaction()
        defer { leaveTransaction() }
        let result = try body()
        try requireTransaction()
        return result
    }

    func enterTransaction() {
        closures.count += 1
        closures.relying += 1
    }

    func leaveTransaction() {
        closures.count -= 1
        closures.relying -= 1
        guard closures.relying == 0, closures.cause != nil else { return }
        closures.cause = nil
        refusals &= ~Refusals.aborted
    }

    /// - Throws: ``DatabaseError/Reason/aborted`` if SQLite has rolled the transaction back, or why the connection cannot be used.
    func requireTransaction() throws(DatabaseError) {
        guard isUsable, hasHandle else { throw refusal() }
        if let cause = closures.cause { throw .aborted(cause) }
        if !isInTransaction { throw .misuse("the transaction was ended inside of its closure") }
    }

    /// Looks, after an error, whether SQLite has rolled back a transaction that a closure relies on.
    func noting(_ error: DatabaseError) -> DatabaseError {
        if closures.relying > 0, let handle, sqlite3_get_autocommit(handle) != 0 { abort(error) }
        return error
    }

    /// Lets no statement run until the outermost closure has ended.
    func abort(_ cause: DatabaseError) {
        guard closures.relying > 0, closures.cause == nil else { return }
        closures.cause = cause
        refusals |= Refusals.aborted
    }

    /// Runs `body`, which puts a setting back on the way out, also where no other statement may run.
    func restoring(_ body: () throws -> Void) {
        let aborted = refusals & Refusals.aborted
        refusals &= ~Refusals.aborted
        defer { refusals |= aborted }
        try? body()
    }

    /// Runs SQL that begins or ends a transaction or a savepoint.
    func control(_ sql: String) throws(DatabaseError) {
        closures.isControlling = true
        defer { closures.isControlling = false }
        try execute(SQL(raw: sql))
    }

    /// Whether SQL may begin or end a transaction now.
    var allowsTransactionControl: Bool { closures.count == 0 || closures.isControlling }
}

extension DatabaseError {
    static func aborted(_ cause: DatabaseError?, sql: String? = nil) -> DatabaseError {
        let why = cause.map { " (\($0.message))" } ?? ""
        return DatabaseError(
            code: .abortRollback, reason: .aborted,
            message: "SQLite has rolled the transaction back\(why): nothing of it is kept, and nothing runs until its closure ends",
            sql: sql, underlying: cause)
    }

    static func transactionControl(_ sql: String) -> DatabaseError {
        .misuse(
            "SQL cannot begin or end a transaction inside of a closure that has one: use savepoint(_:_:) for a part of it; "
                + "to roll back, throw, or return .rollback from transaction(_:_:)", sql: sql)
    }
}
