import Foundation
import SQLCipherKitCore

extension Schema {
    /// Replaces everything in this database with the content of a backup, in one transaction: after an error, or if the process
    /// ends, this database is unchanged.
    ///
    /// ```swift
    /// try db.main.restore(fromFileAt: "monday.db")
    /// try db.main.restore(fromFileAt: "handover.db", key: otherKey)
    /// ```
    /// If you pass no key, the backup may have a different salt: the call opens it with the raw key of this database, or with the
    /// passphrase that this database was opened with, which the connection keeps in ``SecureBytes`` until it closes.
    ///
    /// The whole backup is checked before anything is written, and the copy is made from the same snapshot that was checked. The
    /// backup is never written to, not even for recovery: a backup with the journal of an unfinished change is refused. This
    /// database keeps its key, settings and journal mode. Other connections may have it open: with a write-ahead log, they continue
    /// to read the old content; without a write-ahead log, this method and the other connections wait for each other, up to the
    /// busy timeout.
    /// - Parameters:
    ///   - path: the backup's file.
    ///   - key: how the backup is encrypted, or `.plaintext`. Default: nil, for the encryption of this database, apart from the
    ///     salt.
    ///   - options: as for ``backup(toFileAt:key:options:progress:)``.
    ///   - progress: as for ``backup(toFileAt:key:options:progress:)``.
    /// - Throws: the same errors as ``backup(to:options:progress:)``; ``DatabaseError/Reason/wrongKeyOrNotADatabase``, also for an
    ///   empty file, ``DatabaseError/Reason/cannotOpen``, or ``DatabaseError/Reason/conversionFailed`` if the backup is damaged. In
    ///   all cases nothing has changed, unless the reason is ``DatabaseError/Reason/unknownOutcome``.
    public func restore(
        fromFileAt path: String, key: DatabaseKey? = nil, options: BackupOptions = BackupOptions(),
        progress: DatabaseProgress.Handler? = nil
    ) throws { try connection.usingExclusively { try restore(fromFileAt: path, encryptedBy: key, options, progress) } }

    private func restore(
        fromFileAt path: String, encryptedBy key: DatabaseKey?, _ options: BackupOptions, _ progress: DatabaseProgress.Handler?
    ) throws {
        try requireRewritable()
        let path = try Paths.file(path, of: "the backup")
        let backup = try openBackup(path, key)
        defer { backup.close() }
        // In one snapshot of the backup, so that the copied content is what was checked.
        try backup.withSnapshot {
            let total = try backup.main.pageCount
            try backup.ending(with: connection) {
                try Task.checkCancellation()
                try progress?(DatabaseProgress(done: 0, total: total))
            } _: { try backup.main.requireIntact("the backup \(path)") }
            try backup.main.backup(to: self, options: options, progress: progress)
        }
    }

    /// Opens a backup. If `key` is nil, it should have this database's key.
    private func openBackup(_ path: String, _ key: DatabaseKey?) throws -> Connection {
        var configuration = DatabaseConfiguration.forReading(with: connection)
        configuration.safeguards = try .forCopy(of: connection)
        let key = try key ?? ownKey(forBackupAt: path)
        return try connection.refusingUse { try Connection(.file(path), key: key, configuration: configuration) }
    }

    /// Returns the key of this database for a file that may have a different salt, for instance because this database is new.
    private func ownKey(forBackupAt path: String) throws -> DatabaseKey {
        let own = try encryptionOrPlaintext
        guard let info = try cipher, info.settings.plaintextHeaderSize == 0, let salt = try DatabaseFile.header(at: .file(path)),
            salt != info.salt
        else { return own }
        // With a different salt, the passphrase gives another key; a raw key stays the same.
        let key = try passphrase ?? own.withUnsafeBytes { bytes in
            try DatabaseKey.raw(bytes: UnsafeRawBufferPointer(rebasing: bytes.prefix(32)))
        }
        return key.with(cipher: info.settings)
    }
}
