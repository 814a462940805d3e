import CSQLCipher

/// The lock under which a whole database is rewritten.
extension Schema {
    /// Takes the exclusive lock and keeps it beyond the transaction that took it, until `unlockAfterRewrite`.
    ///
    /// A write-ahead log is merged and left first: that needs exclusive access to the file, so that no other connection's commit
    /// remains in the log, and a rollback journal is what undoes a change that was cut off.
    /// - Parameter journal: what ``unfitJournal`` was.
    func lockForRewrite(replacing journal: String?) throws(DatabaseError) {
        do throws(DatabaseError) {
            if journal != nil { try setRollbackJournal() }
            try setLockingMode("EXCLUSIVE")
            try connection.execute("BEGIN EXCLUSIVE")
            try connection.execute("COMMIT")
            // The connection that held the lock before may have put another file in this one's place.
            if try wasReplaced {
                throw DatabaseError(
                    code: .readOnlyMoved, reason: .conversionFailed,
                    message: "the database's file was replaced by another one since this connection opened it")
            }
        } catch {
            connection.abandon()
            try? unlockAfterRewrite(restoring: journal)
            throw error
        }
    }

    func unlockAfterRewrite(restoring journal: String?) throws(DatabaseError) {
        // What fails for a moment only must not take the database's log away from it permanently.
        do throws(DatabaseError) { try unlock(restoring: journal) } catch { try unlock(restoring: journal) }
    }

    private func unlock(restoring journal: String?) throws(DatabaseError) {
        // The lock is released by the next access in normal mode.
        try setLockingMode("NORMAL")
        _ = try connection.fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(quotedName).sqlite_schema"))
        if let journal { try connection.execute(SQL(raw: "PRAGMA \(quotedName).journal_mode = \(journal)")) }
    }

    private func setLockingMode(_ mode: String) throws(DatabaseError) {
        try connection.changingThisOneOnly { () throws(DatabaseError) in
            try connection.execute(SQL(raw: "PRAGMA \(quotedName).locking_mode = \(mode)"))
        }
    }

    /// Whether the path now leads to another file than the one that is open. A database without a file has no path.
    var wasReplaced: Bool {
        get throws(DatabaseError) {
            var moved: Int32 = 0
            let rc = sqlite3_file_control(try live(), name, SQLITE_FCNTL_HAS_MOVED, &moved)
            return rc == SQLITE_OK && moved != 0
        }
    }
}

/// The journal that undoes a rewrite that was cut off by an error or by the end of the process.
extension Schema {
    /// The journal mode, if a rewrite of the pages themselves has to replace it for its duration: `wal`, `off`, and, for a database
    /// in a file, `memory` and `persist`. With `off` and `memory` nothing undoes what a process that dies has written; `persist`
    /// would leave the former pages, under the former key, in a file beside the database.
    var unfitJournal: String? {
        get throws(DatabaseError) {
            let mode = try journalModeName, hasFile = try path != nil
            return mode == "wal" || mode == "off" || (hasFile && (mode == "memory" || mode == "persist")) ? mode : nil
        }
    }

    /// Replaces a journal mode that is not fit, for a rewrite that a write-ahead log can undo as well.
    /// - Returns: what `restoreJournal` takes.
    func replaceJournal() throws(DatabaseError) -> String? {
        guard let mode = try unfitJournal, mode != "wal" else { return nil }
        try setRollbackJournal()
        return mode
    }

    /// Goes back to the journal mode that was replaced. The one that is there instead is safe, so that a failure is not an error.
    func restoreJournal(_ mode: String?) {
        guard let mode, connection.isOpen else { return }
        connection.restoring { try connection.execute(SQL(raw: "PRAGMA \(quotedName).journal_mode = \(mode)")) }
    }

    func setRollbackJournal() throws(DatabaseError) {
        // A database in memory knows no other.
        let hasFile = try path != nil, wanted = hasFile ? "delete" : "memory"
        let mode = try connection.fetchOne(String.self, SQL(raw: "PRAGMA \(quotedName).journal_mode = \(wanted)"))
        guard mode == wanted else {
            throw DatabaseError(code: .busy, reason: .busy, message: "another connection uses the database")
        }
    }
}

/// What is asked before a whole database is written. Nothing has changed when one of these throws.
extension Schema {
    /// - Throws: ``DatabaseError/Reason/misuse`` in a transaction, while a result is being read, or for a read-only database.
    func requireRewritable() throws(DatabaseError) {
        try live()
        if connection.isInTransaction { throw .misuse("a database cannot be rewritten inside a transaction") }
        if connection.hasOpenCursors || connection.hasRunningStatements {
            throw .misuse("a database cannot be rewritten while a result is being read")
        }
        if try isReadOnly {
            throw DatabaseError(code: .readOnly, reason: .misuse, message: "the database \(name) is read-only")
        }
    }

    /// Only for a connection that copies or checks: it then takes rows that its tables would not accept, as `CHECK` and `NOT NULL`
    /// may have been added after they were written. Such a row is not damage, and a copy has it as well.
    func ignoreConstraints() throws(DatabaseError) {
        try connection.execute("PRAGMA ignore_check_constraints = ON")
        // Has the schema read.
        _ = try connection.fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(quotedName).sqlite_schema"))
        try connection.check(sqlcipherkit_allow_nulls(live(), name))
    }

    /// Only for a connection of the rewriting's own, as it ignores constraints from then on, and foreign keys.
    /// - Throws: ``DatabaseError/Reason/conversionFailed`` if a page or the structure is damaged.
    func requireIntact(_ what: String) throws(DatabaseError) {
        try ignoreConstraints()
        let problem = try verify().problems.first {
            if case .foreignKey = $0 { false } else { true }
        }
        guard let problem else { return }
        throw DatabaseError(
            code: .corrupt, reason: .conversionFailed, message: "\(what) is damaged: \(problem)", path: connection.location.path)
    }

    /// Whether the database has a write-ahead log.
    var hasWAL: Bool { get throws(DatabaseError) { try journalModeName == "wal" } }

    var journalModeName: String? {
        get throws(DatabaseError) { try connection.fetchOne(String.self, SQL(raw: "PRAGMA \(quotedName).journal_mode")) }
    }
}
