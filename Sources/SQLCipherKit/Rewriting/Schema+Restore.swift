import Foundation

extension Schema {
    /// Replaces everything in this database by the content of a backup with the same key and settings, in one transaction: after an
    /// error, or the end of the process, it is as it was.
    ///
    /// ```swift
    /// try db.main.restore(fromFileAt: "monday.db")
    /// ```
    /// The whole backup is checked before anything is written, and what is copied is the very snapshot that was checked. The backup
    /// is never written to: not by recovery either, so that one with the journal of a change that was cut off is refused. This
    /// database keeps its key, settings and journal mode. Other connections may have it open: with a write-ahead log they continue
    /// to read what was there; without one, the call waits for them, and they wait for it, up to the busy timeout.
    /// - Parameters:
    ///   - path: the backup's file.
    ///   - options: as with ``backup(toFileAt:options:progress:)``.
    ///   - progress: likewise; this connection must not be used in it.
    /// - Throws: as ``backup(to:options:progress:)``; ``DatabaseError/Reason/wrongKeyOrNotADatabase``,
    ///   also for a file of 0 bytes, ``DatabaseError/Reason/cannotOpen``, or ``DatabaseError/Reason/conversionFailed`` if the
    ///   backup is damaged. Nothing has changed then.
    public func restore(
        fromFileAt path: String, options: BackupOptions = BackupOptions(), progress: RewriteProgressHandler? = nil
    ) throws {
        try restore(fromFileAt: path, key: nil, options, progress)
    }

    /// Replaces everything in this database by the content of a backup that is encrypted differently, or not at all.
    ///
    /// ```swift
    /// try db.main.restore(fromFileAt: "handover.db", key: otherKey)
    /// ```
    /// - Parameters:
    ///   - path: the backup's file.
    ///   - key: how the backup is encrypted.
    ///   - options: as with ``backup(toFileAt:options:progress:)``.
    ///   - progress: likewise; this connection must not be used in it.
    /// - Throws: as ``restore(fromFileAt:options:progress:)``.
    public func restore(
        fromFileAt path: String, key: Encryption, options: BackupOptions = BackupOptions(), progress: RewriteProgressHandler? = nil
    ) throws {
        try restore(fromFileAt: path, key: key, options, progress)
    }

    private func restore(
        fromFileAt path: String, key: Encryption?, _ options: BackupOptions, _ progress: RewriteProgressHandler?
    ) throws {
        try requireRewritable()
        try requireJournal()
        var configuration = DatabaseConfiguration.forReading(with: connection)
        configuration.safeguards = try .forCopy(of: connection)
        let backup = try Connection(.file(path), key: key ?? encryptionOrPlaintext, configuration: configuration)
        defer { backup.close() }
        // One snapshot of the backup: what is copied is what was checked.
        try backup.transaction(.deferred) { backup in
            try backup.main.requireIntact("the backup \(path)")
            try backup.main.backup(to: self, options: options, progress: progress)
        }
    }
}
