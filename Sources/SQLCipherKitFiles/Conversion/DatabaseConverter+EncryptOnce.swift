import Foundation
import SQLCipherKitCore

/// The place where a program remembers that a database file has been encrypted, for
/// ``DatabaseConverter/encryptOnce(fileAt:key:mark:configuration:progress:)``.
///
/// The mark must be as safe as the key: without the mark, a plaintext file is accepted once more. Keep the mark where the key is,
/// never beside the database. Each database has its own mark.
public struct EncryptionMark: Sendable {
    let isSet: @Sendable () throws -> Bool
    let set: @Sendable () throws -> Void
    /// The path of a mark that is a file.
    private let path: String?

    /// Creates a mark that your own code stores.
    /// - Parameters:
    ///   - isSet: returns true if the mark is set. It must throw if it cannot read the mark: if it returns false, plaintext is
    ///     encrypted.
    ///   - set: sets the mark, which must survive a power cut when this returns. The closure is called again if it was interrupted.
    public init(isSet: @escaping @Sendable () throws -> Bool, set: @escaping @Sendable () throws -> Void) {
        self.init(isSet: isSet, set: set, path: nil)
    }

    private init(isSet: @escaping @Sendable () throws -> Bool, set: @escaping @Sendable () throws -> Void, path: String?) {
        (self.isSet, self.set, self.path) = (isSet, set, path)
    }

    /// A file in the folder of the key file (``KeyProvider/file(_:as:)``), which only its owner may read or write.
    ///
    /// The mark must be a regular file with a single hard link, belong to the user that the process runs as, and grant no
    /// permissions to group and others; otherwise the mark throws ``DatabaseError/Reason/keyProvider``.
    /// - Parameter path: the mark's path. Its folder must exist, and must not be the folder of the database.
    public static func file(_ path: String) -> EncryptionMark {
        let path = Paths.absolute(path)
        return EncryptionMark(
            isSet: {
                do { return try OwnFile.contents(of: path, isOwn: true) != nil } catch let error as DatabaseError {
                    throw DatabaseError.keyProvider(
                        "the mark of an encrypted database cannot be read: \(error.message)", path: path
                    )
                }
            },
            set: { try OwnFile.replace(path, with: Array("SQLCipherKit: the database is encrypted\n".utf8)) },
            path: path)
    }

    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a mark beside the database or without a path,
    ///   ``DatabaseError/Reason/cannotOpen`` for a folder's path, ``DatabaseError/Reason/keyProvider`` for one that cannot be made.
    func requireUsable(for path: String) throws {
        guard let mark = self.path else { return }
        let folder = try Paths.file(mark, of: "the mark of an encrypted database").parentFolder
        guard access(folder, W_OK | X_OK) == 0 else {
            let reason = String(cString: strerror(errno))
            throw DatabaseError.keyProvider(
                "the folder of the mark of an encrypted database cannot be used: \(reason)", path: folder
            )
        }
        let own = DatabaseFile.realPath(path).parentFolder
        guard DatabaseFile.isSame(folder, own) else { return }
        throw DatabaseError.invalidArgument(
            "the mark must not be in the database's folder: a program that can replace the database there can remove the mark")
    }
}

extension DatabaseConverter {
    /// Encrypts a plaintext file once, and refuses plaintext from then on.
    ///
    /// ```swift
    /// try DatabaseConverter.encryptOnce(fileAt: path, key: key, mark: .file(keyPath + "-encrypted"))
    /// let pool = try DatabasePool(.file(path), key: key)
    /// ```
    /// Call it at each start of an app whose earlier versions did not encrypt. If the app accepted every plaintext file, a program
    /// that can write to the folder could put its own file there. Therefore a mark records that the file has been encrypted.
    ///
    /// While the mark is not set, a plaintext file is encrypted as ``encrypt(fileAt:key:configuration:progress:)`` does, and a file
    /// that the key opens is left unchanged; then the mark is set. The mark is also set if there is no file: your app then creates
    /// an encrypted file. Once the mark is set, no file is encrypted.
    ///
    /// A process that dies at any point leaves the plaintext file or the encrypted file, and the next call continues. While the
    /// mark is not set, the content of the plaintext file is trusted. If the user types the passphrase, there is no safe place for
    /// a mark.
    /// - Parameters:
    ///   - path: the file.
    ///   - key: the file's key. Without cipher settings, the encrypted file gets SQLCipher 4's settings, whatever the page size of
    ///     the plaintext file is: the key alone then opens the file.
    ///   - mark: where to record the encryption: beside the key, not beside the file.
    ///   - configuration: as for ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    ///   - progress: as for ``convert(fileAt:from:to:pageSize:configuration:progress:)``.
    /// - Returns: true if this call has encrypted the file.
    /// - Throws: ``DatabaseError/Reason/notEncrypted`` for a plaintext file once the mark is set;
    ///   ``DatabaseError/Reason/wrongKeyOrNotADatabase`` if the mark is not set, and the file is neither plaintext nor opened by
    ///   the key; ``DatabaseError/Reason/invalidArgument`` for a mark in the file's folder or with an empty path;
    ///   ``DatabaseError/Reason/cannotOpen`` for a mark whose path is a folder; and the errors of
    ///   ``encrypt(fileAt:key:configuration:progress:)``. If the mark cannot be set, its error is thrown, the file is encrypted,
    ///   and the next call sets the mark.
    @discardableResult
    public static func encryptOnce(
        fileAt path: String, key: DatabaseKey, mark: EncryptionMark,
        configuration: DatabaseConfiguration = DatabaseConfiguration(), progress: DatabaseProgress.Handler? = nil
    ) throws -> Bool {
        let path = try Paths.file(path, of: "the database")
        try mark.requireUsable(for: path)
        let isMarked = try mark.isSet(), isNew = !DatabaseFile.exists(path) || DatabaseFile.isEmpty(path)
        if isNew {
            if !isMarked { try mark.set() }
            return false
        }
        let isPlaintext = try identify(fileAt: path, key: nil) == .plaintext
        if isMarked {
            guard isPlaintext else { return false }
            throw DatabaseError(
                code: .notADatabase, reason: .notEncrypted,
                message:
                    "\(path) is a plaintext SQLite database, and the database was encrypted before: another file has its place",
                path: path)
        }
        let key = try key.resolvedForNewKey()
        if isPlaintext {
            try encrypt(fileAt: path, key: key.with(cipher: key.settings), configuration: configuration, progress: progress)
        } else {
            try open(path, key, configuration).close()
        }
        try mark.set()
        return isPlaintext
    }
}
