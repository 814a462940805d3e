import Foundation
import SQLCipherKitCore

/// Rewrites database files with a different encryption: encrypts, decrypts, changes settings, and converts files of SQLCipher 1 to
/// 3 to SQLCipher 4.
///
/// ```swift
/// try DatabaseConverter.encrypt(fileAt: "notes.db", key: key)
/// try DatabaseConverter.convert(fileAt: "notes.db", from: key, to: key.with(cipher: settings)) { progress in
///     print(Int(progress.fraction * 100), "%")
/// }
/// ```
/// All methods work the same way: the file is locked and copied to a new file in the same folder; the copy is opened, compared with
/// the original row by row, flushed to disk and renamed over it. If the process dies at any time, or an error occurs, either the
/// old or the new file is intact. Remains of an unfinished new file are removed the next time the database is opened for writing.
/// Until it has the old file's permissions, the new file is only readable by its owner, and it is never plaintext unless you ask
/// for plaintext.
///
/// Everything is kept: tables with their row ids, indexes, views, triggers, virtual tables such as FTS5's, sequences, statistics,
/// `user_version`, `application_id`, `auto_vacuum`, the text encoding, write-ahead logging and the file's permissions. Symbolic
/// links to the file are followed; a second hard link keeps the old file.
///
/// Close other connections first. If one uses a write-ahead log or is in a transaction, the call throws
/// ``DatabaseError/Reason/busy``. An idle connection without a write-ahead log cannot be detected: it continues with the old file,
/// its writes fail with ``ResultCode/readOnly``, and it must be opened again before it reads anything.
///
/// For an open database, see ``Schema/backup(toFileAt:key:options:progress:)`` and ``Schema/changeKey(to:mode:progress:)``.
public enum DatabaseConverter {
    /// Rewrites a file with a different encryption.
    ///
    /// The disk needs room for a second file of about the same size.
    /// - Parameters:
    ///   - path: the file.
    ///   - source: how it is encrypted.
    ///   - target: how it is to be encrypted, with the page size of its settings.
    ///   - pageSize: the page size in bytes for a plaintext result: a power of two from 512 to 65,536. Default: nil, which keeps
    ///     the old file's.
    ///   - configuration: its ``DatabaseConfiguration/busyTimeout``, ``DatabaseConfiguration/followsSymbolicLinks``,
    ///     ``DatabaseConfiguration/allowsDoubleQuotedStrings`` and ``DatabaseConfiguration/safeguards`` apply, and its
    ///     ``DatabaseConfiguration/prepare`` runs on the connections that read the old and the new file, for a schema that needs
    ///     your own functions or collations; it runs in a transaction, and anything that it writes is undone.
    ///   - progress: called repeatedly, and once with all pages done before the change takes effect. If it throws, nothing is
    ///     changed, and the call throws the same error.
    /// - Throws: ``DatabaseError/Reason/wrongKeyOrNotADatabase``, ``DatabaseError/Reason/notEncrypted``,
    ///   ``DatabaseError/Reason/cannotOpen``, ``DatabaseError/Reason/busy``, ``DatabaseError/Reason/invalidKey``,
    ///   ``DatabaseError/Reason/misuse`` for a read-only file, or for another key if there are ``KeySlots`` beside the file,
    ///   ``DatabaseError/Reason/schemaText`` if the schema uses double-quoted text as a string and the configuration does not allow
    ///   that, ``DatabaseError/Reason/conversionFailed`` if the copy is not equal to the original, or an error from SQLite such as
    ///   ``ResultCode/full``. In each case the file is unchanged.
    public static func convert(
        fileAt path: String, from source: Encryption, to target: Encryption, pageSize: Int? = nil,
        configuration: DatabaseConfiguration = DatabaseConfiguration(), progress: RewriteProgress.Handler? = nil
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
