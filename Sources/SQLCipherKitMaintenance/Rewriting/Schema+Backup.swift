import SQLCipherKitCore

extension Schema {
    /// Copies the database to a new file, while other connections may read and write it (<https://sqlite.org/backup.html>).
    ///
    /// ```swift
    /// try db.main.backup(toFileAt: "monday.db")
    /// try db.main.backup(toFileAt: "compact.db", options: .compact)
    /// try db.main.backup(toFileAt: "handover.db", key: otherKey) { progress in
    ///     try Task.checkCancellation()
    ///     print(Int(progress.fraction * 100), "%")
    /// }
    /// ```
    /// The copy is written under a temporary name, checked page by page, flushed to disk and only then renamed. An unfinished
    /// backup, after an error or when the process ends, can therefore not be mistaken for a good one; its remains are removed by
    /// the next backup to that path, or when a database at that path is opened. The copy is one consistent snapshot of the
    /// committed content. With a write-ahead log, that is the snapshot at the time of the call. Without one, a commit by another
    /// connection restarts the copy; after three restarts, it blocks writers until it is done.
    ///
    /// Pages are copied in steps if the page size, and the number of bytes that each page reserves for its authentication, are the
    /// same in the backup. Otherwise, and between plaintext and encrypted, the copy is made as with
    /// ``Schema/BackupOptions/compact``. Such a copy includes the connection's changes in an open transaction.
    /// - Parameters:
    ///   - path: the new file, which gets permissions 0600 and is in journal mode `delete`.
    ///   - key: how the backup is encrypted, or `.plaintext`. Default: nil, as the database, with the same key, salt and settings.
    ///   - options: the steps and pauses, whether the copy is compact, and whether it may replace a file.
    ///   - progress: called after each step, and once with all pages done before the file gets its name. If it throws, no backup is
    ///     created, and the call throws the same error. It cannot use this connection.
    /// - Throws: ``DatabaseError/Reason/cannotOpen`` if there is already a file of that name or it cannot be created,
    ///   ``DatabaseError/Reason/misuse`` if pages are copied and the connection has uncommitted changes,
    ///   ``DatabaseError/Reason/busy`` when another connection holds a lock for longer than the busy timeout,
    ///   ``DatabaseError/Reason/conversionFailed`` if the copy does not pass its check, ``DatabaseError/Reason/schemaName``,
    ///   `CancellationError` in a cancelled task, ``ResultCode/interrupted`` after an interrupt, or an error from SQLite such as
    ///   ``ResultCode/full``. In each case a file that was to be replaced is unchanged.
    public func backup(
        toFileAt path: String, key: Encryption? = nil, options: BackupOptions = BackupOptions(),
        progress: RewriteProgress.Handler? = nil
    ) throws {
        let key = try key ?? encryptionOrPlaintext
        try connection.usingExclusively {
            let key = try connection.refusingUse { try key.resolvedForNewFile() }
            try FileBackup(of: self, to: path, key: key, options, progress).run()
        }
        if options.writesRecoveryCopy { try writeRecoveryCopy() }
    }

    /// Copies the database over one of another connection, for example an in-memory one. Everything in that database is replaced in
    /// one transaction: after an error, or if the process ends, it is unchanged.
    ///
    /// ```swift
    /// let copy = try Connection(.memory, key: key)
    /// try db.main.backup(to: copy.main)
    /// ```
    /// The other database keeps its own key, settings and journal mode. Until the copy is complete, its other connections see the
    /// old content or find it busy. If its pages are laid out differently, or the copy is to be compact, it is made through a
    /// temporary file in the same folder with the same encryption, or through memory if that database has no file.
    /// - Parameters:
    ///   - target: the database to replace. It must belong to another connection.
    ///   - options: as for ``backup(toFileAt:key:options:progress:)``.
    ///   - progress: as for ``backup(toFileAt:key:options:progress:)``; it cannot use the target's connection either.
    /// - Throws: the same errors as ``backup(toFileAt:key:options:progress:)``; ``DatabaseError/Reason/misuse`` also if the target
    ///   is in a transaction, is being read or is read-only, or has tables and keeps its text in another encoding. In all cases
    ///   nothing has changed, unless the reason is ``DatabaseError/Reason/unknownOutcome``.
    public func backup(
        to target: Schema, options: BackupOptions = BackupOptions(), progress: RewriteProgress.Handler? = nil
    ) throws {
        try live()
        try target.requireRewritable()
        if target.connection === connection { throw DatabaseError.misuse("a backup needs another connection for its target") }
        try requireEncoding(of: target)
        try connection.usingExclusively(with: target.connection) {
            let journal = try target.replaceJournal()
            defer { target.restoreJournal(journal) }
            // The target keeps its own record of its key slots. If the target is damaged, the record is lost with the rest.
            let mark = Result { try target.slotMark() }
            try copy(to: target, options, progress)
            // If the process ends here, the next connection finds slots that are not the latest, which the caller can accept.
            if case .success(let mark) = mark { try? target.putBack(mark) }
        }
    }

    /// A connection has one encoding, which is fixed by the first table that it reads, and a copy converts no text.
    private func requireEncoding(of target: Schema) throws(DatabaseError) {
        let isAttached = target.name != "main"
        let tables: SQL = "SELECT 1 FROM \(identifier: target.name).sqlite_schema"
        let ask: SQL = "SELECT encoding FROM pragma_encoding WHERE \(isAttached) OR EXISTS (\(tables))"
        // A damaged database is replaced as well.
        guard let encoding = try? target.connection.fetchOne(String.self, ask) else { return }
        if try pragma("encoding", as: String.self) != encoding {
            throw .misuse("the two databases keep their text in different encodings")
        }
    }

    private func copy(to target: Schema, _ options: BackupOptions, _ progress: RewriteProgress.Handler?) throws {
        if try !options.isCompact && PageLayout(self) == PageLayout(target) {
            return try PageCopy(from: self, to: target, options, progress.map { ProgressRelay($0, on: connection) }).run()
        }
        var steps = options
        steps.isCompact = false
        guard let path = try target.path else {
            var configuration = DatabaseConfiguration.forCopy(of: connection)
            // The page size of an encrypted database is that of its settings.
            configuration.beforeHeader = try shape(pageSize: target.encryptionOrPlaintext.isPlaintext ? target.pageSize : nil)
            let copy = try Connection(.memory, key: target.encryptionOrPlaintext, configuration: configuration)
            try connection.savepoint { _ in
                try DatabaseCopy(from: self, to: copy, nil).run()
                try DatabaseComparison(of: self, with: copy, nil).run()
            }
            return try copy.main.backup(to: target, options: steps, progress: progress)
        }
        // The file is compared with this database row by row before anything in the target is replaced.
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
