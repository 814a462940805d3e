import SQLCipherKitConcurrency
import SQLCipherKitCore

/// Backup and restore while other calls run.
extension SharedSchema {
    /// Copies the database, as it is when the call begins, into a new file. A pool continues to write and to read in the meantime.
    ///
    /// ```swift
    /// try await pool.main.backup(toFileAt: "monday.db", timeout: .seconds(60))
    /// ```
    /// - Parameters:
    ///   - path: as in ``Schema/backup(toFileAt:key:options:progress:)``.
    ///   - key: how the backup is encrypted; nil, the default, for the encryption of the database.
    ///   - options: as in ``Schema/backup(toFileAt:key:options:progress:)``.
    ///   - timeout: how long the call may take. Default: nil, no limit.
    ///   - progress: as in ``Schema/backup(toFileAt:key:options:progress:)``.
    /// - Throws: as ``Schema/backup(toFileAt:key:options:progress:)``; ``DatabaseError/Reason/timeout``. There is no backup then.
    public func backup(
        toFileAt path: String, key: Encryption? = nil, options: Schema.BackupOptions = .init(), timeout: Duration? = nil,
        progress: RewriteProgress.Handler? = nil
    ) throws {
        try database.read(timeout: timeout) { db in
            try db.schema(name).backup(toFileAt: path, key: key, options: options, progress: progress)
        }
    }

    /// The asynchronous form.
    /// - Throws: as the synchronous form; `CancellationError` when the task is cancelled.
    public func backup(
        toFileAt path: String, key: Encryption? = nil, options: Schema.BackupOptions = .init(), timeout: Duration? = nil,
        progress: sending RewriteProgress.Handler? = nil
    ) async throws {
        // Sent on.
        nonisolated(unsafe) let progress = progress
        try await database.read(timeout: timeout) { [name] db in
            try db.schema(name).backup(toFileAt: path, key: key, options: options, progress: progress)
        }
    }

    /// Replaces the whole content of the database with that of a backup. Other writes wait; a pool's reads continue, and see the
    /// old content until the call is done.
    /// - Parameters:
    ///   - path: as in ``Schema/restore(fromFileAt:key:options:progress:)``.
    ///   - key: how the backup is encrypted; nil, the default, for the encryption of the database.
    ///   - options: as in ``Schema/restore(fromFileAt:key:options:progress:)``.
    ///   - timeout: how long the call may take. Default: nil, no limit.
    ///   - progress: as in ``Schema/restore(fromFileAt:key:options:progress:)``.
    /// - Throws: as ``Schema/restore(fromFileAt:key:options:progress:)``; ``DatabaseError/Reason/timeout``.
    public func restore(
        fromFileAt path: String, key: Encryption? = nil, options: Schema.BackupOptions = .init(), timeout: Duration? = nil,
        progress: RewriteProgress.Handler? = nil
    ) throws {
        try database.rewrite(.writer, timeout, progress, restoring(path, key, options))
    }

    /// The asynchronous form.
    /// - Throws: as the synchronous form; `CancellationError` when the task is cancelled.
    public func restore(
        fromFileAt path: String, key: Encryption? = nil, options: Schema.BackupOptions = .init(), timeout: Duration? = nil,
        progress: sending RewriteProgress.Handler? = nil
    ) async throws {
        try await database.rewrite(.writer, timeout, progress, restoring(path, key, options))
    }

    private func restoring(_ path: String, _ key: Encryption?, _ options: Schema.BackupOptions) -> RewriteStep<Void> {
        { slot, _, progress in
            try slot.run(.unrestricted) { db in
                try db.schema(name).restore(fromFileAt: path, key: key, options: options, progress: progress)
            }
        }
    }
}

extension SharedSchema {
    /// Writes the recovery copy now, and again after each change of the schema through this queue or pool, until the task is
    /// cancelled.
    ///
    /// ```swift
    /// let keeping = Task { try await pool.main.keepRecoveryCopy() }
    /// ```
    /// A change by another process is noticed with the next change here.
    /// - Parameter path: as for ``Schema/writeRecoveryCopy(toFileAt:)``.
    /// - Throws: as ``Schema/writeRecoveryCopy(toFileAt:)``, and ``DatabaseError/Reason/closed`` when the database is closed.
    public func keepRecoveryCopy(toFileAt path: String? = nil) async throws {
        let written = database.observe { [name] db in try db.schema(name).writeRecoveryCopy(toFileAt: path) }
        for try await _ in written {}
    }
}
