extension Schema {
    /// Copies the database into a new file, with the same key, salt and settings, while other connections may read and write it
    /// (<https://sqlite.org/backup.html>).
    ///
    /// ```swift
    /// try db.main.backup(toFileAt: "monday.db")
    /// try db.main.backup(toFileAt: "compact.db", options: .compact)
    /// ```
    /// The copy is written under another name, checked page by page, flushed to disk and only then renamed: a backup that was cut
    /// off, by an error or the end of the process, cannot be mistaken for a good one, and what is left of it is removed by the next
    /// backup to, or opening of, that path. It holds one consistent snapshot of what was
    /// committed. With a write-ahead log that is the snapshot at the time of the call. Without one, a commit of another connection
    /// makes the copy start again, and after three of them it keeps writers waiting until it is done.
    ///
    /// Pages are copied step by step, if ``BackupOptions/isCompact`` is not set.
    /// - Parameters:
    ///   - path: the new file, which gets permissions 0600 and is in journal mode `delete`.
    ///   - options: steps, pauses, whether the copy is compact, and whether it may replace a file.
    ///   - progress: called after each step, and once with all pages done before the file gets its name. If it throws, there is no
    ///     backup, and the call throws the same error. It cannot use this connection.
    /// - Throws: ``DatabaseError/Reason/cannotOpen`` if there is a file of that name or none can be made,
    ///   ``DatabaseError/Reason/misuse`` if pages are to be copied and the connection has uncommitted changes,
    ///   ``DatabaseError/Reason/busy`` when another connection holds a lock for longer than the busy timeout,
    ///   ``DatabaseError/Reason/conversionFailed`` if the copy does not pass its check, ``DatabaseError/Reason/schemaName``,
    ///   `CancellationError` in a cancelled task, ``ResultCode/interrupted`` after an interrupt, and what SQLite reports,
    ///   ``ResultCode/full`` for instance. A file that was to be replaced is then unchanged.
    public func backup(
        toFileAt path: String, options: BackupOptions = BackupOptions(), progress: RewriteProgressHandler? = nil
    ) throws {
        try backup(toFileAt: path, key: encryptionOrPlaintext, options: options, progress: progress)
    }

    /// Copies the database into a new file that is encrypted differently, or not at all.
    ///
    /// ```swift
    /// try db.main.backup(toFileAt: "handover.db", key: otherKey) { progress in
    ///     try Task.checkCancellation()
    ///     print(Int(progress.fraction * 100), "%")
    /// }
    /// ```
    /// Pages are copied as by ``backup(toFileAt:options:progress:)`` where the page size, and the number of bytes that each page
    /// keeps for its authentication, are the same in the backup. Otherwise, and between plaintext and encrypted, the copy is made
    /// as with ``BackupOptions/isCompact``. Such a copy includes what the connection has written in an open transaction.
    /// - Parameters:
    ///   - path: the new file.
    ///   - key: how the backup is encrypted.
    ///   - options: as with ``backup(toFileAt:options:progress:)``.
    ///   - progress: likewise.
    /// - Throws: as ``backup(toFileAt:options:progress:)``.
    public func backup(
        toFileAt path: String, key: Encryption, options: BackupOptions = BackupOptions(), progress: RewriteProgressHandler? = nil
    ) throws {
        try connection.rewriting {
            let key = try connection.refusingUse { try key.resolvedForNewFile() }
            try FileBackup(of: self, to: path, key: key, options, progress).run()
        }
    }

    /// Copies the database over one of another connection, for example one in memory. Everything in that database is replaced, in
    /// one transaction: after an error, or the end of the process, it is as it was.
    ///
    /// ```swift
    /// let copy = try Connection(.memory, key: key)
    /// try db.main.backup(to: copy.main)
    /// ```
    /// The other database keeps its own key, settings and journal mode. Its other connections see it as it was, or
    /// busy, until the copy is complete. If its pages are laid out differently, or the copy shall be compact, it goes through a
    /// temporary file in the same folder with the same encryption, or through memory if that database has no file.
    /// - Parameters:
    ///   - target: the database that is replaced. It must belong to another connection.
    ///   - options: as with ``backup(toFileAt:options:progress:)``.
    ///   - progress: likewise; it cannot use the target's connection either.
    /// - Throws: as ``backup(toFileAt:options:progress:)``; ``DatabaseError/Reason/misuse`` also if the target is in
    ///   a transaction, is being read or is read-only. Nothing has changed then, with one exception that says so,
    ///   ``DatabaseError/Reason/unknownOutcome``.
    public func backup(
        to target: Schema, options: BackupOptions = BackupOptions(), progress: RewriteProgressHandler? = nil
    ) throws {
        try live()
        try target.requireRewritable()
        if target.connection === connection { throw DatabaseError.misuse("a backup needs another connection for its target") }
        try connection.rewriting(with: target.connection) {
            let journal = try target.replaceJournal()
            defer { target.restoreJournal(journal) }
            // What the target remembers of its key slots stays its own. If it is damaged, that is gone with the rest.
            let mark = Result { try target.slotMark() }
            try copy(to: target, options, progress)
            // Should the process end here, the next opening finds slots that are not the latest, which can be accepted.
            if case .success(let mark) = mark { try? target.putBack(mark) }
        }
    }

    private func copy(to target: Schema, _ options: BackupOptions, _ progress: RewriteProgressHandler?) throws {
        if try !options.isCompact && PageLayout(self) == PageLayout(target) {
            return try PageCopy(from: self, to: target, options, progress.map { ProgressRelay($0, on: connection) }).run()
        }
        var steps = options
        steps.isCompact = false
        guard let path = try target.path else {
            var configuration = DatabaseConfiguration.forCopy(of: connection)
            // The page size of an encrypted database comes with its settings.
            configuration.beforeHeader = try shape(pageSize: target.encryptionOrPlaintext.isPlaintext ? target.pageSize : nil)
            let copy = try Connection(.memory, key: target.encryptionOrPlaintext, configuration: configuration)
            try connection.savepoint { _ in
                try DatabaseCopy(from: self, to: copy, nil).run()
                try DatabaseComparison(of: self, with: copy, nil).run()
            }
            return try copy.main.backup(to: target, options: steps, progress: progress)
        }
        // Compared with this database row by row before anything of the target is replaced.
        let file = try AtomicFile(for: path)
        defer { file.discard() }
        let encryption = try target.encryptionOrPlaintext
        let rewrite = try DatabaseRewrite(of: self, path: path, key: encryption, pageSize: target.pageSize, nil)
        try connection.savepoint { _ in try rewrite.write(to: file) {} }
        let copy = try Connection(.file(file.temporaryPath), key: encryption, configuration: .forReading(with: connection))
        defer { copy.close() }
        try copy.main.backup(to: target, options: steps, progress: progress)
    }
}
