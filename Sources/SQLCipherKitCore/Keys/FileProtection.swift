#if canImport(Darwin)
    import Foundation

    extension DatabaseLocation {
        /// Sets the protection class of a database's files, by which the system protects them while the device is locked
        /// (<https://developer.apple.com/documentation/uikit/encrypting-your-app-s-files>): the file, its log, its journal and the
        /// log's shared memory, if they exist, and the folder, from which new files inherit the class.
        ///
        /// If the folder is not set, a log that is created later, such as the next time the database is opened, gets the
        /// application's class. Give a database its own folder, and set the class before you open it. With `complete`, a process
        /// that works while the device is locked loses access to the files, even in the middle of a transaction: an extension or a
        /// background task needs `completeUntilFirstUserAuthentication`.
        /// - Parameters:
        ///   - protection: the class.
        ///   - includingFolder: whether to set the folder's class as well, which applies to files created in it from now on.
        /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the database is not a file; ``DatabaseError/Reason/cannotOpen``
        ///   with the system's reason, in which case some of the files may already have the new class.
        public func setFileProtection(_ protection: FileProtectionType, includingFolder: Bool = true) throws {
            guard let path else {
                throw DatabaseError.invalidArgument("only a database that is a file, named by a path, has a protection class")
            }
            // The folder first, so that files that appear in it meanwhile already have the class.
            if includingFolder { try Self.set(protection, at: path.parentFolder, mayLack: false) }
            for suffix in ["", "-wal", "-shm", "-journal"] { try Self.set(protection, at: path + suffix, mayLack: true) }
        }

        private static func set(_ protection: FileProtectionType, at path: String, mayLack: Bool) throws {
            do {
                try FileManager.default.setAttributes([.protectionKey: protection], ofItemAtPath: path)
            } catch {
                // A log appears and disappears with its connections.
                if mayLack, !FileManager.default.fileExists(atPath: path) { return }
                throw DatabaseError(
                    code: .cannotOpen, reason: .cannotOpen,
                    message: "the protection class of \(path) cannot be set: \(error.localizedDescription)", path: path)
            }
        }
    }
#endif
