import Foundation

/// Rewrites database files with another encryption: encrypts, decrypts, changes settings, brings files of SQLCipher 1 to 3 up
/// to date.
///
/// ```swift
/// try DatabaseConverter.encrypt(fileAt: "notes.db", key: key)
/// try DatabaseConverter.convert(fileAt: "notes.db", from: key, to: key.with(cipher: settings)) { progress in
///     print(Int(progress.fraction * 100), "%")
/// }
/// ```
/// All of them use one mechanism: the file is locked, copied into a new one in the same folder, the copy is opened
/// and compared with it row by row, flushed to disk, and renamed over it. A process that dies at any time leaves the old file
/// or the new one intact, and so does every error; what it may have left of the new file is removed by the next opening of the
/// database for writing. The new file is never readable by others than its owner before it has the old
/// one's permissions, and never plaintext unless plaintext was asked for.
///
/// Everything is kept: tables with their row ids, indexes, views, triggers, virtual tables such as FTS5's, sequences, statistics,
/// `user_version`, `application_id`, `auto_vacuum`, the text encoding, write-ahead logging and the file's permissions.
/// Links to the file are followed; a second hard link keeps the old file.
///
/// Close other connections first. One with a write-ahead log, or in a transaction, makes the call throw
/// ``DatabaseError/Reason/busy``. One that only waits, without a write-ahead log, cannot be noticed: it continues with the old
/// file, its writes fail with ``ResultCode/readOnlyMoved``, and it must be opened again before it reads anything.
///
/// For a database that is open, see ``Schema/backup(toFileAt:key:options:progress:)`` and ``Schema/changeKey(to:mode:progress:)``.
public enum DatabaseConverter {
    /// Rewrites a file with another encryption.
    ///
    /// The disk needs room for a second file of about the same size.
    /// - Parameters:
    ///   - path: the file.
    ///   - source: how it is encrypted.
    ///   - target: how it shall be. The page size is that of the settings.
    ///   - pageSize: the page size, in bytes, of a file that shall be plaintext: a power of two from 512 to 65,536. Nil, the
    ///     default, keeps the old file's.
    ///   - configuration: its ``DatabaseConfiguration/busyTimeout``, ``DatabaseConfiguration/followsSymbolicLinks``,
    ///     ``DatabaseConfiguration/allowsDoubleQuotedStrings`` and
    ///     ``DatabaseConfiguration/safeguards`` apply, and its ``DatabaseConfiguration/prepare`` runs on the connections that read
    ///     the old and the new file, for a schema that needs functions or collations of yours; it runs in a transaction, and what
    ///     it writes is undone.
    ///   - progress: called now and then, and once with all pages done before the change takes effect. If it throws, nothing
    ///     has changed, and the call throws the same error.
    /// - Throws: ``DatabaseError/Reason/wrongKeyOrNotADatabase``, ``DatabaseError/Reason/notEncrypted``,
    ///   ``DatabaseError/Reason/cannotOpen``, ``DatabaseError/Reason/busy``, ``DatabaseError/Reason/invalidKey``,
    ///   ``DatabaseError/Reason/misuse`` for a read-only file, or for another key if there are ``KeySlots`` beside the file,
    ///   ``DatabaseError/Reason/schemaText`` if the schema takes double-quoted text for a string and the configuration does not
    ///   allow that, ``DatabaseError/Reason/conversionFailed`` if the copy is not equal
    ///   to the original, or what SQLite reports, ``ResultCode/full`` for instance. The file is unchanged then.
    public static func convert(
        fileAt path: String, from source: Encryption, to target: Encryption, pageSize: Int? = nil,
        configuration: DatabaseConfiguration = DatabaseConfiguration(), progress: RewriteProgressHandler? = nil
    ) throws {
        let target = try target.resolvedForNewFile()
        if let pageSize {
            guard target.isPlaintext else {
                throw DatabaseError.invalidArgument("the page size of an encrypted file is that of its cipher settings")
            }
            guard (512...65536).contains(pageSize), pageSize & (pageSize - 1) == 0 else {
                throw DatabaseError.invalidArgument("the page size must be a power of two from 512 to 65536 and is \(pageSize)")
            }
        }
        let db = try open(path, source, configuration)
        defer { db.close() }
        try db.main.requireRewritable()
        try db.main.requireNoKeySlots(against: target)
        try db.main.requireNoDoubleQuotedStrings()
        try DatabaseReplacement(of: db.main, key: target, pageSize: pageSize, progress: progress).run()
    }

    static func open(_ path: String, _ source: Encryption, _ configuration: DatabaseConfiguration) throws -> Connection {
        var plain = DatabaseConfiguration()
        plain.access = .readWrite
        plain.needsContent = true
        plain.enforcesForeignKeys = false
        plain.busyTimeout = configuration.busyTimeout
        plain.allowsDoubleQuotedStrings = configuration.allowsDoubleQuotedStrings
        plain.followsSymbolicLinks = configuration.followsSymbolicLinks
        plain.safeguards = configuration.safeguards
        plain.prepare = configuration.preparingOnly
        return try Connection(.file(path), key: source, configuration: plain)
    }
}
