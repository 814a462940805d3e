import SQLCipherKitCore

extension DatabaseConverter {
    /// Encrypts a plaintext file. The plaintext may still be found on the disk: the blocks of the old file are freed, not wiped.
    /// - Parameters:
    ///   - path: the file.
    ///   - key: its new key. If it has no cipher settings, SQLCipher 4's are used with the file's page size (or 4,096 if that is
    ///     smaller than SQLCipher allows).
    ///   - configuration: as for ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    ///   - progress: as for ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    /// - Returns: the settings to open the file with. If `key` has none, they differ from the defaults if the file's page size is
    ///   not 4,096, SQLite's default.
    /// - Throws: the same errors as ``convert(fileAt:from:to:pageSize:configuration:progress:)``;
    ///   ``DatabaseError/Reason/wrongKeyOrNotADatabase`` if the file is already encrypted; ``DatabaseError/Reason/invalidKey`` if
    ///   `key` is ``Encryption/plaintext``.
    @discardableResult
    public static func encrypt(
        fileAt path: String, key: Encryption, configuration: DatabaseConfiguration = DatabaseConfiguration(),
        progress: RewriteProgress.Handler? = nil
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

    /// Decrypts a file. Afterwards, anyone who can read the file can read its content.
    /// - Parameters:
    ///   - path: the file.
    ///   - key: its key, with its cipher settings.
    ///   - configuration: as for ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    ///   - progress: as for ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    /// - Throws: the same errors as ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    public static func decrypt(
        fileAt path: String, key: Encryption, configuration: DatabaseConfiguration = DatabaseConfiguration(),
        progress: RewriteProgress.Handler? = nil
    ) throws {
        try convert(fileAt: path, from: key, to: .plaintext, configuration: configuration, progress: progress)
    }

    /// Converts a file of SQLCipher 3, 2 or 1, or one with the settings of `key`, to those of SQLCipher 4, with the same key.
    ///
    /// The settings of `key` are tried, if it has any, then those of SQLCipher 4, 3 and 2, with each page size. Others are never
    /// tried: ``identify(fileAt:key:limits:)`` finds them.
    /// - Parameters:
    ///   - path: the file.
    ///   - key: its key, before and after.
    ///   - acceptingUnauthenticated: whether to take a file without page authentication too, as SQLCipher 1 makes it. Write access
    ///     is enough to turn a file of any version into such a file and to change its content, without the key. Once it is
    ///     converted, nothing shows that. Default: false. Settings of `key` without authentication need no permission.
    ///   - configuration: as for ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    ///   - progress: as for ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    /// - Returns: the version that the file was made with, from 2 to 4, whatever its page size; if 4, nothing was done. Nil if its
    ///   settings were those of no version, or without page authentication.
    /// - Throws: the same errors as ``convert(fileAt:from:to:pageSize:configuration:progress:)``;
    ///   ``DatabaseError/Reason/wrongKeyOrNotADatabase`` if none of these settings open the file with the key;
    ///   ``DatabaseError/Reason/notAuthenticated`` if only settings without page authentication do.
    @discardableResult
    public static func migrate(
        fileAt path: String, key: Encryption, acceptingUnauthenticated: Bool = false,
        configuration: DatabaseConfiguration = DatabaseConfiguration(), progress: RewriteProgress.Handler? = nil
    ) throws -> Int? {
        let key = try key.resolvedForNewKey()
        switch try identify(path, key, nil, versionsOnly: true) {
        case .encrypted(4, _): return 4
        case .encrypted(let version, let settings):
            guard settings.usesHMAC || acceptingUnauthenticated || settings == key.cipher else {
                throw DatabaseError(
                    code: .notADatabase, reason: .notAuthenticated,
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
