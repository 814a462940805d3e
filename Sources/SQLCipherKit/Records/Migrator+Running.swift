extension Migrator {
    /// Does the migrations that are still to be done, each in a transaction of its own. Where there is none, nothing is written.
    ///
    /// Several processes may do this at once: each migration is still done once.
    /// - Parameters:
    ///   - db: the connection, outside of a transaction.
    ///   - last: the name of the last migration to do; nil for all.
    /// - Returns: the names of those that were done.
    /// - Throws: what ``pending(in:)`` and the migration itself throw, and ``DatabaseError/Reason/migration`` for rows that break a
    ///   foreign key. The migrations before the failing one stay.
    @discardableResult
    public func migrate(_ db: Connection, through last: String? = nil) throws -> [String] {
        var finished: [String] = []
        while let migration = try next(in: db, through: last) {
            let isDone: Bool = try run(db, migration.foreignKeys) { db in
                // Another process may have been faster.
                guard try pending(in: db).first.isSameText(as: migration.name) else { return .rollback(false) }
                try perform(migration, db)
                return .commit(true)
            }
            if isDone { finished.append(migration.name) }
        }
        return finished
    }

    /// Tries the migrations that are still to be done, and undoes them: nothing has changed afterwards.
    /// - Returns: the names of those that would be done.
    /// - Throws: what ``migrate(_:through:)-(Connection,_)`` would throw.
    @discardableResult
    public func dryRun(_ db: Connection) throws -> [String] {
        let pending = try pending(in: db)
        // Foreign keys cannot be switched inside of the transaction that all of them share.
        return try run(db, migrations.suffix(pending.count).contains { $0.foreignKeys == .checkedAtEnd } ? .checkedAtEnd : .enforced) { db in
            for migration in migrations.suffix(pending.count) { try perform(migration, db) }
            return .rollback(pending)
        }
    }

    private func next(in db: Connection, through last: String?) throws(DatabaseError) -> Migration? {
        let pending = try pending(in: db)
        guard let last else { return migrations.suffix(pending.count).first }
        guard let end = names.firstIndex(ofText: last) else { throw .invalidArgument("there is no migration \(last)") }
        let index = migrations.count - pending.count
        return index <= end ? migrations[index] : nil
    }

    private func run<R>(_ db: Connection, _ foreignKeys: ForeignKeys, _ body: (Connection) throws -> TransactionEnd<R>) throws -> R {
        // Inside of one, foreign keys could not be switched off, and nothing would be safe before its end.
        if db.isInTransaction { throw DatabaseError.misuse("migrations cannot be done inside of a transaction") }
        guard foreignKeys == .checkedAtEnd, try db.settings.isEnabled(.foreignKeys) else { return try db.transaction(.immediate, body) }
        if try db.settings.setEnabled(.foreignKeys, to: false) { throw DatabaseError.misuse("foreign keys cannot be switched off now") }
        let result = Result { try db.transaction(.immediate, body) }
        guard try !db.isOpen || db.settings.setEnabled(.foreignKeys, to: true) else {
            throw DatabaseError.misuse("foreign keys cannot be switched on again: close the connection")
        }
        return try result.get()
    }

    /// One migration with its note, inside of a transaction.
    private func perform(_ migration: Migration, _ db: Connection) throws {
        try migration.body(db)
        if let violation = try db.main.foreignKeyViolations().first {
            let row = violation.rowID.map { "row \($0) of " } ?? "a row of "
            throw DatabaseError.migration(
                "after the migration \(migration.name) \(row)\(violation.table) refers to a row of \(violation.parent) that is not there")
        }
        try db.execute(
            """
            CREATE TABLE IF NOT EXISTS main.sqlcipherkit_migration(
                position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, done TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP)
            """)
        try db.execute("INSERT INTO main.sqlcipherkit_migration(name) VALUES (\(migration.name))")
    }
}

/// In a queue or a pool, while no other task uses it.
extension Migrator {
    /// Does the migrations that are still to be done; as for a connection.
    @discardableResult
    public func migrate(_ database: SharedDatabase, through last: String? = nil) throws -> [String] {
        try database.barrier { db in try migrate(db, through: last) }
    }

    /// The same for a task.
    @discardableResult
    public func migrate(_ database: SharedDatabase, through last: String? = nil) async throws -> [String] {
        try await database.barrier { db in try migrate(db, through: last) }
    }
}
