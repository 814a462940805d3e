import Foundation

extension Schema {
    /// Replaces everything in this database by the content of a backup with the same key and settings, in one transaction: after an
    /// error, or the end of the process, it is as it was.
    ///
    /// ```swift
    /// try db.main.restore(fromFileAt: "monday.db")
    /// ```
    /// The backup may have another salt: the passphrase that this database was opened with, which the connection keeps in
    /// ``SecureBytes`` until it closes, or its raw key opens it all the same.
    ///
    /// The whole backup is checked before anything is written, and what is copied is the very snapshot that was checked. The backup
    /// is never written to: not by recovery either, so that one with the journal of a change that was cut off is refused. This
    /// database keeps its key, settings and journal mode. Other connections may have it open: with a write-ahead log they continue
    /// to read what was there; without one, the call waits for them, and they wait for it, up to the busy timeout.
    /// - Parameters:
    ///   - path: the backup's file.
    ///   - options: as with ``backup(toFileAt:options:progress:)``.
    ///   - progress: likewise.
    /// - Throws: as ``backup(to:options:progress:)``; ``DatabaseError/Reason/wrongKeyOrNotADatabase``,
    ///   also for a file of 0 bytes, ``DatabaseError/Reason/cannotOpen``, or ``DatabaseError/Reason/conversionFailed`` if the
    ///   backup is damaged. Nothing has changed then, unless the reason is ``DatabaseError/Reason/unknownOutcome``.
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
    ///   - progress: likewise.
    /// - Throws: as ``restore(fromFileAt:options:progress:)``.
    public func restore(
        fromFileAt path: String, key: Encryption, options: BackupOptions = BackupOptions(), progress: RewriteProgressHandler? = nil
    ) throws {
        try restore(fromFileAt: path, key: key, options, progress)
    }

    private func restore(
        fromFileAt path: String, key: Encryption?, _ options: BackupOptions, _ progress: RewriteProgressHandler?
    ) throws {
        try connection.rewriting { try restore(fromFileAt: path, encryptedBy: key, options, progress) }
    }

    private func restore(
        fromFileAt path: String, encryptedBy key: Encryption?, _ options: BackupOptions, _ progress: RewriteProgressHandler?
    ) throws {
        try requireRewritable()
        let backup = try openBackup(path, key)
        defer { backup.close() }
        // One snapshot of the backup: what is copied is what was checked.
        try backup.withSnapshot {
            try backup.main.requireIntact("the backup \(path)")
            try backup.main.backup(to: self, options: options, progress: progress)
        }
    }

    /// Opens a backup. Its key is said to be this database's if it is nil.
    private func openBackup(_ path: String, _ key: Encryption?) throws -> Connection {
        var configuration = DatabaseConfiguration.forReading(with: connection)
        configuration.safeguards = try .forCopy(of: connection)
        let key = try key ?? ownKey(forBackupAt: path)
        return try connection.refusingUse { try Connection(.file(path), key: key, configuration: configuration) }
    }

    /// This database's key, for a file that may have another salt, because this one is new for instance.
    private func ownKey(forBackupAt path: String) throws -> Encryption {
        let own = try encryptionOrPlaintext
        guard let info = try cipher, info.settings.plaintextHeaderSize == 0, let salt = try DatabaseFile.header(at: .file(path)),
            salt != info.salt
        else { return own }
        // The same passphrase gives another key with it; a raw key stays what it is.
        let key = try passphrase ?? own.withUnsafeBytes { bytes throws(DatabaseError) in
            try Encryption.raw(bytes: UnsafeRawBufferPointer(rebasing: bytes.prefix(32)))
        }
        return key.with(cipher: info.settings)
    }
}
