import Foundation

/// How a database is copied while it is in use.
public struct BackupOptions: Hashable, Sendable {
    /// The pages that are copied in one step; between two steps others may write. Default: 1,024, with SQLCipher's page size 4 MB.
    public var pagesPerStep = 1024
    /// How long to pause between two steps, for the sake of whoever else needs the disk and the processor. Default: not at all.
    public var pause: Duration = .zero
    /// Whether the backup may take the place of a file of its name, which stays as it is until the new one is whole. Nobody may have
    /// that one open as a database: they would not notice. Default: no.
    public var replacesFile = false

    /// The defaults.
    public init() {}
}

extension Connection {
    /// Copies a database into a new file, while other connections may read and write it (<https://sqlite.org/backup.html>).
    ///
    /// ```swift
    /// try db.backup(toFileAt: "monday.db")                                 // with the same key and settings
    /// try db.backup(toFileAt: "handover.db", as: .key(otherKey)) { progress in
    ///     try Task.checkCancellation()
    ///     print(Int(progress.fraction * 100), "%")
    /// }
    /// ```
    /// The copy is written under another name, checked page by page, flushed to disk and only then given its name: a backup that was
    /// cut off, by an error or the end of the process, cannot be taken for a good one. It holds what was committed at one moment.
    /// With a write-ahead log that is the moment of the call; without one, a commit of another connection makes the copy begin
    /// anew, and after three of them it keeps writers waiting until it is done.
    ///
    /// Where the page size, and what each page keeps for its authentication, are the same in the backup, pages are copied step by
    /// step. Otherwise, and between plaintext and encrypted, it is made as ``DatabaseConverter/export(_:schema:toFileAt:as:progress:)``
    /// does, row by row in one transaction, and the options for steps have no effect.
    /// - Parameters:
    ///   - schema: `main`, or what the database was attached as.
    ///   - path: the new file, which gets permissions 0600 and is in journal mode `delete`.
    ///   - encryption: how the backup is encrypted; nil, the default, is the same key, salt and settings.
    ///   - options: steps, pauses, and whether a file may be replaced.
    ///   - progress: called after each step, and once with all pages done before the file gets its name. If it throws, there is no
    ///     backup, and the call throws the same error. It must not write to the database.
    /// - Throws: ``DatabaseError/Reason/cannotOpen`` if there is a file of that name or none can be made,
    ///   ``DatabaseError/Reason/misuse`` if the connection has uncommitted changes, ``DatabaseError/Reason/busy`` when another
    ///   connection holds a lock for longer than the busy timeout, ``DatabaseError/Reason/conversionFailed`` if the copy does not
    ///   pass its check, `CancellationError` in a cancelled task, ``ResultCode/interrupted`` after an interrupt, and what SQLite
    ///   reports, ``ResultCode/full`` for instance. A file that was to be replaced is unchanged then.
    public func backup(
        _ schema: String = "main", toFileAt path: String, as encryption: Encryption? = nil, options: BackupOptions = BackupOptions(),
        progress: RewriteProgressHandler? = nil
    ) throws {
        try BackupFile(self, schema, path, as: encryption ?? self.encryption(of: schema), options, progress).run()
    }

    /// Copies a database over that of another connection, in memory for instance. Everything in the other database is replaced, in
    /// one transaction: an error, or the end of the process, leaves it as it was.
    ///
    /// ```swift
    /// let copy = try Connection(.memory, key: key)
    /// try db.backup(to: copy)
    /// ```
    /// The other database keeps its own key, settings and journal mode. Its other connections see it as it was, or
    /// busy, until the copy is complete. If its pages are laid out differently, the copy goes through a file beside it with its
    /// encryption, or through memory if it has no file.
    /// - Parameters:
    ///   - schema: the database that is copied.
    ///   - target: the connection to the other database.
    ///   - targetSchema: the other database's name there.
    ///   - options: as with ``backup(_:toFileAt:as:options:progress:)``.
    ///   - progress: likewise; the target must not be used in it.
    /// - Throws: as ``backup(_:toFileAt:as:options:progress:)``; ``DatabaseError/Reason/misuse`` also if the target is inside
    ///   of a transaction, is being read or is read-only, or has no journal to undo a half-done copy with.
    public func backup(
        _ schema: String = "main", to target: Connection, schema targetSchema: String = "main", options: BackupOptions = BackupOptions(),
        progress: RewriteProgressHandler? = nil
    ) throws {
        try requireSchema(schema)
        try target.checkRewrite(targetSchema)
        if target === self { throw DatabaseError.misuse("a backup needs another connection for its target") }
        try target.requireJournal(targetSchema)
        if try PageLayout(self, schema) == PageLayout(target, targetSchema) {
            try PageCopy(self, schema, target, targetSchema, options, progress.map { ProgressRelay($0) }).run()
            return
        }
        let encryption = try target.encryption(of: targetSchema)
        var configuration = DatabaseConfiguration.unfinished(like: self)
        configuration.beforeHeader = try shape(of: schema, pageSize: target.pageSize(targetSchema))
        guard let path = try target.attachedDatabases().first(where: { $0.name.lowercased() == targetSchema.lowercased() })?.path else {
            let between = try encryption.open(.memory, configuration)
            try DatabaseCopy(self, schema, between, nil).run()
            try between.backup(to: target, schema: targetSchema, options: options, progress: progress)
            return
        }
        let file = try UnfinishedFile(for: path + "-restore")
        let between = try encryption.open(.file(file.newPath), configuration)
        defer { between.close() }
        try between.makeUnsafeAndFast()
        try savepoint { db in try DatabaseCopy(db, schema, between, nil).run() }
        try between.backup(to: target, schema: targetSchema, options: options, progress: progress)
    }

    /// Replaces everything in this database by the content of a backup, in one transaction: an error, or the end of the process,
    /// leaves it as it was.
    ///
    /// ```swift
    /// try db.restore(fromFileAt: "monday.db")
    /// ```
    /// The backup is checked as a whole before anything is written. This database keeps its key, settings and journal mode. Other
    /// connections may have it open: with a write-ahead log they go on reading what was there; without one, the call waits for
    /// them, and they wait for it, up to the busy timeout.
    /// - Parameters:
    ///   - schema: the database that is replaced: `main`, or what it was attached as.
    ///   - path: the backup's file.
    ///   - encryption: how the backup is encrypted; nil, the default, is the same key and settings.
    ///   - options: as with ``backup(_:toFileAt:as:options:progress:)``.
    ///   - progress: likewise; this connection must not be used in it.
    /// - Throws: as ``backup(_:to:schema:options:progress:)``; ``DatabaseError/Reason/wrongKeyOrNotADatabase``,
    ///   ``DatabaseError/Reason/cannotOpen``, or ``DatabaseError/Reason/conversionFailed`` if the backup is damaged. Nothing has
    ///   changed then.
    public func restore(
        _ schema: String = "main", fromFileAt path: String, as encryption: Encryption? = nil, options: BackupOptions = BackupOptions(),
        progress: RewriteProgressHandler? = nil
    ) throws {
        try checkRewrite(schema)
        try requireJournal(schema)
        var configuration = DatabaseConfiguration.unfinished(like: self)
        // Whoever may not write it can only read it, unless a crash has left something to recover.
        configuration.access = access(path, W_OK) == 0 ? .readWrite : .readOnly
        let source = try (encryption ?? self.encryption(of: schema)).open(.file(path), configuration)
        defer { source.close() }
        try source.requireSound("the backup \(path)")
        try source.backup(to: self, schema: schema, options: options, progress: progress)
    }
}
