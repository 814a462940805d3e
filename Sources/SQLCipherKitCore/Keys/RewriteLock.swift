import CSQLCipher

/// The lock under which a whole database is rewritten.
extension Schema {
    /// Takes the exclusive lock and keeps it after the transaction that took it, until `unlockAfterRewrite`.
    ///
    /// A write-ahead log is first merged and replaced by a rollback journal. That requires exclusive access to the file, so that no
    /// other connection's commit remains in the log, and the rollback journal can undo an unfinished change.
    /// - Parameter journal: the value of ``unfitJournal`` before.
    package func lockForRewrite(replacing journal: String?) throws {
        do {
            if journal != nil { try setRollbackJournal() }
            try connection.changingThisOneOnly { () throws in
                try connection.execute(SQL(raw: "PRAGMA \(quotedName).locking_mode = EXCLUSIVE"))
            }
            try connection.execute("BEGIN EXCLUSIVE")
            try connection.execute("COMMIT")
            // The connection that held the lock before may have replaced the file with another one.
            if try wasReplaced {
                throw DatabaseError(
                    code: .readOnlyMoved, reason: .conversionFailed,
                    message: "the database's file was replaced since this connection opened it: open it again")
            }
        } catch {
            connection.abandon()
            try? unlockAfterRewrite(restoring: journal)
            throw error
        }
    }

    package func unlockAfterRewrite(restoring journal: String?) throws {
        // Try twice, so that a temporary failure does not leave the database without its log permanently.
        do { try unlock(restoring: journal) } catch {
            do {
                // After a failed commit of the mode, SQLite has it in memory alone, and would do nothing the second time.
                if journal != nil { try setRollbackJournal() }
                try unlock(restoring: journal)
            } catch _ { throw error }
        }
    }

    private func unlock(restoring journal: String?) throws {
        sqlcipherkit_unlock(try live(), name)
        guard let journal else { return }
        // After an error that it could not undo, SQLite keeps the mode, and says no more than that.
        let mode = try connection.fetchOne(String.self, SQL(raw: "PRAGMA \(quotedName).journal_mode = \(journal)"))
        if mode != journal {
            throw DatabaseError(code: .ioError, message: "the journal mode \(journal) could not be set again")
        }
    }

    /// True if the path now leads to a different file from the one that is open. False for a database without a file.
    package var wasReplaced: Bool {
        get throws {
            var moved: Int32 = 0
            let rc = sqlite3_file_control(try live(), name, SQLITE_FCNTL_HAS_MOVED, &moved)
            return rc == SQLITE_OK && moved != 0
        }
    }
}

/// The journal that undoes a rewrite that an error or the end of the process has interrupted.
extension Schema {
    /// The journal mode, if a rewrite of the pages themselves has to replace it for its duration: `wal`, `off`, and, for a database
    /// in a file, `memory` and `persist`. With `off` and `memory`, nothing undoes the writes of a process that dies; `persist`
    /// would leave the old pages, encrypted with the old key, in a file next to the database.
    package var unfitJournal: String? {
        get throws {
            let mode = try journalModeName, hasFile = try path != nil
            return mode == "wal" || mode == "off" || (hasFile && (mode == "memory" || mode == "persist")) ? mode : nil
        }
    }

    /// Replaces an unsuitable journal mode, for a rewrite that a write-ahead log can also undo.
    /// - Returns: the mode for `restoreJournal`.
    package func replaceJournal() throws -> String? {
        guard let mode = try unfitJournal, mode != "wal" else { return nil }
        try setRollbackJournal()
        return mode
    }

    /// Restores the journal mode that was replaced. The replacement is safe, so a failure here is ignored.
    package func restoreJournal(_ mode: String?) {
        guard let mode, connection.isOpen else { return }
        try? connection.restoring { try connection.execute(SQL(raw: "PRAGMA \(quotedName).journal_mode = \(mode)")) }
    }

    package func setRollbackJournal() throws {
        // An in-memory database supports no other mode.
        let hasFile = try path != nil, wanted = hasFile ? "delete" : "memory"
        let mode = try connection.fetchOne(String.self, SQL(raw: "PRAGMA \(quotedName).journal_mode = \(wanted)"))
        guard mode == wanted else {
            throw DatabaseError(code: .busy, reason: .busy, message: "another connection uses the database")
        }
    }
}

/// Checks before a whole database is written. If one of these throws, nothing has changed.
extension Schema {
    /// The objects of the database. Every call that runs their texts gets them here, or has called this before.
    /// - Throws: ``DatabaseError/Reason/malformedSchema`` if the text of any of them does not match its type and name.
    @discardableResult
    package func entriesToRun() throws -> [SchemaEntry] {
        let entries = try entries()
        for entry in entries { _ = try entry.text() }
        return entries
    }

    /// - Throws: ``DatabaseError/Reason/misuse`` in a transaction, while a result is being read, or for a read-only database.
    package func requireRewritable() throws {
        try live()
        if connection.isInTransaction { throw DatabaseError.misuse("a database cannot be rewritten inside a transaction") }
        if connection.hasOpenCursors || connection.hasRunningStatements {
            throw DatabaseError.misuse("a database cannot be rewritten while a result is being read")
        }
        if try isReadOnly {
            throw DatabaseError(code: .readOnly, reason: .misuse, message: "the database \(name) is read-only")
        }
    }
}
