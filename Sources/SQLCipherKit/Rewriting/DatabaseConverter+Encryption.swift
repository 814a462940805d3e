extension DatabaseConverter {
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
        fileAt path: String, key: EncryptionKey, cipher: CipherConfiguration? = nil,
        configuration: DatabaseConfiguration = DatabaseConfiguration(), progress: RewriteProgressHandler? = nil
    ) throws -> CipherConfiguration {
        var settings = cipher ?? CipherConfiguration()
        if cipher == nil {
            let pageSize = try open(path, .plaintext, configuration).main.pageSize
            if pageSize >= 1024 { settings.pageSize = pageSize }
        }
        try convert(
            fileAt: path, from: .plaintext, to: .key(key, cipher: settings), configuration: configuration, progress: progress)
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
        fileAt path: String, key: EncryptionKey, configuration: DatabaseConfiguration = DatabaseConfiguration(),
        progress: RewriteProgressHandler? = nil
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
}
