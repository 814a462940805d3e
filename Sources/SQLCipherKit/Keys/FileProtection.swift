#if canImport(Darwin)
    import Foundation

    extension DatabaseLocation {
        /// Sets the class by which the system protects the files of a database while the device is locked
        /// (<https://developer.apple.com/documentation/uikit/encrypting-your-app-s-files>): the file, its log, its journal and the
        /// shared memory of the log, as far as they are there, and the folder, from which new files have theirs.
        ///
        /// Without the folder a log that is made later, as at the next opening, has the application's class. Give a database a
        /// folder of its own, and set its class before it is opened. `complete` takes the files away from a process that works
        /// while the device is locked, in the midst of a transaction too; an extension or a task in the background needs
        /// `completeUntilFirstUserAuthentication`.
        /// - Parameters:
        ///   - protection: the class.
        ///   - includingFolder: whether the folder is set as well, for files that are made in it from now on.
        /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the database is no file, ``DatabaseError/Reason/cannotOpen`` with
        ///   the system's reason. What was set before stays.
        public func setFileProtection(_ protection: FileProtectionType, includingFolder: Bool = true) throws(DatabaseError) {
            guard let path else {
                throw .invalidArgument("only a database that is a file, named by a path, has a protection class")
            }
            // The folder first: what appears in it meanwhile has the class already.
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            if includingFolder { try Self.set(protection, at: folder, mayLack: false) }
            for suffix in ["", "-wal", "-shm", "-journal"] { try Self.set(protection, at: path + suffix, mayLack: true) }
        }

        private static func set(_ protection: FileProtectionType, at path: String, mayLack: Bool) throws(DatabaseError) {
            do {
                try FileManager.default.setAttributes([.protectionKey: protection], ofItemAtPath: path)
            } catch {
                // A log comes and goes with its connections.
                if mayLack, !FileManager.default.fileExists(atPath: path) { return }
                throw DatabaseError(
                    code: .cannotOpen, reason: .cannotOpen,
                    message: "the protection class of \(path) cannot be set: \(error.localizedDescription)", path: path)
            }
        }
    }
#endif
