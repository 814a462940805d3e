import Foundation
import SQLCipherKitCore

/// Rewrites database files with a different encryption: encrypts, decrypts, changes settings, and converts files of SQLCipher 1 to
/// 3 to SQLCipher 4.
///
/// ```swift
/// try DatabaseConverter.encrypt(fileAt: "notes.db", key: key)
/// try DatabaseConverter.convert(fileAt: "notes.db", from: key, to: key.with(cipher: settings)) { progress in
///     print(Int(progress.fractionCompleted * 100), "%")
/// }
/// ```
/// All methods work the same way: the file is locked and copied to a new file in the same folder; the copy is opened, compared with
/// the original row by row, flushed to disk and renamed over the original. If the process dies at any time, or an error occurs,
/// either the old or the new file is intact. Remains of an unfinished new file are removed the next time the database is opened for
/// writing. Until the new file has the old file's permissions, only its owner can read it. The new file is never plaintext, unless
/// you ask for plaintext.
///
/// The new file keeps everything: tables with their row ids, indexes, views, triggers, virtual tables such as FTS5's, sequences,
/// statistics, `user_version`, `application_id`, `auto_vacuum`, the text encoding, write-ahead logging and the file's permissions.
/// Symbolic links to the file are followed. A second hard link to the file continues to name the old file.
///
/// The schema may name collations, functions and modules that only another program has, as Anki's and Android's databases do.
/// Tables and indexes that need them are copied as they are stored. All other indexes are built again, which repairs a damaged
/// index.
///
/// Close other connections first. If a connection uses a write-ahead log or is in a transaction, the call throws
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
    ///   - source: how the file is encrypted now.
    ///   - target: how the new file is encrypted, with the page size of these settings.
    ///   - pageSize: the page size in bytes for a plaintext result: a power of two from 512 to 65,536. Default: nil, for the page
    ///     size of the old file.
    ///   - configuration: its ``DatabaseConfiguration/busyTimeout``, ``DatabaseConfiguration/followsSymbolicLinks``,
    ///     ``DatabaseConfiguration/allowsDoubleQuotedStrings`` and ``DatabaseConfiguration/safeguards`` apply, and its
    ///     ``DatabaseConfiguration/prepareDatabase`` runs on the connections that read the old and the new file, so that the
    ///     indexes that need your own functions or collations are built again and checked; it runs in a transaction, and anything
    ///     that it writes is undone.
    ///   - progress: called repeatedly, and once with all pages done before the change takes effect. If it throws, nothing is
    ///     changed, and the call throws the same error.
    /// - Throws: ``DatabaseError/Reason/wrongKeyOrNotADatabase``, ``DatabaseError/Reason/notEncrypted``,
    ///   ``DatabaseError/Reason/cannotOpen``, ``DatabaseError/Reason/busy``, ``DatabaseError/Reason/invalidKey``,
    ///   ``DatabaseError/Reason/misuse`` for a read-only file, or for another key if there are ``KeySlots`` beside the file,
    ///   ``DatabaseError/Reason/malformedSchema`` if the schema uses double-quoted text as a string and the configuration does not
    ///   allow that, ``DatabaseError/Reason/conversionFailed`` if the copy is not equal to the original, or an error from SQLite
    ///   such as ``ResultCode/full``. In each case the file is unchanged.
    public static func convert(
        fileAt path: String, from source: DatabaseKey, to target: DatabaseKey, pageSize: Int? = nil,
        configuration: DatabaseConfiguration = DatabaseConfiguration(), progress: DatabaseProgress.Handler? = nil
    ) throws {
        let path = try Paths.file(path, of: "the database"), target = try target.resolvedForNewFile()
        if let pageSize {
            guard target.isPlaintext else {
                throw DatabaseError.invalidArgument("the cipher settings of an encrypted file set its page size")
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

    static func open(_ path: String, _ source: DatabaseKey, _ configuration: DatabaseConfiguration) throws -> Connection {
        var plain = DatabaseConfiguration()
        plain.access = .readWrite
        plain.needsContent = true
        plain.enforcesForeignKeys = false
        plain.busyTimeout = configuration.busyTimeout
        plain.allowsDoubleQuotedStrings = configuration.allowsDoubleQuotedStrings
        plain.followsSymbolicLinks = configuration.followsSymbolicLinks
        plain.safeguards = configuration.safeguards
        plain.prepareDatabase = configuration.preparingOnly
        return try Connection(.file(path), key: source, configuration: plain)
    }
}

extension DatabaseConverter {
    /// Encrypts a plaintext file. The plaintext may still be found on the disk: the blocks of the old file are freed, not wiped.
    /// - Parameters:
    ///   - path: the file.
    ///   - key: the new key. If it has no cipher settings, the file gets SQLCipher 4's settings with its present page size (or
    ///     4,096 if SQLCipher does not allow such a small page).
    ///   - configuration: as for ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    ///   - progress: as for ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    /// - Returns: the settings to open the file with. If `key` has no settings, and the file's page size is not SQLite's default of
    ///   4,096, the returned settings differ from SQLCipher's defaults.
    /// - Throws: the same errors as ``convert(fileAt:from:to:pageSize:configuration:progress:)``;
    ///   ``DatabaseError/Reason/wrongKeyOrNotADatabase`` if the file is already encrypted; ``DatabaseError/Reason/invalidKey`` if
    ///   `key` is ``DatabaseKey/plaintext``.
    @discardableResult
    public static func encrypt(
        fileAt path: String, key: DatabaseKey, configuration: DatabaseConfiguration = DatabaseConfiguration(),
        progress: DatabaseProgress.Handler? = nil
    ) throws -> CipherConfiguration {
        let path = try Paths.file(path, of: "the database"), key = try key.resolvedForNewKey()
        var settings = key.settings
        if key.cipher == nil {
            let pageSize = try open(path, .plaintext, configuration).main.pageSize
            if pageSize >= 1024 { settings.pageSize = pageSize }
        }
        try convert(
            fileAt: path, from: .plaintext, to: key.with(cipher: settings), configuration: configuration, progress: progress)
        return settings
    }

    /// Decrypts a file. Afterwards, anyone who can read the file can read its content.
    /// - Parameters:
    ///   - path: the file.
    ///   - key: the file's key, with its cipher settings.
    ///   - configuration: as for ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    ///   - progress: as for ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    /// - Throws: the same errors as ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    public static func decrypt(
        fileAt path: String, key: DatabaseKey, configuration: DatabaseConfiguration = DatabaseConfiguration(),
        progress: DatabaseProgress.Handler? = nil
    ) throws {
        try convert(fileAt: path, from: key, to: .plaintext, configuration: configuration, progress: progress)
    }

    /// Converts a file of SQLCipher 3, 2 or 1, or a file with the settings of `key`, to the settings of SQLCipher 4, with the same
    /// key.
    ///
    /// The settings of `key` are tried, if it has any, then the settings of SQLCipher 4, 3 and 2, with each page size. Other
    /// settings are never tried: ``identify(fileAt:key:limits:)`` finds them.
    /// - Parameters:
    ///   - path: the file.
    ///   - key: the file's key, before and after the call.
    ///   - acceptingUnauthenticated: true to also accept a file without page authentication, such as a file of SQLCipher 1. Anyone
    ///     with write access can turn a file of any version into such a file and change its content, without the key. The
    ///     conversion removes all traces of such a change. Default: false. If the settings of `key` have no page authentication,
    ///     this permission is not needed.
    ///   - configuration: as for ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    ///   - progress: as for ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    /// - Returns: the version that the file was made with, from 2 to 4, for any page size. If the version is 4, the call changed at
    ///   most the page size. Nil if the file's settings belong to no version, or have no page authentication.
    /// - Throws: the same errors as ``convert(fileAt:from:to:pageSize:configuration:progress:)``;
    ///   ``DatabaseError/Reason/wrongKeyOrNotADatabase`` if none of these settings open the file with the key;
    ///   ``DatabaseError/Reason/missingHMAC`` if only settings without page authentication do.
    @discardableResult
    public static func migrate(
        fileAt path: String, key: DatabaseKey, acceptingUnauthenticated: Bool = false,
        configuration: DatabaseConfiguration = DatabaseConfiguration(), progress: DatabaseProgress.Handler? = nil
    ) throws -> Int? {
        let path = try Paths.file(path, of: "the database"), key = try key.resolvedForNewKey()
        switch try identify(path, key, nil, versionsOnly: true) {
        case .encrypted(4, let settings) where settings.pageSize == CipherConfiguration.sqlCipher4.pageSize: return 4
        case .encrypted(let version, let settings):
            guard settings.usesHMAC || acceptingUnauthenticated || settings == key.cipher else {
                throw DatabaseError(
                    code: .notADatabase, reason: .missingHMAC,
                    message: "\(path) has no page authentication, so it could have been changed without the key: "
                        + "DatabaseConverter.migrate takes it only with acceptingUnauthenticated",
                    path: path)
            }
            try convert(
                fileAt: path, from: key.with(cipher: settings), to: key.with(cipher: nil), configuration: configuration,
                progress: progress)
            return version
        case .plaintext:
            throw DatabaseError(
                code: .notADatabase, reason: .notEncrypted,
                message: "a key was given, but \(path) is a plaintext SQLite database", path: path)
        case .empty, .plaintextHeader, .unknown: throw key.refusal(by: path, header: nil)
        }
    }
}
