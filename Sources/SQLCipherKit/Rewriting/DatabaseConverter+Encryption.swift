extension DatabaseConverter {
    /// Encrypts a plaintext file. What was plaintext on the disk may still be found there: the blocks of the old file are set
    /// free, not wiped.
    /// - Parameters:
    ///   - path: the file.
    ///   - key: its key from now on. Without cipher settings, they are SQLCipher 4's with the page size that the file has (4,096
    ///     for a smaller one than SQLCipher allows).
    ///   - configuration: as with ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    ///   - progress: likewise.
    /// - Returns: the settings to open the file with. They differ from the defaults if `key` has none and the file's page size
    ///   is not 4,096, SQLite's default.
    /// - Throws: as ``convert(fileAt:from:to:pageSize:configuration:progress:)``; ``DatabaseError/Reason/wrongKeyOrNotADatabase``
    ///   if the file is encrypted already, ``DatabaseError/Reason/invalidKey`` for ``Encryption/plaintext``.
    @discardableResult
    public static func encrypt(
        fileAt path: String, key: Encryption, configuration: DatabaseConfiguration = DatabaseConfiguration(),
        progress: RewriteProgressHandler? = nil
    ) throws -> CipherConfiguration {
        let key = try key.resolvedForNewKey()
        var settings = key.settings
        if key.cipher == nil {
            let pageSize = try open(path, .plaintext, configuration).main.pageSize
            if pageSize >= 1024 { settings.pageSize = pageSize }
        }
        try convert(
            fileAt: path, from: .plaintext, to: key.with(cipher: settings), configuration: configuration, progress: progress)
        return settings
    }

    /// Decrypts a file: afterwards anyone who can read it can read its content.
    /// - Parameters:
    ///   - path: the file.
    ///   - key: its key, with its cipher settings.
    ///   - configuration: as with ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    ///   - progress: likewise.
    /// - Throws: as ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    public static func decrypt(
        fileAt path: String, key: Encryption, configuration: DatabaseConfiguration = DatabaseConfiguration(),
        progress: RewriteProgressHandler? = nil
    ) throws {
        try convert(fileAt: path, from: key, to: .plaintext, configuration: configuration, progress: progress)
    }

    /// Brings a file of SQLCipher 1, 2 or 3, made with that version's default settings, to SQLCipher 4's, with the same key.
    ///
    /// The settings of each version are tried, the newest first, so that a wrong key costs four derivations.
    /// - Parameters:
    ///   - path: the file.
    ///   - key: its key, before and after. Its cipher settings do not count.
    ///   - configuration: as with ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    ///   - progress: likewise.
    /// - Returns: the version that the file was made with; for 4, nothing was done.
    /// - Throws: as ``convert(fileAt:from:to:pageSize:configuration:progress:)``; ``DatabaseError/Reason/wrongKeyOrNotADatabase``
    ///   if no version's settings open the file with the key.
    @discardableResult
    public static func migrate(
        fileAt path: String, key: Encryption, configuration: DatabaseConfiguration = DatabaseConfiguration(),
        progress: RewriteProgressHandler? = nil
    ) throws -> Int {
        let key = try key.resolvedForNewKey()
        var refusal = DatabaseFile.cannotOpen(path, "it has no version")
        for (version, cipher) in versions {
            do { try open(path, key.with(cipher: cipher), configuration).close() } catch let error as DatabaseError
                where error.reason == .wrongKeyOrNotADatabase
            {
                if version == 4 { refusal = error }
                continue
            }
            if version < 4 {
                try convert(
                    fileAt: path, from: key.with(cipher: cipher), to: key.with(cipher: nil), configuration: configuration,
                    progress: progress)
            }
            return version
        }
        throw refusal
    }
}
