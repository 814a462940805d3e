import CSQLCipher

/// The lock under which a whole database is rewritten.
extension Connection {
    /// Takes the exclusive lock and keeps it beyond the transaction that took it, until `unlockAfterRewrite`.
    ///
    /// A write-ahead log is merged and left first: that needs the file for oneself, so that no other connection's commit is
    /// left behind in it, and a rollback journal is what undoes a change that was cut off.
    func lockForRewrite(_ schema: String, hadWAL: Bool) throws(DatabaseError) {
        let name = schema.quotedSQLIdentifier
        do throws(DatabaseError) {
            if hadWAL {
                let mode = try fetchOne(String.self, SQL(raw: "PRAGMA \(name).journal_mode = DELETE"))
                guard mode == "delete" else {
                    throw DatabaseError(code: .busy, reason: .busy, message: "another connection uses the database")
                }
            }
            try execute(SQL(raw: "PRAGMA \(name).locking_mode = EXCLUSIVE"))
            try execute("BEGIN EXCLUSIVE")
            try execute("COMMIT")
            // Whoever held the lock before may have put another file in this one's place.
            if try wasReplaced(schema) {
                throw DatabaseError(
                    code: .readOnlyMoved, reason: .conversionFailed,
                    message: "the database's file was replaced by another one since this connection opened it")
            }
        } catch {
            if isInTransaction { try? execute("ROLLBACK") }
            try? unlockAfterRewrite(schema, hadWAL: hadWAL)
            throw error
        }
    }

    func unlockAfterRewrite(_ schema: String, hadWAL: Bool) throws(DatabaseError) {
        let name = schema.quotedSQLIdentifier
        // The lock goes with the next access in normal mode.
        try execute(SQL(raw: "PRAGMA \(name).locking_mode = NORMAL"))
        _ = try fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(name).sqlite_schema"))
        if hadWAL { try execute(SQL(raw: "PRAGMA \(name).journal_mode = WAL")) }
    }

    /// Whether the path leads to another file now than the one that is open. A database without a file has no path.
    private func wasReplaced(_ schema: String) throws(DatabaseError) -> Bool {
        var moved: Int32 = 0
        let rc = sqlite3_file_control(try live(), schema, SQLITE_FCNTL_HAS_MOVED, &moved)
        return rc == SQLITE_OK && moved != 0
    }

    /// What each rewriting of a whole database begins with. Nothing has changed when it throws.
    func checkRewrite(_ schema: String) throws(DatabaseError) {
        guard try attachedDatabases().contains(where: { $0.name.lowercased() == schema.lowercased() }) else {
            throw .noSchema(schema)
        }
        if isInTransaction { throw .misuse("a database cannot be rewritten inside a transaction") }
        if hasOpenCursors || hasRunningStatements { throw .misuse("a database cannot be rewritten while a result is being read") }
        if try isReadOnly(schema) {
            throw DatabaseError(code: .readOnly, reason: .misuse, message: "the database \(schema) is read-only")
        }
    }

    /// Whether the database keeps a write-ahead log.
    func hasWAL(_ schema: String) throws(DatabaseError) -> Bool {
        try fetchOne(String.self, SQL(raw: "PRAGMA \(schema.quotedSQLIdentifier).journal_mode")) == "wal"
    }
}
