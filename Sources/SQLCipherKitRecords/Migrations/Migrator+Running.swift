import SQLCipherKitConcurrency
import SQLCipherKitCore

extension Migrator {
    /// Runs all pending migrations, each in its own transaction. If there are none, nothing is written, but those that the database
    /// adopts (``adopt(through:when:)``).
    ///
    /// Several processes may do this at the same time: each migration still runs only once.
    /// - Parameters:
    ///   - db: the connection, outside a transaction.
    ///   - last: the name of the last migration to run. Default: nil, for all.
    /// - Returns: the names of the migrations that ran.
    /// - Throws: any error that ``pending(in:)`` or the migration itself throws, or ``DatabaseError/Reason/migration`` for a row
    ///   that violates a foreign key and did not before the migration. Migrations before the failing one stay applied.
    @discardableResult
    public func migrate(_ db: Connection, through last: String? = nil) throws -> [String] {
        if erasesOnSchemaChange { try eraseIfChanged(db) }
        try adopt(db)
        let end = last ?? names.last
        var finished: [String] = []
        while let migration = try next(in: db, through: last) {
            var violations: Migrator.Violations?
            let isDone: Bool = try run(db, migration.foreignKeys) { db, isEnforcing in
                // Another process may have run it meanwhile.
                guard try pending(in: db).first.isSameText(as: migration.name) else { return .rollback(false) }
                violations = try perform(migration, db, isEnforcing)
                return .commit(true)
            }
            if isDone { finished.append(migration.name) }
            if isDone, let violations { report(violations) }
            // What could fail after the last one would hide that it is done.
            if isDone, end.isSameText(as: migration.name) { break }
        }
        return finished
    }

    /// Tries all pending migrations and undoes them: nothing is changed.
    /// - Returns: the names of the migrations that would run.
    /// - Throws: the errors that ``migrate(_:through:)-(Connection,_)`` would throw.
    @discardableResult
    public func dryRun(_ db: Connection) throws -> [String] {
        let pending = try pending(in: db)
        let last = migrations.suffix(pending.count)
        var reports: [Migrator.Violations] = []
        // Foreign key enforcement cannot be switched inside the transaction that all migrations share.
        let foreignKeys: ForeignKeys = last.allSatisfy { $0.foreignKeys == .enforced } ? .enforced : .checkedAtEnd
        _ = try run(db, foreignKeys) { db, isEnforcing -> TransactionEnd<Void> in
            try record(adopting(db), in: db)
            for migration in last {
                if let report = try perform(migration, db, isEnforcing) { reports.append(report) }
            }
            return .rollback(())
        }
        reports.forEach(report)
        return pending
    }

    private func next(in db: Connection, through last: String?) throws -> Migration? {
        let pending = try pending(in: db)
        guard let last else { return migrations.suffix(pending.count).first }
        guard let end = names.firstIndex(ofText: last) else { throw DatabaseError.invalidArgument("there is no migration \(last)") }
        let index = migrations.count - pending.count
        return index <= end ? migrations[index] : nil
    }

    /// Runs `body` in a transaction, and tells it whether the connection normally enforces foreign keys, as enforcement may be off
    /// meanwhile.
    func run<R>(
        _ db: Connection, _ foreignKeys: ForeignKeys, _ body: (Connection, _ isEnforcing: Bool) throws -> TransactionEnd<R>
    ) throws -> R {
        // Inside a transaction, foreign keys could not be switched off, and no migration would be committed before its end.
        if db.isInTransaction { throw DatabaseError.misuse("migrations cannot run inside a transaction") }
        let isEnforcing = try db.settings.isEnabled(.foreignKeys)
        guard foreignKeys != .enforced, isEnforcing else {
            return try db.transaction(.immediate) { db in try body(db, isEnforcing) }
        }
        return try db.withoutForeignKeys { try db.transaction(.immediate) { db in try body(db, isEnforcing) } }
    }

    /// Runs one migration and records it, inside a transaction.
    /// - Returns: the remaining violations; nil if there are none.
    private func perform(_ migration: Migration, _ db: Connection, _ isEnforcing: Bool) throws -> Migrator.Violations? {
        // Reading all rows with a foreign key takes time, so check only if needed.
        let isChecked = migration.foreignKeys != .unchecked && (isEnforcing || onForeignKeyViolations != nil)
        let before = isChecked ? try ForeignKeyState(of: db.main) : nil
        let former = try position(in: db).former
        try migration.body(db, former)
        let report = try before.flatMap { try compare(migration, $0, ForeignKeyState(of: db.main), isEnforcing) }
        for name in former { try db.execute("DELETE FROM main.sqlcipherkit_migration WHERE name = \(name)") }
        try record([migration.name], in: db)
        return report
    }

    /// Records that migrations are done.
    func record(_ names: [String], in db: Connection) throws(DatabaseError) {
        if names.isEmpty { return }
        try db.execute(
            """
            CREATE TABLE IF NOT EXISTS main.sqlcipherkit_migration(
                position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, done TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP)
            """)
        for name in names { try db.execute("INSERT INTO main.sqlcipherkit_migration(name) VALUES (\(name))") }
    }

    private func compare(
        _ migration: Migration, _ before: ForeignKeyState, _ after: ForeignKeyState, _ isEnforcing: Bool
    ) throws -> Migrator.Violations? {
        let (new, former) = after.compared(with: before)
        if isEnforcing {
            if let violation = new.first {
                throw DatabaseError.migration("after the migration \(migration.name) \(violation.inWords)")
            }
            if let (table, error) = after.unchecked(since: before) {
                throw DatabaseError.migration(
                    "after the migration \(migration.name) the foreign keys of \(table) cannot be checked: \(error.message)")
            }
        }
        return new.isEmpty && former.isEmpty ? nil : Migrator.Violations(migration: migration.name, former: former, new: new)
    }
}

/// Migrations in a queue or a pool, while no other task uses it.
extension Migrator {
    /// Runs all pending migrations, as for a connection.
    @discardableResult
    public func migrate(_ database: SharedDatabase, through last: String? = nil) throws -> [String] {
        try database.barrier { db in try migrate(db, through: last) }
    }

    /// Runs all pending migrations, as for a connection, and suspends the task instead of blocking a thread.
    @discardableResult
    public func migrate(_ database: SharedDatabase, through last: String? = nil) async throws -> [String] {
        try await database.barrier { db in try migrate(db, through: last) }
    }
}
