import Foundation

/// How a database file is encrypted: one side of a conversion.
public enum Encryption: Sendable {
    /// Not at all.
    case plaintext
    /// With a key and with these settings.
    case key(EncryptionKey, cipher: CipherConfiguration = CipherConfiguration())
}

/// Rewrites database files with another encryption: encrypts, decrypts, changes settings, brings files of SQLCipher 1 to 3 up
/// to date.
///
/// ```swift
/// try DatabaseConverter.encrypt(fileAt: "notes.db", key: key)
/// try DatabaseConverter.convert(fileAt: "notes.db", from: .key(key), to: .key(key, cipher: settings)) { progress in
///     print(Int(progress.fraction * 100), "%")
/// }
/// ```
/// There is one mechanism behind all of it: the file is locked, copied into a new one in the same folder, the copy is opened
/// and compared with it row by row, flushed to disk, and renamed over it. A process that dies at any moment leaves the old file
/// or the new one whole, and so does every error. The new file is never readable by others than its owner before it has the old
/// one's permissions, and never plaintext unless plaintext was asked for.
///
/// Everything is kept: tables with their row ids, indexes, views, triggers, virtual tables such as FTS5's, sequences, statistics,
/// `user_version`, `application_id`, `auto_vacuum`, the text encoding, write-ahead logging and the file's permissions.
/// Links to the file are followed; a second hard link keeps the old file.
///
/// Close other connections first. One with a write-ahead log, or in a transaction, makes the call throw
/// ``DatabaseError/Reason/busy``. One that only waits, without a write-ahead log, cannot be noticed: it goes on with the old
/// file, its writes fail with ``ResultCode/readOnlyMoved``, and it must be opened again before it reads anything.
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
    ///   - configuration: its ``DatabaseConfiguration/busyTimeout`` and ``DatabaseConfiguration/followsSymbolicLinks`` count, and its
    ///     ``DatabaseConfiguration/prepare`` runs on the connections that read the old and the new file, for a schema that needs
    ///     functions or collations of yours; it runs in a transaction, and what it writes is undone.
    ///   - progress: called now and then, and once with all pages done before the change takes effect. If it throws, nothing
    ///     has changed, and the call throws the same error.
    /// - Throws: ``DatabaseError/Reason/wrongKeyOrNotADatabase``, ``DatabaseError/Reason/notEncrypted``,
    ///   ``DatabaseError/Reason/cannotOpen``, ``DatabaseError/Reason/busy``, ``DatabaseError/Reason/invalidKey``,
    ///   ``DatabaseError/Reason/misuse`` for a read-only file, ``DatabaseError/Reason/conversionFailed`` if the copy is not equal
    ///   to the original, or what SQLite reports, ``ResultCode/full`` for instance. The file is unchanged then.
    public static func convert(
        fileAt path: String, from source: Encryption, to target: Encryption, pageSize: Int? = nil,
        configuration: DatabaseConfiguration = DatabaseConfiguration(), progress: RewriteProgressHandler? = nil
    ) throws {
        if case .key(_, let cipher) = target { try cipher.validate() }
        if let pageSize {
            guard case .plaintext = target else {
                throw DatabaseError.invalidArgument("the page size of an encrypted file is that of its cipher settings")
            }
            guard (512...65536).contains(pageSize), pageSize & (pageSize - 1) == 0 else {
                throw DatabaseError.invalidArgument("the page size must be a power of two from 512 to 65536 and is \(pageSize)")
            }
        }
        let db = try open(path, source, configuration)
        defer { db.close() }
        try db.checkRewrite("main")
        try DatabaseRewrite(db, "main", to: target, pageSize: pageSize, handler: progress).run()
    }

    /// Encrypts a plaintext file. What was plaintext on the disk may still be found there: the blocks of the old file are set
    /// free, not wiped.
    /// - Parameters:
    ///   - path: the file.
    ///   - key: its key from now on.
    ///   - cipher: its settings from now on; nil, the default, are SQLCipher 4's with the page size that the file has (4,096
    ///     for a smaller one than SQLCipher allows).
    ///   - configuration: as with ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    ///   - progress: likewise.
    /// - Returns: the settings to open the file with. They differ from the defaults if `cipher` is nil and the file's page size
    ///   is not 4,096, SQLite's default.
    /// - Throws: as ``convert(fileAt:from:to:pageSize:configuration:progress:)``; ``DatabaseError/Reason/wrongKeyOrNotADatabase``
    ///   if the file is encrypted already.
    @discardableResult
    public static func encrypt(
        fileAt path: String, key: EncryptionKey, cipher: CipherConfiguration? = nil, configuration: DatabaseConfiguration = DatabaseConfiguration(),
        progress: RewriteProgressHandler? = nil
    ) throws -> CipherConfiguration {
        var settings = cipher ?? CipherConfiguration()
        if cipher == nil {
            let pageSize = try open(path, .plaintext, configuration).pageSize("main")
            if pageSize >= 1024 { settings.pageSize = pageSize }
        }
        try convert(fileAt: path, from: .plaintext, to: .key(key, cipher: settings), configuration: configuration, progress: progress)
        return settings
    }

    /// Decrypts a file: afterwards everybody who can read it can read its content.
    /// - Parameters:
    ///   - path: the file.
    ///   - key: its key.
    ///   - cipher: its settings. Default: SQLCipher 4's.
    ///   - configuration: as with ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    ///   - progress: likewise.
    /// - Throws: as ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    public static func decrypt(
        fileAt path: String, key: EncryptionKey, cipher: CipherConfiguration = CipherConfiguration(),
        configuration: DatabaseConfiguration = DatabaseConfiguration(), progress: RewriteProgressHandler? = nil
    ) throws {
        try convert(fileAt: path, from: .key(key, cipher: cipher), to: .plaintext, configuration: configuration, progress: progress)
    }

    /// Brings a file of SQLCipher 1, 2 or 3, made with that version's default settings, to SQLCipher 4's, with the same key.
    ///
    /// The settings of each version are tried, the newest first, so that a wrong key costs four derivations.
    /// - Parameters:
    ///   - path: the file.
    ///   - key: its key, before and after.
    ///   - configuration: as with ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    ///   - progress: likewise.
    /// - Returns: the version that the file was made with; for 4, nothing was done.
    /// - Throws: as ``convert(fileAt:from:to:pageSize:configuration:progress:)``; ``DatabaseError/Reason/wrongKeyOrNotADatabase``
    ///   if no version's settings open the file with the key.
    @discardableResult
    public static func migrate(
        fileAt path: String, key: EncryptionKey, configuration: DatabaseConfiguration = DatabaseConfiguration(), progress: RewriteProgressHandler? = nil
    ) throws -> Int {
        let versions: [(Int, CipherConfiguration)] = [(4, .sqlCipher4), (3, .sqlCipher3), (2, .sqlCipher2), (1, .sqlCipher1)]
        var refusal = DatabaseFile.cannotOpen(path, "it has no version")
        for (version, cipher) in versions {
            do { try open(path, .key(key, cipher: cipher), configuration).close() } catch let error as DatabaseError
                where error.reason == .wrongKeyOrNotADatabase
            {
                if version == 4 { refusal = error }
                continue
            }
            if version < 4 {
                try convert(
                    fileAt: path, from: .key(key, cipher: cipher), to: .key(key), configuration: configuration, progress: progress)
            }
            return version
        }
        throw refusal
    }

    /// Copies an open database as a whole into a new file, with any encryption. The database stays as it is.
    ///
    /// ```swift
    /// try DatabaseConverter.export(db, toFileAt: "handover.db", as: .key(otherKey))
    /// ```
    /// Everything is kept that a conversion keeps, save the journal mode; what the connection has written in an open transaction
    /// is part of the copy. Other connections may go on reading, and with a write-ahead log writing, meanwhile.
    /// - Parameters:
    ///   - db: the connection.
    ///   - schema: `main`, or what the database was attached as.
    ///   - path: the new file, which gets permissions 0600. There must be none of that name.
    ///   - target: how it shall be encrypted.
    ///   - progress: as with ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    /// - Throws: ``DatabaseError/Reason/cannotOpen`` if there is a file of that name or it cannot be made,
    ///   ``DatabaseError/Reason/schemaName``, ``DatabaseError/Reason/conversionFailed`` and what SQLite reports. There is no new
    ///   file then.
    public static func export(
        _ db: Connection, schema: String = "main", toFileAt path: String, as target: Encryption, progress: RewriteProgressHandler? = nil
    ) throws {
        guard try db.attachedDatabases().contains(where: { $0.name.lowercased() == schema.lowercased() }) else {
            throw DatabaseError.noSchema(schema)
        }
        try DatabaseRewrite(db, schema, exportingTo: path, as: target, handler: progress).export()
    }

    private static func open(_ path: String, _ source: Encryption, _ configuration: DatabaseConfiguration) throws -> Connection {
        var plain = DatabaseConfiguration()
        plain.access = .readWrite
        plain.enforcesForeignKeys = false
        plain.busyTimeout = configuration.busyTimeout
        plain.followsSymbolicLinks = configuration.followsSymbolicLinks
        plain.prepare = configuration.preparingOnly
        switch source {
        case .plaintext: return try Connection(.file(path), configuration: plain)
        case .key(let key, let cipher):
            plain.cipher = cipher
            return try Connection(.file(path), key: key, configuration: plain)
        }
    }
}
