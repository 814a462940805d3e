import CSQLCipher

/// How a transaction begins (<https://sqlite.org/lang_transaction.html>).
public enum TransactionKind: String, Sendable, CaseIterable {
    /// Locks nothing until the first read or write; a later write may find the database busy.
    case deferred = "DEFERRED"
    /// Takes the write lock at once.
    case immediate = "IMMEDIATE"
    /// Takes the write lock at once and, without a write-ahead log, keeps readers out.
    case exclusive = "EXCLUSIVE"
}

/// How a transaction ends without an error, with the value that it gives back.
public enum TransactionEnd<Value> {
    /// The changes stay.
    case commit(Value)
    /// The changes go.
    case rollback(Value)
}

extension TransactionEnd: Sendable where Value: Sendable {}

extension Connection {
    /// Whether a transaction is open (<https://sqlite.org/c3ref/get_autocommit.html>).
    public var isInTransaction: Bool { usableHandle.map { sqlite3_get_autocommit($0) == 0 } ?? false }

    /// Begins a transaction.
    /// - Throws: ``DatabaseError/Reason/misuse`` inside one, ``DatabaseError/Reason/busy``.
    public func begin(_ kind: TransactionKind = .immediate) throws(DatabaseError) {
        _ = try liveForUse()
        if isInTransaction { throw .misuse("a transaction is already open: use a savepoint inside it") }
        try control("BEGIN \(kind.rawValue)")
    }

    /// Commits the open transaction. When it throws, the transaction is still open, unless SQLite has rolled it back:
    /// ``isInTransaction`` tells.
    /// - Throws: ``DatabaseError/Reason/misuse`` without a transaction, or inside of a closure that has one;
    ///   ``DatabaseError/Reason/busy``; and the error of a commit hook that vetoed.
    public func commit() throws(DatabaseError) {
        _ = try liveForUse()
        guard isInTransaction else { throw .misuse("there is no transaction to commit") }
        try execute("COMMIT")
    }

    /// Rolls the open transaction back.
    /// - Throws: ``DatabaseError/Reason/misuse`` without a transaction, or inside of a closure that has one.
    public func rollback() throws(DatabaseError) {
        _ = try liveForUse()
        guard isInTransaction else { throw .misuse("there is no transaction to roll back") }
        try execute("ROLLBACK")
    }

    /// Runs `body` in a transaction: commits and gives its value back, or rolls back if it throws.
    ///
    /// Inside another transaction it is a savepoint of that one. In `body`, SQL cannot begin or end a transaction: such a statement
    /// throws ``DatabaseError/Reason/misuse``. If SQLite itself rolls back, as `ON CONFLICT ROLLBACK`, `RAISE(ROLLBACK)`, an
    /// interrupted write and a full disk make it do, each further statement throws ``DatabaseError/Reason/aborted`` until the
    /// outermost closure has ended, and so does this call, also if `body` goes on without an error.
    /// ```swift
    /// try db.transaction { db in
    ///     try db.execute("UPDATE account SET balance = balance - \(amount) WHERE id = \(from)")
    ///     try db.execute("UPDATE account SET balance = balance + \(amount) WHERE id = \(to)")
    /// }
    /// ```
    /// - Parameters:
    ///   - kind: how it begins. Default: immediate, so that a write does not find the database busy half-way.
    ///   - body: what is done inside.
    /// - Throws: what `body` throws, and what beginning and committing throw; nothing has changed then.
    @discardableResult
    public func transaction<R>(_ kind: TransactionKind = .immediate, _ body: (Connection) throws -> R) throws -> R {
        try transaction(kind) { db in TransactionEnd.commit(try body(db)) }
    }

    /// The same, with a `body` that says itself how to end.
    /// ```swift
    /// let isFeasible = try db.transaction { db in
    ///     try plan.apply(to: db)
    ///     return .rollback(try plan.check(db))
    /// }
    /// ```
    @discardableResult
    public func transaction<R>(
        _ kind: TransactionKind = .immediate, _ body: (Connection) throws -> TransactionEnd<R>
    ) throws -> R {
        if isInTransaction { return try savepoint(nil, body) }
        try begin(kind)
        // Whatever happens, the connection is not left inside of the transaction. Without an error there is nothing to roll back.
        defer { abandon() }
        switch try inTransaction({ try body(self) }) {
        case .commit(let value):
            try control("COMMIT")
            return value
        case .rollback(let value):
            return value
        }
    }

    /// Runs `body` in a savepoint: keeps its changes, or undoes them and no others if it throws. Outside of a transaction it
    /// is one (<https://sqlite.org/lang_savepoint.html>).
    /// - Parameters:
    ///   - name: a name, for a trace; nil makes one.
    ///   - body: what is done inside.
    @discardableResult
    public func savepoint<R>(_ name: String? = nil, _ body: (Connection) throws -> R) throws -> R {
        try savepoint(name) { db in TransactionEnd.commit(try body(db)) }
    }

    /// The same, with a `body` that says itself how to end.
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

    /// Runs `body`, which only reads with this connection, in one snapshot. Its end cannot fail, so that an error never comes after
    /// what `body` has written elsewhere.
    func withSnapshot(_ body: () throws -> Void) throws {
        try transaction(.deferred) { _ -> TransactionEnd<Void> in
            try body()
            return .rollback(())
        }
    }

    /// Rolls the transaction back, if there is one. Nothing can keep this from happening: the statement that does it may fail for
    /// lack of memory, or be refused by an authorizer.
    func abandon() {
        guard isInTransaction else { return }
        if (try? control("ROLLBACK")) == nil, isInTransaction, let handle { sqlcipherkit_roll_back(handle) }
    }

    /// Undoes a savepoint. Where that fails, the whole transaction goes: kept, it would hold what was to be undone.
    private func abandon(savepoint name: String, _ changes: ChangeTracker.Mark?) {
        guard isInTransaction else { return }
        do throws(DatabaseError) {
            try control("ROLLBACK TO \(name)")
            if let changes { hooks?.tracker?.rollBack(to: changes) }
            try control("RELEASE \(name)")
        } catch {
            abandon()
            abort(error)
        }
    }
}
