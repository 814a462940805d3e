/// Backing up and restoring beside the other calls.
extension SharedSchema {
    /// Copies the database into a new file, as it is when the call begins. A pool goes on to write and to read meanwhile.
    ///
    /// ```swift
    /// try await pool.main.backup(toFileAt: "monday.db", timeout: .seconds(60))
    /// ```
    /// - Parameters:
    ///   - path: as with ``Schema/backup(toFileAt:options:progress:)``.
    ///   - key: how the backup is encrypted; nil, the default, for as the database is.
    ///   - options: likewise.
    ///   - timeout: how long the call may take. Default: nil, any time.
    ///   - progress: likewise.
    /// - Throws: as ``Schema/backup(toFileAt:options:progress:)``; ``DatabaseError/Reason/timeout``. There is no backup then.
    public func backup(
        toFileAt path: String, key: Encryption? = nil, options: BackupOptions = BackupOptions(), timeout: Duration? = nil,
        progress: RewriteProgressHandler? = nil
    ) throws {
        try database.read(timeout: timeout) { db in
            try db.schema(name).backup(toFileAt: path, encryption: key, options: options, progress: progress)
        }
    }

    /// The same for a task.
    /// - Throws: as the other form; `CancellationError` when the task is cancelled.
    public func backup(
        toFileAt path: String, key: Encryption? = nil, options: BackupOptions = BackupOptions(), timeout: Duration? = nil,
        progress: sending RewriteProgressHandler? = nil
    ) async throws {
        // Sent on.
        nonisolated(unsafe) let progress = progress
        try await database.read(timeout: timeout) { [name] db in
            try db.schema(name).backup(toFileAt: path, encryption: key, options: options, progress: progress)
        }
    }

    /// Replaces everything in the database by the content of a backup. Other writes wait; a pool's reads go on, and see what was
    /// there before until it is done.
    /// - Parameters:
    ///   - path: as with ``Schema/restore(fromFileAt:options:progress:)``.
    ///   - key: how the backup is encrypted; nil, the default, for as the database is.
    ///   - options: likewise.
    ///   - timeout: how long the call may take. Default: nil, any time.
    ///   - progress: likewise.
    /// - Throws: as ``Schema/restore(fromFileAt:options:progress:)``; ``DatabaseError/Reason/timeout``.
    public func restore(
        fromFileAt path: String, key: Encryption? = nil, options: BackupOptions = BackupOptions(), timeout: Duration? = nil,
        progress: RewriteProgressHandler? = nil
    ) throws {
        try database.claim(.writer, timeout: timeout) { slot, limits in
            try restore(slot, limits, path, key, options, progress)
        }
    }

    /// The same for a task.
    /// - Throws: as the other form; `CancellationError` when the task is cancelled.
    public func restore(
        fromFileAt path: String, key: Encryption? = nil, options: BackupOptions = BackupOptions(), timeout: Duration? = nil,
        progress: sending RewriteProgressHandler? = nil
    ) async throws {
        // Sent on.
        nonisolated(unsafe) let progress = progress
        try await database.claim(.writer, timeout: timeout) { slot, limits in
            try restore(slot, limits, path, key, options, progress)
        }
    }

    private func restore(
        _ slot: ConnectionSlot, _ limits: CallLimits, _ path: String, _ key: Encryption?, _ options: BackupOptions,
        _ progress: RewriteProgressHandler?
    ) throws {
        try slot.run(.unrestricted) { db in
            try db.schema(name).restore(fromFileAt: path, encryption: key, options, limits.checked(progress))
        }
    }
}

extension Schema {
    fileprivate func backup(
        toFileAt path: String, encryption key: Encryption?, options: BackupOptions, progress: RewriteProgressHandler?
    ) throws {
        if let key {
            try backup(toFileAt: path, key: key, options: options, progress: progress)
        } else {
            try backup(toFileAt: path, options: options, progress: progress)
        }
    }

    fileprivate func restore(
        fromFileAt path: String, encryption key: Encryption?, _ options: BackupOptions, _ progress: RewriteProgressHandler?
    ) throws {
        if let key {
            try restore(fromFileAt: path, key: key, options: options, progress: progress)
        } else {
            try restore(fromFileAt: path, options: options, progress: progress)
        }
    }
}
