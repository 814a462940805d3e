import CSQLCipher

/// The way in which a transaction begins (<https://sqlite.org/lang_transaction.html>).
public enum TransactionKind: String, Sendable, CaseIterable {
    /// Locks nothing until the first read or write; a later write may find the database busy.
    case deferred = "DEFERRED"
    /// Takes the write lock at once.
    case immediate = "IMMEDIATE"
    /// Takes the write lock at once and, without a write-ahead log, blocks readers.
    case exclusive = "EXCLUSIVE"
}

/// The end of a transaction without an error, and the value that it returns.
///
/// A closure that runs in a transaction or a savepoint can return a `TransactionEnd`. Such closures are passed to `transaction` and
/// `savepoint` of a ``Connection``, to `write` of a queue or pool, and to all calls that use these.
public enum TransactionEnd<Value> {
    /// The changes are kept.
    case commit(Value)
    /// The changes are undone.
    case rollback(Value)

    /// The value, however the transaction ends.
    public var value: Value {
        switch self {
        case .commit(let value), .rollback(let value): value
        }
    }

    /// Creates the end of the transaction of a closure that has returned `value`. The value may itself be a ``TransactionEnd``:
    /// generic code passes on whatever its own closure returns.
    package init(_ value: Value) { self = Self.undoes(value) ? .rollback(value) : .commit(value) }

    /// Returns whether a closure that has returned `value` asks for a rollback.
    package static func undoes(_ value: Value) -> Bool {
        // Not by the closure's type: an optional, or an existential of generic code, may hold an end too.
        (value as? any TransactionEnding)?.isRollback == true
    }
}

private protocol TransactionEnding {
    var isRollback: Bool { get }
}

extension TransactionEnd: TransactionEnding {
    var isRollback: Bool { if case .rollback = self { true } else { false } }
}

extension TransactionEnd: Sendable where Value: Sendable {}

extension Connection {
    /// True if a transaction is open (<https://sqlite.org/c3ref/get_autocommit.html>).
    public var isInTransaction: Bool { usableHandle.map { sqlite3_get_autocommit($0) == 0 } ?? false }

    /// Begins a transaction.
    /// - Parameter kind: how the transaction begins. Default: immediate, so that a later write in it does not find the database
    ///   busy.
    /// - Throws: ``DatabaseError/Reason/misuse`` inside a transaction; ``DatabaseError/Reason/busy``.
    public func begin(_ kind: TransactionKind = .immediate) throws {
        _ = try liveForUse()
        if isInTransaction { throw DatabaseError.misuse("a transaction is already open: use a savepoint inside it") }
        try control("BEGIN \(kind.rawValue)")
    }

    /// Commits the open transaction. If this throws, the transaction is still open unless SQLite has rolled it back: check
    /// ``isInTransaction``.
    /// - Throws: ``DatabaseError/Reason/misuse`` without a transaction, or inside the closure of a transaction;
    ///   ``DatabaseError/Reason/busy``; or the error of a commit hook that vetoed the commit.
    public func commit() throws {
        _ = try liveForUse()
        guard isInTransaction else { throw DatabaseError.misuse("there is no transaction to commit") }
        try execute("COMMIT")
    }

    /// Rolls the open transaction back.
    /// - Throws: ``DatabaseError/Reason/misuse`` without a transaction, or inside the closure of a transaction.
    public func rollback() throws {
        _ = try liveForUse()
        guard isInTransaction else { throw DatabaseError.misuse("there is no transaction to roll back") }
        do { try execute("ROLLBACK") } catch let error as DatabaseError where error.code == .outOfMemory {
            // The statement needs memory, rolling back does not.
            guard let handle else { throw error }
            sqlcipherkit_roll_back(handle)
        }
    }

    /// Runs `body` in a transaction: commits and returns its value, or rolls back if it throws.
    ///
    /// Inside another transaction, this transaction is a savepoint. SQL in `body` cannot begin or end a transaction: such a
    /// statement throws ``DatabaseError/Reason/misuse``. If SQLite itself rolls back, because of `ON CONFLICT ROLLBACK`,
    /// `RAISE(ROLLBACK)`, an interrupted write or a full disk, each further statement throws
    /// ``DatabaseError/Reason/transactionAborted`` until the outermost closure has ended. So does this call, even if `body` itself
    /// ends without an error.
    /// ```swift
    /// try db.transaction { db in
    ///     try db.execute("UPDATE account SET balance = balance - \(amount) WHERE id = \(from)")
    ///     try db.execute("UPDATE account SET balance = balance + \(amount) WHERE id = \(to)")
    /// }
    /// ```
    /// To roll back without an error, return ``TransactionEnd/rollback(_:)``.
    /// - Parameters:
    ///   - kind: how it begins. Default: nil, for an immediate transaction, in which a later write does not find the database busy;
    ///     inside another transaction, nil stands for the kind of that transaction.
    ///   - body: the work to do.
    /// - Throws: any error of `body`, and of beginning or committing; in each case no change is kept.
    ///   ``DatabaseError/Reason/misuse`` for a kind with a stronger lock than the surrounding transaction has: `immediate` inside a
    ///   transaction that has only read, `exclusive` inside a transaction that lets others read.
    @discardableResult
    public func transaction<R>(_ kind: TransactionKind? = nil, _ body: (Connection) throws -> R) throws -> R {
        try transaction(kind) { db in TransactionEnd(try body(db)) }
    }

    /// Runs `body` in a transaction, and commits it or rolls it back according to the result of `body`.
    /// ```swift
    /// let isFeasible = try db.transaction { db in
    ///     try plan.apply(to: db)
    ///     return .rollback(try plan.check(db))
    /// }
    /// ```
    /// - Throws: any error of `body`, and of beginning or committing; in each case no change is kept.
    @discardableResult
    public func transaction<R>(_ kind: TransactionKind? = nil, _ body: (Connection) throws -> TransactionEnd<R>) throws -> R {
        if isInTransaction {
            if let kind { try requireKind(kind) }
            return try savepoint(nil, body)
        }
        try begin(kind ?? .immediate)
        // In no case is the connection left inside the transaction. After a commit there is nothing to roll back.
        defer { abandon() }
        switch try inTransaction({ try body(self) }) {
        case .commit(let value):
            try control("COMMIT")
            return value
        case .rollback(let value):
            return value
        }
    }

    /// Runs `body`, which returns nothing, in a transaction. This form spares you a type annotation where a closure of several
    /// statements is the only expression of another closure.
    /// - Throws: any error that `body`, beginning or committing throws; in each case no change is kept.
    @_documentation(visibility: private)
    public func transaction(_ kind: TransactionKind? = nil, _ body: (Connection) throws -> Void) throws {
        try transaction(kind) { db in TransactionEnd.commit(try body(db)) }
    }

    /// Runs `body` in a savepoint: keeps its changes, or undoes only these changes if it throws. Outside a transaction, it is a
    /// transaction (<https://sqlite.org/lang_savepoint.html>).
    /// - Parameters:
    ///   - name: a name that shows in traces. Default: nil, for `sqlcipherkit`.
    ///   - body: the work to do.
    /// - Throws: any error that `body` or SQLite throws; in each case no change of `body` is kept.
    @discardableResult
    public func savepoint<R>(_ name: String? = nil, _ body: (Connection) throws -> R) throws -> R {
        try savepoint(name) { db in TransactionEnd(try body(db)) }
    }

    /// Runs `body` in a savepoint, and keeps or undoes its changes according to the result of `body`.
    /// - Throws: any error that `body` or SQLite throws; in each case no change of `body` is kept.
    @discardableResult
    public func savepoint<R>(_ name: String? = nil, _ body: (Connection) throws -> TransactionEnd<R>) throws -> R {
        let name = (name ?? "sqlcipherkit").quotedSQLIdentifier
        try control("SAVEPOINT \(name)")
        let changes = hooks?.tracker?.mark()
        do {
            switch try inTransaction({ try body(self) }) {
            case .commit(let value):
                try control("RELEASE \(name)")
                return value
            case .rollback(let value):
                abandon(savepoint: name, changes)
                return value
            }
        } catch {
            abandon(savepoint: name, changes)
            throw error
        }
    }

    /// Runs `body`, which returns nothing, in a savepoint.
    /// - Throws: any error that `body` or SQLite throws; in each case no change of `body` is kept.
    @_documentation(visibility: private)
    public func savepoint(_ name: String? = nil, _ body: (Connection) throws -> Void) throws {
        try savepoint(name) { db in TransactionEnd.commit(try body(db)) }
    }

    /// Throws if the open transaction does not have what one of this kind would.
    private func requireKind(_ kind: TransactionKind) throws {
        let handle = try liveForUse()
        guard kind != .deferred, sqlcipherkit_has_write_lock(handle, kind == .exclusive ? 1 : 0) == 0 else { return }
        let reason = kind == .exclusive ? "lets others read" : "has only read"
        throw DatabaseError.misuse(
            "no \(kind) transaction can begin inside a transaction that \(reason): begin the outermost one with .\(kind); "
                + "in a queue or pool, in the closure of writeWithoutTransaction(timeout:_:)")
    }

    /// Runs `body`, which only reads on this connection, in one snapshot. Ending it cannot fail, so that no error follows after
    /// `body` has written elsewhere.
    package func withSnapshot(_ body: () throws -> Void) throws {
        try transaction(.deferred) { _ -> TransactionEnd<Void> in
            try body()
            return .rollback(())
        }
    }

    /// Rolls back the transaction, if there is one. This always succeeds: if the ROLLBACK statement fails for lack of memory or is
    /// refused by an authorizer, it rolls back without a statement.
    package func abandon() {
        guard isInTransaction else { return }
        if (try? restoring { try control("ROLLBACK") }) == nil, isInTransaction, let handle { sqlcipherkit_roll_back(handle) }
    }

    /// Undoes a savepoint. If that fails, rolls back the whole transaction, which would otherwise keep the changes to be undone.
    private func abandon(savepoint name: String, _ changes: ChangeTracker.Mark?) {
        guard isInTransaction else { return }
        do {
            try restoring { () throws in try control("ROLLBACK TO \(name)") }
            if let changes { hooks?.tracker?.rollBack(to: changes) }
            try control("RELEASE \(name)")
        } catch {
            abandon()
            abort(error)
        }
    }
}

extension Connection {
    /// Runs `body`, which steps a statement to its end: if it throws, nothing is changed.
    ///
    /// SQLite undoes what a failing statement has changed, unless a trigger fails it with `RAISE(FAIL)` or a constraint says
    /// `ON CONFLICT FAIL` (<https://sqlite.org/lang_conflict.html>). Only statements that may end so need a savepoint.
    package func wholly<R>(_ handle: OpaquePointer, _ body: () throws -> R) throws -> R {
        if sqlcipherkit_may_fail_halfway(handle) == 0 { return try body() }
        return try savepoint { _ in try body() }
    }

    /// Runs a statement that changes rows: if it throws, nothing is changed.
    package func changeRows(_ sql: SQL) throws {
        try withCached(sql, []) { statement, arguments in
            let handle = try statement.beginUse()
            defer { statement.endUse(handle) }
            try statement.bindAll(arguments, handle)
            try wholly(handle) { try statement.drain(handle) }
        }
    }
}
